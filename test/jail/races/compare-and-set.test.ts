import { describe, expect, test } from "@jest/globals";
import { contend } from "./contending.js";

describe("writers that count by compare and set lose no update, and each version has one winner", () => {
  test.each([
    { processes: 1, writers: 4, wins: 200 },
    { processes: 2, writers: 2, wins: 150 },
    { processes: 3, writers: 1, wins: 100 },
  ])("$processes processes with $writers writers, who win $wins times each", async (contest) => {
    expect((await contend(contest)).won).toBe(contest.processes * contest.writers * contest.wins);
  });
});
