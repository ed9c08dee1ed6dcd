// Paths that a caller may have meant by one that does not exist. Everything is looked up with the caller's own rights
// to read and past the deny patterns, so a suggestion tells nothing that `file:list` and `file:stat` would not.

import { adapterError, FileAdapterError } from "../../core/errors/errors.js";
import { escapeText } from "../../core/errors/texts.js";
import type { PathCall, Resolve, RootFacts } from "../../core/ports/operation.js";
import { parsePath, spellingOf } from "../../path/grammar.js";
import { nameLook } from "../../path/looks.js";
import { loadLevenshtein } from "../../schema/nearest.js";
import { unlessRefused } from "./follow-links.js";

/** Folders with more entries are not searched. */
const MAX_ENTRIES = 10_000;
/** Most folders that one search lists, and most levels it goes up from the missing path to an existing folder. */
const MAX_FOLDERS = 4;
const MAX_LEVELS = 8;
const MAX_SUGGESTED = 3;
/** Longer paths and names are neither compared nor suggested. */
const MAX_CHARS = 200;

interface Suggestion {
  readonly root: string;
  readonly path: string;
}

/** Access of a search for suggestions. */
interface Surroundings {
  /** Resolves and authorises a place for reading. @throws as for any call on that place */
  readonly at: Resolve;
  /** Roots in which the caller holds a grant. */
  readonly roots: readonly RootFacts[];
  readonly disclosesHostPaths: boolean;
}

/** Looks for paths near one in which something is missing. */
export class PathSearch {
  readonly #root: string;
  readonly #surroundings: Surroundings;
  #folders = 0;

  constructor(root: string, surroundings: Surroundings) {
    this.#root = root;
    this.#surroundings = surroundings;
  }

  /**
   * The path that looks the same as one that is not there, if there is one.
   * @param isFirst only as far as its first missing segment
   */
  async findAlike(segments: readonly string[], isFirst = false): Promise<readonly string[] | undefined> {
    const folder = await this.#deepestFolder(segments);
    if (folder === undefined) return undefined;
    const missing = segments.slice(folder, isFirst ? folder + 1 : undefined);
    const [found] = await this.#findBelow(segments.slice(0, folder), missing, true);
    return found;
  }

  /** At most three paths, the likeliest first. */
  async findNear(segments: readonly string[]): Promise<readonly Suggestion[]> {
    for (const { root, path } of this.#withoutPrefixes(segments)) {
      if (await this.exists(path, root)) return [{ root, path: path.join("/") }];
    }
    const folder = await this.#deepestFolder(segments);
    if (folder === undefined) return [];
    const found = await this.#findBelow(segments.slice(0, folder), segments.slice(folder));
    return found
      .slice(0, MAX_SUGGESTED)
      .map((path) => ({ root: this.#root, path: path.join("/") }))
      .filter(({ path }) => path.length <= MAX_CHARS);
  }

  /** The path below the roots that it begins with, by their names, or by their host paths where these are no secret. */
  *#withoutPrefixes(segments: readonly string[]): Generator<{ root: string; path: readonly string[] }> {
    const { roots, disclosesHostPaths } = this.#surroundings;
    const text = `/${segments.join("/").replace(/^file:\//i, "")}`;
    // The root that was asked for comes first.
    const ordered = [...roots].sort(
      (one, other) => Number(other.name === this.#root) - Number(one.name === this.#root),
    );
    for (const { name, hostPath } of ordered) {
      const found = spellingOf(text, { name, hostPath: disclosesHostPaths ? hostPath : undefined });
      if (found?.below !== undefined) yield { root: name, path: parsePath(name, found.below).segments };
    }
  }

  /** Number of leading segments of the deepest directory that exists; `undefined`: none that the caller may read. */
  async #deepestFolder(segments: readonly string[]): Promise<number | undefined> {
    const least = Math.max(0, segments.length - MAX_LEVELS);
    for (let length = segments.length - 1; length >= least; length--) {
      if ((await this.#typeOf(segments.slice(0, length))) === "directory") return length;
    }
    return undefined;
  }

  /** Paths below a folder that equal the wanted one but for case; else those whose first missing name is near. @param isAlike only those that look the same */
  async #findBelow(
    folder: readonly string[],
    wanted: readonly string[],
    isAlike = false,
  ): Promise<(readonly string[])[]> {
    const [name = "", ...rest] = wanted;
    if (name.length > MAX_CHARS) return [];
    const names = await this.#findNames(folder, name, isAlike);
    const same: (readonly string[])[] = [];
    for (const one of names.same.slice(0, MAX_SUGGESTED)) {
      const path = [...folder, one];
      if (rest.length === 0 || (await this.exists([...path, ...rest]))) same.push([...path, ...rest]);
      else if ((await this.#typeOf(path)) === "directory") same.push(...(await this.#findBelow(path, rest, isAlike)));
    }
    return this.#existing(same.length > 0 ? same : names.near.map((one) => [...folder, one, ...rest]));
  }

  async #existing(paths: readonly (readonly string[])[]): Promise<(readonly string[])[]> {
    const found: (readonly string[])[] = [];
    for (const path of paths.slice(0, MAX_SUGGESTED)) {
      if (await this.exists(path)) found.push(path);
    }
    return found;
  }

  /** Names in a folder: the same in another case, and near ones, the nearest first. */
  async #findNames(
    folder: readonly string[],
    wanted: string,
    isAlike: boolean,
  ): Promise<{ same: string[]; near: string[] }> {
    const none = { same: [], near: [] };
    const place = this.#at(folder);
    if (place === undefined || ++this.#folders > MAX_FOLDERS) return none;
    const same: string[] = [];
    const near: { readonly name: string; readonly edits: number }[] = [];
    const distanceTo = isAlike ? () => undefined : createDistance(wanted);
    const look = nameLook(wanted);
    let seen = 0;
    await place.root.backend.walk(
      place.path,
      {
        sizes: false,
        visit: ({ name, unreachable }) => {
          if (++seen > MAX_ENTRIES) return "stop";
          if (unreachable === true || name === wanted) return "skip";
          if (isAlike ? nameLook(name) === look : foldName(name) === foldName(wanted)) same.push(name);
          else if (!isAlike) {
            const edits = distanceTo(name);
            if (edits !== undefined) near.push({ name, edits });
          }
          return "skip";
        },
      },
      place.access,
    );
    if (seen > MAX_ENTRIES) return none;
    near.sort((one, other) => one.edits - other.edits);
    return { same, near: near.map(({ name }) => name) };
  }

  /** Whether the caller may know of something at a path. */
  async exists(path: readonly string[], root = this.#root): Promise<boolean> {
    return (await this.#typeOf(path, root)) !== undefined;
  }

  /** `undefined` also for what the caller may not read, and for links that lead out of the root or to nothing. */
  async #typeOf(path: readonly string[], root = this.#root): Promise<string | undefined> {
    const place = this.#at(path, root);
    if (place === undefined) return undefined;
    return unlessRefused(async () => (await place.root.backend.stat(place.path, place.access))?.type);
  }

  /** `undefined`: the caller may not read there. */
  #at(path: readonly string[], root = this.#root): PathCall | undefined {
    try {
      return this.#surroundings.at({
        root,
        path: path.join("/"),
        abilities: ["crud/read"],
        changes: false,
        isAside: true,
      });
    } catch {
      return undefined;
    }
  }
}

const foldName = (name: string): string => nameLook(name).toLowerCase();

/** Compares names with a wanted one: the number of edits between them, `undefined` if they are not near. */
function createDistance(wanted: string): (name: string) => number | undefined {
  const { distance } = loadLevenshtein();
  const key = foldName(wanted);
  const most = Math.max(1, Math.floor(key.length / 4));
  return (name) => {
    // `cli` for `cli.ts` is a common slip, however long the ending is.
    if (key.length > 1 && foldName(name).startsWith(`${key}.`)) return 1;
    if (Math.abs(name.length - wanted.length) > most || name.length > MAX_CHARS) return undefined;
    const edits = distance(key, foldName(name));
    return edits <= most ? edits : undefined;
  };
}

/** Adds a hint to a `NOT_FOUND`, if some path is near; returns any other error unchanged. */
export async function withSuggestions(error: unknown, surroundings: Surroundings): Promise<unknown> {
  if (!(error instanceof FileAdapterError) || error.code !== "NOT_FOUND") return error;
  const { root, path } = error.data;
  if (typeof root !== "string" || typeof path !== "string" || path.length > MAX_CHARS) return error;
  try {
    const search = new PathSearch(root, surroundings);
    const suggestions = await search.findNear(path.split("/"));
    if (suggestions.length === 0) return error;
    const hint = `Did you mean ${suggestions.map((one) => suggestionText(one, root)).join(" or ")}?`;
    return adapterError(error.code, error.message, { ...error.data, hint, suggestions });
  } catch {
    // A failed or late suggestion never changes the answer to the call.
    return error;
  }
}

const suggestionText = ({ root, path }: Suggestion, requestedRoot: string): string =>
  `"${path === "" ? "/" : escapeText(path)}"${root === requestedRoot ? "" : ` in root "${escapeText(root)}"`}`;
