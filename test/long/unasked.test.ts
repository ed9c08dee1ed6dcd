import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { inArena, makeArena } from "../jail/arena.js";
import { ESCAPES, type EscapeRow } from "../jail/attacks/escape-rows.js";
import { ROOT } from "../jail/files.js";
import { withChild } from "../jail/start-child.js";

const strace = spawnSync("strace", ["-o", "/dev/null", "true"]).status === 0;
const maybe = strace ? test : test.skip;
const reason = strace ? "" : " (no strace here)";

const CALLS: readonly (readonly [string, Record<string, unknown>])[] = [
  ["list", {}],
  ["tree", {}],
  ["read", {}],
  ["stat", {}],
  ["write", { content: "x", parents: true }],
  ["append", { content: "x", parents: true }],
  ["mkdir", { parents: true }],
  ["delete", { recursive: true }],
];

const rows = (ESCAPES["links that leave the root"] ?? []).map((row) => [row.name, row] as const);

describe("the disk outside is never asked", () => {
  maybe.each(rows)(`%s${reason}`, async (_name, row) => {
    const asked = await systemCalls(row, async (invoke, path) => {
      for (const [operation, input] of CALLS) await invoke(operation, { path, ...input });
    });
    // The text of a link is read, and shown by strace as what readlink has answered.
    const others = asked.filter((line) => !line.includes("readlink("));
    expect(asked.some((line) => line.includes("readlink("))).toBe(true);
    expect(others.filter((line) => /outside|twin|alias/.test(line))).toEqual([]);
  });

  maybe(`control: a plain read of such a link asks it${reason}`, () => {
    const arena = makeArena();
    const log = join(arena.base, "log");
    arena.link("link", "../outside/canary.txt");
    const script = `require("node:fs").realpathSync(${JSON.stringify(join(arena.root, "link"))})`;
    spawnSync("strace", ["-f", "-o", log, "-e", "trace=%file", process.execPath, "-e", script]);
    const others = readFileSync(log, "utf8")
      .split("\n")
      .filter((line) => !/readlink\(|execve\(/.test(line));
    expect(others.some((line) => line.includes("/outside"))).toBe(true);
    arena.remove();
  });
});

/** The system calls with paths that an adapter makes from its first call on. */
async function systemCalls(
  row: EscapeRow,
  work: (
    invoke: (operation: string, input: Record<string, unknown>) => Promise<unknown>,
    path: string,
  ) => Promise<void>,
): Promise<string[]> {
  return inArena(async (arena) => {
    const undo = row.plant?.(arena);
    const log = join(arena.base, "log");
    const under = ["strace", "-f", "-s", "4096", "-o", log, "-e", "trace=%file"];
    await withChild(
      { config: { roots: { [ROOT]: { path: arena.root, durability: "none" } } }, under },
      async (child) => {
        const path = typeof row.path === "string" ? row.path : row.path(arena);
        await work((operation, input) => child.invoke(operation, input), path);
      },
    );
    if (typeof undo === "function") undo();
    const lines = readFileSync(log, "utf8").split("\n");
    // Before that, node itself and the installation are loaded.
    return lines.slice(lines.findIndex((line) => line.includes(`"${arena.root}"`)));
  });
}
