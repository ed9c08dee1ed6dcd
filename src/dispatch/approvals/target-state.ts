// Reads the state of the target of a change before the change is made.

import { createHash } from "node:crypto";
import { FileAdapterError } from "../../core/errors/errors.js";
import { etagOf, type Sha256 } from "../../core/etag.js";
import type { At, Backend, FileStat } from "../../core/ports/backend.js";
import type { Effect, EffectState } from "../../core/ports/effect.js";
import type { OpenFile } from "../../core/ports/open-file.js";
import type { TreeSource } from "../../core/ports/tree-source.js";
import { mapSource } from "../../ops/copying/copy-tree.js";
import { unifiedDiff } from "../../ops/editing/unified-diff.js";

/** State of a place. */
export interface TargetState {
  /** Absent: nothing is there. */
  readonly state?: EffectState;
  /** Of a file. */
  readonly sha256?: Sha256;
  /** The first two bytes of a file. */
  readonly head?: Buffer;
  /** Content of a small file. */
  readonly content?: Buffer;
  /** Summary of a directory, as one text. */
  readonly tree?: string;
}

const CHUNK = 262_144;
/** Most bytes of a file of which a difference is made. */
const MAX_TEXT = 1_048_576;
const MAX_DIFF_CHARS = 16_000;
/** Most characters of the differences of several files or roots together. */
const MAX_JOINT_CHARS = 64_000;
const CUT = "\\ The difference goes on: it is cut here\n";
/** Entries of a tree that are counted; a larger one is told by this many. */
const MAX_ENTRIES = 100_000;

/** Finds where links lead to, without what is there. From then on the way must not change. */
export async function readWay(backend: Backend, { path, access }: At): Promise<void> {
  await backend.stat(path, access);
  access.pin?.(access.realPath);
}

const LINK: TargetState = { state: { type: "link" } };

/** How an effect names its place: as requested, and behind links. For a place that was looked at. */
export function namesOf({ path, access }: At): Pick<Effect, "path" | "real"> {
  const real = access.realPath?.join("/") ?? path.text;
  return { path: path.text, ...(real === path.text ? {} : { real }) };
}

/** The same for the target of a move. */
export function targetNamesOf(at: At): Pick<Effect, "to" | "toReal"> {
  const { path: to, real: toReal } = namesOf(at);
  return { to, ...(toReal === undefined ? {} : { toReal }) };
}

/**
 * From then on the way to the place must not change.
 *
 * @param itself a link is looked at, not what it leads to: for what removes, moves or replaces an entry
 * @throws what the operation itself would throw at this place
 */
export async function readTarget(backend: Backend, at: At, itself = false): Promise<TargetState> {
  const { access } = at;
  access.pin?.(undefined);
  const found = await lookAt(backend, at, itself);
  // Where links count by their targets, the target is looked at when the link is removed.
  if (found !== LINK || access.rules === undefined) access.pin?.(access.realPath);
  return found;
}

async function lookAt(backend: Backend, at: At, itself: boolean): Promise<TargetState> {
  const { path, access } = at;
  const kind = itself ? (await backend.state?.(path, access))?.kind : undefined;
  if (kind === "link" || kind === "other") return LINK;
  let stat: FileStat | undefined;
  try {
    stat = await backend.stat(path, access);
  } catch (error) {
    // A link that leads nowhere can still be removed or moved.
    if (itself && error instanceof FileAdapterError && isLinkFault(error.code)) return LINK;
    throw error;
  }
  if (stat === undefined) return {};
  if (itself && stat.symlink) return LINK;
  if (stat.type === "directory") return readTree(backend, at);
  if (stat.type !== "file") return LINK;
  const file = await backend.open(path, access);
  try {
    const sum = createHash("sha256");
    const kept: Buffer[] = [];
    let size = 0;
    for (;;) {
      const bytes = await file.read(size, CHUNK);
      sum.update(bytes);
      size += bytes.length;
      if (size <= MAX_TEXT) kept.push(bytes);
      if (bytes.length < CHUNK) break;
    }
    const sha256 = sum.digest("hex");
    const state: EffectState = { type: "file", etag: etagOf(sha256), size };
    const head = Buffer.from(kept[0]?.subarray(0, 2) ?? []);
    return { state, sha256, head, ...(size <= MAX_TEXT ? { content: Buffer.concat(kept) } : {}) };
  } finally {
    file.close();
  }
}

const isLinkFault = (code: string): boolean => code === "DANGLING_SYMLINK" || code === "SYMLINK_ESCAPE";

async function readTree(backend: Backend, { path, access }: At): Promise<TargetState> {
  let entries = 0;
  let size = 0;
  let latest = 0;
  await backend.walk(
    path,
    {
      sizes: true,
      visit: (entry) => {
        entries += 1;
        size += entry.size ?? 0;
        latest = Math.max(latest, entry.modified ?? 0);
        return entries < MAX_ENTRIES ? "enter" : "stop";
      },
    },
    access,
  );
  // The size of what was not counted is not known.
  const state: EffectState = { type: "directory", entries, ...(entries < MAX_ENTRIES ? { size } : {}) };
  return { state, tree: `${entries} ${size} ${latest}` };
}

/** A source that counts what is read from it. */
export function countedSource(given: TreeSource) {
  let entries = 0;
  let size = 0;
  const { type } = given.top;
  const source = mapSource(given, (entry) => {
    if (entry.below.length > 0) entries += 1;
    const open = async (): Promise<OpenFile> => {
      const file = await entry.open();
      // The top is opened again where the copy is tried again.
      size = entry.below.length === 0 ? file.size : size + file.size;
      return file;
    };
    return { ...entry, open };
  });
  return {
    source,
    state: (): EffectState => ({ type, ...(type === "file" ? {} : { entries }), size }),
    /** What is in a tree cannot be read again. */
    get isSpent(): boolean {
      return entries > 0;
    },
  };
}

/** A unified diff of a text file and what it becomes; `undefined` where one of them is no text. */
export function contentDiff(path: string, found: TargetState, content: Buffer, adds: boolean): string | undefined {
  if (found.state !== undefined && found.content === undefined) return undefined;
  const before = textOf(found.content ?? Buffer.alloc(0));
  const added = textOf(content);
  if (before === undefined || added === undefined) return undefined;
  const after = adds ? before + added : added;
  const start = commonLines(before, after);
  const end = commonEnd(before, after, start);
  const replacements = [{ start, end: before.length - end, text: after.slice(start, after.length - end) }];
  const { diff, diffTruncated } = unifiedDiff(before, { path, replacements, maxChars: MAX_DIFF_CHARS });
  return diffTruncated ? `${diff}${CUT}` : diff;
}

/** Several differences as one, which a person decides by: what is cut says so. */
export function joinDiffs(diffs: readonly string[]): string {
  const text = diffs.join("");
  return text.length > MAX_JOINT_CHARS ? `${text.slice(0, MAX_JOINT_CHARS)}\n${CUT}` : text;
}

function textOf(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Characters that two texts have in common at their start, up to the end of a line. */
function commonLines(one: string, other: string): number {
  const most = Math.min(one.length, other.length);
  let index = 0;
  while (index < most && one[index] === other[index]) index += 1;
  return one.lastIndexOf("\n", index - 1) + 1;
}

function commonEnd(one: string, other: string, start: number): number {
  const most = Math.min(one.length, other.length) - start;
  let length = 0;
  while (length < most && one[one.length - 1 - length] === other[other.length - 1 - length]) length += 1;
  return length;
}
