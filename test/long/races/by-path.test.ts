import { afterAll, describe, expect, test } from "@jest/globals";
import { CONTENT_ROUNDS, PATH_ROUNDS } from "../../jail/races/by-path.js";
import { race, type Tally } from "../../jail/races/race.js";

/** Of the calls that open something, in all. */
const CALLS = Number(process.env["RACED_CALLS"] ?? 100_000);
/** Of each call that goes by paths alone. */
const COUNTED_CALLS = 2000;

const table: string[] = [
  "| exchanged: call | calls | done | SYMLINK_ESCAPE | else | escapes |",
  "|---|---|---|---|---|---|",
];
const note = (name: string, { calls, done, refused, escapes }: Tally): void => {
  const { SYMLINK_ESCAPE: links = 0, ...rest } = refused;
  table.push(`| ${name} | ${calls} | ${done} | ${links} | ${Object.entries(rest).join(" ")} | ${escapes} |`);
};
afterAll(() => {
  process.stdout.write(`\n${table.join("\n")}\n\n`);
});

const raceOf = async (name: string, { pivot, round }: (typeof CONTENT_ROUNDS)[number][1], calls: number) => {
  const tally = await race(round, { engine: "real-path check", pivot, durationMs: 0, calls, until: () => true });
  note(name, tally);
  return tally;
};

describe("while a link to the outside takes the place of what was looked at, by the real-path check", () => {
  test.each(CONTENT_ROUNDS)("no content gets out: %s", async (name, what) => {
    const tally = await raceOf(name, what, Math.ceil(CALLS / CONTENT_ROUNDS.length));
    expect(tally.escapes).toBe(0);
  });

  test.each(PATH_ROUNDS)("what goes by paths is counted: %s", async (name, what) => {
    const { calls } = await raceOf(name, what, COUNTED_CALLS);
    expect(calls).toBeGreaterThan(0);
  });
});
