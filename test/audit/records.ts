import { readFileSync } from "node:fs";

/** The records of an audit file, without checkpoints and what links the lines. */
export function recordsOf(text: string): Readonly<Record<string, unknown>>[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line))
    .filter((line) => line.checkpoint === undefined)
    .map(({ chain, n, prev, lost, ...record }) => record);
}

export const readRecords = (file: string): Readonly<Record<string, unknown>>[] => recordsOf(readFileSync(file, "utf8"));
