// Reads the state of the target of a change before the change is made.

import { FileAdapterError } from "../../core/errors/errors.js";
import { type Expected, etagOf, hashText, isExpected, type Sha256 } from "../../core/etag.js";
import type { At, Backend, FileStat } from "../../core/ports/backend.js";
import type { Effect, EffectState } from "../../core/ports/effect.js";
import { unifiedDiff } from "../../ops/editing/unified-diff.js";
import { countTree, hashOpen, hashTree } from "./tree-state.js";

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
  /** Mode of the entry, the hash of what is in a directory, the version of a link: read only where somebody is asked. */
  readonly bound?: () => Promise<string>;
}

/** Most bytes of a file of which a difference is made. */
export const MAX_TEXT = 1_048_576;
const MAX_DIFF_CHARS = 16_000;
/** Most characters of the differences of several files or roots together. */
const MAX_JOINT_CHARS = 64_000;
const CUT = "\\ The difference goes on: it is cut here\n";

/** Finds where links lead to, without what is there. From then on the way must not change. */
export async function readWay(backend: Backend, { path, access }: At): Promise<void> {
  await backend.stat(path, access);
  access.pin?.(access.realPath);
}

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
  if (found.state?.type !== "link" || access.rules === undefined) access.pin?.(access.realPath);
  return found;
}

async function lookAt(backend: Backend, at: At, itself: boolean): Promise<TargetState> {
  const { path, access } = at;
  const now = itself ? await backend.state?.(path, access) : undefined;
  const link: TargetState = { state: { type: "link" }, bound: async () => now?.version ?? "" };
  if (now?.kind === "link" || now?.kind === "other") return link;
  let stat: FileStat | undefined;
  try {
    stat = await backend.stat(path, access);
  } catch (error) {
    // A link that leads nowhere can still be removed or moved.
    if (itself && error instanceof FileAdapterError && isLinkFault(error.code)) return link;
    throw error;
  }
  if (stat === undefined) return {};
  if (itself && stat.symlink) return link;
  if (stat.type === "directory") {
    const bound = async (): Promise<string> => `${now?.mode} ${await hashTree(backend, at)}`;
    return { state: await countTree(backend, at), bound };
  }
  if (stat.type !== "file") return link;
  return { ...(await readFile(backend, at)), bound: async () => `${now?.mode}` };
}

async function readFile(backend: Backend, { path, access }: At): Promise<TargetState> {
  const file = await backend.open(path, access);
  try {
    const kept: Buffer[] = [];
    let length = 0;
    const { sha256, size } = await hashOpen(file, access.scope, (bytes) => {
      length += bytes.length;
      if (length <= MAX_TEXT) kept.push(bytes);
    });
    const head = Buffer.from(kept[0]?.subarray(0, 2) ?? []);
    const state = fileState(sha256, size);
    return { state, sha256, head, ...(size <= MAX_TEXT ? { content: Buffer.concat(kept) } : {}) };
  } finally {
    file.close();
  }
}

/** The state of a file. Its whole hash decides: anybody can make two contents with one etag. */
export const fileState = (sha256: Sha256, size: number): EffectState => ({
  type: "file",
  etag: etagOf(sha256),
  sha256,
  size,
});

/**
 * The precondition of a change, so that it finds the content that was looked at: by the whole hash, also where the caller
 * named it by its etag. A precondition that is not met stays, and refuses the change.
 */
export function pinOf({ state, sha256 }: TargetState, given: Expected | undefined): Expected | undefined {
  if (sha256 === undefined) return given ?? (state === undefined ? "nothing" : undefined);
  const content = hashText(sha256);
  const isNamed = given !== undefined && (given === "nothing" || given.content === content);
  return isNamed || (given !== undefined && !isExpected(given, sha256)) ? given : { content };
}

const isLinkFault = (code: string): boolean => code === "DANGLING_SYMLINK" || code === "SYMLINK_ESCAPE";

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

/** Several differences as one, which a person decides by: what is cut says so. `undefined`: there is none. */
export function joinDiffs(all: readonly (string | undefined)[]): string | undefined {
  const diffs = all.filter((one) => one !== undefined);
  if (diffs.length === 0) return undefined;
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
