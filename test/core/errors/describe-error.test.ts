import { readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { describeError } from "../../../src/core/errors/describe-error.js";
import { anyCharacter } from "../../any-character.js";

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
    expect(stack.some((frame) => /test\/core\/errors\/describe-error\.test\.ts:\d+:\d+\)?$/.test(frame))).toBe(true);
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
