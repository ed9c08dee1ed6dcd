import { execFileSync } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { Ajv } from "ajv";
import { OPERATIONS } from "../../src/ops/registry.js";
import { useGround } from "../ops/ground.js";

const ground = useGround({ journal: true, roots: { tmp: { temp: true, description: "scratch" } } });
const BUDGET = { budget: { defaultBytes: 3, defaultLines: 1, maxBytes: 100 } };

beforeEach(() => {
  ground.put("dir/file.txt", "text\nmore\n");
  ground.put("binary", Buffer.of(0, 255));
  ground.put("a.json", "[null]");
  symlinkSync("dir", join(ground.dir, "link"));
  execFileSync("mkfifo", [join(ground.dir, "pipe")]);
  writeFileSync(Buffer.concat([Buffer.from(`${ground.dir}/`), Buffer.of(0xff)]), "");
});

/** At least one call for each shape that an answer can have. */
const CALLS: readonly [string, object, object?][] = [
  ["roots", {}],
  ["list", {}],
  ["list", { path: "dir", limit: 1 }],
  ["list", { offset: 100 }],
  ["glob", { pattern: "**" }],
  ["glob", { pattern: "**", limit: 1, type: "any" }],
  ["grep", { pattern: "e", context: 1 }],
  ["grep", { pattern: "e", output: "files" }],
  ["grep", { pattern: "e", output: "count", limit: 1 }],
  ["du", {}],
  ["du", { depth: 3, limit: 1 }],
  ["tree", { info: "size" }],
  ["tree", { maxEntries: 1 }],
  ["tree", { maxDepth: 1 }],
  ["read", { path: "dir/file.txt" }],
  ["read", { path: "dir/file.txt" }, BUDGET],
  ["read", { path: "dir/file.txt", offset: 2, length: 3 }],
  ["read", { path: "binary" }],
  ["read", { path: "binary", offset: 9 }],
  ["read", { path: "a.json", mode: "json" }],
  ["read", { path: "dir/file.txt", line: 2 }],
  ["read", { path: "dir/file.txt", tail: 1, maxBytes: 3, lineNumbers: true, encoding: "latin1" }],
  ["readMany", { files: [{ path: "dir/file.txt" }, { path: "binary" }, { path: "none" }] }],
  ["readMany", { files: [{ path: "dir/file.txt" }, { path: "dir/file.txt", line: 2 }], maxBytes: 7 }],
  ["hash", { path: "dir/file.txt" }],
  ["stat", { path: "dir/file.txt" }],
  ["stat", { path: "dir/file.txt", hash: true }],
  ["stat", { path: "link" }],
  ["stat", { path: "pipe" }],
  ["stat", { path: "none" }],
  ["create", { path: "made" }],
  ["create", { content: { inline: "x", contentType: "text/plain", fileName: "made.txt" }, operationId: "make-1" }],
  ["write", { path: "new", content: "x" }],
  ["write", { path: "binary", bytes: "" }],
  ["append", { path: "new", value: null }],
  ["append", { path: "binary", content: "x" }],
  ["edit", { path: "dir/file.txt", oldText: "more", newText: "less" }],
  ["edit", { path: "dir/file.txt", edits: [{ oldText: "e", newText: "e", expect: 2 }], dryRun: true }],
  [
    "edit",
    { path: "dir/file.txt", oldText: "t", newText: "T", expect: 2 },
    { caps: [{ with: "file://r/", can: "crud/write" }] },
  ],
  ["patch", { changes: [{ op: "edit", path: "dir/file.txt", edits: [{ oldText: "t", newText: "T", expect: 2 }] }] }],
  ["patch", { changes: [{ op: "write", path: "dir/other", content: "x" }], dryRun: true }],
  ["mkdir", { path: "a/b", parents: true }],
  ["mkdir", { path: "" }],
  ["move", { path: "a.json", to: "b.json" }],
  ["copy", { path: "dir", to: "copied", recursive: true }],
  ["delete", { path: "dir", recursive: true }],
  ["delete", { path: "none" }],
  ["history", {}],
  ["trash", {}],
  ["purge", { all: true }],
  ["watch", {}],
  ["watch", { cursor: "A".repeat(22) }],
];

describe("an answer", () => {
  test.each(CALLS)("of file:%s %j is what its schema says", async (name, input, context = {}) => {
    const operation = ground.adapter.operations.find((one) => one.name === `file:${name}`);
    const validate = new Ajv({ strict: true, allErrors: true }).compile(operation?.output ?? false);
    const output = await ground.adapter.invoke(
      `file:${name}`,
      name === "roots" ? {} : { root: "r", ...input },
      context,
    );
    validate(output);
    expect(validate.errors).toBeNull();
    // It is plain JSON: nothing is lost on the way to a client.
    expect(JSON.parse(JSON.stringify(output))).toEqual(output);
  });

  test("is checked above for every operation that needs no venue, and no history of its own", () => {
    const names = OPERATIONS.map(({ name }) => name).filter((name) => !["transfer", "undo", "restore"].includes(name));
    expect(new Set(CALLS.map(([name]) => name))).toEqual(new Set(names));
  });

  test("of another shape would be noticed", () => {
    const stat = ground.adapter.operations.find(({ name }) => name === "file:stat");
    const validate = new Ajv({ strict: true }).compile(stat?.output ?? {});
    expect(validate({ exists: true, size: "1" })).toBe(false);
    expect(validate({ exists: false, inode: 1 })).toBe(false);
  });
});
