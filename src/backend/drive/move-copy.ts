// Moves, and copies into a drive.

import { createHash } from "node:crypto";
import type { FileAdapterError } from "../../core/errors/errors.js";
import { alreadyExists, invalidInput, invalidPath, isADirectory, notFound } from "../../core/errors/texts.js";
import type { Sha256 } from "../../core/etag.js";
import type {
  Access,
  At,
  Copied,
  CopyOptions,
  Moved,
  MoveOptions,
  PlaceOptions,
  Standing,
} from "../../core/ports/backend.js";
import type { EntryChange } from "../../core/ports/changes/change.js";
import type { OpenFile } from "../../core/ports/open-file.js";
import type { SourceEntry, TreeSource } from "../../core/ports/tree-source.js";
import type { DriveChange, DriveSnapshot, DriveStat, StagedContent } from "../../drive/engine/engine.js";
import { refusalOf } from "../path-policy.js";
import { expectationError } from "../preconditions.js";
import { requireAllAllowed } from "../tree-walk.js";
import { type DriveDoor, newState, nothingToDo, type Part, type Step, stateOf } from "./change.js";
import { checkExpected, checkVersion } from "./conditions.js";
import { placeAt, stampPart, statAt } from "./tree.js";
import { stageHashed } from "./write.js";

const PIECE_BYTES = 1_048_576;

interface Placement extends PlaceOptions {
  readonly isFile: boolean;
}

/** Content loaded from a source. */
interface Loaded {
  readonly below: readonly string[];
  /** Absent: a directory. */
  readonly content: { readonly put: StagedContent; readonly sha256: Sha256 } | undefined;
}

export const moveStep = (from: At, to: At, options: MoveOptions & Standing): Step<Moved> => ({
  at: to,
  from,
  async plan(tree) {
    const { segments } = from.path;
    const { access } = from;
    const found = await statAt(tree, segments);
    if (found === undefined) throw notFound(access.place);
    if (options.expectedFrom !== undefined && found.type === "directory") throw isADirectory(access.place);
    const { hash } = await checkExpected({ tree, segments, access }, found, options.expectedFrom);
    checkVersion(found, options.version, access);
    const sha256 = hash?.digest("hex");
    const seen = { ...(sha256 === undefined ? {} : { sha256 }), ...stampPart(found) };
    if (from.path.text === to.path.text) return nothingToDo(false, { overwritten: false, ...seen });
    if (segments.length === 0) throw invalidInput("The root itself cannot be moved", "/path", "a path below the root");
    if (to.path.text.startsWith(`${from.path.text}/`)) {
      throw invalidInput("'to' lies inside 'path'", "/to", "a path outside of 'path'");
    }
    if (found.type === "directory") {
      for (const end of [from, to]) await requireAllAllowed(tree, segments, end.access);
    }
    const isFile = found.type === "file";
    const { depth, old } = await checkTarget(tree, to, { ...options, isFile });
    const removal = await removalOf(tree, to, old, isFile);
    const replaced = removal.length === 0 ? old : undefined;
    const make = async (tree: DriveChange): Promise<void> => {
      if (replaced !== undefined) await tree.remove(to.path.segments, { recursive: false });
      await tree.move(segments, to.path.segments);
    };
    const change: EntryChange = {
      action: "moved",
      kind: found.type,
      path: to.path.segments,
      from: segments,
      before: replaced === undefined ? null : stateOf(replaced),
      after: stateOf(found, sha256),
    };
    const overwritten = old !== undefined;
    return {
      depth,
      parts: [...removal, { change, make }],
      existed: overwritten,
      answer: () => ({ overwritten, ...seen }),
    };
  },
});

/** A tree is removed before something takes its place, and a file before a tree does. */
async function removalOf(
  tree: DriveSnapshot,
  { path: { segments }, access }: At,
  old: DriveStat | undefined,
  isFile: boolean,
): Promise<Part[]> {
  if (old === undefined || (old.type === "file" && isFile)) return [];
  if (old.type === "directory") await requireAllAllowed(tree, segments, access);
  const change: EntryChange = {
    action: "deleted",
    kind: old.type,
    path: segments,
    before: stateOf(old),
    after: null,
  };
  return [{ change, make: (tree) => tree.remove(segments, { recursive: true }) }];
}

/** Places a copy, of which the content is stored first. */
export function placeStep(drive: DriveDoor, at: At, source: TreeSource, options: CopyOptions): Step<Copied> {
  const { path, access } = at;
  const { type: kind } = source.top;
  const isFile = kind === "file";
  const coming = { ...options, isFile };
  let all: readonly Loaded[] = [];
  return {
    at,
    first: (tree) => checkTarget(tree, at, coming),
    async stage() {
      all = await loadAll(drive, source, access);
      options.approve?.(all[0]?.content?.sha256);
    },
    async plan(tree) {
      const { depth, old } = await checkTarget(tree, at, coming);
      const removal = await removalOf(tree, at, old, isFile);
      const before = old === undefined || removal.length > 0 ? null : stateOf(old);
      const contents = all.flatMap(({ content }) => content ?? []);
      const bytes = contents.reduce((sum, { put }) => sum + put.size, 0);
      const sha256 = all[0]?.content?.sha256;
      const make = async (tree: DriveChange): Promise<void> => {
        for (const { below, content } of all) {
          access.scope.checkpoint();
          const segments = [...path.segments, ...below];
          if (content === undefined) await tree.makeDirectory(segments);
          else await tree.writeFile(segments, content.put);
        }
      };
      const { from } = options;
      const change: EntryChange = {
        action: before === null ? "created" : "modified",
        kind,
        path: path.segments,
        ...(from === undefined ? {} : { from: from.path }),
        ...(from === undefined || from.root === access.place.root ? {} : { fromRoot: from.root }),
        ...(isFile ? {} : { files: contents.length }),
        before,
        after: newState(isFile ? bytes : 0, sha256),
      };
      const overwritten = old !== undefined;
      return {
        depth,
        parts: [...removal, { change, make }],
        existed: overwritten,
        answer: () => ({ overwritten, files: contents.length, bytes, ...(sha256 === undefined ? {} : { sha256 }) }),
      };
    },
  };
}

/** @throws NOT_A_DIRECTORY, PARENT_MISSING, CONFLICT, ALREADY_EXISTS */
async function checkTarget(
  tree: DriveSnapshot,
  at: At,
  { parents, overwrite, replaces = false, expected, isFile }: Placement,
): ReturnType<typeof placeAt> {
  const { segments } = at.path;
  const { access } = at;
  const { depth, old } = await placeAt(tree, at, parents);
  if (old?.type === "directory" && expected === "nothing") throw expectationError(expected, undefined, access);
  if (old !== undefined && overwrite && replaces) access.require("crud/delete");
  const isReplaced = overwrite && (replaces || (isFile && old?.type === "file"));
  if (isReplaced && old?.type === "directory" && expected !== undefined) throw alreadyExists(access.place);
  if (old !== undefined && !isReplaced && expected !== "nothing") throw alreadyExists(access.place);
  await checkExpected({ tree, segments, access }, old, expected);
  return { depth, old };
}

async function loadAll(drive: DriveDoor, source: TreeSource, access: Access): Promise<Loaded[]> {
  const all: Loaded[] = [];
  for (let entry: SourceEntry | undefined = source.top; entry !== undefined; entry = await source.next()) {
    access.scope.checkpoint();
    const { below, type } = entry;
    const name = below.at(-1);
    if (entry.raw !== undefined) throw invalidPath(access.place, "not valid Unicode");
    const refusal = name === undefined ? undefined : refusalOf(access, below.slice(0, -1), name);
    if (refusal !== undefined) throw refusal;
    all.push({ below, content: type === "directory" ? undefined : await loadFile(drive, entry, access) });
  }
  return all;
}

async function loadFile(drive: DriveDoor, entry: SourceEntry, access: Access) {
  const file = await entry.open();
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let size = 0; size < file.size; ) {
      access.scope.checkpoint();
      const bytes = await file.read(size, Math.min(PIECE_BYTES, file.size - size));
      if (bytes.length === 0) return;
      size += bytes.length;
      yield bytes;
    }
  }
  try {
    return await stageHashed(drive, pieces());
  } finally {
    file.close();
  }
}

/** A snapshot of a drive's tree as the source of a copy. */
export class DriveTree implements TreeSource {
  readonly top: SourceEntry;
  readonly left = { symlinks: 0, policy: 0, unreadable: 0 };
  refusal: FileAdapterError | undefined;
  readonly #parts: DriveTreeParts;
  readonly #entries: AsyncGenerator<SourceEntry>;

  constructor(parts: DriveTreeParts) {
    this.#parts = parts;
    this.top = this.#entry(parts.found, []);
    this.#entries = this.#below([]);
  }

  async next(): Promise<SourceEntry | undefined> {
    if (this.top.type === "file") return undefined;
    const step = await this.#parts.run(() => this.#entries.next());
    return step.done === true ? undefined : step.value;
  }

  async isUnchanged(): Promise<boolean> {
    const { at, tree, run, look } = this.#parts;
    const [then, now] = [await run(() => traceOf(tree, at)), await run(() => look((current) => traceOf(current, at)))];
    return then === now;
  }

  close(): void {
    this.#parts.tree.release();
  }

  async *#below(below: readonly string[]): AsyncGenerator<SourceEntry> {
    const { tree, at, omission } = this.#parts;
    for (const entry of await tree.entries([...at.path.segments, ...below])) {
      const omitted = omission(below, entry.name);
      if (omitted !== undefined) {
        this.refusal ??= omitted;
        this.left.policy++;
        continue;
      }
      const here = [...below, entry.name];
      yield this.#entry(entry, here);
      if (entry.type === "directory") yield* this.#below(here);
    }
  }

  #entry({ type, modified }: DriveStat, below: readonly string[]): SourceEntry {
    const { tree, at, run } = this.#parts;
    const segments = [...at.path.segments, ...below];
    const open = async (): Promise<OpenFile> => {
      // A listing does not report the true size of a damaged file.
      const found = await run(() => statAt(tree, segments));
      if (found?.type !== "file") throw isADirectory(at.access.place);
      const read = async (offset: number, length: number, into?: Buffer) =>
        (await run(() => tree.readFile(segments, offset, length, into))).bytes;
      return { size: found.size, modified: found.modified, read, close() {} };
    };
    return { type, below, modified, open };
  }
}

export interface DriveTreeParts {
  /** Released together with the source. */
  readonly tree: DriveSnapshot;
  readonly at: At;
  readonly found: DriveStat;
  /** Why an entry is left out; `undefined`: it is copied. */
  omission(below: readonly string[], name: string): FileAdapterError | undefined;
  /** Runs work within the call's deadline; its errors name the place. */
  run<T>(work: () => Promise<T>): Promise<T>;
  look: DriveDoor["look"];
}

/** Fingerprint of everything visible in a tree. */
async function traceOf(tree: DriveSnapshot, { path, access }: At): Promise<string> {
  const hash = createHash("sha256");
  async function add(segments: readonly string[]): Promise<void> {
    access.scope.checkpoint();
    const found = await statAt(tree, segments);
    hash.update(JSON.stringify([segments, found]));
    if (found?.type !== "directory") return;
    for (const { name } of await tree.entries(segments)) await add([...segments, name]);
  }
  await add(path.segments);
  return hash.digest("hex");
}
