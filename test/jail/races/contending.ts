import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect } from "@jest/globals";

export interface Contest {
  readonly processes: number;
  /** In each of them. */
  readonly writers: number;
  /** Of each writer. */
  readonly wins: number;
}

interface Result {
  readonly won: readonly number[];
  readonly refused: number;
}

/**
 * Lets writers count in one file by compare and set. No update is lost, and every version has one winner.
 * @returns how many writes there were, won or refused
 */
export async function contend({ processes, writers, wins }: Contest): Promise<{ won: number; refused: number }> {
  const root = mkdtempSync(join(tmpdir(), "venue-contest-"));
  try {
    writeFileSync(join(root, "count"), "0");
    const script = fileURLToPath(new URL("./contender.mjs", import.meta.url));
    const run = async (): Promise<Result> => {
      const args = [script, root, String(writers), String(wins)];
      const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 26 });
      return JSON.parse(stdout) as Result;
    };
    const results = await Promise.all(Array.from({ length: processes }, run));
    const all = results.flatMap(({ won }) => won).toSorted((one, other) => one - other);
    expect(all).toEqual(Array.from({ length: processes * writers * wins }, (_, index) => index + 1));
    expect(readFileSync(join(root, "count"), "utf8")).toBe(String(all.length));
    expect(readdirSync(root)).toEqual(["count"]);
    return { won: all.length, refused: results.reduce((sum, { refused }) => sum + refused, 0) };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}
