// Describes a tree that a call would take away, move or replace: counts for a person, and a hash that an approval is bound to.

import { createHash } from "node:crypto";
import { isSamePath } from "../../core/call/path.js";
import type { CallScope } from "../../core/call/scope.js";
import { FileAdapterError } from "../../core/errors/errors.js";
import { conflict } from "../../core/errors/texts.js";
import type { Sha256 } from "../../core/etag.js";
import { runIo } from "../../core/io.js";
import type { Access, At, Looks, WalkEntry } from "../../core/ports/backend.js";
import { type EffectState, SHOWN_NAMES } from "../../core/ports/effect.js";
import type { OpenFile } from "../../core/ports/open-file.js";
import { parsePath } from "../../path/grammar.js";

const CHUNK = 262_144;
/** Entries of a tree that are counted; a larger one is told by this many. */
const MAX_COUNTED = 100_000;
/** Most bytes, and files, of a tree whose content is hashed. */
const MAX_HASHED_BYTES = 268_435_456;
const MAX_HASHED_FILES = 100_000;
/** Age in ms below which a change may be followed by another with the same file times. */
const SETTLED_MS = 2000;

/** Counts a tree, with its first names. */
export async function countTree(backend: Looks, { path, access }: At): Promise<EffectState> {
  let entries = 0;
  let size = 0;
  const names: string[] = [];
  const below: string[] = [];
  const visit = (entry: WalkEntry) => {
    entries += 1;
    size += entry.size ?? 0;
    below.splice(entry.depth - 1, below.length, entry.name);
    if (names.length < SHOWN_NAMES) names.push(shownName(below, entry.type));
    return entries < MAX_COUNTED ? "enter" : "stop";
  };
  await backend.walk(path, { sizes: true, visit }, access);
  // The size of what was not counted is not known.
  return { type: "directory", entries, size: entries < MAX_COUNTED ? size : undefined, names };
}

/** Name of an entry below a tree; a directory ends with a slash. */
export const shownName = (below: readonly string[], type: string): string =>
  `${below.join("/")}${type === "directory" ? "/" : ""}`;

/**
 * Hash over names, kinds, modes and contents of a tree. Contents count by their hash, on drives by that of their node; beyond
 * the bounds by identity, size and times, of which nobody can set the change time back.
 *
 * @throws CONFLICT where the way to it changes meanwhile
 */
export async function hashTree(backend: Looks, at: At): Promise<Sha256> {
  const first = new TreeHash(backend, at, false);
  const found = await first.run();
  if (!first.isUnsettled) return found;
  // Times that can come again say nothing; a moment later they do.
  const { scope } = at.access;
  await scope.race(new Promise<void>((resolve) => setTimeout(resolve, SETTLED_MS)));
  scope.checkpoint();
  return new TreeHash(backend, at, true).run();
}

class TreeHash {
  /** A file beyond the bounds changed so recently that its times may come again. */
  isUnsettled = false;
  readonly #backend: Looks;
  readonly #at: At;
  readonly #real: readonly string[];
  /** Beyond the bounds too, unsettled files count by their content. */
  readonly #isLast: boolean;
  #bytesLeft = MAX_HASHED_BYTES;
  #filesLeft = MAX_HASHED_FILES;

  constructor(backend: Looks, at: At, isLast: boolean) {
    this.#backend = backend;
    this.#at = at;
    this.#real = [...(at.access.realPath ?? at.path.segments)];
    this.#isLast = isLast;
  }

  async run(): Promise<Sha256> {
    const { path, access } = this.#at;
    const sum = createHash("sha256");
    const below: string[] = [];
    await this.#backend.walk(
      path,
      {
        ...{ sizes: true, versions: true },
        visit: async (entry): Promise<"enter"> => {
          const { depth, name, type, mode } = entry;
          below.splice(depth - 1, below.length, name);
          const content = type === "directory" ? null : await this.#contentOf(entry, below);
          sum.update(`${JSON.stringify([depth, name, type, mode, content])}\n`);
          return "enter";
        },
        unreadable: () => sum.update("unreadable\n"),
      },
      access,
    );
    return sum.digest("hex");
  }

  async #contentOf(entry: WalkEntry, below: readonly string[]): Promise<string | undefined> {
    const { type, size = 0, version, changed = 0 } = entry;
    if (type !== "file" || entry.unreachable === true) return version;
    const isWithin = version === undefined || (size <= this.#bytesLeft && this.#filesLeft > 0);
    if (!isWithin) {
      const isSettled = changed <= Date.now() - SETTLED_MS;
      if (!isSettled) this.isUnsettled = true;
      if (isSettled || !this.#isLast) return version;
    } else {
      this.#bytesLeft -= size;
      this.#filesLeft -= 1;
    }
    return this.#hashFile(entry, below);
  }

  async #hashFile({ version }: WalkEntry, below: readonly string[]): Promise<string | undefined> {
    const { place, scope } = this.#at.access;
    let file: OpenFile;
    try {
      const path = parsePath(place.root, [...this.#real, ...below].join("/"));
      file = await this.#backend.open(path, insideOf(this.#at.access, path.segments));
    } catch (error) {
      // An unreadable entry can still be moved, and one that is gone is no part of the tree.
      if (error instanceof FileAdapterError && LEFT_OUT.has(error.code)) return `${error.code} ${version}`;
      throw error;
    }
    try {
      // Without versions the stamp of a file is the hash of its node.
      if (version === undefined && file.stamp !== undefined) return file.stamp;
      return (await hashOpen(file, scope)).sha256;
    } finally {
      file.close();
    }
  }
}

const LEFT_OUT: ReadonlySet<string> = new Set(["PERMISSION_DENIED", "NOT_FOUND", "NOT_A_FILE", "IS_A_DIRECTORY"]);

/** Access to a file of a tree that was judged as a whole, at its real path and without links on the way. */
const insideOf = ({ place, verb, scope }: Access, path: readonly string[]): Access => ({
  ...{ place, verb, scope, links: "refuse" },
  real(segments) {
    if (!isSamePath(segments, path)) throw conflict(place, { verb, expected: "links as they were" });
  },
  create() {},
  require() {},
  holds: () => true,
});

/** Hashes an open file up to the size it was opened with. @param take called with each piece */
export async function hashOpen(
  file: OpenFile,
  scope: CallScope,
  take?: (bytes: Buffer) => void,
): Promise<{ readonly sha256: Sha256; readonly size: number }> {
  const sum = createHash("sha256");
  let size = 0;
  while (size < file.size) {
    const bytes = await file.read(size, Math.min(CHUNK, file.size - size));
    if (bytes.length === 0) break;
    sum.update(bytes);
    take?.(bytes);
    size += bytes.length;
    await runIo(scope.breathe());
  }
  return { sha256: sum.digest("hex"), size };
}
