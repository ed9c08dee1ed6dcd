// Where the parts of a backup go: each is staged beside its place under another name, and gets its name at the end.

import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync, statSync } from "node:fs";
import { mkdir, open, rename, utimes } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { ConfigError } from "../../config/errors.js";
import type { VenueConfig } from "../../config/types.js";
import { escapeText } from "../../core/errors/texts.js";
import { syncDirectory } from "../../database/durable-files.js";
import { revocationPlace } from "../../venue/identity/revocations.js";
import { stateDirOf } from "../../venue/start/state/place.js";
import { restoreMarker } from "../../venue/start/state/unfinished-restore.js";
import { EXIT } from "../context.js";
import { writeNewFile } from "../output/new-file.js";
import { drivesFolder } from "./contents.js";

/** A file or folder that gets its name in one step. */
interface Place {
  /** The configuration key that says where. */
  readonly key: string;
  readonly path: string;
}

/** The places of one restore. */
export interface Places {
  /** Clears what a killed restore left. @throws ConfigError unless every place is free */
  prepare(): void;
  /** Writes an entry into the stage. */
  stage(entry: { readonly path: string; readonly modified: number }, content: AsyncIterable<Buffer>): Promise<void>;
  /** Where the revocation list is staged. */
  readonly revocations: string;
  /** Gives every place its name. Killed in between, the venue does not start, and the next restore begins anew. */
  commit(): Promise<void>;
  /** Removes the stage. */
  discard(): void;
}

const STAGED = ".restore";

/** @param kinds first segments of the entries @throws ConfigError for something that the configuration has no place for */
export function openPlaces(
  config: VenueConfig,
  env: Readonly<Record<string, string | undefined>>,
  kinds: ReadonlySet<string>,
): Places {
  const state = resolve(stateDirOf(config, env));
  const homes: Record<string, Place> = {
    state: { key: "stateDir", path: state },
    revocations: { key: "auth.ucan.revocations", path: resolve(revocationPlace(config, env).path) },
  };
  if (kinds.has("seed")) {
    if (config.seedFile === undefined)
      throw new ConfigError(["Cannot restore: the backup has a key; set 'seedFile'"], EXIT.config);
    homes["seed"] = { key: "seedFile", path: resolve(config.seedFile) };
  }
  if (kinds.has("drives")) {
    const folder = drivesFolder(config, env);
    if (folder === undefined)
      throw new ConfigError(
        ["Cannot restore: the backup has drives; set 'seedFile', or 'drives.store' to a path"],
        EXIT.config,
      );
    homes["drives"] = { key: "drives.store", path: resolve(folder) };
  }
  // Parts inside the state directory are staged with it.
  const units = Object.values(homes).filter(({ path }) => path === state || !isIn(path, state));
  return new StagedPlaces({ homes, units, marker: restoreMarker(state) });
}

const isIn = (path: string, folder: string): boolean => path.startsWith(`${folder}${sep}`);

class StagedPlaces implements Places {
  readonly #homes: Readonly<Record<string, Place>>;
  readonly #units: readonly Place[];
  readonly #marker: string;

  constructor({
    homes,
    units,
    marker,
  }: { homes: Readonly<Record<string, Place>>; units: readonly Place[]; marker: string }) {
    this.#homes = homes;
    this.#units = units;
    this.#marker = marker;
  }

  get revocations(): string {
    return this.#stagedOf(this.#homes["revocations"]?.path ?? "");
  }

  prepare(): void {
    if (existsSync(this.#marker)) {
      const begun: unknown = JSON.parse(readFileSync(this.#marker, "utf8"));
      // They were free when that restore began.
      for (const { path } of this.#units) {
        if (Array.isArray(begun) && begun.includes(path)) rmSync(path, { recursive: true, force: true });
      }
    }
    this.discard();
    for (const { key, path } of this.#units) {
      const stat = statSync(path, { throwIfNoEntry: false });
      if (stat === undefined || (stat.isDirectory() && readdirSync(path).length === 0)) continue;
      const text = `Cannot restore: something is at '${key}' already: ${escapeText(path)}. A backup goes into an empty place only: move that away first`;
      throw new ConfigError([text], EXIT.config);
    }
  }

  async stage({ path, modified }: { path: string; modified: number }, content: AsyncIterable<Buffer>): Promise<void> {
    const [kind = "", ...rest] = path.split("/");
    const target = this.#stagedOf(join(this.#homes[kind]?.path ?? "", ...rest));
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    const handle = await open(target, "wx", 0o600);
    try {
      for await (const chunk of content) await handle.writeFile(chunk);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await utimes(target, modified / 1000, modified / 1000);
  }

  async commit(): Promise<void> {
    const staged = this.#units.filter(({ path }) => existsSync(path + STAGED));
    await mkdir(dirname(this.#marker), { recursive: true, mode: 0o700 });
    // Whole or not at all: a restore killed here has given no names yet.
    const list = JSON.stringify(staged.map(({ path }) => path));
    const options = { mode: 0o600, replaces: true, draft: `${this.#marker}.new` };
    await writeNewFile(this.#marker, options, (handle) => handle.writeFile(list));
    for (const { path } of staged) {
      if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) rmdirSync(path);
      await rename(path + STAGED, path);
      await syncDirectory(dirname(path));
    }
    rmSync(this.#marker);
    await syncDirectory(dirname(this.#marker));
  }

  discard(): void {
    for (const { path } of this.#units) rmSync(path + STAGED, { recursive: true, force: true });
  }

  #stagedOf(path: string): string {
    const unit = this.#units.find((one) => path === one.path || isIn(path, one.path));
    if (unit === undefined) throw new RangeError("No place for an entry of the backup");
    return join(unit.path + STAGED, relative(unit.path, path));
  }
}
