import { existsSync, type Stats } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { isLinux } from "../../../src/core/system.js";
import { type Arena, CANARY, INSIDE, inArena, makeArena } from "../arena.js";
import { ENGINES, type Engine, type Files, type Outcome, openFiles, outcomeOf } from "../files.js";
import { ATTEMPT_NAMES, ATTEMPTS, type AttemptName } from "./attempts.js";
import { ESCAPES, type EscapeRow, type PlainResult } from "./escape-rows.js";

const TEXTS: Readonly<Record<string, RegExp>> = {
  SYMLINK_ESCAPE: /^Path escapes root via symlink: /,
  DANGLING_SYMLINK: /^Path resolves through dangling symlink: /,
  PATH_ESCAPES_ROOT: /^Path escapes root 'r': /,
  PATH_NOT_RELATIVE: /^Path must be relative to root 'r': /,
  INVALID_PATH: /^Invalid path '.*': (Nul|control|backslash|not valid|too|reserved)/,
};

/** The thread pool changes when a call is made, not which: there the links that lead out are enough. */
const enginesFor = (group: string): readonly Engine[] =>
  ENGINES.filter((engine) => !engine.includes("pool") || group === "links that leave the root");

describe.each(Object.entries(ESCAPES))("%s", (group, rows) => {
  describe.each(enginesFor(group))("by %s", (engine) => {
    let arena: Arena;
    let files: Files;
    beforeAll(async () => {
      arena = makeArena();
      files = await openFiles(arena.root, engine);
    });
    afterAll(async () => {
      await files.close();
      arena.remove();
    });

    test.each(rows.map((row) => [row.name, row] as const))("%s", async (_name, row) => {
      const codes: Record<string, string> = {};
      const left = [...ATTEMPT_NAMES];
      while (left.length > 0) {
        arena.reset();
        await planted(arena, row, async (path) => {
          for (let name = left.shift(); name !== undefined; name = left.shift()) {
            codes[name] = await attempt(files, { arena, path, name });
            // What was changed inside is put back before the next attempt.
            if (codes[name] === "ok" && ATTEMPTS[name].changes) break;
          }
        });
      }
      expect(codes).toEqual(row.answers);
    });
  });

  describe("control: plain node:fs", () => {
    // Magic links are procfs's.
    const there = rows.filter(({ name }) => isLinux() || !name.startsWith("magic link"));
    const controls = there.flatMap((row) =>
      Object.entries(row.plain).map(([name, result]) => [result, name, row.name, row] as const),
    );
    test.each(controls)("%s: %s, %s", async (result, name, _name, row) => {
      await inArena(async (arena) => {
        await planted(arena, row, async (path) => {
          const host = row.plainPath?.(arena, path) ?? `${arena.root}/${path}`;
          expect(plainResult(arena, ATTEMPTS[name as AttemptName].plain, host)).toContain(result);
        });
      });
    });
  });
});

/** Makes the attempt, and sees to it that nothing outside was changed or told, and nothing inside by a failure. */
async function attempt(
  files: Files,
  { arena, path, name }: { arena: Arena; path: string; name: AttemptName },
): Promise<string> {
  const outside = arena.outsideNow();
  const inside = arena.insideNow();
  const outcome = await outcomeOf(ATTEMPTS[name].run(files, path));
  expect(arena.outsideNow()).toEqual(outside);
  expect(withoutSaid(outcome, path)).not.toMatch(new RegExp(`${arena.base}|${CANARY}|secret|hidden(?!":)|/proc/`));
  if (outcome.code !== "ok") expect(outcome.message).toMatch(TEXTS[outcome.code] ?? /./);
  if (outcome.code !== "ok" || !ATTEMPTS[name].changes) expect(arena.insideNow()).toEqual(inside);
  return outcome.code;
}

async function planted<T>(arena: Arena, row: EscapeRow, work: (path: string) => Promise<T>): Promise<T> {
  const undo = row.plant?.(arena);
  try {
    return await work(typeof row.path === "string" ? row.path : row.path(arena));
  } finally {
    if (typeof undo === "function") undo();
  }
}

/** Everything the caller is told, without what the caller has said. */
function withoutSaid(outcome: Outcome, path: string): string {
  const quoted = JSON.stringify(path).slice(1, -1);
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".");
  return [quoted, ...segments].reduce((text, said) => text.replaceAll(said, ""), JSON.stringify(outcome));
}

/** What plain `node:fs` has done: every result that applies. */
function plainResult(arena: Arena, plain: (path: string) => unknown, path: string): PlainResult[] {
  const before = arena.outsideNow();
  const inodes = new Set(Object.values(before).map((entry) => /inode (\d+)/.exec(entry)?.[1]));
  let seen: unknown;
  try {
    seen = plain(path);
  } catch (error) {
    return [(error as NodeJS.ErrnoException).code as PlainResult];
  }
  if (!existsSync(arena.root)) return ["destroys the root"];
  const sees = isStats(seen) ? inodes.has(String(seen.ino)) : /canary|secret|hidden|outside/.test(String(seen));
  const changes = JSON.stringify(arena.outsideNow()) !== JSON.stringify(before);
  const reaches = seen === INSIDE || (Array.isArray(seen) && (seen.includes("file.txt") || seen.includes("deep.txt")));
  return [
    ...(sees || changes ? (["gets out"] as const) : []),
    ...(reaches && !sees ? (["reaches the inside"] as const) : []),
  ];
}

const isStats = (value: unknown): value is Stats => typeof value === "object" && value !== null && "ino" in value;
