import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { approvalRequired } from "../../../src/core/errors/approval-texts.js";
import { adapterError } from "../../../src/core/errors/errors.js";
import { invalidPattern, isADirectory, notFound, parentMissing } from "../../../src/core/errors/texts.js";
import type { OperationMetadata } from "../../../src/core/ports/adapter.js";
import { failureContent } from "../../../src/surfaces/mcp/failure.js";
import { cleanUp, makeFolder } from "../../cli/process.js";
import { compressedPdf } from "../../documents/make-pdf.js";
import { etagOfContent } from "../../ops/content/etags.js";
import { gif, jpeg, png, webp } from "../../ops/rendering/images.js";
import { type RawHere, rawHere } from "./here.js";
import { type Answer, restOf, textOf } from "./sessions.js";

afterAll(cleanUp);

describe("answers of tools", () => {
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

  let raw: RawHere;
  beforeAll(async () => {
    raw = await rawHere(["--root", `r=${folder}`]);
  });

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
      expect(content[0]).toMatchObject({
        type: "resource",
        resource: { blob: PNG.subarray(0, 20).toString("base64") },
      });
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
});

describe("failures of tools", () => {
  const CODE = Array.from({ length: 60 }, (_, line) => `  const value${line} = compute(${line});\n`).join("");
  const folder = realpathSync(makeFolder({ "src/code.ts": CODE, "src/lib/a.ts": "a\n" }));

  let raw: RawHere;
  beforeAll(async () => {
    raw = await rawHere(["--root", `r=${folder}`]);
  });

  const texts = async (name: string, input: object): Promise<string[]> =>
    (await raw.call(name, { root: "r", ...input })).result.content.map((block) => String(block["text"]));

  describe("the content of a failure", () => {
    test("is one block where nothing helps further", async () => {
      expect(await texts("file_stat", { path: "../x" })).toEqual(["Path escapes root 'r': ../x [PATH_ESCAPES_ROOT]"]);
    });

    test("has an advice once", () => {
      const hint = "Nobody can be asked here";
      const effects = [{ root: "r", path: "a", action: "delete" }] as const;
      const tool = { name: "file:delete", toolName: "file_delete" } as OperationMetadata;
      const shown = failureContent(approvalRequired({ effects, hint }), tool);
      expect(shown.map((block) => "text" in block && block.text)).toEqual([
        `A person has to allow this: delete "a" in root 'r'. ${hint} [APPROVAL_REQUIRED]`,
      ]);
    });

    test("names tools as this client knows them", async () => {
      expect(await texts("file_read", { path: "src/lib" })).toEqual([
        "Not a regular file: src/lib. It is a directory: list it with file_list [IS_A_DIRECTORY]",
      ]);
      expect(await texts("file_write", { path: "no/x", content: "x" })).toEqual([
        "Parent directory does not exist: no. Pass parents: true or call file_mkdir [PARENT_MISSING]",
      ]);
    });

    test("says how a move names its target", async () => {
      expect(await texts("file_move", { path: "src/code.ts", to: "src/lib" })).toEqual([
        "Already exists: src/lib. 'to' is the whole new path, name included; overwrite: true replaces a file [ALREADY_EXISTS]",
      ]);
    });

    test("has the nearest text of an edit that does not match, at most 600 characters", async () => {
      const oldText = CODE.replaceAll("compute", "Compute");
      const [first, second = ""] = await texts("file_edit", { path: "src/code.ts", oldText, newText: "x" });
      expect(first).toMatch(/^Edit 1 of 1 does not match "src\/code\.ts"\. Nearest: .* \[NO_MATCH\]$/);
      const [told, ...lines] = second.split("\n");
      expect(told).toBe("Nearest text, lines 1-60:");
      expect(CODE.startsWith(lines[0] ?? "-")).toBe(true);
      expect(lines.join("\n").length).toBeGreaterThan(100);
      expect(lines.join("\n").length).toBeLessThanOrEqual(600);
    });

    test("has the current etag of a conflict", async () => {
      const etag = etagOfContent("a\n");
      const input = { path: "src/lib/a.ts", content: "b", ifMatch: "aaaaaaaa" };
      expect((await texts("file_write", input)).slice(1)).toEqual([`Current etag: ${etag}`]);
      const missing = { ...input, path: "src/none" };
      expect((await texts("file_write", missing)).slice(1)).toEqual(["Nothing is there now"]);
    });
  });

  const TOOL = { name: "file:read", toolName: "file_read" } as OperationMetadata;
  const first = (error: Parameters<typeof failureContent>[0]): string => {
    const [block] = failureContent(error, TOOL);
    return block?.type === "text" ? block.text : "";
  };

  describe("the first block", () => {
    const at = (path: string) => ({ root: "docs", path });
    const hex = "0f3a9c7be1".repeat(20);
    test.each([
      ["a hash", notFound(at(hex))],
      ["hashes and spaces", notFound(at(hex.match(/.{4}/g)?.join(" ") ?? ""))],
      ["Chinese", parentMissing(at("漢字".repeat(60)))],
      ["pictures", isADirectory(at("😀".repeat(90)))],
      ["rare letters", isADirectory(at("ꀀᏣ ".repeat(60)))],
      ["controls", notFound(at("\u202e".repeat(90)))],
      ["half a character", notFound(at(`${"a".repeat(1999)}\ud83d\ude00`))],
      ["a pattern", invalidPattern("[".repeat(1000), "not closed")],
      ["words", adapterError("INVALID_INPUT", "many words of no use at all ".repeat(50))],
    ])("takes 75 tokens at most, and keeps the code: %s", (_, error) => {
      const text = first(error);
      expect(encode(text).length).toBeLessThanOrEqual(75);
      expect(text).toContain("…");
      expect(text.endsWith(` [${error.code}]`)).toBe(true);
      expect(text.isWellFormed()).toBe(true);
    });

    test("is whole where it is short", () => {
      const path = "src/main/java/org/example/application/service/UserAccountService.java";
      expect(first(notFound(at(path)))).toBe(`Not found: docs:${path} [NOT_FOUND]`);
    });

    test("is the text alone for a tool of a profile", () => {
      const error = adapterError("NOT_FOUND", "no such file", { hint: "look elsewhere" });
      expect(failureContent(error, { ...TOOL, isVerbatim: true })).toEqual([{ type: "text", text: "no such file" }]);
      expect(failureContent(error, TOOL)).toHaveLength(2);
    });
  });
});

describe("budgets of answers", () => {
  const LINE = "  const answer = await read(path, { offset, length });";
  const SOURCE = Array.from({ length: 1000 }, (_, index) => `${LINE} // ${index}\n`).join("");
  const NAMES = ["index.ts", "server.ts", "read-file.test.ts", "package.json", "README.md", "content-headers.ts"];
  const BLOB = randomBytes(60_000);
  /** Nearly 40 bytes. */
  const LONG = "packages/core/src/dispatch/dispatch.ts";

  const folder = realpathSync(
    makeFolder({
      "source.ts": SOURCE,
      "long.txt": "x".repeat(99).concat("\n").repeat(40_000),
      "blob.bin": BLOB,
      ".env": "SECRET=1",
      [LONG]: "x",
      ...Object.fromEntries(
        Array.from({ length: 60 }, (_, index) => [`tree/part${index % 10}/${NAMES[index % 6] ?? ""}`, "x"]),
      ),
      ...Object.fromEntries(
        Array.from({ length: 1000 }, (_, index) => [`list/${index}-${NAMES[index % 6] ?? ""}`, "x".repeat(index * 7)]),
      ),
      "config.json5": `{ mcp: { tools: "full" }, file: { roots: { r: { path: ".", deny: ["@secrets", "dispatch.ts"] } } } }`,
      "caps.json5": `[{ with: "file://r/tree/part1/", can: "crud/read" }, { with: "file://r/tree/part2/", can: "crud/read" },
      { with: "file://r/tree/part3/", can: "crud/read" }, { with: "file://r/tree/part4/", can: "crud/write" }]`,
    }),
  );

  let raw: RawHere;
  beforeAll(async () => {
    raw = await rawHere(["--config", "config.json5"], { cwd: folder });
  });

  const tokens = (text: string): number => encode(text).length;

  test("a tree costs at most five tokens an entry", async () => {
    const { result } = await raw.call("file_tree", { root: "r", path: "tree" });
    const text = textOf(result);
    const entries = text.split("\n").length - 2;
    expect(entries).toBeGreaterThan(30);
    expect(tokens(text) / entries).toBeLessThanOrEqual(5);
    expect(text).not.toContain(folder);
  });

  test("a list costs at most nine tokens an entry", async () => {
    const { result } = await raw.call("file_list", { root: "r", path: "list" });
    const text = textOf(result);
    expect(text.split("\n")).toHaveLength(1001);
    expect(tokens(text)).toBeLessThanOrEqual(9000);
  });

  test("line numbers add at most 16 percent", async () => {
    const read = async (lineNumbers: boolean) =>
      textOf((await raw.call("file_read", { root: "r", path: "source.ts", line: 1, limit: 500, lineNumbers })).result);
    const [plain, numbered] = [await read(false), await read(true)];
    expect(numbered.startsWith(`1\t${LINE}`)).toBe(true);
    expect(tokens(numbered) / tokens(plain)).toBeLessThanOrEqual(1.16);
  });

  test.each([
    ["text", "source.ts", Buffer.byteLength(SOURCE), 1.1],
    ["bytes", "blob.bin", BLOB.length, 1.36],
  ])("a body of %s takes at most its size on the wire and a little", async (_kind, path, size, most) => {
    const { line, result } = await raw.call("file_read", {
      ...{ root: "r", path, maxBytes: 1_000_000 },
      ...(path === "blob.bin" ? { mode: "bytes" } : {}),
    });
    expect(result.isError ?? false).toBe(false);
    expect(Buffer.byteLength(line) / size).toBeLessThanOrEqual(most);
  });

  test.each([
    ["by default", {}, 65_536],
    ["in as many bytes as were asked for", { maxBytes: 10_000 }, 10_000],
    ["in a range of bytes", { offset: 5, length: 20_000 }, 20_000],
    ["in a longer range of bytes", { offset: 5, length: 200_000 }, 65_536],
    ["in as many lines as were asked for", { line: 100, limit: 39_000 }, 65_536],
    ["from the end, in as many lines as were asked for", { tail: 30_000 }, 65_536],
    ["in lines", { line: 100, limit: 39_000, maxBytes: 30_000 }, 30_000],
    ["from the end", { tail: 30_000, maxBytes: 30_000 }, 30_000],
  ])("a read keeps to its budget: %s", async (_name, input, budget) => {
    const { line, result } = await raw.call("file_read", { root: "r", path: "long.txt", ...input });
    const body = textOf(result);
    expect(Buffer.byteLength(body)).toBeGreaterThan(0);
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(budget);
    expect(Buffer.byteLength(line)).toBeLessThanOrEqual(budget * 1.1 + 2048);
  });

  test("a denial costs at most 75 tokens with its code, by policy and by capabilities", async () => {
    const narrow = await rawHere(["--config", "config.json5", "--caps", "caps.json5"], { cwd: folder });
    const answers = [
      await raw.call("file_read", { root: "r", path: LONG }),
      await raw.call("file_read", { root: "r", path: ".env" }),
      await raw.call("file_write", { root: "r", path: LONG, content: "y" }),
      await narrow.call("file_read", { root: "r", path: LONG }),
      await narrow.call("file_delete", { root: "r", path: LONG }),
    ];
    for (const { result } of answers) {
      expect(result.isError).toBe(true);
      expect(result).not.toHaveProperty("structuredContent");
      expect({ text: textOf(result), most: tokens(textOf(result)) <= 75 }).toMatchObject({ most: true });
    }
    await narrow.process.stop();
  });
});

describe("overviews", () => {
  const folder = makeFolder({
    ".gitignore": "out/\n",
    ".git/HEAD": "ref: refs/heads/main\n",
    "out/bundle.js": "x",
    "src/index.ts": "x",
  });

  const many = makeFolder(
    Object.fromEntries(
      [..."abcdefghijklmnopqrstuvwxyz"].flatMap((letter) =>
        Array.from({ length: 30 }, (_, folder) => [`part${folder}/${letter}.ts`, "x"]),
      ),
    ),
  );

  let raw: RawHere;
  let own: RawHere;
  beforeAll(async () => {
    raw = await rawHere(["--root", `r=${folder}`, "--root", `many=${many}`]);
    own = await rawHere(["--root", `own=${process.cwd()}:ro`]);
  });

  describe("the overview over MCP", () => {
    test.each([[{}], [{ ignore: null }], [{ ignore: "gitignore" }]])("has what Git has: %j", async (more) => {
      const { result } = await raw.call("file_tree", { root: "r", ...more });
      expect(textOf(result)).toBe("r/\n\t.git/\n\t.gitignore\n\tsrc/\n\t\tindex.ts\n");
      expect(restOf(result)).toMatchObject({ complete: true, hidden: { gitignored: 1 } });
      expect(result.content[1]).toEqual({ type: "text", text: '1 gitignored path hidden; pass ignore: "none"' });
    });

    test("has everything where that is asked for", async () => {
      const { result } = await raw.call("file_tree", { root: "r", ignore: "none" });
      expect(textOf(result)).toBe("r/\n\t.git/\n\t\tHEAD\n\t.gitignore\n\tout/\n\t\tbundle.js\n\tsrc/\n\t\tindex.ts\n");
    });

    test("of this repository shows every folder of the first two levels", async () => {
      const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
        encoding: "utf8",
      });
      const folders = new Set<string>();
      for (const file of listed.split("\0")) {
        const [top, second] = file.split("/").slice(0, -1);
        if (top !== undefined) folders.add(top);
        if (second !== undefined) folders.add(`${top}/${second}`);
      }
      const { result } = await own.call("file_tree", { root: "own" });
      const text = textOf(result);
      const shown = new Set<string>();
      let top = "";
      for (const line of text.split("\n")) {
        const [, tabs = "", name = ""] = /^(\t{1,2})([^\t].*)\/$/.exec(line) ?? [];
        if (tabs === "\t") top = name;
        shown.add(tabs === "\t" ? name : `${top}/${name}`);
      }
      expect([...folders].filter((name) => !shown.has(name))).toEqual([]);
      expect(folders.size).toBeGreaterThan(50);
      expect(restOf(result)).toMatchObject({ entries: 500, truncated: true });
    });
  });

  test("an overview that is cut costs at most five tokens an entry", async () => {
    const { result } = await raw.call("file_tree", { root: "many" });
    const text = textOf(result);
    expect(restOf(result)).toMatchObject({ entries: 500, truncated: true });
    expect(text.match(/^\t\t… \d+ more$/gm)).toHaveLength(30);
    expect(encode(text).length / 500).toBeLessThanOrEqual(5);
  });
});
