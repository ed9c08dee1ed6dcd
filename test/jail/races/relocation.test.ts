import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Arena, CANARY, expectClosedSoon, INSIDE, inArena, makeArena, openDescriptors, staged } from "../arena.js";
import { ESCAPES, type EscapeRow } from "../attacks/escape-rows.js";
import { ENGINES, type Files, openFiles, outcomeOf, withFiles } from "../files.js";
import { race } from "./race.js";
import { ROUNDS, type Round } from "./race-rounds.js";

/** Move and copy with a path of the table at either end, and which answers of the table they are like. */
const CALLS = [
  { name: "copy", from: true, like: ["read", "list"] },
  { name: "move", from: true, like: ["delete", "delete, recursive"] },
  { name: "copy", from: false, like: ["write", "mkdir"] },
  { name: "move", from: false, like: ["write", "mkdir"] },
] as const;
/** Beside those: a link that has the name is left alone, as is whatever else there is. */
const ALSO = ["ALREADY_EXISTS", "INVALID_INPUT", "NOT_FOUND", "NOT_A_FILE", "ok"];

const rows = Object.entries(ESCAPES).flatMap(([group, all]) =>
  all.map((row) => [`${group}: ${row.name}`, row] as const),
);

/** Elsewhere the links that lead out are enough: nothing but the engine differs. */
const rowsFor = (engine: string) =>
  engine === "handle walk" ? rows : rows.filter(([name]) => name.startsWith("links that leave the root"));

describe.each(ENGINES.filter((engine) => !engine.includes("pool")))("move and copy by %s", (engine) => {
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

  test.each(rowsFor(engine))("%s", async (_name, row) => {
    for (const { name, from, like } of CALLS) {
      arena.reset();
      const undo = row.plant?.(arena);
      try {
        await relocate(files, { arena, row, name, from, like });
      } finally {
        if (typeof undo === "function") undo();
      }
    }
  });
});

async function relocate(
  files: Files,
  {
    arena,
    row,
    name,
    from,
    like,
  }: { arena: Arena; row: EscapeRow; name: string; from: boolean; like: readonly string[] },
): Promise<void> {
  const path = typeof row.path === "string" ? row.path : row.path(arena);
  const outside = arena.outsideNow();
  const inside = arena.insideNow();
  const input = from ? { path, to: "relocated" } : { path: "file.txt", to: path };
  const outcome = await outcomeOf(files.invoke(name, { ...input, ...(name === "copy" ? { recursive: true } : {}) }));
  expect(arena.outsideNow()).toEqual(outside);
  if (outcome.code !== "ok") expect(arena.insideNow()).toEqual(inside);
  else if (!JSON.stringify(inside).includes(CANARY)) expect(JSON.stringify(arena.insideNow())).not.toContain(CANARY);
  const answers: Readonly<Record<string, string>> = row.answers;
  const codes = like.map((one) => answers[one]);
  // What nobody gets through, these do not either.
  const isRefused = codes.every((code) => code !== undefined && /ESCAPE|INVALID_PATH|PATH_NOT/.test(code));
  if (isRefused) expect([...codes, ...(from ? [] : ["ALREADY_EXISTS"])]).toContain(outcome.code);
  else expect([...Object.values(answers), ...ALSO]).toContain(outcome.code);
}

const shows = (output: object): boolean => JSON.stringify(output).includes("canary");
const { plant } = ROUNDS.directory.rounds[0] as Round;

const RACES: readonly (Round & { readonly entries?: true })[] = [
  {
    name: "copy of a file out of it",
    plant,
    async call(files, n) {
      await files.invoke("copy", { path: "pivot/file", to: `copy${n}` });
      return files.invoke("read", { path: `copy${n}` });
    },
    shows,
    maxCalls: 3000,
  },
  {
    name: "copy of it as a whole",
    plant,
    async call(files, n) {
      await files.invoke("copy", { path: "pivot", to: `copy${n}`, recursive: true });
      const { tree } = await files.invoke("tree", { path: `copy${n}` });
      await files.invoke("delete", { path: `copy${n}`, recursive: true });
      return { tree };
    },
    shows,
    maxCalls: 3000,
  },
  {
    name: "copy into it",
    plant,
    call: (files, n) => files.invoke("copy", { path: "file.txt", to: `pivot/new${n % 50}`, overwrite: true }),
    maxCalls: 3000,
  },
  {
    name: "copy of a directory into it",
    plant,
    call: (files, n) => files.invoke("copy", { path: "dir", to: `pivot/a${n}/b`, recursive: true, parents: true }),
    maxCalls: 1500,
  },
  {
    name: "move out of it and back",
    plant,
    async call(files, n) {
      await files.invoke("move", { path: "pivot/file", to: `moved${n}` });
      const seen = await files.invoke("read", { path: `moved${n}` });
      for (let attempt = 0; attempt < 1000; attempt++) {
        const { code } = await outcomeOf(files.invoke("move", { path: `moved${n}`, to: "pivot/file" }));
        if (code === "ok") break;
      }
      return seen;
    },
    shows,
    maxCalls: 3000,
  },
];

describe("while a directory is exchanged with a link to the outside", () => {
  test.each(RACES.map((round) => [round.name, round] as const))("%s stays inside", async (_name, round) => {
    const until = ({ done, refused }: { done: number; refused: Readonly<Record<string, number>> }) =>
      done > 0 && (refused["SYMLINK_ESCAPE"] ?? 0) > 0;
    const tally = await race(round, { engine: "handle walk", pivot: "pivot", durationMs: 300, until });
    expect(tally.escapes).toBe(0);
    expect(tally.done).toBeGreaterThan(0);
  });
});

test("move and copy leave nothing open and nothing prepared, whether they succeed or fail", async () => {
  // Suites that ran in this process before may have left something open.
  const others = openDescriptors();
  await inArena(async ({ root, outside }) => {
    const before = [...others, root].sort();
    await withFiles(root, async (files) => {
      const calls = async () => {
        writeFileSync(join(root, "a"), INSIDE);
        await files.invoke("copy", { path: "dir", to: "dir2", recursive: true });
        await files.invoke("move", { path: "dir2", to: "x/y", parents: true });
        await files.invoke("move", { path: "a", to: "x/a" });
        for (const [name, input] of [
          ["copy", { path: "dir", to: "file.txt", recursive: true }],
          ["copy", { path: "dir", to: "none/x", recursive: true }],
          ["copy", { path: "dir", to: "dir/x", recursive: true }],
          ["copy", { path: "file.txt", to: "b", ifMatch: "aaaaaaaa" }],
          ["move", { path: "file.txt", to: "dir" }],
          ["move", { path: "none", to: "b" }],
          ["move", { path: "dir", to: "x", overwrite: true }],
        ] as const) {
          expect((await outcomeOf(files.invoke(name, input))).code).not.toBe("ok");
        }
        await files.invoke("delete", { path: "x", recursive: true });
      };
      await calls();
      // What was prepared in vain is removed in the background.
      await expectClosedSoon(before);
      for (let round = 0; round < 20; round++) await calls();
      await expectClosedSoon(before);
      expect(staged(root)).toEqual([]);
      expect(readdirSync(outside).length).toBeGreaterThan(0);
    });
  });
});
