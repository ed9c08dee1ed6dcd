import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import { type Arena, makeArena } from "../arena.js";
import { ATTEMPT_NAMES, type AttemptName } from "../attacks/attempts.js";
import { ENGINES, type Engine, type Files, openFiles, outcomeOf } from "../files.js";

/** Everything a caller may do below `mine`, and nothing elsewhere. */
const ONLY_MINE: SurfaceContext = { caps: [{ with: "file://r/mine", can: "crud" }] };

/** What may stand outside, or in a subtree of somebody else, under one name. */
const STATES: readonly ((path: string, arena: Arena) => void)[] = [
  () => {},
  (path) => writeFileSync(path, "x"),
  (path) => mkdirSync(path),
  (path) => {
    mkdirSync(path);
    writeFileSync(join(path, "below"), "x");
  },
  (path) => symlinkSync("nowhere", path),
  (path) => symlinkSync(path, path),
  (path) => {
    writeFileSync(`${path}-beside`, "x");
    symlinkSync(`${path}-beside`, path);
  },
  (path, { outside }) => symlinkSync(join(outside, "canary.txt"), path),
  (path, { root }) => symlinkSync(join(root, ".venue-files"), path),
];

const INPUT: Readonly<Record<AttemptName, readonly [string, Record<string, unknown>]>> = {
  list: ["list", {}],
  tree: ["tree", {}],
  grep: ["grep", { pattern: "the" }],
  read: ["read", {}],
  stat: ["stat", {}],
  write: ["write", { content: "x" }],
  "write, parents": ["write", { content: "x", parents: true }],
  append: ["append", { content: "x" }],
  "append, parents": ["append", { content: "x", parents: true }],
  mkdir: ["mkdir", {}],
  "mkdir, parents": ["mkdir", { parents: true }],
  delete: ["delete", {}],
  "delete, recursive": ["delete", { recursive: true }],
};

describe.each(ENGINES)("by %s", (engine) => {
  const ground = onGround(engine);

  test.each(ATTEMPT_NAMES)("%s of a link to the outside gives the same answer whatever exists there", async (name) => {
    const answers = await answersFor(ground(), name, "mine/out");
    expect(answers.size).toBe(1);
    // A link is deleted itself, whatever it leads to.
    if (!name.startsWith("delete")) expect([...answers][0]).toContain("SYMLINK_ESCAPE");
  });

  test.each(ATTEMPT_NAMES)(
    "%s below a link to the outside gives the same answer whatever exists there",
    async (name) => {
      for (const rest of ["/below", "/below/deep"]) {
        const answers = await answersFor(ground(), name, "mine/away", { rest });
        expect(answers.size).toBe(1);
        expect([...answers][0]).toContain("SYMLINK_ESCAPE");
      }
    },
  );

  test.each(ATTEMPT_NAMES)(
    "%s through a link into a subtree without rights gives the same answer whatever exists there",
    async (name) => {
      for (const [link, rest] of [
        ["mine/theirs", "/below"],
        ["mine/theirs", "/below/deep"],
        // Below the thing itself, which need not be a directory.
        ["mine/deep", "/more"],
        ...(name.startsWith("delete") ? [] : [["mine/theirs", ""] as const, ["mine/deep", ""] as const]),
      ] as const) {
        const answers = await answersFor(ground(), name, link, { rest, context: ONLY_MINE });
        expect(answers.size).toBe(1);
        expect([...answers][0]).toContain('"denied_by":["path_policy"]');
      }
    },
  );

  test("a link that dangles in a subtree of others and climbs back is denied", async () => {
    const answers = await answersFor(ground(), "list", "mine/back", { context: ONLY_MINE, rest: "", only: 0 });
    expect([...answers][0]).toContain('"denied_by":["path_policy"]');
  });

  test.each(ATTEMPT_NAMES)("without rights, %s gives the same answer whatever exists", async (name) => {
    const answers = await answersFor(ground(), name, "theirs/thing", { context: ONLY_MINE });
    expect(answers.size).toBe(1);
    expect([...answers][0]).toContain("CAPABILITY_DENIED");
  });

  test("control: with rights everywhere the answers differ", async () => {
    expect((await answersFor(ground(), "stat", "mine/theirs")).size).toBeGreaterThan(5);
  });
});

/** An arena and an adapter on it. */
interface Ground {
  readonly arena: Arena;
  readonly files: Files;
}

/** Opens a ground for a group of tests. Each state stands in it under a number of its own, with links to it. */
function onGround(engine: Engine): () => Ground {
  let ground: Ground | undefined;
  beforeAll(async () => {
    const arena = makeArena();
    for (const directory of ["mine", "theirs"]) arena.directory(directory);
    for (const [number, make] of STATES.entries()) {
      make(join(arena.outside, `thing${number}`), arena);
      make(join(arena.root, `theirs/thing${number}`), arena);
      arena.link(`mine/out${number}`, `../../outside/thing${number}`);
      arena.link(`mine/away${number}`, join(arena.outside, `thing${number}`));
      arena.link(`mine/theirs${number}`, `../theirs/thing${number}`);
      arena.link(`mine/deep${number}`, `../theirs/thing${number}/below`);
      arena.link(`mine/back${number}`, `../theirs/thing${number}/../../mine`);
    }
    ground = { arena, files: await openFiles(arena.root, engine) };
  });
  afterAll(async () => {
    await ground?.files.close();
    ground?.arena.remove();
  });
  return () => ground as Ground;
}

/** The different things a caller is told about one path in each of the states, with their numbers taken out. */
async function answersFor(
  { files }: Ground,
  name: AttemptName,
  path: string,
  options: { rest?: string; context?: SurfaceContext; only?: number } = {},
): Promise<Set<string>> {
  const { rest = "", context, only } = options;
  const [operation, input] = INPUT[name];
  const answers = new Set<string>();
  for (const number of STATES.keys()) {
    if (only !== undefined && only !== number) continue;
    const numbered = `${path}${number}`;
    const outcome = await outcomeOf(files.invoke(operation, { path: `${numbered}${rest}`, ...input }, context));
    answers.add(
      JSON.stringify(outcome)
        .replaceAll(numbered, path)
        .replace(/"modified":\d+/, ""),
    );
  }
  return answers;
}
