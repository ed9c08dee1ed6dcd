// The places of the parts of a backup: each part is staged beside its place under another name, and gets its name at the end.

import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { mkdir, open, rename, utimes } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { ConfigError } from "../../config/errors.js";
import type { VenueConfig } from "../../config/types.js";
import { escapeText } from "../../core/errors/texts.js";
import { syncDirectory } from "../../database/durable-files.js";
import { isInside, namesBelow, realPath } from "../../process/host-path.js";
import { revocationPlace } from "../../venue/identity/revocation-place.js";
import { stateDirOf } from "../../venue/start/state/place.js";
import { isOfRestore, restoreMarkers, STAGED } from "../../venue/start/state/unfinished-restore.js";
import { EXIT } from "../context.js";
import { writeNewFile } from "../output/new-file.js";
import type { ReadEntry } from "./archive.js";
import { drivesFolder } from "./contents.js";

/** A file or folder that gets its name in one step. */
interface Place {
  /** The configuration key that says where. */
  readonly key: string;
  readonly path: string;
  /** Where it is written first. */
  readonly staged: string;
  /** A folder is there, and stays. */
  readonly isThere: boolean;
}

const missing = (what: string): ConfigError => new ConfigError([`Cannot restore: the backup has ${what}`], EXIT.config);

function placeAt(key: string, configured: string): Place {
  const path = resolve(configured);
  const isThere = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  return { key, path, staged: isThere ? join(path, STAGED) : path + STAGED, isThere };
}

/** The places of one restore. */
export class RestorePlaces {
  readonly #homes: Readonly<Record<string, Place>>;
  readonly #units: readonly Place[];
  /** A killed restore may have used the other place, since it may have made the folder. */
  readonly #markers: { readonly beside: string; readonly inside: string } | undefined;

  /** @param kinds first segments of the entries @throws ConfigError for something that the configuration has no place for */
  constructor(config: VenueConfig, env: Readonly<Record<string, string | undefined>>, kinds: ReadonlySet<string>) {
    const state = config.stateDir === false ? undefined : resolve(stateDirOf(config, env));
    const homes: Record<string, Place> = {};
    if (state !== undefined) homes["state"] = placeAt("stateDir", state);
    else if (kinds.has("state")) throw missing("the state of a venue; set 'stateDir'");
    if (state !== undefined || config.auth.ucan.revocations !== undefined)
      homes["revocations"] = placeAt("auth.ucan.revocations", revocationPlace(config, env).path);
    else if (kinds.has("revocations")) throw missing("a revocation list; set 'auth.ucan.revocations'");
    if (kinds.has("seed")) {
      if (config.seedFile === undefined) throw missing("a key; set 'seedFile'");
      homes["seed"] = placeAt("seedFile", config.seedFile);
    }
    if (kinds.has("drives")) {
      const folder = drivesFolder(config, env);
      if (folder === undefined) throw missing("drives; set 'seedFile', or 'drives.store' to a path");
      homes["drives"] = placeAt("drives.store", folder);
    }
    // Parts inside the state directory are staged with it.
    this.#units = Object.values(homes).filter(
      ({ path }) => state === undefined || path === state || !isInside(realPath(path), realPath(state)),
    );
    this.#homes = homes;
    const marked = homes["state"] ?? this.#units[0];
    this.#markers = marked && restoreMarkers(marked.path);
  }

  /** Where the revocation list is staged; `undefined`: the configuration has none. */
  get revocations(): string | undefined {
    const { path } = this.#homes["revocations"] ?? {};
    return path === undefined ? undefined : this.#stagedOf(path);
  }

  /** Clears what a killed restore left. @throws ConfigError unless every place is free */
  prepare(): void {
    for (const marker of Object.values(this.#markers ?? {}).filter((one) => existsSync(one))) {
      const begun: unknown = JSON.parse(readFileSync(marker, "utf8"));
      // These places were free when that restore began, so all in them is its own.
      for (const unit of this.#units) if (Array.isArray(begun) && begun.includes(unit.path)) empty(unit);
    }
    this.discard();
    for (const { key, path, isThere } of this.#units) {
      if (isThere ? contentOf(path).length === 0 : !existsSync(path)) continue;
      const text = `Cannot restore: something is at '${key}' already: ${escapeText(path)}. A backup goes into an empty place only: move that away first`;
      throw new ConfigError([text], EXIT.config);
    }
  }

  /** Writes an entry into the stage. */
  readonly stage = async ({ path, modified, content }: ReadEntry): Promise<void> => {
    const [kind = "", ...rest] = path.split("/");
    const target = this.#stagedOf(join(this.#homes[kind]?.path ?? "", ...rest));
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    // The backup may have it twice: in the state directory, and as what the configuration says it is.
    rmSync(target, { force: true });
    const handle = await open(target, "wx", 0o600);
    try {
      for await (const chunk of content) await handle.writeFile(chunk);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await utimes(target, modified / 1000, modified / 1000);
  };

  /** Gives every place its name; one that fails leaves them free. Killed in between, the venue does not start until another restore. */
  async commit(): Promise<void> {
    const staged = this.#units.filter((unit) => existsSync(unit.staged));
    const [first] = staged;
    if (this.#markers === undefined || first === undefined) return;
    const { beside, inside } = this.#markers;
    const marker = (this.#homes["state"] ?? first).isThere ? inside : beside;
    await mkdir(dirname(marker), { recursive: true, mode: 0o700 });
    // Whole or not at all: a restore killed here has given no names yet.
    const list = JSON.stringify(staged.map(({ path }) => path));
    const options = { mode: 0o600, replaces: true, draft: `${marker}.new` };
    await writeNewFile(marker, options, (handle) => handle.writeFile(list));
    try {
      await renameAll(staged.flatMap(renamesOf));
    } catch (error) {
      this.#unmark();
      throw error;
    }
    for (const { path, isThere } of staged) await syncDirectory(isThere ? path : dirname(path));
    this.#unmark();
    await syncDirectory(dirname(marker));
  }

  #unmark(): void {
    for (const marker of Object.values(this.#markers ?? {})) rmSync(marker, { force: true });
  }

  /** Removes the stage. */
  discard(): void {
    for (const { staged } of this.#units) rmSync(staged, { recursive: true, force: true });
  }

  #stagedOf(path: string): string {
    for (const unit of this.#units) {
      const names = namesBelow(realPath(path), realPath(unit.path));
      if (names !== undefined) return join(unit.staged, ...names);
    }
    throw new RangeError("No place for an entry of the backup");
  }
}

/** The names in a folder, except files of a restore. */
const contentOf = (folder: string): readonly string[] => readdirSync(folder).filter((name) => !isOfRestore(name));

/** Removes what a killed restore has put at a place. */
function empty({ path, isThere }: Place): void {
  const all = isThere ? contentOf(path).map((name) => join(path, name)) : [path];
  for (const one of all) rmSync(one, { recursive: true, force: true });
}

type Rename = readonly [from: string, to: string];

const renamesOf = ({ path, staged, isThere }: Place): readonly Rename[] =>
  isThere ? readdirSync(staged).map((name): Rename => [join(staged, name), join(path, name)]) : [[staged, path]];

/** All, or none of them. @throws the system's error */
async function renameAll(renames: readonly Rename[]): Promise<void> {
  const done: Rename[] = [];
  try {
    for (const [from, to] of renames) {
      await rename(from, to);
      done.push([from, to]);
    }
  } catch (error) {
    for (const [from, to] of done.reverse()) await rename(to, from);
    throw error;
  }
}
