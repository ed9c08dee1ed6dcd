import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "@jest/globals";
import { needs } from "../needs.js";
import { type Arena, inArena, staged } from "./arena.js";

const CHILD = fileURLToPath(new URL("reserve-child.mjs", import.meta.url));
const onLinux = needs(process.platform === "linux", "needs procfs to look at descriptors");

type Row = [
  name: string,
  call: string,
  operation: string,
  input: object,
  answer: object,
  check: (arena: Arena) => void,
];

const rows: Row[] = [
  [
    "a write whose content is staged",
    "writeSync",
    "write",
    { path: "a/b/c", content: "content", parents: true },
    { created: true },
    ({ root }) => expect(readFileSync(join(root, "a/b/c"), "utf8")).toBe("content"),
  ],
  [
    "a removal that took a tree out of sight",
    "renameSync",
    "delete",
    { path: "tree", recursive: true },
    { existed: true },
    ({ root }) => expect(existsSync(join(root, "tree"))).toBe(false),
  ],
  [
    "a copy of a file that has its content",
    "writeSync",
    "copy",
    { path: "one", to: "copies/one", parents: true },
    { copied: true },
    ({ root }) => expect(readFileSync(join(root, "copies/one"), "utf8")).toBe("text"),
  ],
  [
    "the removal of a copy that could not be made",
    "mkdirSync",
    "copy",
    { path: "tree", to: "copy", recursive: true },
    { code: "IO_ERROR" },
    ({ root }) => expect(existsSync(join(root, "copy"))).toBe(false),
  ],
  [
    "a move that is made, and is to be flushed",
    "linkSync",
    "move",
    { path: "one", to: "tree/moved" },
    { moved: true },
    ({ root }) => expect(existsSync(join(root, "one"))).toBe(false),
  ],
];

onLinux.each(rows)("out of descriptors, %s comes to its end", (_name, call, operation, input, answer, check) =>
  inArena((arena) => {
    const { root } = arena;
    for (const path of ["one", "tree/a/x", "tree/b/y", "tree/b/z", "tree/c/d/e"]) arena.file(path, "text");
    const argv = [CHILD, root, call, operation, JSON.stringify(input)];
    const { stdout, stderr } = spawnSync("sh", ["-c", `ulimit -n 512; exec "$@"`, "sh", process.execPath, ...argv], {
      encoding: "utf8",
    });
    expect(stderr).toBe("");
    const told = JSON.parse(stdout) as { before: number; after: number; closed: number };
    // Other calls may not use the reserve, succeed once there are descriptors, and the reserve is complete again.
    expect(told).toMatchObject({ answer, found: "EMFILE", others: { code: "IO_ERROR" }, again: { content: "" } });
    expect(told.after).toBe(told.before);
    expect(told.before - told.closed).toBe(8);
    check(arena);
    expect(staged(root) ?? []).toEqual([]);
  }),
);
