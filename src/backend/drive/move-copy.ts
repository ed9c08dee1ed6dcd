// Moves, and copies into a drive.

import { createHash } from "node:crypto";
import type { FileAdapterError } from "../../core/errors/errors.js";
import {
  alreadyExists,
  invalidInput,
  invalidPath,
  isADirectory,
  notADirectory,
  notFound,
  parentMissing,
} from "../../core/errors/texts.js";
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
import type { OpenFile } from "../../core/ports/open-file.js";
import type { SourceEntry, TreeSource } from "../../core/ports/tree-source.js";
import type { DriveChange, DriveSnapshot, DriveStat, StagedContent } from "../../drive/engine/engine.js";
import { authoriseParents } from "../authorise-parents.js";
import { refusalOf } from "../path-policy.js";
import { expectationError } from "../preconditions.js";
import { checkExpected, checkVersion } from "./conditions.js";
import { madeDirectories, type Note, newState, stateOf, withReports } from "./report.js";
import type { DriveDoor } from "./store.js";
import { locate, makeDirectories, type Spot, stampPart, statAt } from "./tree.js";
import { requireAllAllowed } from "./walk.js";

const PIECE_BYTES = 1_048_576;

/** An entry that is about to be placed. */
interface Placement extends PlaceOptions {
  readonly isFile: boolean;
}

/** Content loaded from a source. */
interface Loaded {
  readonly below: readonly string[];
  /** Absent: a directory. */
  readonly content?: { readonly put: StagedContent; readonly sha256: Sha256; readonly size: number };
}

/** Moves an entry in one change of the drive. */
export async function moveInDrive(drive: DriveDoor, from: At, to: At, options: MoveOptions & Standing): Promise<Moved> {
  const { segments } = from.path;
  const { access } = from;
  return withReports(drive, to.access, async (tree, note) => {
    const found = await statAt(tree, segments);
    if (found === undefined) throw notFound(access.place);
    const { expectedFrom } = options;
    if (expectedFrom !== undefined && found.type === "directory") throw isADirectory(access.place);
    const { hash } = await checkExpected({ tree, segments, access }, found, expectedFrom);
    checkVersion(found, options.version, access);
    const seen = { ...(hash === undefined ? {} : { sha256: hash.digest("hex") }), ...stampPart(found) };
    if (from.path.text === to.path.text) return { overwritten: false, ...seen };
    if (segments.length === 0) throw invalidInput("The root itself cannot be moved", "/path", "a path below the root");
    if (to.path.text.startsWith(`${from.path.text}/`)) {
      throw invalidInput("'to' lies inside 'path'", "/to", "a path outside of 'path'");
    }
    if (found.type === "directory") {
      for (const end of [from, to]) await requireAllAllowed(tree, segments, end.access);
    }
    const { spot, old } = await checkTarget(tree, to, { ...options, isFile: found.type === "file" });
    const last = to.path.segments.length - 1;
    authoriseParents(to.path, { from: spot.depth, to: last }, to.access);
    await makeDirectories(tree, to.path, { from: spot.depth, to: last });
    const isTree = old?.type === "directory" || found.type === "directory";
    const before = old === undefined || isTree ? null : stateOf(old);
    if (old !== undefined && isTree) await removeOld(tree, to, { old, note });
    else if (old !== undefined) await tree.remove(to.path.segments, { recursive: false });
    await tree.move(segments, to.path.segments);
    access.scope.commit();
    note({
      ...{ action: "moved", kind: found.type, path: to.path.segments, from: segments },
      ...madeDirectories(to.path, { from: spot.depth, to: last }),
      ...{ before, after: stateOf(found, seen.sha256) },
    });
    return { overwritten: old !== undefined, ...seen };
  });
}

/** Removes what a tree replaces, or the tree that is replaced. */
async function removeOld(
  tree: DriveChange,
  { path, access }: At,
  { old, note }: { readonly old: DriveStat; readonly note: Note },
): Promise<void> {
  if (old.type === "directory") await requireAllAllowed(tree, path.segments, access);
  await tree.remove(path.segments, { recursive: true });
  note({ action: "deleted", kind: old.type, path: path.segments, before: stateOf(old), after: null });
}

/** Places a copy in one change of the drive; its content is already stored. */
export async function placeInDrive(
  drive: DriveDoor,
  at: At,
  source: TreeSource,
  options: CopyOptions,
): Promise<Copied> {
  const { path, access } = at;
  const last = path.segments.length - 1;
  const coming = { ...options, isFile: source.top.type === "file" };
  const first = await drive.look((tree) => checkTarget(tree, at, coming));
  authoriseParents(path, { from: first.spot.depth, to: last }, access);
  const all = await loadAll(drive, source, access);
  const top = all[0]?.content;
  options.approve?.(top?.sha256);
  return withReports(drive, access, async (tree, note) => {
    // The tree may have changed since it was checked.
    const { spot, old } = await checkTarget(tree, at, coming);
    authoriseParents(path, { from: spot.depth, to: first.spot.depth }, access);
    await makeDirectories(tree, path, { from: spot.depth, to: last });
    const isTree = old?.type === "directory" || (old !== undefined && !coming.isFile);
    if (isTree) await removeOld(tree, at, { old, note });
    const before = old === undefined || isTree ? null : stateOf(old);
    for (const { below, content } of all) {
      access.scope.checkpoint();
      const segments = [...path.segments, ...below];
      if (content === undefined) await tree.makeDirectory(segments);
      else await tree.writeFile(segments, content.put);
    }
    access.scope.commit();
    const sizes = all.flatMap(({ content }) => (content === undefined ? [] : [content.size]));
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    const { from } = options;
    note({
      ...{ action: before === null ? "created" : "modified", kind: source.top.type, path: path.segments },
      ...(from === undefined ? {} : { from: from.path }),
      ...(from === undefined || from.root === access.place.root ? {} : { fromRoot: from.root }),
      ...(source.top.type === "file" ? {} : { files: sizes.length }),
      ...madeDirectories(path, { from: spot.depth, to: last }),
      ...{ before, after: newState(top === undefined ? 0 : bytes, top?.sha256) },
    });
    return {
      ...{ overwritten: old !== undefined, files: sizes.length, bytes },
      ...(top === undefined ? {} : { sha256: top.sha256 }),
    };
  });
}

/** @throws NOT_A_DIRECTORY, PARENT_MISSING, CONFLICT, ALREADY_EXISTS */
async function checkTarget(
  tree: DriveSnapshot,
  { path, access }: At,
  { parents, overwrite, replaces = false, expected, isFile }: Placement,
): Promise<{ readonly spot: Spot; readonly old: DriveStat | undefined }> {
  const { segments } = path;
  const spot = await locate(tree, path);
  const place = (count: number) => ({ root: access.place.root, path: segments.slice(0, count).join("/") });
  const missing = segments.length - spot.depth;
  if (missing > 0 && spot.node.type === "file") throw notADirectory(place(spot.depth));
  if (missing > 1 && !parents) throw parentMissing(place(segments.length - 1));
  const old = missing === 0 ? spot.node : undefined;
  if (old?.type === "directory" && expected === "nothing") throw expectationError(expected, undefined, access);
  if (old !== undefined && overwrite && replaces) access.require("crud/delete");
  const isReplaced = overwrite && (replaces || (isFile && old?.type === "file"));
  if (isReplaced && old?.type === "directory" && expected !== undefined) throw alreadyExists(access.place);
  if (old !== undefined && !isReplaced && expected !== "nothing") throw alreadyExists(access.place);
  await checkExpected({ tree, segments, access }, old, expected);
  return { spot, old };
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
    all.push(type === "directory" ? { below } : { below, content: await loadFile(drive, entry, access) });
  }
  return all;
}

async function loadFile(drive: DriveDoor, entry: SourceEntry, access: Access) {
  const file = await entry.open();
  const hash = createHash("sha256");
  let size = 0;
  async function* pieces(): AsyncGenerator<Uint8Array> {
    while (size < file.size) {
      access.scope.checkpoint();
      const bytes = await file.read(size, Math.min(PIECE_BYTES, file.size - size));
      if (bytes.length === 0) return;
      hash.update(bytes);
      size += bytes.length;
      yield bytes;
    }
  }
  try {
    const put = await drive.stage(pieces());
    return { put, sha256: hash.digest("hex"), size };
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

  #entry({ type }: DriveStat, below: readonly string[]): SourceEntry {
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
    return { type, below, open };
  }
}

export interface DriveTreeParts {
  /** Released together with the source. */
  readonly tree: DriveSnapshot;
  readonly at: At;
  /** The entry at the top. */
  readonly found: DriveStat;
  /** Why an entry is left out; `undefined`: it is copied. */
  omission(below: readonly string[], name: string): FileAdapterError | undefined;
  /** Runs work within the call's deadline; its errors name the place. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /** Reads the current state of the drive. */
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
