import { describe, expect, test } from "@jest/globals";
import { giveUpAfter } from "../../../src/venue/shared/connection.js";

describe("giving up", () => {
  const standStill = (ms: number): void => {
    for (const until = performance.now() + ms; performance.now() < until; );
  };

  test("what takes too long is given up, unless it came before", async () => {
    const given: string[] = [];
    const keep = giveUpAfter(10, () => given.push("kept"));
    await new Promise<void>((resolve) => {
      giveUpAfter(20, () => {
        given.push("late");
        resolve();
      });
      keep();
    });
    expect(given).toEqual(["late"]);
  });

  test("a process that stood still waits once more, and no more than once", async () => {
    const given: string[] = [];
    const over = new Promise<void>((resolve) => {
      giveUpAfter(200, () => {
        given.push("given up");
        resolve();
      });
    });
    for (let times = 0; times < 2; times++) {
      standStill(800);
      expect(given).toEqual([]);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await over;
    expect(given).toEqual(["given up"]);
  });
});
