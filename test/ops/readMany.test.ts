import { describe, expect, test } from "@jest/globals";
import type { ReadManyInput } from "../../src/schema/types.js";
import { etagOfContent } from "./content/etags.js";
import { useGround } from "./ground.js";

const ground = useGround({ limits: { maxReadBytes: 100_000 } });
type Files = ReadManyInput["files"];
const readMany = (files: Files, more: { maxBytes?: number } = {}) => ground.run("readMany", { files, ...more });

describe("file:readMany", () => {
  test("gives each file as a read of it alone would, in the order asked for", async () => {
    ground.put("a.txt", "one\ntwo\n");
    ground.put("b.bin", Buffer.of(0, 255));
    const answer = await readMany([{ path: "b.bin" }, { path: "a.txt", line: 2 }, { path: "a.txt" }]);
    const whole = { path: "a.txt", ok: true, ...(await ground.run("read", { path: "a.txt" })) };
    expect(answer).toEqual({
      files: [
        { path: "b.bin", ok: true, ...(await ground.run("read", { path: "b.bin" })) },
        { path: "a.txt", ok: true, ...(await ground.run("read", { path: "a.txt", line: 2 })) },
        whole,
      ],
      complete: true,
    });
    expect(whole).toMatchObject({ content: "one\ntwo\n", etag: etagOfContent("one\ntwo\n") });
  });

  test("goes on behind a file that fails, and says which did", async () => {
    ground.put("a", "1");
    const answer = await readMany([{ path: "none" }, { path: "../up" }, { path: "a" }]);
    const hint = "See code and message of each file that is not ok";
    expect(answer).toMatchObject({ complete: false, reason: "error", hint });
    expect(answer.files.map(({ path, ok, code, content }) => [path, ok, code ?? content])).toEqual([
      ["none", false, "NOT_FOUND"],
      ["../up", false, "PATH_ESCAPES_ROOT"],
      ["a", true, "1"],
    ]);
    expect(answer.files[0]).toEqual({ path: "none", ok: false, code: "NOT_FOUND", message: "Not found: r:none" });
  });

  test("authorises every path on its own", async () => {
    ground.put("open/a", "1");
    ground.put("closed/a", "secret");
    const context = { caps: [{ with: "file://r/open", can: "crud/read" }] };
    const files = ["closed/a", "open/a", "closed/none"].map((path) => ({ path }));
    const answer = await ground.run("readMany", { files }, context);
    expect(answer.files.map(({ ok, code }) => [ok, code])).toEqual([
      [false, "CAPABILITY_DENIED"],
      [true, undefined],
      [false, "CAPABILITY_DENIED"],
    ]);
    expect(JSON.stringify(answer)).not.toContain("secret");
    expect(ground.audit.at(-1)).toMatchObject({
      ...{ resource: "file://r/closed/a", others: ["file://r/open/a", "file://r/closed/none"] },
    });
  });

  test("fails as a whole where the root is not there, or the call is over", async () => {
    const files = [{ path: "a" }];
    expect(await ground.fail("readMany", { root: "nope", files })).toMatchObject({ code: "UNKNOWN_ROOT" });
    const signal = AbortSignal.abort();
    expect(await ground.fail("readMany", { files }, { signal })).toMatchObject({ code: "ABORTED" });
  });

  test.each([[[]], [Array.from({ length: 51 }, () => ({ path: "a" }))], [[{ path: "a", tail: 1 }]], [[{}]]])(
    "takes 1 to 50 files and what it knows of them",
    async (files) => {
      expect((await ground.fail("readMany", { files })).code).toBe("INVALID_INPUT");
    },
  );
});

describe("the budget of file:readMany", () => {
  const LINE = `${"x".repeat(99)}\n`;

  test("is shared: small files come whole, and what they leave goes to the larger ones in equal parts", async () => {
    ground.put("large", LINE.repeat(400));
    ground.put("small", LINE);
    ground.put("larger", LINE.repeat(900));
    ground.put("middle", LINE.repeat(5));
    const files = ["large", "small", "larger", "middle", "none"].map((path) => ({ path }));
    const answer = await readMany(files, { maxBytes: 4650 });
    expect(answer).toMatchObject({ complete: false, reason: "bytes" });
    expect(answer.hint).toBe("Go on with file:read from nextLine or nextOffset");
    expect(answer.files.map(({ path, content, nextLine }) => [path, content?.length, nextLine])).toEqual([
      ["large", 2000, 21],
      ["small", 100, undefined],
      ["larger", 2000, 21],
      ["middle", 500, undefined],
      ["none", undefined, undefined],
    ]);
    expect(answer).not.toHaveProperty("notRead");
  });

  test("leaves out what would get less than is of use, and the rest comes with the next calls", async () => {
    let left = Array.from({ length: 20 }, (_, index) => `file${index}`);
    for (const path of left) ground.put(path, LINE.repeat(9));
    let calls = 0;
    for (; left.length > 0 && calls < 20; calls++) {
      const answer = await readMany(
        left.map((path) => ({ path })),
        { maxBytes: 1024 },
      );
      expect(answer.files.every(({ length = 0 }) => length >= 200)).toBe(true);
      if (answer.notRead !== undefined) expect(answer.hint).toMatch(/call file:readMany with notRead$/i);
      left = answer.notRead ?? [];
    }
    expect(calls).toBe(5);
  });

  test("lets a smaller file in where a larger one did not fit", async () => {
    ground.put("a", LINE.repeat(9));
    ground.put("blob", Buffer.alloc(500));
    ground.put("c", "small\n");
    const answer = await readMany([{ path: "a" }, { path: "blob" }, { path: "c" }], { maxBytes: 1000 });
    expect(answer).toMatchObject({ complete: false, notRead: ["blob"], hint: "Call file:readMany with notRead" });
    expect(answer.files.map(({ path }) => path)).toEqual(["a", "c"]);
    const alone = await readMany([{ path: "blob" }], { maxBytes: 400 });
    expect(alone.files).toMatchObject([{ ok: false, code: "TOO_LARGE" }]);
  });

  test("is 64 KiB unless more is asked for, and never more than one read may have", async () => {
    const total = async (maxBytes?: number) => {
      const answer = await readMany([{ path: "a" }, { path: "b" }], maxBytes === undefined ? {} : { maxBytes });
      return answer.files.reduce((sum, { content = "" }) => sum + content.length, 0);
    };
    ground.put("a", LINE.repeat(600));
    ground.put("b", LINE.repeat(600));
    expect(await total()).toBe(65_500);
    expect(await total(1_000_000)).toBe(100_000);
    const files = [{ path: "a" }, { path: "b" }];
    const budget = { defaultBytes: 10, defaultLines: 1, maxBytes: 2000 };
    const answer = await ground.run("readMany", { files, maxBytes: 5000 }, { budget });
    expect(answer.files).toMatchObject([
      { length: 1000, nextLine: 11 },
      { length: 1000, nextLine: 11 },
    ]);
    const byDefault = await ground.run("readMany", { files }, { budget: { ...budget, defaultBytes: 600 } });
    expect(byDefault.files).toMatchObject([{ length: 300 }, { length: 300 }]);
  });

  test("may be narrower for one file", async () => {
    ground.put("a", LINE.repeat(3));
    const answer = await readMany([
      { path: "a", maxBytes: 150 },
      { path: "a", line: 2, limit: 1 },
    ]);
    expect(answer.files).toMatchObject([
      { content: LINE, complete: false, nextLine: 2 },
      { content: LINE, complete: true, startLine: 2 },
    ]);
    expect(answer).toMatchObject({ complete: false, reason: "bytes" });
    expect(answer.hint).toBe("Go on with file:read from nextLine or nextOffset");
  });
});

test("a model sees a line about each file before its body, and which call comes next", async () => {
  ground.put("a", "one\n");
  ground.put("b", "two");
  ground.put("c", `${"x".repeat(200)}\n`.repeat(2));
  const files = ["a", "b", "none", "c", "c"].map((path) => ({ path }));
  const seen = await ground.render("readMany", { files, maxBytes: 300 });
  const lines = seen.kind === "text" ? String(seen.text).split("\n") : [];
  const [a = "", one, b = "", two, none = "", c = "", body, end] = lines;
  expect([one, two, body, end]).toEqual(["one", "two", "x".repeat(200), ""]);
  expect([a, b, none, c].map((line) => JSON.parse(line))).toMatchObject([
    { path: "a", ok: true, size: 4, etag: etagOfContent("one\n") },
    { path: "b", ok: true, size: 3 },
    { path: "none", ok: false, code: "NOT_FOUND" },
    { path: "c", ok: true, length: 201, nextLine: 2 },
  ]);
  expect(lines.every((line) => !line.includes('"content"'))).toBe(true);
  expect(seen.note).toBe(
    'Cut: "c". Go on with file_read from nextLine or nextOffset. Not read: "c". Call file_readMany with them',
  );
  expect(seen.rest).toEqual({ complete: false, reason: "bytes" });
});
