import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "@jest/globals";
import { openFiles, ROOT } from "../files.js";
import { type Child, startChild } from "../start-child.js";

const NAMES = ["a.txt", "b.txt", "c.txt"] as const;
const LETTERS = "abcdefghijklmnopqrstuvwxyz";
/** Large enough that a kill falls into the middle of one. */
const BODY_BYTES = 300_000;

/** A content that shows whether it is whole: its number, and then as much of one letter. */
const contentOf = (serial: number): string =>
  `${serial}:${(LETTERS[serial % LETTERS.length] ?? "").repeat(BODY_BYTES)}:${serial}`;

interface Killing {
  readonly rounds: number;
  readonly maxDelayMs: number;
}

/** Number of the last write that was answered, for each file. */
type Answered = Map<string, number>;

/** Kills a process again and again while it writes; after each time, everything must be whole. */
export async function killWhileWriting(options: Killing): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), "venue-kill-"));
  const answered: Answered = new Map();
  let serial = 0;
  try {
    for (let round = 0; round < options.rounds; round++) {
      const child = await startChild({ config: { roots: { [ROOT]: { path: root, durability: "none" } } } });
      const writing = { on: true };
      const begun = serial;
      const writers = NAMES.map((name) => keepWriting(child, name, { writing, answered, next: () => ++serial }));
      while (NAMES.some((name) => (answered.get(name) ?? 0) <= begun)) await sleep(1);
      await sleep(Math.random() * options.maxDelayMs);
      writing.on = false;
      await child.kill();
      void Promise.allSettled(writers);
      for (const name of NAMES) expectWhole(root, name, answered);
    }
    await expectNothingLeft(root);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

async function keepWriting(
  child: Child,
  name: string,
  state: { writing: { on: boolean }; answered: Answered; next: () => number },
): Promise<void> {
  while (state.writing.on) {
    const serial = state.next();
    const { code } = await child.invoke("write", { path: name, content: contentOf(serial) });
    if (code === "ok") state.answered.set(name, serial);
  }
}

function expectWhole(root: string, name: string, answered: Answered): void {
  const last = answered.get(name);
  if (last === undefined && !readdirSync(root).includes(name)) return;
  const content = readFileSync(join(root, name), "utf8");
  const serial = Number(content.slice(0, content.indexOf(":")));
  expect(content === contentOf(serial)).toBe(true);
  // A write that was answered is never lost; one that was not may have been done.
  expect(serial).toBeGreaterThanOrEqual(last ?? 0);
}

/** After a restart nothing of the killed processes is to be seen, and nothing of it is left on the disk. */
async function expectNothingLeft(root: string): Promise<void> {
  const files = await openFiles(root);
  const { entries } = await files.invoke("list", {});
  expect((entries as { name: string }[]).map(({ name }) => name)).toEqual([...NAMES]);
  await files.close();
  expect(readdirSync(root).sort()).toEqual([...NAMES]);
}
