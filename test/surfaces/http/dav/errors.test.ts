import { expect, test } from "@jest/globals";
import { ERROR_CODES, type ErrorCode, FileAdapterError } from "../../../../src/core/errors/errors.js";
import { DavError, davError } from "../../../../src/surfaces/http/dav/errors.js";

const answerOf = (code: ErrorCode, isReading: boolean, isPublic = false): [number, string | undefined] => {
  const error = davError(new FileAdapterError(code, "text", {}), { isReading, isPublic });
  if (!(error instanceof DavError)) return [(error as { status: number }).status, undefined];
  return [error.status, error.condition?.text];
};

/** Status when reading, when changing, and the precondition. */
const TABLE: readonly [number, number, string | undefined, readonly ErrorCode[]][] = [
  [412, 412, undefined, ["CONFLICT", "ALREADY_EXISTS"]],
  [404, 404, undefined, ["NOT_FOUND", "UNKNOWN_ROOT", "DANGLING_SYMLINK"]],
  [404, 409, undefined, ["NOT_A_DIRECTORY", "PARENT_MISSING"]],
  [405, 405, undefined, ["IS_A_DIRECTORY", "EXISTS_NOT_DIRECTORY"]],
  [409, 409, undefined, ["NOT_A_FILE", "HARD_LINKED"]],
  [403, 403, "<D:need-privileges/>", ["CAPABILITY_DENIED"]],
  [403, 403, undefined, ["READ_ONLY_ROOT", "DENIED_BY_POLICY", "SYMLINK_ESCAPE", "OTHER_DEVICE", "PERMISSION_DENIED"]],
  [403, 403, undefined, ["ROOT_DELETE", "NOT_SUPPORTED"]],
  [507, 507, "<D:quota-not-exceeded/>", ["QUOTA_EXCEEDED"]],
  [507, 507, "<D:sufficient-disk-space/>", ["NO_SPACE"]],
  [400, 400, undefined, ["INVALID_PATH", "INVALID_INPUT", "PATH_ESCAPES_ROOT", "PATH_NOT_RELATIVE"]],
];

test.each(TABLE)("%i when reading, %i when changing, with %s: %j", (reading, changing, condition, codes) => {
  for (const code of codes) {
    expect([code, answerOf(code, true)]).toEqual([code, [reading, condition]]);
    expect([code, answerOf(code, false)]).toEqual([code, [changing, condition]]);
  }
});

test("every other code has its status of the table of codes", () => {
  const named = TABLE.flatMap(([, , , codes]) => codes);
  for (const [code, { http }] of Object.entries(ERROR_CODES) as [ErrorCode, { http: number }][]) {
    if (!named.includes(code)) expect([code, answerOf(code, true)]).toEqual([code, [http, undefined]]);
  }
});

test("who has no credentials is asked for some, and learns nothing else", () => {
  const status = (code: ErrorCode) => answerOf(code, true, true)[0];
  expect(["CAPABILITY_DENIED", "UNKNOWN_ROOT", "DRIVE_REQUIRES_AUTH"].map((code) => status(code as ErrorCode))).toEqual(
    [401, 401, 401],
  );
  expect(status("NOT_FOUND")).toBe(404);
});
