import { describe, expect, test } from "@jest/globals";
import { adapterError, ERROR_CODES, FileAdapterError, httpStatusOf } from "../../../src/core/errors/errors.js";
import { conflict } from "../../../src/core/errors/texts.js";
import { notPutBack } from "../../../src/core/errors/undo-texts.js";
import { worded } from "../../../src/core/errors/wording.js";

/** The table of the specification: status at an endpoint that answers with the error itself, JSON-RPC code, retry. */
const SPECIFIED: readonly [string, number | undefined, number, boolean][] = [
  ["INVALID_INPUT", 400, -32602, false],
  ["UNKNOWN_ROOT", 404, -32602, false],
  ["UNKNOWN_OPERATION", undefined, -32601, false],
  ["CAPABILITY_DENIED", 403, -32003, false],
  ["INVALID_PATH", 400, -32602, false],
  ["PATH_NOT_RELATIVE", 400, -32602, false],
  ["PATH_ESCAPES_ROOT", 400, -32602, false],
  ["SYMLINK_ESCAPE", 403, -32602, false],
  ["DANGLING_SYMLINK", 404, -32602, false],
  ["OTHER_DEVICE", 403, -32602, false],
  ["READ_ONLY_ROOT", 403, -32003, false],
  ["NOT_FOUND", 404, -32002, false],
  ["NOT_A_DIRECTORY", 409, -32602, false],
  ["IS_A_DIRECTORY", 409, -32602, false],
  ["NOT_A_FILE", 409, -32602, false],
  ["PARENT_MISSING", 409, -32002, false],
  ["EXISTS_NOT_DIRECTORY", 409, -32602, false],
  ["NOT_EMPTY", 409, -32602, false],
  ["ROOT_DELETE", 403, -32602, false],
  ["HARD_LINKED", 409, -32602, false],
  ["NOT_TEXT", 422, -32602, false],
  ["NOT_JSON", 422, -32602, false],
  ["TOO_LARGE", 413, -32602, false],
  ["ASSET_NOT_FOUND", undefined, -32602, false],
  ["ASSET_NO_CONTENT", undefined, -32602, false],
  ["DRIVE_REQUIRES_AUTH", 401, -32003, false],
  ["CONFLICT", 412, -32603, false],
  ["ALREADY_EXISTS", 409, -32602, false],
  ["NO_MATCH", 422, -32602, false],
  ["AMBIGUOUS_MATCH", 422, -32602, false],
  ["OVERLAPPING_EDITS", 422, -32602, false],
  ["INVALID_PATTERN", 400, -32602, false],
  ["DENIED_BY_POLICY", 403, -32003, false],
  ["QUOTA_EXCEEDED", 507, -32603, false],
  ["BAD_FORMAT", undefined, -32602, false],
  ["UNSUPPORTED_CELL", undefined, -32602, false],
  ["MISSING_CELL", undefined, -32602, false],
  ["LIMIT", undefined, -32602, false],
  ["FUTURE_TIME", undefined, -32602, false],
  ["KEY_REQUIRED", undefined, -32602, false],
  ["STORE_UNAVAILABLE", 503, -32603, true],
  ["STORE_DAMAGED", 500, -32603, false],
  ["APPROVAL_REQUIRED", 403, -32003, false],
  ["APPROVAL_DENIED", 403, -32003, false],
  ["PERMISSION_DENIED", 403, -32003, false],
  ["NO_SPACE", 507, -32603, false],
  ["NOT_SUPPORTED", 501, -32603, false],
  ["TIMEOUT", 504, -32603, true],
  ["ABORTED", 503, -32800, true],
  ["BUSY", 503, -32603, true],
  ["IO_ERROR", 500, -32603, true],
  ["INTERNAL", 500, -32603, false],
];

describe("the table of error codes", () => {
  test("has the codes that are specified, and no others", () => {
    expect(Object.keys(ERROR_CODES)).toEqual(SPECIFIED.map(([code]) => code));
  });

  test.each(SPECIFIED)("%s", (code, http, rpc, retry) => {
    const entry = Object.entries(ERROR_CODES).find(([name]) => name === code)?.[1];
    expect(entry).toEqual({ http: http ?? expect.any(Number), rpc, retry });
  });
});

describe("the status of a conflict", () => {
  const place = { root: "r", path: "a" };
  test.each([
    ["a precondition that fails", 412, conflict(place, { verb: "write", expected: "x", current: "y" }), "file:write"],
    ["another input under one id", 412, adapterError("CONFLICT", "x", { operationId: "k" }), "file:write"],
    ["a drive that changes too often", 409, adapterError("CONFLICT", "x", place), "file:write"],
    ["an undo of what changed since", 409, adapterError("CONFLICT", "x", { root: "r", blocked: [] }), "file:undo"],
    ["a restore over what changed since", 409, conflict(place, { verb: "restore", expected: "x" }), "file:restore"],
  ])("%s: %i", (_, status, { code, data }, operation) => {
    expect(httpStatusOf(code, data, operation)).toBe(status);
  });

  test("is that of the table for any other code", () => {
    expect(httpStatusOf("NOT_FOUND", {})).toBe(404);
    expect(httpStatusOf("NO_SUCH_CODE", undefined)).toBe(500);
  });
});

describe("an error", () => {
  test("is an Error with code, text and data", () => {
    const error = adapterError("NOT_FOUND", "Not found: r:a", { root: "r" });
    expect(error).toBeInstanceOf(FileAdapterError);
    expect(error).toBeInstanceOf(Error);
    expect({ ...error, message: error.message, text: String(error) }).toEqual({
      name: "FileAdapterError",
      code: "NOT_FOUND",
      data: { root: "r" },
      message: "Not found: r:a",
      text: "FileAdapterError: Not found: r:a",
    });
    expect(adapterError("INTERNAL", "x").data).toEqual({});
  });

  test("captures no stack, and leaves those of others alone", () => {
    expect(adapterError("NOT_FOUND", "x").stack).not.toContain("\n    at ");
    expect(new Error("x").stack).toContain("\n    at ");
  });
});

describe("the next step of an error", () => {
  const words: Readonly<Record<string, string>> = { "file:mkdir": "MKCOL", parents: "-p", to: "ID", recursive: "-$1" };
  const say = (message: string, next?: unknown) =>
    worded(adapterError("PARENT_MISSING", message, { next }), (name) => words[name]);

  test.each([
    [
      "an operation and an option",
      "Pass parents: true or call file:mkdir",
      ["file:mkdir", "parents"],
      "Pass -p or call MKCOL",
    ],
    ["a field", "No 'to' of it. Take 'to' from there", [undefined, "to"], "No 'to' of it. Take 'ID' from there"],
    ["no part of a word", "'to' from the history", [undefined, "to"], "'ID' from the history"],
    ["a word as it is", "(pass recursive: true)", [undefined, "recursive"], "(pass -$1)"],
    [
      "names of the caller",
      "No file:mkdir\nparents: true. See file:mkdir",
      ["file:mkdir"],
      "No file:mkdir\nparents: true. See MKCOL",
    ],
    ["what has no other word", "See file:list", ["file:list"], "See file:list"],
    ["what is not there", "See file:list", ["file:mkdir"], "See file:list"],
    ["no expression", "See file:mkdir", [".*", "("], "See file:mkdir"],
    ["a name of all objects", "See constructor", ["constructor"], "See constructor"],
  ])("is told in the words of a surface: %s", (_, message, [tool, option], said) => {
    expect(say(message, { tool, option })).toBe(said);
  });

  test("is not looked for where its name is no name of ours", () => {
    const name = "a:".repeat(50);
    const error = adapterError("INTERNAL", `See ${name}b`, { next: { tool: `${name}b` } });
    expect(worded(error, () => "MKCOL")).toBe(`See ${name}b`);
  });

  test("is not told of the names that a group which failed has left behind", () => {
    const failed = adapterError("PARENT_MISSING", "Call file:mkdir", { next: { tool: "file:mkdir" } });
    const error = notPutBack(failed, [["file:mkdir"]]) as FileAdapterError;
    expect(worded(error, (name) => words[name])).toContain('meanwhile: "file:mkdir". Look at it');
    expect(error.data).toEqual({ notPutBack: ["file:mkdir"] });
  });

  test.each([[undefined], [null], ["file:mkdir"], [{ tool: 1 }]])(
    "may be missing, or anything from elsewhere: %j",
    (next) => {
      expect(say("See file:mkdir", next)).toBe("See file:mkdir");
    },
  );
});
