import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { withFiles } from "../jail/files.js";
import { type RaceOptions, race, sawBoth, type Tally } from "../jail/races/race.js";
import { raceDeletions } from "../jail/races/race-deletion.js";
import { ROUNDS } from "../jail/races/race-rounds.js";

const DURATION_MS = 5000;
const DELETIONS = 100;

/** The engines that must not let anything out, and the common way, which does. */
const CONTENDERS: readonly RaceOptions["engine"][] = ["handle walk", "handle walk in the thread pool", "naive"];
const NAIVE_CAN = ["list", "list below", "tree", "read", "stat", "write", "append", "append, new file", "mkdir"];

const table: string[] = [];
const note = (cells: readonly (string | number)[]): void => {
  table.push(`| ${cells.join(" | ")} |`);
};

note(["exchanged", "call", "by", "calls", "done", "refused", "escapes"]);
note(["---", "---", "---", "---", "---", "---", "---"]);
afterAll(() => {
  process.stdout.write(`\n${table.join("\n")}\n\n`);
});

describe.each(Object.entries(ROUNDS))(
  "while a %s is exchanged with a link to the outside",
  (kind, { pivot, rounds }) => {
    describe.each(CONTENDERS)("by %s", (engine) => {
      const able = rounds.filter(({ name }) => engine !== "naive" || (kind !== "file" && NAIVE_CAN.includes(name)));
      for (const round of able) {
        test(`${round.name} ${engine === "naive" ? "is counted" : "stays inside"}`, async () => {
          const until = round.neverRefused ? ({ done }: Tally) => done > 0 : sawBoth;
          const tally = await race(round, { engine, pivot, durationMs: DURATION_MS, isLong: true, until });
          const refused = Object.values(tally.refused).reduce((sum, count) => sum + count, 0);
          note([kind, round.name, engine, tally.calls, tally.done, refused, tally.escapes]);
          if (engine !== "naive") expect(tally.escapes).toBe(0);
          // Of the common way it is known that it fails; which calls, in so short a time, is chance.
          else expect(tally.calls).toBeGreaterThan(0);
        });
      }
    });
  },
);

describe("removal of a tree in which a directory is exchanged with a link to the outside", () => {
  test("removes nothing outside", async () => {
    const { trees, escapes } = await raceDeletions(
      ({ root }, path) =>
        withFiles(root, async (files) => {
          await files.invoke("delete", { path, recursive: true });
        }),
      (soFar) => soFar.trees >= DELETIONS,
    );
    note(["directory in it", "delete, recursive", "handle walk", trees, trees, 0, escapes]);
    expect(escapes).toBe(0);
  });

  test("control: rmSync removes files outside", async () => {
    const { trees, escapes } = await raceDeletions(
      ({ root }, path) => {
        try {
          rmSync(join(root, path), { recursive: true, force: true });
        } catch {
          // It stumbles over what is exchanged; the harm is done all the same.
        }
      },
      (soFar) => soFar.trees >= DELETIONS,
    );
    note(["directory in it", "delete, recursive", "rmSync", trees, trees, 0, escapes]);
    expect(escapes).toBeGreaterThan(0);
  });
});
