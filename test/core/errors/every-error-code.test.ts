import { execFileSync } from "node:child_process";
import { linkSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { toCallerError } from "../../../src/backend/drive/errors.js";
import { adapterError, ERROR_CODES, type ErrorCode } from "../../../src/core/errors/errors.js";
import {
  alreadyExists,
  deniedByPolicy,
  invalidPattern,
  ioError,
  noSpace,
  otherDevice,
  type Place,
  quotaExceeded,
} from "../../../src/core/errors/texts.js";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import { closedAccess } from "../../../src/venue/identity/access.js";
import { createVenueAdapters } from "../../../src/venue/operations/venue-adapters.js";
import { unavailable } from "../../../src/venue/shared/connection.js";
import { dispatchOn } from "../../dispatch/fake.js";
import { type Failure, failureOf, useGround } from "../../ops/ground.js";
import { asNobody } from "../../ops/rights.js";

const clock = { stepMs: 0, now: 0, nowMs: () => 0, monotonicMs: () => (clock.now += clock.stepMs) };
const ground = useGround({
  clock,
  limits: { maxReadBytes: 10, maxWriteBytes: 10, timeoutMs: 1000 },
  roots: {
    fixed: { temp: true, readOnly: true },
    asked: { temp: true, approve: { for: ["all"] } },
    mine: { dlfs: "notes" },
  },
});

beforeEach(() => {
  clock.stepMs = 0;
  ground.put("file", "{");
  ground.put("binary", Buffer.of(255));
  ground.put("large", "12345678901");
  ground.put("dir/inner");
  linkSync(join(ground.dir, "large"), join(ground.dir, "same"));
  symlinkSync("/etc", join(ground.dir, "out"));
  symlinkSync("nothing", join(ground.dir, "dangling"));
  execFileSync("mkfifo", [join(ground.dir, "pipe")]);
});

/** A call on the root `r` that fails. */
const fail =
  (name: string, input: object, context?: SurfaceContext): (() => Promise<Failure>) =>
  () =>
    ground.fail(name, input, context);

/** A call on a backend that fails as no healthy disk of a test machine does. */
const failing = (make: (place: Place) => unknown) => () => {
  const { call } = dispatchOn({
    backend: {
      stat(_path, access) {
        throw make(access.place);
      },
    },
  });
  return failureOf(call("stat"));
};

/** What a drive throws, as callers are told of it. */
const ofDrive = (code: ErrorCode, verb = "write") =>
  failing((place) => toCallerError(adapterError(code, "it is damaged"), { place, drive: "notes", verb }));

/** A venue that has no key cannot sign. */
function issueWithoutKey(): Promise<unknown> {
  const nobody = { roots: [], rights: unasked };
  const auth = () => ({
    grants: [],
    clockSkew: 30,
    ucan: { maxLifetime: 60, allowNoExpiry: false, acceptUnversionedCovia: false },
  });
  const parts = {
    access: closedAccess,
    files: nobody,
    clock,
    auth,
    ...{ url: () => undefined, locks: () => undefined, publicCaps: () => [] },
    keyLasts: false,
  };
  const [ucan] = createVenueAdapters(parts, { clock, logInternal: unasked });
  const input = { aud: "did:web:example.com", att: [{ with: "file://docs/", can: "crud/read" }] };
  return ucan?.invoke("ucan:issue", input) ?? Promise.resolve();
}

function unasked(): never {
  throw new Error("Nobody asks");
}

/** What produces each code. The compiler refuses this table when a code is missing in it. */
const PRODUCED: Readonly<Record<ErrorCode, () => Promise<Failure>>> = {
  INVALID_INPUT: fail("read", {}),
  UNKNOWN_ROOT: fail("read", { root: "nope", path: "" }),
  UNKNOWN_OPERATION: fail("raed", {}),
  CAPABILITY_DENIED: fail("read", { path: "file" }, { caps: [] }),
  INVALID_PATH: fail("read", { path: "a\\b" }),
  PATH_NOT_RELATIVE: fail("read", { path: "C:/x" }),
  PATH_ESCAPES_ROOT: fail("read", { path: ".." }),
  SYMLINK_ESCAPE: fail("read", { path: "out" }),
  DANGLING_SYMLINK: fail("read", { path: "dangling" }),
  APPROVAL_REQUIRED: fail("mkdir", { root: "asked", path: "x" }, { surface: "mcp" }),
  APPROVAL_DENIED: fail("mkdir", { root: "asked", path: "x", approval: "none" }, { surface: "mcp" }),
  OTHER_DEVICE: failing(otherDevice),
  READ_ONLY_ROOT: fail("mkdir", { root: "fixed", path: "x" }),
  NOT_FOUND: fail("read", { path: "none" }),
  NOT_A_DIRECTORY: fail("list", { path: "file" }),
  IS_A_DIRECTORY: fail("read", { path: "dir" }),
  NOT_A_FILE: fail("read", { path: "pipe" }),
  PARENT_MISSING: fail("mkdir", { path: "a/b" }),
  EXISTS_NOT_DIRECTORY: fail("mkdir", { path: "file" }),
  NOT_EMPTY: fail("delete", { path: "dir" }),
  ROOT_DELETE: fail("delete", { path: "" }),
  HARD_LINKED: fail("append", { path: "same", content: "x" }),
  NOT_TEXT: fail("read", { path: "binary", mode: "text" }),
  NOT_JSON: fail("read", { path: "file", mode: "json" }),
  TOO_LARGE: fail("read", { path: "large" }),
  ASSET_NOT_FOUND: fail("write", { path: "new", asset: "x" }),
  ASSET_NO_CONTENT: fail("write", { path: "new", asset: "x" }, { resolveAsset: async () => ({ content: null }) }),
  DRIVE_REQUIRES_AUTH: fail("stat", { root: "mine", path: "" }),
  CONFLICT: ofDrive("CONFLICT"),
  ALREADY_EXISTS: failing(alreadyExists),
  NO_MATCH: failing((place) => adapterError("NO_MATCH", "", { ...place })),
  AMBIGUOUS_MATCH: failing((place) => adapterError("AMBIGUOUS_MATCH", "", { ...place })),
  OVERLAPPING_EDITS: failing((place) => adapterError("OVERLAPPING_EDITS", "", { ...place })),
  INVALID_PATTERN: failing(() => invalidPattern("[", "missing ]", 0)),
  DENIED_BY_POLICY: failing((place) => deniedByPolicy(place, "read")),
  QUOTA_EXCEEDED: failing((place) => quotaExceeded(place, { used: 1, limit: 2, unit: "bytes", requested: 3 })),
  BAD_FORMAT: ofDrive("BAD_FORMAT", "import"),
  UNSUPPORTED_CELL: ofDrive("UNSUPPORTED_CELL", "import"),
  MISSING_CELL: ofDrive("MISSING_CELL", "import"),
  LIMIT: ofDrive("LIMIT", "import"),
  FUTURE_TIME: ofDrive("FUTURE_TIME", "import"),
  KEY_REQUIRED: ofDrive("KEY_REQUIRED", "import"),
  STORE_UNAVAILABLE: ofDrive("STORE_UNAVAILABLE"),
  SHARED_STATE_UNAVAILABLE: failing(() => unavailable("timeout")),
  STORE_DAMAGED: ofDrive("STORE_DAMAGED"),
  PERMISSION_DENIED: () => asNobody(ground.dir, fail("mkdir", { path: "new" })),
  NO_SPACE: failing(noSpace),
  BUSY: failing((place) => adapterError("BUSY", "", { ...place })),
  NOT_SUPPORTED: () => failureOf(issueWithoutKey()),
  TIMEOUT: () => {
    clock.stepMs = 600;
    return ground.fail("stat", { path: "file" });
  },
  ABORTED: fail("stat", { path: "file" }, { signal: AbortSignal.abort() }),
  IO_ERROR: failing((place) => ioError(place, "EIO")),
  INTERNAL: failing(() => new Error("unforeseen")),
};

describe("every error code", () => {
  test.each(Object.entries(PRODUCED))("is produced: %s", async (code, produce) => {
    expect((await produce()).code).toBe(code);
  });

  test("of the table is among them", () => {
    expect(Object.keys(PRODUCED).sort()).toEqual(Object.keys(ERROR_CODES).sort());
  });
});
