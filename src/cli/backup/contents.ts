// Collects the contents of a backup: files of the state, consistent copies of databases that are in use, packs of drives.

import { type Dirent, readdirSync } from "node:fs";
import { cp, type FileHandle, mkdtemp, open, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { forgetsDrives } from "../../config/checks/drives.js";
import { ConfigError } from "../../config/errors.js";
import type { VenueConfig } from "../../config/types.js";
import { codeOf } from "../../core/unknown.js";
import { DamagedDatabase } from "../../database/damaged-database.js";
import { errnoOf } from "../../jail/sys.js";
import { isSameFolder } from "../../process/host-path.js";
import { revocationPlace } from "../../venue/identity/revocation-place.js";
import { stateDirOf } from "../../venue/start/state/place.js";
import { knownStateDir } from "../../venue/start/state/secrets.js";
import { EXIT } from "../context.js";
import type { Source } from "./archive.js";

/** Folders in the state that are not its own: drives come with `--drives`, caches not at all. */
const NOT_STATE = ["drives", "drive-cache"];
/** Files by which processes find each other, and unfinished files. */
const NOT_KEPT = /^running\.json$|\.(?:new|tmp|sock)$/;
/** File names of a database. */
const DATA = "data.mdb";
const LOCKS = new Set(["lock.mdb", "gate.mdb", "gate.mdb-lock"]);
/** Tries for a copy of the drives while packs are being compacted. */
const TRIES = 3;

type Environment = Readonly<Record<string, string | undefined>>;

/** Everything but roots. Temporary copies are removed when the consumer is done. */
export async function* stateSources(config: VenueConfig, env: Environment, hasDrives: boolean): AsyncGenerator<Source> {
  const spool = await mkdtemp(join(tmpdir(), "venue-files-backup-"));
  try {
    const state = knownStateDir(config, env);
    const { store } = config.drives;
    const drives = typeof store === "object" && "path" in store ? [resolve(store.path)] : [];
    if (state !== undefined) {
      const skip = [...NOT_STATE.map((name) => join(resolve(state), name)), ...drives];
      yield* filesBelow(resolve(state), "state", { spool, skip });
    }
    if (config.seedFile !== undefined) yield* fileSource(config.seedFile, "seed");
    const { revocations } = config.auth.ucan;
    if (revocations !== undefined) yield* fileSource(revocationPlace(config, env).path, "revocations");
    const folder = hasDrives ? drivesFolder(config, env) : undefined;
    if (folder !== undefined) yield* driveSources(folder, spool);
  } finally {
    await rm(spool, { recursive: true, force: true });
  }
}

/** The folder of the drives; `undefined` where they are in memory. @throws ConfigError where they are elsewhere */
export function drivesFolder(config: VenueConfig, env: Environment): string | undefined {
  const { store } = config.drives;
  if (forgetsDrives(config)) return undefined;
  if (store === undefined || store === "memory") return join(stateDirOf(config, env), "drives");
  if ("path" in store) return store.path;
  const text = "--drives: the drives are in a bucket. Leave --drives out: the versioning of the bucket is their backup";
  throw new ConfigError([text], EXIT.config);
}

interface Walk {
  readonly spool: string;
  /** Folders that are left out. */
  readonly skip: readonly string[];
}

/** Files below a folder, sorted; databases as copies. Links, sockets and files that are just being made are left out. */
async function* filesBelow(folder: string, prefix: string, { spool, skip }: Walk): AsyncGenerator<Source> {
  const entries = entriesOf(folder);
  if (entries.some(({ name }) => name === DATA)) {
    // A damaged database is backed up as it is: opening it after a restore salvages what can be read.
    const copy = await databaseFile(folder, spool).catch((error: unknown) => {
      if (isDamage(error)) return join(folder, DATA);
      throw error;
    });
    yield* fileSource(copy, `${prefix}/${DATA}`);
  }
  for (const entry of entries) {
    const { name } = entry;
    if (name === DATA || LOCKS.has(name) || NOT_KEPT.test(name)) continue;
    if (skip.some((one) => isSameFolder(one, join(folder, name)))) continue;
    if (entry.isDirectory()) yield* filesBelow(join(folder, name), `${prefix}/${name}`, { spool, skip });
    else if (entry.isFile()) yield* fileSource(join(folder, name), `${prefix}/${name}`);
  }
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  }
}

/** A copy of a database. @returns its data file */
async function databaseFile(folder: string, spool: string): Promise<string> {
  const { copyDatabase } = await import("../../database/copy-database.js");
  const target = await mkdtemp(join(spool, "db-"));
  await copyDatabase(folder, target);
  return join(target, DATA);
}

const isDamage = (error: unknown): boolean => error instanceof DamagedDatabase || codeOf(error) === "STORE_DAMAGED";

/** A file as it is now. One that is gone is left out; what is appended meanwhile, too. */
async function* fileSource(file: string, path: string): AsyncGenerator<Source> {
  const handle = await open(file, "r").catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  });
  if (handle === undefined) return;
  try {
    yield await openedSource(handle, path);
  } finally {
    await handle.close();
  }
}

async function openedSource(handle: FileHandle, path: string): Promise<Source> {
  const { size, mtimeMs: modified } = await handle.stat();
  const options = { start: 0, end: size - 1, autoClose: false, highWaterMark: 1_048_576 };
  return { path, size, modified, read: () => (size === 0 ? nothing() : handle.createReadStream(options)) };
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** The index as of one moment, and every pack that it names: packs only grow, and a compacted one is noticed. */
async function* driveSources(folder: string, spool: string): AsyncGenerator<Source> {
  // Made with the first drive.
  if (!entriesOf(join(folder, "index")).some(({ name }) => name === DATA)) return;
  for (let tries = 1; ; tries++) {
    const index = await databaseFile(join(folder, "index"), spool).catch(refuseDamaged);
    const packs = await readdir(join(folder, "packs"));
    const opened = await Promise.allSettled(packs.map((name) => open(join(folder, "packs", name), "r")));
    const handles = opened.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    try {
      const isWhole = handles.length === packs.length && (await hasEveryPack(index, packs).catch(refuseDamaged));
      if (!isWhole && tries < TRIES) continue;
      if (!isWhole)
        throw new ConfigError(["--drives: the packs of the drives changed too often. Try again"], EXIT.noInput);
      yield* fileSource(index, `drives/index/${DATA}`);
      for (const [at, handle] of handles.entries()) yield openedSource(handle, `drives/packs/${packs[at] ?? ""}`);
      return;
    } finally {
      await Promise.all(handles.map((handle) => handle.close()));
    }
  }
}

/** @throws ConfigError instead of damage */
function refuseDamaged(error: unknown): never {
  if (!isDamage(error)) throw error;
  const text = "--drives: the index of the drives is damaged. Restore a backup of the drives, or leave --drives out";
  throw new ConfigError([text], EXIT.config);
}

/** Whether every pack that the index names is among the files. */
async function hasEveryPack(index: string, files: readonly string[]): Promise<boolean> {
  const [{ openTables, rows }, { packFile }] = await Promise.all([
    import("../../drive/store/tables.js"),
    import("../../drive/store/embedded/read-cells.js"),
  ]);
  const copy = await mkdtemp(join(index, "..", "..", "check-"));
  await cp(join(index, ".."), join(copy, "index"), { recursive: true });
  const tables = openTables(copy, false);
  try {
    return [...rows(tables.packs)].every(({ key }) => files.includes(basename(packFile("", key.readUInt32BE()))));
  } finally {
    await tables.env.close();
    await rm(copy, { recursive: true, force: true });
  }
}
