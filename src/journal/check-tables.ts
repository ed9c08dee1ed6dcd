// Judges the tables of a journal before they are opened: a damaged page would end the process that reads it. So another
// process reads them first, unless they are as they were when a process closed them, or others have them open.

import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { attempt } from "../core/io.js";
import { compiledFile } from "../core/package-files.js";
import { spawnAlone } from "../process/spawn-alone.js";
import { hasLiveNotes } from "./pending-log.js";

/** Folder of the tables in that of a journal. */
export const INDEX = "index";
/** State in which the tables were closed, and the key of the trash, which must outlast them. */
const MARK = "closed";
const TRASH_KEY = "trash-key";
const KEY = /^[0-9a-f]{32}$/;
const DAMAGED = `${INDEX}.damaged-`;
const SALVAGED = `${INDEX}.salvaged-`;
/** A process that reads in circles is ended. */
const PATIENCE_MS = 120_000;
/** No variable of the venue's environment; a binary built with Electron runs as Node only with this one. */
const ENVIRONMENT = { ELECTRON_RUN_AS_NODE: "1" };

/** Examinations under way in this process, by folder. */
const UNDER_WAY = new Map<string, Promise<boolean>>();

/**
 * Sees to it that the tables in a folder can be opened. Damaged ones are set aside, and what can be read of them is put
 * into new ones.
 * @returns whether they were damaged
 */
export function makeSound(folder: string): Promise<boolean> {
  const running = UNDER_WAY.get(folder) ?? examine(folder).finally(() => UNDER_WAY.delete(folder));
  UNDER_WAY.set(folder, running);
  return running;
}

/** Notes the state in which the tables are closed. Never fails: without it they are read once more. */
export function markClosed(folder: string): void {
  attempt(() => writeFileSync(join(folder, MARK), stateOf(folder) ?? "", { mode: 0o600 }));
}

/** Keeps the key of the trash beside the tables. */
export function keepTrashKey(folder: string, trashKey: string): void {
  if (keptTrashKey(folder) === trashKey) return;
  attempt(() => writeFileSync(join(folder, TRASH_KEY), trashKey, { mode: 0o600 }));
}

/** The key of the trash, if it is kept and whole. */
export function keptTrashKey(folder: string): string | undefined {
  const text = attempt(() => readFileSync(join(folder, TRASH_KEY), "latin1"));
  return text !== undefined && KEY.test(text) ? text : undefined;
}

/** Whether damaged tables were set aside and are still there. */
export const hasDamaged = (folder: string): boolean => namesIn(folder, DAMAGED).length > 0;

async function examine(folder: string): Promise<boolean> {
  if (hasLiveNotes(folder)) return false;
  const state = stateOf(folder);
  // A crash can leave an empty file, or none.
  const isGone = (attempt(() => statSync(tablesIn(folder)).size) ?? 0) === 0;
  const isLost = isGone && [MARK, TRASH_KEY].some((name) => existsSync(join(folder, name)));
  const isAsClosed = (): boolean => state === attempt(() => readFileSync(join(folder, MARK), "utf8"));
  if (!isLost && (state === undefined || isAsClosed())) return false;
  for (const name of namesIn(folder, SALVAGED)) remove(folder, name);
  if (!isLost && (await run("verify", join(folder, INDEX)))) return false;
  await renew(folder);
  return true;
}

/** Entries that are readable from either end are copied into new tables. */
async function renew(folder: string): Promise<void> {
  const salvaged = `${SALVAGED}${randomBytes(8).toString("hex")}`;
  const [old, next] = [join(folder, INDEX), join(folder, salvaged)];
  const trashKey = keptTrashKey(folder);
  const more = trashKey === undefined ? [] : [trashKey];
  for (const verb of ["entries", "contents"]) {
    // A damaged page may end a process, or look like the end of the table: only the other end shows what is behind it.
    for (const end of ["newest", "oldest"]) await run(verb, old, next, end, ...more);
  }
  for (const name of namesIn(folder, DAMAGED)) remove(folder, name);
  // The whole folder can have been removed.
  mkdirSync(old, { recursive: true });
  renameSync(old, join(folder, `${DAMAGED}${new Date().toISOString().replaceAll(":", "-")}`));
  // A process that could not even begin leaves nothing: the tables are made anew.
  if (existsSync(next)) renameSync(next, old);
}

/** Runs the process. @returns whether it came to its end */
function run(verb: string, ...folders: string[]): Promise<boolean> {
  const program = fileURLToPath(compiledFile("journal/journal-process"));
  return new Promise((resolve) => {
    const child = spawnAlone(process.execPath, [program, verb, ...folders], {
      env: ENVIRONMENT,
      stdio: ["ignore", "ignore", "ignore"],
      timeout: PATIENCE_MS,
      killSignal: "SIGKILL",
    });
    child.once("error", () => resolve(false));
    child.once("exit", (code) => resolve(code === 0));
  });
}

const tablesIn = (folder: string): string => join(folder, INDEX, "data.mdb");

/** @returns tells whether the file of the tables is the one that it is now */
export function stillThere(folder: string): () => boolean {
  const inode = (): bigint | undefined => attempt(() => statSync(tablesIn(folder), { bigint: true }).ino);
  const known = inode();
  return () => inode() === known;
}

/** Changes whenever the tables are written to. `undefined`: there are none yet. */
function stateOf(folder: string): string | undefined {
  const stat = attempt(() => statSync(tablesIn(folder), { bigint: true }));
  return stat && `${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`;
}

const namesIn = (folder: string, prefix: string): string[] =>
  (attempt(() => readdirSync(folder)) ?? []).filter((name) => name.startsWith(prefix));

const remove = (folder: string, name: string): void => rmSync(join(folder, name), { recursive: true, force: true });
