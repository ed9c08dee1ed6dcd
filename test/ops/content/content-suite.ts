import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { failure, type Ground, useGround } from "../ground.js";
import { answer, assetSuite, type Method } from "./asset-suite.js";

const OLD = "old content";

/** Everything that write and append have in common. */
export function contentSuite(method: Method): void {
  sourceSuite(method);
  base64Suite(method);
  limitSuite(method);
  assetSuite(method);
  refusalSuite(method);
}

function sourceSuite(method: Method): void {
  describe(`sources of file:${method}`, () => {
    const ground = useGround();
    const sources: readonly [string, object, string][] = [
      ["text", { content: "grüße\r\n😀" }, "grüße\r\n😀"],
      ["no text at all", { content: "" }, ""],
      ["text with a byte order mark and NUL", { content: "\ufeffa\u0000" }, "\ufeffa\u0000"],
      ["a JSON object, compact", { value: { b: [1, { c: null }], a: "x" } }, '{"b":[1,{"c":null}],"a":"x"}'],
      ["whole-number keys first", { value: JSON.parse('{"b":1,"2":2,"1":3}') }, '{"1":3,"2":2,"b":1}'],
      ["null, which is a value", { value: null }, "null"],
      ["false", { value: false }, "false"],
      ["zero", { value: 0 }, "0"],
      ["a JSON text", { value: "" }, '""'],
      ["a number as a double", { value: JSON.parse("12345678901234567890") }, "12345678901234567000"],
      ["a lone surrogate in JSON, escaped", { value: "\ud800" }, '"\\ud800"'],
      ["base64", { bytes: "aGk=" }, "hi"],
      ["no bytes at all", { bytes: "" }, ""],
    ];
    test.each(sources)("may be %s", async (_, source, expected) => {
      const bytes = Buffer.byteLength(expected);
      expect(await ground.run(method, { path: "new", ...source })).toMatchObject(answer(method, bytes, true));
      expect(ground.get("new").toString()).toBe(expected);
    });

    const none =
      "Exactly one of 'content' (UTF-8 text), 'value' (JSON), 'bytes' (base64), or 'asset' (reference) is required";
    const many = "Only one of 'content', 'value', 'bytes', or 'asset' may be supplied";
    test.each([
      ["none", {}, none],
      ["one that is not there", { content: undefined }, none],
      ["text and bytes", { content: "a", bytes: "" }, many],
      ["text and a null value", { content: "", value: null }, many],
      ["all four", { content: "a", value: 1, bytes: "", asset: "x" }, many],
    ])("are never %s", async (_, source, message) => {
      ground.put("old", OLD);
      expect(await ground.fail(method, { path: "old", ...source })).toEqual({
        code: "INVALID_INPUT",
        message,
        data: { pointer: "", expected: "exactly one of content, value, bytes, asset" },
      });
      expect(ground.get("old").toString()).toBe(OLD);
    });

    test.each([["\ud800"], ["a\udfffb"], ["\ude00\ud83d"]])("are never ill-formed Unicode: %j", async (content) => {
      ground.put("old", OLD);
      const expected = {
        code: "INVALID_INPUT",
        message: "'content' is not well-formed Unicode",
        data: { pointer: "/content", expected: "Unicode text" },
      };
      expect(await ground.fail(method, { path: "old", content })).toEqual(expected);
      expect(await ground.fail(method, { path: "a/b", content, parents: true })).toEqual(expected);
      expect(ground.names()).toEqual(["old"]);
      expect(ground.get("old").toString()).toBe(OLD);
    });

    const circle: { self?: unknown } = {};
    circle.self = circle;
    test.each([
      ["a circle", circle],
      ["a function", () => 1],
      ["a symbol", Symbol("x")],
    ])("are never what JSON cannot say: %s", async (_, value) => {
      expect(await ground.fail(method, { path: "new", value })).toEqual({
        code: "INVALID_INPUT",
        message: "'value' must be a JSON value",
        data: { pointer: "/value", expected: "a JSON value" },
      });
      expect(ground.names()).toEqual([]);
      expect(ground.internal).toEqual([]);
    });

    test("may be nested as deep as one likes", async () => {
      const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
      await ground.run(method, { path: "new", value: JSON.parse(deep) });
      expect(ground.get("new").toString()).toBe(deep);
    });

    test.each([
      ["content", 1, "string"],
      ["bytes", ["QQ=="], "string"],
      ["asset", {}, "string"],
      ["parents", "true", "boolean"],
    ])("have their types: %s is never %j", async (field, value, type) => {
      expect(await ground.fail(method, { path: "new", [field]: value })).toEqual({
        code: "INVALID_INPUT",
        message: `'${field}' must be a ${type}`,
        data: { pointer: `/${field}`, expected: type },
      });
    });
  });
}

function base64Suite(method: Method): void {
  describe(`base64 of file:${method}`, () => {
    const ground = useGround();
    const good: readonly [string, string][] = [
      ["QQ==", "41"],
      ["QQ", "41"],
      ["QUI=", "4142"],
      ["QUI", "4142"],
      ["QUJD", "414243"],
      ["+/+/", "fbffbf"],
      ["AAAAAA", "00000000"],
    ];
    test.each(good)("%s is taken", async (bytes, hex) => {
      await ground.run(method, { path: "new", bytes });
      expect(ground.get("new").toString("hex")).toBe(hex);
    });

    const bad = [
      ...["Q", "QQ=", "QQ===", "=", "==", "====", "Q===", "QUJD=", "QUJD==", "QUJDQ", "QQ==QQ==", "QQ=A"],
      ...[" QQ==", "QQ== ", "QQ==\n", "Q Q=", "QQ\r\nQQ", "-_-_", "QU!D", "éé==", "QQ\u0000="],
      // The last digit carries bits that belong to no byte.
      ...["QR", "QR==", "QUJ", "QUJ="],
    ];
    test.each(bad.map((bytes) => [bytes]))("%j is refused", async (bytes) => {
      ground.put("old", OLD);
      expect(await ground.fail(method, { path: "old", bytes })).toEqual({
        code: "INVALID_INPUT",
        message: "'bytes' is not valid base64",
        data: { pointer: "/bytes", expected: "base64" },
      });
      expect(ground.get("old").toString()).toBe(OLD);
    });

    test("any bytes arrive, with and without padding", async () => {
      await fc.assert(
        fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.boolean(), async (array, padded) => {
          ground.put("file");
          const base64 = Buffer.from(array).toString("base64");
          await ground.run(method, { path: "file", bytes: padded ? base64 : base64.replace(/=+$/, "") });
          expect(ground.get("file").equals(Buffer.from(array))).toBe(true);
        }),
        { numRuns: 50 },
      );
    });
  });
}

function limitSuite(method: Method): void {
  describe(`limit of file:${method}`, () => {
    const ground = useGround({ limits: { maxWriteBytes: 12 } });
    const sources: readonly [string, object, number][] = [
      ["content, in bytes and not in characters", { content: "éééééé" }, 12],
      ["content", { content: "éééééé!" }, 13],
      ["value, as it is written", { value: ["12345678"] }, 12],
      ["value", { value: ["123456789"] }, 13],
      ["bytes, decoded", { bytes: Buffer.alloc(12).toString("base64") }, 12],
      ["bytes", { bytes: Buffer.alloc(13).toString("base64") }, 13],
    ];
    test.each(sources)("holds for %s: %j of %d bytes", async (_, source, size) => {
      if (size <= 12) {
        expect(await ground.run(method, { path: "new", ...source })).toMatchObject(answer(method, size, true));
        return;
      }
      ground.put("old", OLD);
      expect(await ground.fail(method, { path: "old", ...source })).toEqual(
        failure("TOO_LARGE", `Content too large: ${size} bytes, limit 12`, "old", { size, limit: 12 }),
      );
      expect((await ground.fail(method, { path: "a/b", parents: true, ...source })).code).toBe("TOO_LARGE");
      expect(ground.names()).toEqual(["old"]);
      expect(ground.get("old").toString()).toBe(OLD);
    });
  });
}

function refusalSuite(method: Method): void {
  describe(`file:${method} is refused, and changes nothing`, () => {
    const ground = useGround();
    for (const [why, path, parents, expected] of refusals()) {
      test(`${why} (${path})`, async () => {
        prepare(ground);
        const before = ground.names();
        expect(await ground.fail(method, { path, content: "x", parents })).toEqual(expected);
        expect(ground.names()).toEqual(before);
        expect(ground.get("file").toString()).toBe(OLD);
      });
    }
  });
}

function prepare(ground: Ground): void {
  ground.put("file", OLD);
  ground.mkdir("dir");
  symlinkSync("nothing", join(ground.dir, "dangling"));
  symlinkSync(join(ground.outside, "new"), join(ground.dir, "out"));
}

function refusals() {
  const missing = (path: string) =>
    failure("PARENT_MISSING", `Parent directory does not exist: ${path}. Pass parents: true or call file:mkdir`, path);
  return [
    ["where the parent is missing", "none/x", false, missing("none")],
    ["where more is missing", "none/none/x", false, missing("none/none")],
    [
      "below a file",
      "file/x",
      true,
      failure("NOT_A_DIRECTORY", "Not a directory: file. Read it with file:read, or choose another path", "file"),
    ],
    [
      "on a directory",
      "dir",
      true,
      failure("IS_A_DIRECTORY", "Not a regular file: dir. It is a directory: list it with file:list", "dir"),
    ],
    [
      "on the root",
      "",
      false,
      failure("IS_A_DIRECTORY", "Not a regular file: /. It is a directory: list it with file:list", ""),
    ],
    [
      "on a link to nothing",
      "dangling",
      true,
      failure("DANGLING_SYMLINK", "Path resolves through dangling symlink: dangling", "dangling"),
    ],
    ["on a link that leads out", "out", true, failure("SYMLINK_ESCAPE", "Path escapes root via symlink: out", "out")],
    ["outside", "../x", true, failure("PATH_ESCAPES_ROOT", "Path escapes root 'r': ../x", "../x")],
  ] as const;
}
