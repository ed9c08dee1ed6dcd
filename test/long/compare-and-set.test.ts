import { describe, expect, test } from "@jest/globals";
import { contend } from "../jail/races/contending.js";

describe("100,000 writes that count by compare and set lose no update, and each version has one winner", () => {
  test.each([
    { processes: 1, writers: 4, wins: 5_000 },
    { processes: 2, writers: 2, wins: 2_500 },
    { processes: 4, writers: 1, wins: 1_000 },
  ])("$processes processes with $writers writers, who win $wins times each", async (contest) => {
    const began = performance.now();
    const { won, refused } = await contend(contest);
    process.stderr.write(
      `${JSON.stringify({ ...contest, won, refused, ms: Math.round(performance.now() - began) })}\n`,
    );
    expect(won).toBe(contest.processes * contest.writers * contest.wins);
  });
});
