import { randomBytes } from "node:crypto";
import { realpathSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { cleanUp, makeFolder } from "../../cli/process.js";
import { type RawClient, startRaw } from "./raw.js";
import { textOf } from "./sessions.js";

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

let raw: RawClient;
beforeAll(async () => {
  raw = await startRaw(["--config", "config.json5"], { cwd: folder });
});
afterAll(cleanUp);

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
  const narrow = await startRaw(["--config", "config.json5", "--caps", "caps.json5"], { cwd: folder });
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
