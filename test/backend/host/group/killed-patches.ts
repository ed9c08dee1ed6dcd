// Kills processes in the middle of patches, and looks at what the next one makes of it.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createFileAdapter } from "../../../../src/index.js";

const FILES = 20;
const LIBRARY = new URL("../../../../dist/index.js", import.meta.url).href;

/** Patches all files again and again: first in place, then by moves, deletions and new files. */
const CHILD = `
  import fs from "node:fs";
  import { createFileAdapter } from ${JSON.stringify(LIBRARY)};
  // Slow renames, so that most kills hit between the first and the last one of a patch.
  const { renameSync } = fs;
  const lock = new Int32Array(new SharedArrayBuffer(4));
  let left = Number(process.argv[4]);
  fs.renameSync = (from, to) => {
    if (--left === 0) {
      fs.writeSync(1, "now");
      Atomics.wait(lock, 0, 0, 60_000);
    }
    Atomics.wait(lock, 0, 0, 1);
    renameSync(from, to);
  };
  const [path, durability] = process.argv.slice(1);
  const files = await createFileAdapter({ roots: { r: { path, durability } } });
  fs.writeSync(1, "ready");
  for (let round = Number(process.argv[3]); ; round++) {
    const changes = Array.from({ length: ${FILES} }, (_, index) => ({ op: "write", path: "f" + index, content: String(round) }));
    changes.push({ op: "move", path: "at-" + (round - 1), to: "at-" + round }, { op: "write", path: "d" + round + "/new", content: String(round) });
    changes.push({ op: "delete", path: "d" + (round - 1) + "/new" });
    await files.invoke("file:patch", { root: "r", changes });
  }
`;

interface Found {
  /** What was seen half done. */
  readonly halves: unknown[];
  /** Kills in the middle of a patch, and of those, the ones that left something for the next process. */
  readonly amid: number;
  readonly left: number;
}

export async function killPatches(kills: number, durability: "none" | "flush"): Promise<Found> {
  const path = mkdtempSync(join(tmpdir(), "venue-files-kill-"));
  const halves: unknown[] = [];
  let [amid, left] = [0, 0];
  try {
    for (let index = 0; index < FILES; index++) writeFileSync(join(path, `f${index}`), "0");
    writeFileSync(join(path, "at-0"), "");
    const start = await createFileAdapter({ roots: { r: { path } } });
    await start.invoke("file:write", { root: "r", path: "d0/new", content: "0", parents: true });
    await start.close();
    let round = 0;
    for (let kill = 0; kill < kills; kill++) {
      // By turns at any moment, and before a rename in the middle of a patch.
      const before = kill % 2 === 0 ? 2 + ((kill * 5) % (FILES - 2)) : 0;
      const child = spawn(process.execPath, [
        ...["--input-type=module", "-e", CHILD, path, durability, String(round + 1), String(before)],
      ]);
      const ended = once(child, "exit");
      await told(child, before === 0 ? "ready" : "now");
      if (before === 0) await pause(Math.random() * 60);
      child.kill("SIGKILL");
      await ended;
      if (before !== 0) amid++;
      if (before !== 0 && hasRecord(path)) left++;
      const after = await createFileAdapter({ roots: { r: { path, durability } } });
      // Any call waits until what was left half done is undone.
      await after.invoke("file:list", { root: "r" });
      const state = stateOf(path);
      await after.close();
      if (new Set(state).size !== 1) halves.push({ kill, state });
      round = Number(state[0]);
    }
    return { halves, amid, left };
  } finally {
    rmSync(path, { recursive: true, force: true });
  }
}

const told = (child: ChildProcess, word: string): Promise<unknown> =>
  new Promise((resolve, reject) => {
    let text = "";
    child.stdout?.on("data", (chunk) => {
      text += chunk;
      if (text.includes(word)) resolve(text);
    });
    child.once("exit", (code) => reject(new Error(`The process ended by itself, with ${code}`)));
  });

function hasRecord(path: string): boolean {
  const stage = join(path, ".venue-files");
  const intents = readdirSync(stage).filter((name) => name.startsWith("patch-"));
  return intents.some((name) => readdirSync(join(stage, name)).includes("record-0"));
}

/** The round that each part of the root is in. */
function stateOf(path: string): string[] {
  const names = readdirSync(path).filter((name) => name !== ".venue-files");
  const contents = Array.from({ length: FILES }, (_, index) => readFileSync(join(path, `f${index}`), "utf8"));
  const at = names.filter((name) => name.startsWith("at-")).map((name) => name.slice(3));
  const made = names.filter((name) => name.startsWith("d")).filter((name) => readdirSync(join(path, name)).length > 0);
  return [...contents, ...at, ...made.map((name) => name.slice(1))];
}
