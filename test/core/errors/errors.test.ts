import { execFileSync } from "node:child_process";
import { linkSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { beforeEach, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { toCallerError } from "../../../src/backend/drive/errors.js";
import { describeError } from "../../../src/core/errors/describe-error.js";
import {
  adapterError,
  ERROR_CODES,
  type ErrorCode,
  FileAdapterError,
  httpStatusOf,
} from "../../../src/core/errors/errors.js";
import { outcomeUnknown } from "../../../src/core/errors/repeat-texts.js";
import * as texts from "../../../src/core/errors/texts.js";
import {
  alreadyExists,
  conflict,
  deniedByPolicy,
  invalidPattern,
  ioError,
  noSpace,
  otherDevice,
  type Place,
  quotaExceeded,
} from "../../../src/core/errors/texts.js";
import { notPutBack } from "../../../src/core/errors/undo-texts.js";
import { worded } from "../../../src/core/errors/wording.js";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import { closedAccess } from "../../../src/venue/identity/access.js";
import { createVenueAdapters } from "../../../src/venue/operations/venue-adapters.js";
import { unavailable } from "../../../src/venue/shared/connection.js";
import { instanceLost } from "../../../src/venue/shared/lost-job.js";
import { anyCharacter } from "../../any-character.js";
import { dispatchOn } from "../../dispatch/fake.js";
import { type Failure, failureOf, useGround } from "../../ops/ground.js";
import { asNobody } from "../../ops/rights.js";

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
  ["OUTCOME_UNKNOWN", 409, -32603, false],
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
  ["SHARED_STATE_UNAVAILABLE", 503, -32603, true],
  ["INSTANCE_LOST", 500, -32603, false],
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

const message = (text: string): string => describeError(new Error(text)).message;

function thrownBy(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error("Nothing was thrown");
}

describe("the description of an error", () => {
  test("has its name, message, code and system call", () => {
    const error = thrownBy(() => readFileSync("/srv/private files/it's here"));
    expect(describeError(error)).toMatchObject({
      name: "Error",
      code: "ENOENT",
      syscall: "open",
      message: "ENOENT: no such file or directory, open '<path>'",
    });
  });

  test("knows an error of another realm", () => {
    const error = runInNewContext("new RangeError('too far')");
    expect(describeError(error)).toMatchObject({ name: "RangeError", message: "too far" });
  });

  test("has frames of the package's own files, without where the package lies", () => {
    const { stack = [] } = describeError(new TypeError("line one\n    at secret (/srv/data/secret.txt:1:1)"));
    expect(stack.some((frame) => /test\/core\/errors\/errors\.test\.ts:\d+:\d+\)?$/.test(frame))).toBe(true);
    expect(stack.length).toBeLessThanOrEqual(12);
    expect(stack.join("\n")).not.toContain("/srv");
    expect(stack.join("\n")).not.toContain(process.cwd());
  });

  test.each([
    ["at read (node:fs:123:4)", "read (node:fs:123:4)"],
    ["at async open (node:internal/fs/promises:5:6)", "async open (node:internal/fs/promises:5:6)"],
    ["at file:///opt/app/node_modules/x/lib/y.js:1:2", "node_modules/x/lib/y.js:1:2"],
    ["at new Thing (C:\\app\\thing.js:1:2)", "new Thing (<path>:1:2)"],
    ["at /home/me/my files/tool.js:10:20", "<path>:10:20"],
    ["at eval (eval at go (/home/me/a.js:1:1), <anonymous>:2:3)", "eval (<path>:2:3)"],
  ])("shortens the frame %j", (line, expected) => {
    const error = Object.assign(new Error("x"), { stack: `Error: x\n    ${line}` });
    expect(describeError(error).stack).toEqual([expected]);
  });

  test.each([
    ["Cannot open /home/me/x", "Cannot open <path>"],
    ["Cannot open /home/me/My Documents/x now", "Cannot open <path> now"],
    ["rename '/a/b c' -> '/d'", "rename '<path>' -> '<path>'"],
    ['"C:\\Users\\me\\x y" is locked', '"<path>" is locked'],
    ["C:\\Users\\me", "<path>"],
    ["\\\\server\\share\\x", "<path>"],
    ["root=/srv/data, mode=1", "root=<path>, mode=1"],
    ["(/srv/data)", "(<path>)"],
    ["file:///home/me/x.ts:1", "<path>"],
    ["unterminated '/home/me and more", "unterminated '<path>'"],
    ["got https://me:pw@host.example:8080/a/b?token=c now", "got https://host.example:8080 now"],
    ["Content-Type must be application/json and/or text/plain", null],
    ["relative/path stays, 1/2 too", null],
    ["did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK", null],
    ["Internal error (123e4567-e89b-12d3-a456-426614174000)", null],
  ])("shows %j without paths", (text, expected) => {
    expect(message(text)).toBe(expected ?? text);
  });

  test.each([
    ["a JWT", "eyJhbGciOiJFZERTQSJ9.eyJpc3MiOiJkaWQifQ.c2lnbmF0dXJl"],
    ["a bearer", "Bearer short-one"],
    ["hex", "0f".repeat(32)],
    ["base64url", "aB3_-".repeat(9)],
    ["base64", `${"aB3+/".repeat(9)}==`],
  ])("hides a token: %s", (_, token) => {
    expect(message(`refused ${token} then`)).toBe("refused <token> then");
  });

  test.each(['{"secret":tru', "the secret", '["secret" "x"]', '{"a":"secret\n"}'])(
    "keeps to itself what was no JSON: %j",
    (text) => {
      const shown = describeError(thrownBy(() => JSON.parse(text)));
      expect(shown.name).toBe("SyntaxError");
      expect(shown.message).not.toContain("secret");
    },
  );

  test("goes on with causes and the members of an aggregate, but not for ever", () => {
    const loop = new Error("loop");
    loop.cause = loop;
    let depth = 0;
    for (let one = describeError(loop).cause; one !== undefined; one = one.cause) depth++;
    expect(depth).toBe(3);
    const all = new AggregateError(
      Array.from({ length: 9 }, (_, index) => new Error(`/srv/${index}`)),
      "several",
    );
    expect(describeError(all).errors?.map((one) => one.message)).toEqual(["<path>", "<path>", "<path>", "<path>"]);
  });

  test.each<[string, unknown, object]>([
    ["a text", "no /srv/data", { name: "string", message: "no <path>" }],
    ["nothing", undefined, { name: "undefined", message: "undefined" }],
    ["null", null, { name: "object", message: "null" }],
    ["a symbol", Symbol("x"), { name: "symbol", message: "Symbol(x)" }],
    ["an object", { secret: 1 }, { name: "Object", message: "" }],
    ["an object without a prototype", Object.create(null), { name: "object", message: "" }],
    ["a numeric code", Object.assign(new Error("x"), { code: -32600 }), { code: "-32600" }],
    ["a syscall with a path", Object.assign(new Error("x"), { syscall: "spawn /bin/x" }), { syscall: "spawn <path>" }],
    [
      "a trap",
      new Proxy(new Error("x"), {
        get() {
          throw new Error("no");
        },
      }),
      { name: "unknown", message: "" },
    ],
  ])("never fails: %s", (_, thrown, expected) => {
    expect(describeError(thrown)).toMatchObject(expected);
  });

  test("is bounded, whatever its length", () => {
    const error = Object.assign(new Error("word ".repeat(100_000)), { name: "N".repeat(5000), code: "C".repeat(5000) });
    expect(JSON.stringify(describeError(error)).length).toBeLessThan(4000);
    expect(describeError(error).stack?.length).toBeGreaterThan(0);
  });

  const segment = fc.stringMatching(/^[A-Za-z0-9_.-]{3,12}$/).filter((text) => /[A-Za-z0-9]/.test(text));
  const posix = fc
    .array(segment, { minLength: 1, maxLength: 5 })
    .map((parts) => ({ parts, path: `/${parts.join("/")}` }));
  const windows = fc
    .tuple(fc.constantFrom("C", "d"), fc.array(segment, { minLength: 1, maxLength: 5 }))
    .map(([drive, parts]) => ({ parts, path: `${drive}:\\${parts.join("\\")}` }));
  const url = posix.map(({ parts, path }) => ({ parts, path: `file://${path}` }));
  const frames = ["", "", "'", '"', "`"].map((quote) => (path: string) => `${quote}${path}${quote}`);
  const around = fc.constantFrom(
    ...frames,
    (path: string) => `(${path})`,
    (path: string) => `at=${path},`,
  );

  test("lets no absolute path through, bare or quoted, nor a part of one", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.oneof(posix, windows, url), around), { minLength: 1, maxLength: 4 }),
        (found) => {
          const text = found.map(([{ path }, wrap]) => `Cannot do ${wrap(path)}`).join(" then ");
          const shown = message(text).replaceAll(/Cannot|do|then|at=|path/g, "");
          for (const [{ parts }] of found) for (const part of parts) expect(shown).not.toContain(part);
        },
      ),
    );
  });

  test("lets nothing through that the system says is a path, whatever is in it", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 60, unit: anyCharacter }), fc.boolean(), (name, asCause) => {
        const path = `/${name}`;
        const error = Object.assign(new Error(`EACCES: permission denied, open '${path}'`), {
          path,
          code: "EIO",
          syscall: "open",
        });
        const shown = describeError(asCause ? new Error("outer", { cause: error }) : error);
        const { message: text } = asCause ? (shown.cause ?? shown) : shown;
        expect(text).toBe("EACCES: permission denied, open '<path>'");
      }),
    );
  });
});

const clock = { stepMs: 0, now: 0, nowMs: () => 0, monotonicMs: () => (clock.now += clock.stepMs) };

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

describe("every error code", () => {
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
    OUTCOME_UNKNOWN: failing(() => outcomeUnknown("a")),
    INSTANCE_LOST: failing(() => instanceLost()),
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

  test.each(Object.entries(PRODUCED))("is produced: %s", async (code, produce) => {
    expect((await produce()).code).toBe(code);
  });

  test("of the table is among them", () => {
    expect(Object.keys(PRODUCED).sort()).toEqual(Object.keys(ERROR_CODES).sort());
  });
});

describe("text of a caller in a message", () => {
  const table: readonly [string, string, string][] = [
    ["a line break", "a\nb", "a\\u{a}b"],
    ["a carriage return", "\r", "\\u{d}"],
    ["NUL", "\u0000", "\\u{0}"],
    ["an escape sequence", "\u001b[31m", "\\u{1b}[31m"],
    ["DEL", "\u007f", "\\u{7f}"],
    ["the next-line control", "\u0085", "\\u{85}"],
    ["the last C1 control", "\u009f", "\\u{9f}"],
    ["line and paragraph separators", "\u2028\u2029", "\\u{2028}\\u{2029}"],
    ["bidi overrides", "\u202a\u202e", "\\u{202a}\\u{202e}"],
    ["bidi isolates", "\u2066\u2069", "\\u{2066}\\u{2069}"],
    ["bidi marks", "\u200e\u200f\u061c", "\\u{200e}\\u{200f}\\u{61c}"],
    ["a high surrogate alone", "a\ud83db", "a\\u{d83d}b"],
    ["a low surrogate alone", "\ude00", "\\u{de00}"],
    ["surrogates the wrong way round", "\ude00\ud83d", "\\u{de00}\\u{d83d}"],
  ];
  test.each(table)("shows %s", (_, text, shown) => {
    expect(texts.escapeText(text)).toBe(shown);
  });

  test.each([["grüße 😀"], ["a b"], ["\u00a0"], ["e\u0301"], ["שלום"], ["\\u{a}"], ["👩‍👩‍👧"], [""]])(
    "leaves %j as it is",
    (text) => {
      expect(texts.escapeText(text)).toBe(text);
    },
  );
});

describe("a path in a message", () => {
  test.each([[""], ["a"], ["x".repeat(200)], ["😀".repeat(200)]])("is whole up to 200 characters: %s", (path) => {
    expect(texts.pathText(path)).toBe(path === "" ? "/" : path);
  });

  test("is shortened in the middle beyond that, between characters", () => {
    expect(texts.pathText(`${"a".repeat(150)}${"b".repeat(51)}`)).toBe(
      `${"a".repeat(100)}…${"a".repeat(48)}${"b".repeat(51)}`,
    );
    expect(texts.pathText("😀".repeat(201))).toBe(`${"😀".repeat(100)}…${"😀".repeat(99)}`);
    expect(texts.pathText(`${"a".repeat(99)}\n${"b".repeat(300)}`)).toBe(`${"a".repeat(99)}\\u{a}…${"b".repeat(99)}`);
  });
});

const at = (path: string, root = "r") => ({ root, path });

/** Every text that names a place, with the start that is specified. */
const PLACED: readonly [string, (place: texts.Place) => FileAdapterError, string, string][] = [
  [
    "INVALID_PATH",
    (place) => texts.invalidPath(place, "too long"),
    "Invalid path 'a/b': too long",
    "Invalid path '/': too long",
  ],
  [
    "PATH_NOT_RELATIVE",
    texts.pathNotRelative,
    "Path must be relative to root 'r': a/b",
    "Path must be relative to root 'r': /",
  ],
  ["PATH_ESCAPES_ROOT", texts.pathEscapesRoot, "Path escapes root 'r': a/b", "Path escapes root 'r': /"],
  ["SYMLINK_ESCAPE", texts.symlinkEscape, "Path escapes root via symlink: a/b", "Path escapes root via symlink: /"],
  [
    "DANGLING_SYMLINK",
    texts.danglingSymlink,
    "Path resolves through dangling symlink: a/b",
    "Path resolves through dangling symlink: /",
  ],
  [
    "OTHER_DEVICE",
    texts.otherDevice,
    "Path is on another file system: a/b (root option crossDevice)",
    "Path is on another file system: / (root option crossDevice)",
  ],
  ["READ_ONLY_ROOT", texts.readOnlyRoot, "Root 'r' is read-only", "Root 'r' is read-only"],
  ["NOT_FOUND", texts.notFound, "Not found: r:a/b", "Not found: r:/"],
  [
    "NOT_A_DIRECTORY",
    texts.notADirectory,
    "Not a directory: a/b. Read it with file:read, or choose another path",
    "Not a directory: /. Read it with file:read, or choose another path",
  ],
  [
    "IS_A_DIRECTORY",
    texts.isADirectory,
    "Not a regular file: a/b. It is a directory: list it with file:list",
    "Not a regular file: /. It is a directory: list it with file:list",
  ],
  [
    "ALREADY_EXISTS",
    texts.alreadyExists,
    "Already exists: a/b. 'to' is the whole new path, name included; overwrite: true replaces a file",
    "Already exists: /. 'to' is the whole new path, name included; overwrite: true replaces a file",
  ],
  ["NOT_A_FILE", texts.notAFile, "Not a regular file: a/b", "Not a regular file: /"],
  [
    "PARENT_MISSING",
    texts.parentMissing,
    "Parent directory does not exist: a/b. Pass parents: true or call file:mkdir",
    "Parent directory does not exist: /. Pass parents: true or call file:mkdir",
  ],
  [
    "EXISTS_NOT_DIRECTORY",
    texts.existsNotDirectory,
    "Path exists and is not a directory: a/b",
    "Path exists and is not a directory: /",
  ],
  [
    "NOT_EMPTY",
    texts.notEmpty,
    "Directory not empty: a/b (pass recursive: true)",
    "Directory not empty: / (pass recursive: true)",
  ],
  ["HARD_LINKED", texts.hardLinked, "File has other hard links: a/b", "File has other hard links: /"],
  [
    "NOT_JSON",
    (place) => texts.notJson(place, "unexpected end"),
    "File is not valid JSON: unexpected end",
    "File is not valid JSON: unexpected end",
  ],
  [
    "TOO_LARGE",
    (place) => texts.tooLargeToRead(place, 9, 5, "Use offset and length"),
    "File is too large to read in one call: 9 bytes, limit 5. Use offset and length",
    "File is too large to read in one call: 9 bytes, limit 5. Use offset and length",
  ],
  [
    "TOO_LARGE",
    (place) => texts.contentTooLarge(place, 9, 5),
    "Content too large: 9 bytes, limit 5",
    "Content too large: 9 bytes, limit 5",
  ],
  ["ASSET_NOT_FOUND", (place) => texts.assetNotFound(place, "ref"), "Asset not found: ref", "Asset not found: ref"],
  [
    "ASSET_NO_CONTENT",
    (place) => texts.assetNoContent(place, "ref"),
    "Asset has no content: ref",
    "Asset has no content: ref",
  ],
  ["PERMISSION_DENIED", texts.permissionDenied, "Permission denied: r:a/b", "Permission denied: r:/"],
  ["NO_SPACE", texts.noSpace, "No space left: r:a/b", "No space left: r:/"],
  ["IO_ERROR", (place) => texts.ioError(place, "EIO"), "I/O error EIO: r:a/b", "I/O error EIO: r:/"],
];

describe("an error of a place", () => {
  test.each(PLACED)("%s has its text, and prints the root as a slash", (code, make, text, ofRoot) => {
    expect([make(at("a/b")).code, make(at("a/b")).message]).toEqual([code, text]);
    expect(make(at("")).message).toBe(ofRoot);
    expect(make(at("")).data).toMatchObject(at(""));
  });

  test.each(PLACED)("%s shortens a long path in its text, and has it whole in its data", (_, make, text) => {
    const path = `${"long/".repeat(800)}x`;
    expect(make(at(path)).message).toBe(text.replaceAll("a/b", texts.pathText(path)));
    expect(make(at(path)).data).toMatchObject(at(path));
  });

  test("names the place as it is in its data, and in one line in its text", () => {
    const any = fc.string({ unit: anyCharacter, maxLength: 20 });
    fc.assert(
      fc.property(fc.constantFrom(...PLACED.map(([, make]) => make)), any, any, (make, root, path) => {
        const { message, data } = make(at(path, root));
        expect(message).not.toMatch(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u);
        expect(data).toMatchObject(at(path, root));
      }),
      { numRuns: 500 },
    );
  });

  test("has the sizes in its data", () => {
    expect(texts.contentTooLarge(at("a"), 9, 5).data).toEqual({ root: "r", path: "a", size: 9, limit: 5 });
    expect(texts.tooLargeToRead(at("a"), 9, 5, "").data).toEqual({ root: "r", path: "a", size: 9, limit: 5 });
  });

  test("says what to do when there are too many open files", () => {
    expect(texts.ioError(at("a"), "EMFILE").message).toBe(
      "I/O error EMFILE: r:a. The server has too many open files: raise its limit",
    );
    expect(texts.ioError(at("a"), "EMFILE").data).toEqual({ root: "r", path: "a", systemCode: "EMFILE" });
  });
});

describe("other errors", () => {
  const others: readonly [FileAdapterError, string, string, object][] = [
    [texts.unknownOperation("x"), "UNKNOWN_OPERATION", "Unknown file operation: x", {}],
    [texts.unknownRoot("x", ["a", "b"]), "UNKNOWN_ROOT", "Unknown root 'x'. Configured: [a, b]", { root: "x" }],
    [texts.unknownRoot("x", []), "UNKNOWN_ROOT", "Unknown root 'x'. Configured: []", { root: "x" }],
    [texts.rootDelete("r"), "ROOT_DELETE", "Refusing to delete the root itself", { root: "r", path: "" }],
    [texts.timedOut(30_000), "TIMEOUT", "Operation timed out after 30000 ms", {}],
    [texts.aborted(), "ABORTED", "Operation cancelled", {}],
    [texts.internalError("id"), "INTERNAL", "Internal error (id)", {}],
    [texts.invalidInput("m", "/p", "e"), "INVALID_INPUT", "m", { pointer: "/p", expected: "e" }],
  ];
  test.each(others)("%s", (error, code, message, data) => {
    expect({ code: error.code, message: error.message, data: error.data }).toEqual({ code, message, data });
  });
});
