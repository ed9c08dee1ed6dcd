#!/usr/bin/env node
// A tool of a profile next to the operation that it is mapped onto, in the library: `npm run bench:profiles`.
// In processor time, which neighbours on the machine do not change much.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFileAdapter, createProfile } from "venue-files";

const ROUNDS = Number(process.argv[2] ?? 61);
const TARGET = 1.25;

const base = mkdtempSync(join(tmpdir(), "venue-bench-"));
const files = await createFileAdapter({ roots: { r: { path: base, durability: "none" } } });
try {
  const jettson = createProfile(files, { profile: "jettson", root: "r", prefix: "ws" });
  mkdirSync(join(base, "ws/dir"), { recursive: true });
  const text = "A line of text.\n";
  for (const [name, bytes] of [
    ["small", 4096],
    ["medium", 65_536],
  ]) {
    writeFileSync(join(base, "ws", name), text.repeat(bytes / text.length));
  }
  for (let index = 0; index < 20; index++) writeFileSync(join(base, `ws/dir/f${index}`), "x");
  const content = text.repeat(256);
  const call = (tool, args) => jettson.call(`jettson_files_${tool}`, args);
  const core = (name, input) => files.invoke(`file:${name}`, { root: "r", ...input });
  const range = { encoding: "utf-8", offset: 0, length: 1_048_576 };
  const everruns = createProfile(files, { profile: "everruns", root: "r", prefix: "ws" });
  const session = (tool, args) => everruns.call(tool, args);
  /** One way, and back, for each file. */
  const replacements = () => {
    let turns = 0;
    return () => (turns++ % 2 === 0 ? ["one", "two"] : ["two", "one"]);
  };
  const [ofTool, ofOperation] = [replacements(), replacements()];
  writeFileSync(join(base, "ws/edited"), `one\n${content}`);
  writeFileSync(join(base, "ws/edited-2"), `one\n${content}`);
  let seen = await session("read_file", { path: "edited" });
  const rows = [
    ["read 4 KB", 1000, () => call("read", { path: "small" }), () => core("read", { path: "ws/small", ...range })],
    ["read 64 KB", 500, () => call("read", { path: "medium" }), () => core("read", { path: "ws/medium", ...range })],
    [
      "write 4 KB",
      200,
      () => call("write", { path: "w", content }),
      () => core("write", { path: "ws/v", content, parents: true }),
    ],
    [
      "list 20 entries",
      500,
      () => call("list", { path: "dir" }),
      () => core("list", { path: "ws/dir", limit: 10_000 }),
    ],
    [
      "write and delete",
      100,
      async () => {
        await call("write", { path: "d", content });
        await call("delete", { path: "d" });
      },
      async () => {
        await core("write", { path: "ws/e", content, parents: true });
        await core("delete", { path: "ws/e" });
      },
    ],
    [
      "everruns: read 4 KB",
      1000,
      () => session("read_file", { path: "small" }),
      () => core("read", { path: "ws/small" }),
    ],
    ["everruns: stat", 1000, () => session("stat_file", { path: "small" }), () => core("stat", { path: "ws/small" })],
    [
      "everruns: list 20 entries",
      500,
      () => session("list_directory", { path: "dir" }),
      () => core("list", { path: "ws/dir" }),
    ],
    [
      "everruns: write 4 KB",
      200,
      () => session("write_file", { path: "w", content }),
      () => core("write", { path: "ws/v", content, parents: true }),
    ],
    [
      "everruns: edit 4 KB",
      200,
      async () => {
        const [old_text, new_text] = ofTool();
        seen = await session("edit_file", {
          ...{ path: "edited", expected_hash: seen.content_hash, old_text, new_text },
        });
        if (seen.error !== undefined) throw new Error(seen.error);
      },
      () => {
        const [oldText, newText] = ofOperation();
        return core("edit", { path: "ws/edited-2", oldText, newText });
      },
    ],
  ];
  process.stdout.write("| call | tool, µs | operation, µs | ratio |\n|---|---|---|---|\n");
  for (const [title, count, tool, operation] of rows) {
    const times = { tool: [], operation: [] };
    await timeOf(tool, count);
    await timeOf(operation, count);
    for (let round = 0; round < ROUNDS; round++) {
      // In turns, so that whatever else the machine does hits both.
      times.tool.push(await timeOf(tool, count));
      times.operation.push(await timeOf(operation, count));
    }
    const ratio = median(times.tool.map((time, round) => time / times.operation[round]));
    const [a, b] = [median(times.tool), median(times.operation)].map((time) => time.toFixed(1));
    process.stdout.write(`| ${title} | ${a} | ${b} | ${ratio.toFixed(2)}${ratio > TARGET ? " (too much)" : ""} |\n`);
  }
} finally {
  await files.close();
  rmSync(base, { recursive: true, force: true });
}

async function timeOf(work, count) {
  const start = process.cpuUsage();
  for (let index = 0; index < count; index++) await work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / count;
}

function median(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}
