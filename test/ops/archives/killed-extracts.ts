// Kills processes in the middle of archive:extract and archive:zip, and looks at what the next one makes of it.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createFileAdapter } from "../../../src/index.js";
import { stagedIn } from "../../staged.js";
import { readZip } from "./archives.js";

const FILES = 12;
const LIBRARY = new URL("../../../dist/index.js", import.meta.url).href;
const YAZL = new URL("../../../node_modules/yazl/index.js", import.meta.url).href;

/** Unpacks over what is there, into a new directory, and packs that, again and again. */
const CHILD = `
  import fs from "node:fs";
  import { buffer } from "node:stream/consumers";
  import yazl from ${JSON.stringify(YAZL)};
  import { createFileAdapter } from ${JSON.stringify(LIBRARY)};
  const [path, first, before] = process.argv.slice(1);
  // Slow renames, so that most kills hit between the first and the last one of a group.
  const { renameSync } = fs;
  const lock = new Int32Array(new SharedArrayBuffer(4));
  let left = Number(before);
  fs.renameSync = (from, to) => {
    if (--left === 0) {
      fs.writeSync(1, "now");
      Atomics.wait(lock, 0, 0, 60_000);
    }
    Atomics.wait(lock, 0, 0, 1);
    renameSync(from, to);
  };
  const files = await createFileAdapter({ roots: { r: { path, durability: "none" } } });
  fs.writeSync(1, "ready");
  for (let round = Number(first); ; round++) {
    const zip = new yazl.ZipFile();
    for (let index = 0; index < ${FILES}; index++) zip.addBuffer(Buffer.from(String(round)), "d" + (index % 3) + "/" + index);
    zip.end();
    const bytes = (await buffer(zip.outputStream)).toString("base64");
    await files.invoke("archive:extract", { bytes, destRoot: "r", destPath: "out" });
    await files.invoke("archive:extract", { bytes, destRoot: "r", destPath: "new-" + round });
    await files.invoke("archive:zip", { root: "r", path: "out", destPath: "out.zip" });
  }
`;

interface Found {
  /** Roots in which something was seen half done. */
  readonly halves: unknown[];
  /** Kills in the middle of a group that changes what is there, and of those, the ones that left something for the next process. */
  amid: number;
  left: number;
}

export async function killExtracts(kills: number): Promise<Found> {
  const path = mkdtempSync(join(tmpdir(), "venue-files-kill-"));
  const found: Found = { halves: [], amid: 0, left: 0 };
  try {
    mkdirSync(join(path, "out"));
    writeFiles(join(path, "out"), "0");
    for (let kill = 0; kill < kills; kill++) {
      // By turns at any moment, before a rename of the first group, and before one after it, where all may be done.
      const isAmid = kill % 3 === 1;
      const before = kill % 3 === 0 ? 0 : isAmid ? 2 + ((kill * 5) % (FILES - 2)) : FILES + 1 + (kill % 2);
      const child = spawn(process.execPath, [
        "--input-type=module",
        "-e",
        CHILD,
        path,
        `${kill * 1000 + 1}`,
        `${before}`,
      ]);
      const ended = once(child, "exit");
      await told(child, before === 0 ? "ready" : "now");
      if (before === 0) await pause(Math.random() * 100);
      child.kill("SIGKILL");
      await ended;
      if (isAmid) {
        found.amid++;
        if (stagedIn(path)?.some((name) => name.startsWith("patch-")) === true) found.left++;
      }
      const after = await createFileAdapter({ roots: { r: { path, durability: "none" } } });
      // Any call waits until what was left half done is undone.
      await after.invoke("file:list", { root: "r" });
      await after.close();
      const state = await stateOf(path);
      if (state.some((contents) => contents.size !== 1)) found.halves.push({ kill, state });
    }
    return found;
  } finally {
    rmSync(path, { recursive: true, force: true });
  }
}

function writeFiles(folder: string, content: string): void {
  for (let index = 0; index < FILES; index++) {
    mkdirSync(join(folder, `d${index % 3}`), { recursive: true });
    writeFileSync(join(folder, `d${index % 3}/${index}`), content);
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

/** The contents of each directory and of the archive: one each, where all of it is there. */
async function stateOf(path: string): Promise<Set<string>[]> {
  const folders = readdirSync(path).filter((name) => name === "out" || name.startsWith("new-"));
  const states = folders.map((folder) => {
    const at = (index: number): string => join(path, folder, `d${index % 3}/${index}`);
    const read = (index: number): string => (existsSync(at(index)) ? readFileSync(at(index), "utf8") : "missing");
    return new Set(Array.from({ length: FILES }, (_, index) => read(index)));
  });
  const zip = join(path, "out.zip");
  if (!existsSync(zip)) return states;
  const files = (await readZip(readFileSync(zip))).filter(({ name }) => !name.endsWith("/"));
  const contents = new Set(files.map(({ content }) => content.toString()));
  return [...states, files.length === FILES ? contents : new Set(["too", "few"])];
}
