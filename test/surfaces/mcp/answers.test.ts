import { readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { cleanUp, makeFolder } from "../../cli/process.js";
import { compressedPdf } from "../../documents/make-pdf.js";
import { etagOfContent } from "../../ops/content/etags.js";
import { gif, jpeg, png, webp } from "../../ops/rendering/images.js";
import { type RawClient, startRaw } from "./raw.js";
import { type Answer, restOf, textOf } from "./sessions.js";

const PNG = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const IMAGES = {
  "image/png": png([3, 2]),
  "image/jpeg": jpeg([3, 2]),
  "image/gif": gif([3, 2]),
  "image/webp": webp([3, 2]),
};
const PDF = compressedPdf("One", "Two");
const BYTES = Buffer.from([0, 1, 2, 0xff, 0xfe, 10]);

const ETAG = /^etag [a-z2-7]{8}$/;
/** The block that tells the version of a file that was read whole. */
const versionOf = (content: string | Buffer) => ({ type: "text", text: `etag ${etagOfContent(content)}` });

const folder = realpathSync(
  makeFolder({
    "text.txt": "unmistakable body\n",
    "data.json": '{ "b": [1, 2.50, null],\n  "a": "ä\\u0000" }',
    "null.json": "null",
    "pixel.png": PNG,
    "pixel.txt": PNG,
    "dir/ä b#?%.bin": BYTES,
    "dir/sub/c.txt": "c",
    "empty.txt": "",
    "two.pdf": PDF,
  }),
);

let raw: RawClient;
beforeAll(async () => {
  raw = await startRaw(["--root", `r=${folder}`]);
});
afterAll(cleanUp);

const call = async (name: string, args: Record<string, unknown>): Promise<Answer> =>
  (await raw.call(name, args)).result;
const read = (path: string, more: object = {}) => call("file_read", { root: "r", path, ...more });
const occurrences = (text: string, part: string) => text.split(part).length - 1;

describe("a body is sent once, in content alone:", () => {
  test.each<[string, string, Record<string, unknown>, string]>([
    ["text", "file_read", { root: "r", path: "text.txt" }, "unmistakable body"],
    ["a range of text", "file_read", { root: "r", path: "text.txt", offset: 2, length: 9 }, "mistakabl"],
    [
      "bytes",
      "file_read",
      { root: "r", path: "text.txt", mode: "bytes" },
      Buffer.from("unmistakable body\n").toString("base64"),
    ],
    ["an image", "file_read", { root: "r", path: "pixel.png" }, PNG.toString("base64")],
    ["a list", "file_list", { root: "r", path: "dir" }, "ä b#?%.bin"],
    ["a tree", "file_tree", { root: "r", path: "dir" }, "ä b#?%.bin"],
  ])("%s", async (_name, tool, args, body) => {
    const { line, result } = await raw.call(tool, args);
    expect(result).not.toHaveProperty("structuredContent");
    // The etag alone may stand beside it.
    for (const block of result.content.slice(1))
      expect(block).toEqual({ type: "text", text: expect.stringMatching(ETAG) });
    expect(occurrences(line, body)).toBe(1);
  });
});

describe("a body comes as", () => {
  test("text as it is, everything else about it beside", async () => {
    const answer = await read("text.txt");
    const body = "unmistakable body\n";
    expect(answer.content).toEqual([{ type: "text", text: body }, versionOf(body)]);
    expect(restOf(answer)).toEqual({ encoding: "utf-8", size: 18, mime: "text/plain", etag: etagOfContent(body) });
  });

  test("text of a range, with the range beside", async () => {
    expect(restOf(await read("text.txt", { offset: 2, length: 9 }))).toMatchObject({
      encoding: "utf-8",
      size: 18,
      mime: "text/plain",
      offset: 2,
      length: 9,
      eof: false,
    });
  });

  test("a note alone where there is no text, as some hosts refuse an empty one", async () => {
    const note = async (path: string, more: object = {}) => (await read(path, more)).content;
    const etag = etagOfContent("");
    expect(await note("empty.txt")).toEqual([{ type: "text", text: `Empty file. etag ${etag}` }]);
    expect(await note("text.txt", { line: 9 })).toEqual([
      { type: "text", text: expect.stringMatching(/^Past the end: the file has 1 line\b/) },
    ]);
    expect(await note("text.txt", { offset: 18 })).toEqual([
      { type: "text", text: expect.stringMatching(/^Past the end: the file has 18 bytes\b/) },
    ]);
    expect(await note("text.txt", { limit: 0 })).toEqual([
      { type: "text", text: expect.stringMatching(/^Nothing was asked for/) },
    ]);
    expect((await call("file_grep", { root: "r", pattern: "nowhere in it" })).content).toEqual([
      { type: "text", text: expect.stringMatching(/^No match in [1-9]\d* files/) },
    ]);
    expect((await call("file_glob", { root: "r", pattern: "*.rs" })).content).toEqual([
      { type: "text", text: expect.stringMatching(/^No match in [1-9]\d* files/) },
    ]);
  });

  test.each([
    ["data.json", '{"b":[1,2.5,null],"a":"ä\\u0000"}'],
    ["null.json", "null"],
  ])("compact JSON in json mode: %s", async (path, json) => {
    const answer = await read(path, { mode: "json" });
    const bytes = readFileSync(join(folder, path));
    expect(answer.content).toEqual([{ type: "text", text: json }, versionOf(bytes)]);
    const etag = etagOfContent(bytes);
    expect(restOf(answer)).toEqual({ size: bytes.length, mime: "application/json", etag });
  });

  test("lines for a list, with the page's end beside", async () => {
    const answer = await call("file_list", { root: "r", path: "dir", limit: 1, format: "text" });
    expect(answer.content).toEqual([
      { type: "text", text: "sub/\n" },
      { type: "text", text: 'Cut: 1 of 2 entries. Go on with after: "sub"' },
    ]);
    expect(restOf(answer)).toEqual({ total: 2, truncated: true, complete: false, reason: "limit" });
    const rest = await call("file_list", { root: "r", path: "dir", after: "sub" });
    expect(rest.content).toEqual([{ type: "text", text: `ä b#?%.bin ${BYTES.length}\n` }]);
  });

  test("compact JSON for a list where that is asked for, and nothing beside", async () => {
    const answer = await call("file_list", { root: "r", path: "dir", limit: 1, format: "json" });
    expect(textOf(answer)).toMatch(
      /^\{"entries":\[\{"name":"sub","type":"directory","size":0,"modified":\d+\}\],"total":2,"truncated":true,"complete":false,"reason":"limit"\}$/,
    );
    expect(restOf(answer)).toBeUndefined();
  });

  test("text for a tree", async () => {
    const answer = await call("file_tree", { root: "r", path: "dir" });
    expect(textOf(answer)).toBe("r/dir/\n\tsub/\n\t\tc.txt\n\tä b#?%.bin\n");
    expect(restOf(answer)).toEqual({ truncated: false, entries: 3, depthLimited: false, complete: true });
  });

  test.each(Object.entries(IMAGES))("an image block: %s", async (mimeType, bytes) => {
    const path = `new.${mimeType.slice(6)}`;
    await call("file_write", { root: "r", path, bytes: bytes.toString("base64") });
    const answer = await read(path);
    expect(answer.content).toEqual([{ type: "image", data: bytes.toString("base64"), mimeType }, versionOf(bytes)]);
    const etag = etagOfContent(bytes);
    expect(restOf(answer)).toEqual({ encoding: "base64", size: bytes.length, mime: mimeType, etag });
  });

  test("an image block by what it is, whatever its name", async () => {
    expect((await read("pixel.txt")).content).toEqual([
      { type: "image", data: PNG.toString("base64"), mimeType: "image/png" },
      versionOf(PNG),
    ]);
  });

  test("an embedded resource for other bytes, its URI percent-encoded", async () => {
    const answer = await read("dir/sub/..//./ä b#?%.bin", { mode: "bytes" });
    expect(answer.content).toEqual([
      {
        type: "resource",
        resource: {
          uri: "venue://r/dir/%C3%A4%20b%23%3F%25.bin",
          mimeType: "application/octet-stream",
          blob: BYTES.toString("base64"),
        },
      },
      versionOf(BYTES),
    ]);
  });

  test("a description for other bytes that were not asked for", async () => {
    const answer = await read("dir/ä b#?%.bin");
    expect(answer.content).toEqual([{ type: "text", text: expect.stringMatching(/^No text: /) }, versionOf(BYTES)]);
    expect(textOf(answer)).not.toContain("file_transfer");
    expect(encode(textOf(answer)).length).toBeLessThanOrEqual(300);
    expect(restOf(answer)).toMatchObject({ size: 6, mime: "application/octet-stream", etag: etagOfContent(BYTES) });
  });

  test("text by page for a PDF", async () => {
    const answer = await read("two.pdf");
    const text = expect.stringMatching(/^rendered; .* 2 pages;.*\n\n--- page 1 ---\nOne\n\n--- page 2 ---\nTwo\n$/);
    expect(answer.content).toEqual([{ type: "text", text }, versionOf(PDF)]);
  });

  test("an embedded resource for a part of an image", async () => {
    const { content } = await read("pixel.png", { mode: "bytes", length: 20 });
    expect(content[0]).toMatchObject({ type: "resource", resource: { blob: PNG.subarray(0, 20).toString("base64") } });
  });
});

describe("every answer", () => {
  test.each([
    ["of a body", "file_read", { root: "r", path: "text.txt" }],
    ["that is small", "file_stat", { root: "r", path: "text.txt" }],
    ["of a failure", "file_stat", { root: "no", path: "x" }],
  ])("%s names its job", async (_name, tool, args) => {
    expect((await call(tool, args))._meta?.["venue-files/job"]).toMatch(/^[0-9a-f]{32}$/);
  });

  test("that is small is whole in both places", async () => {
    const answer = await call("file_stat", { root: "r", path: "text.txt" });
    // With its version, where that is known already.
    const { etag: _, ...told } = answer.structuredContent as Record<string, unknown>;
    expect(told).toEqual({
      exists: true,
      type: "file",
      size: 18,
      modified: expect.any(Number),
      readOnly: false,
      mime: "text/plain",
    });
    expect(answer.content).toEqual([{ type: "text", text: JSON.stringify(answer.structuredContent) }]);
    expect(Object.keys(answer._meta ?? {})).toEqual(["venue-files/job"]);
  });
});

describe("a failure has text, code and data, and no structured content:", () => {
  test.each<[string, string, Record<string, unknown>, string, string, unknown]>([
    [
      "of a body",
      "file_read",
      { root: "r", path: "no" },
      "Not found: r:no [NOT_FOUND]",
      "NOT_FOUND",
      { root: "r", path: "no" },
    ],
    [
      "of a small answer",
      "file_mkdir",
      { root: "r", path: "a/b" },
      "Parent directory does not exist: a. Pass parents: true or call file_mkdir [PARENT_MISSING]",
      "PARENT_MISSING",
      { root: "r", path: "a", next: { tool: "file:mkdir", option: "parents" } },
    ],
    [
      "of the input",
      "file_delete",
      { root: "r", path: "dir", recusive: true },
      "Unknown field 'recusive' - did you mean 'recursive'? [INVALID_INPUT]",
      "INVALID_INPUT",
      { pointer: "/recusive", expected: "root, path, recursive, permanent, ifMatch, operationId" },
    ],
    [
      "of the path",
      "file_stat",
      { root: "r", path: "../x" },
      "Path escapes root 'r': ../x [PATH_ESCAPES_ROOT]",
      "PATH_ESCAPES_ROOT",
      { root: "r", path: "../x" },
    ],
  ])("%s", async (_name, tool, args, text, errorCode, errorData) => {
    const answer = await call(tool, args);
    expect(answer).toMatchObject({ isError: true, content: [{ type: "text", text }] });
    expect(answer).not.toHaveProperty("structuredContent");
    expect(answer._meta?.["venue-files/error"]).toEqual({ errorCode, errorData });
  });

  test("but not an answer deeper than the stack", async () => {
    const nested = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
    await call("file_write", { root: "r", path: "deep.json", content: nested });
    const answer = await read("deep.json", { mode: "json", maxBytes: 400_000 });
    expect(answer.isError).toBeUndefined();
    expect(textOf(answer) === nested).toBe(true);
  });
});

test("a form of a list that is none is refused", async () => {
  const answer = await call("file_list", { root: "r", path: "dir", format: "xml" });
  expect(answer).toMatchObject({ isError: true, _meta: { "venue-files/error": { errorCode: "INVALID_INPUT" } } });
});

test("the only root may be left out, and is the one that is asked", async () => {
  expect(textOf(await call("file_read", { path: "text.txt" }))).toBe("unmistakable body\n");
  expect(textOf(await call("file_tree", { path: "dir", root: null }))).toMatch(/^r\/dir\/\n/);
  expect(textOf(await call("file_read", { path: "none" }))).toMatch(/^Not found: r:none/);
  expect(textOf(await call("file_list", { root: "", path: "dir" }))).not.toContain("sub/");
});

const UNKNOWN_UCAN = "Unknown field 'ucan'. Known fields: root, path, hash, version";

describe("arguments are taken as they are:", () => {
  test.each<[string, string, Record<string, unknown>, string]>([
    [
      "a boolean as text",
      "file_delete",
      { root: "r", path: "dir", recursive: "true" },
      "'recursive' must be a boolean",
    ],
    ["what looks like tokens", "file_stat", { root: "r", path: "text.txt", ucan: [] }, UNKNOWN_UCAN],
  ])("%s", async (_name, tool, args, text) => {
    expect(textOf(await call(tool, args))).toBe(`${text} [INVALID_INPUT]`);
  });

  test("tokens that are none", async () => {
    const answer = await call("file_stat", { root: "r", path: "text.txt", ucans: "token" });
    expect(answer).toMatchObject({
      isError: true,
      _meta: { "venue-files/error": { errorCode: "CAPABILITY_DENIED", errorData: { reasons: ["malformed"] } } },
    });
  });

  test("tokens are taken out before the operation sees its input", async () => {
    const answer = await call("file_stat", { root: "r", path: "text.txt", ucans: ["a.b.c"] });
    expect(answer.structuredContent).toMatchObject({ exists: true });
  });

  test("text that looks like JSON stays text", async () => {
    const content = '{"a": 1 }';
    await call("file_write", { root: "r", path: "new.json", content });
    await call("file_write", { root: "r", path: "new.txt", value: content });
    expect(readFileSync(join(folder, "new.json"), "utf8")).toBe(content);
    expect(readFileSync(join(folder, "new.txt"), "utf8")).toBe(JSON.stringify(content));
  });

  test.each(["{}", [1], 1, null])("%j is refused by the protocol", async (args) => {
    const { error } = await raw.request("tools/call", { name: "file_roots", arguments: args });
    expect(error?.code).toBe(-32602);
  });
});
