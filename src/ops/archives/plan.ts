// Plan of an extract: the whole archive is looked through before anything is written.

import type { ArchiveEntry, ArchiveNode, OpenArchive } from "../../core/call/archive.js";
import { adapterError, type FileAdapterError } from "../../core/errors/errors.js";
import { deniedByPolicy, escapeText, type Place, at as placeAt } from "../../core/errors/texts.js";
import { type Awaitable, after, type Io, runIo } from "../../core/io.js";
import type { OpenFile } from "../../core/ports/open-file.js";
import type { PathCall } from "../../core/ports/operation.js";
import type { TreeSource } from "../../core/ports/tree-source.js";
import { foldName, isReachableName, isReservedName, parsePath } from "../../path/grammar.js";
import { Tally } from "./limits.js";
import type { ArchiveSource } from "./source.js";

type Source = Pick<ArchiveSource, "place" | "denies">;

const [PLAIN, EXECUTABLE] = [0o644, 0o755];
const OWNER_MAY_RUN = 0o100;
/** Time for each entry, and for bytes, on a slow disk. */
const MS_PER_ENTRY = 4;
const BYTES_PER_MS = 10_000;

/** A file or directory that an archive becomes. */
export interface PlannedEntry {
  /** Names from the top of the archive. */
  readonly below: readonly string[];
  /** Absent: a directory. */
  readonly file: ArchiveEntry | undefined;
  /** Absent: a directory that the archive does not list. */
  readonly modified: number | undefined;
  /** A directory in which nothing is planned. */
  readonly isEmpty: boolean;
  readonly isExecutable: boolean;
}

export class ExtractPlan {
  /** Depth first, directories before what is in them, in the order of the archive. */
  readonly entries: PlannedEntry[] = [];
  readonly tally: Tally;
  readonly left = { symlinks: 0, special: 0 };
  readonly #archive: OpenArchive;
  readonly #source: Source;
  readonly #to: PathCall;
  readonly #folded = new Set<string>();

  /** @throws PATH_ESCAPES_ROOT, BAD_FORMAT, TOO_LARGE */
  static async of(archive: OpenArchive, source: Source, to: PathCall): Promise<ExtractPlan> {
    const plan = new ExtractPlan(archive, source, to);
    await runIo(plan.#look());
    return plan;
  }

  private constructor(archive: OpenArchive, source: Source, to: PathCall) {
    this.#archive = archive;
    this.#source = source;
    this.#to = to;
    this.tally = new Tally(source.place);
  }

  /** Looks through the directory. */
  *#look(): Io<void> {
    const { firstLeftOut, duplicate } = this.#archive.contents;
    if (firstLeftOut !== undefined) throw this.#escapes(firstLeftOut);
    if (duplicate !== undefined) throw this.#twice(duplicate);
    yield* this.#add(this.#archive.contents.find([])?.children ?? new Map(), []);
  }

  get files(): readonly PlannedEntry[] {
    return this.entries.filter(({ file }) => file !== undefined);
  }

  /** Milliseconds that it may take beyond the time of any call. */
  get extraMs(): number {
    return this.tally.entries * MS_PER_ENTRY + this.tally.bytes / BYTES_PER_MS;
  }

  /** All of it as the source of a copy. */
  tree(): TreeSource {
    const archive = this.#archive;
    let next = 0;
    const open = (): never => {
      throw new TypeError("A directory of an archive is not opened");
    };
    return {
      top: { type: "directory", below: [], mode: EXECUTABLE, open },
      next: () => {
        const planned = this.entries[next++];
        if (planned === undefined) return undefined;
        const { below, file, modified } = planned;
        const found = { below, mode: modeOf(planned), ...(modified !== undefined && { modified }) };
        return file === undefined
          ? { ...found, type: "directory", open }
          : { ...found, type: "file", open: () => opened(archive, file) };
      },
      left: { symlinks: 0, policy: 0, unreadable: 0 },
      isUnchanged: () => true,
      close() {},
    };
  }

  *#add(children: ReadonlyMap<string, ArchiveNode>, above: readonly string[]): Io<void> {
    for (const { name, entry, children: inside } of children.values()) {
      yield* this.#to.scope.breathe();
      const below = [...above, name];
      if (this.#source.denies(above, name)) throw deniedByPolicy(placeInside(this.#source.place, below), "read");
      this.#check(below, entry);
      if (inside === undefined && entry?.type !== "file") {
        this.left[entry?.type === "symlink" ? "symlinks" : "special"] += 1;
        continue;
      }
      this.tally.add(entry?.size ?? 0);
      const file = inside === undefined ? entry : undefined;
      const isExecutable = file === undefined || ((file.mode ?? 0) & OWNER_MAY_RUN) !== 0;
      const planned = { below, file, modified: entry?.modified, isEmpty: false, isExecutable };
      const count = this.entries.push(planned);
      if (inside === undefined) continue;
      yield* this.#add(inside, below);
      planned.isEmpty = this.entries.length === count;
    }
  }

  #check(below: readonly string[], entry: ArchiveEntry | undefined): void {
    const { path, root } = this.#to;
    const text = [...path.segments, ...below].join("/");
    const name = below.at(-1) ?? "";
    const folds = root.backend.foldsCase === true;
    try {
      parsePath(root.name, text);
    } catch {
      throw this.#escapes(below.join("/"));
    }
    if (!isReachableName(name, false) || isReservedName(name, folds)) throw this.#escapes(below.join("/"));
    if (entry?.packed.method === "encrypted")
      throw this.#unusable("encrypted", `an entry is encrypted: ${shown(below.join("/"))}`);
    if (!folds) return;
    const folded = foldName(text);
    if (this.#folded.has(folded)) throw this.#twice(below.join("/"));
    this.#folded.add(folded);
  }

  #escapes(entry: string): FileAdapterError {
    const told = `Cannot extract: the archive has an entry that no path may have: ${shown(entry)}. Nothing was written`;
    return adapterError("PATH_ESCAPES_ROOT", told, {
      ...placeAt(this.#source.place),
      entry: entry.slice(0, MAX_SHOWN),
    });
  }

  #twice(entry: string): FileAdapterError {
    return this.#unusable("duplicate", `several entries have one path: ${shown(entry)}`);
  }

  #unusable(reason: string, told: string): FileAdapterError {
    const data = { ...placeAt(this.#source.place), reason };
    return adapterError("BAD_FORMAT", `Cannot extract: ${told}. Nothing was written`, data);
  }
}

export const modeOf = ({ isExecutable }: PlannedEntry): number => (isExecutable ? EXECUTABLE : PLAIN);

/** A content of no bytes is checked here, since nobody reads it. */
function opened(archive: OpenArchive, entry: ArchiveEntry): Awaitable<OpenFile> {
  const file = archive.open(entry);
  return entry.size > 0 ? file : after(file.read(0, 1), () => file);
}

const placeInside = ({ root, path }: Place, below: readonly string[]): Place => ({
  root,
  path: `${path}!/${below.join("/")}`,
});

const MAX_SHOWN = 200;
const shown = (name: string): string => `"${escapeText(name.slice(0, MAX_SHOWN))}"`;
