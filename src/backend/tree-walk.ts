// Recursive walks of trees that are read by paths: drives and archives.

import { FileAdapterError } from "../core/errors/errors.js";
import { type Awaitable, isPending, runIo } from "../core/io.js";
import type {
  Access,
  EntryType,
  ListedPart,
  Listing,
  WalkContent,
  WalkEntry,
  WalkOptions,
} from "../core/ports/backend.js";
import { isReachableName, isReservedName } from "../path/grammar.js";
import { sortByName, startAfter } from "../path/order.js";
import { isUnguarded, refusalOf } from "./path-policy.js";

/** Tree that a walk reads. Paths are segments from its top. */
export interface WalkedTree {
  entries(directory: readonly string[]): Awaitable<readonly TreeEntry[]>;
  /** Fewer bytes than `length` only at the end. */
  readFile(path: readonly string[], offset: number, length: number): Promise<{ bytes: Buffer; size: number }>;
}

export interface TreeEntry {
  readonly name: string;
  readonly type: EntryType;
  readonly size: number;
  readonly modified: number;
}

const DAMAGE: ReadonlySet<string> = new Set(["STORE_DAMAGED", "MISSING_CELL", "BAD_FORMAT", "UNSUPPORTED_CELL"]);

interface Walk extends WalkOptions {
  readonly access: Pick<Access, "scope" | "policy">;
}

/** A directory on the current branch of a walk. */
interface Spot {
  readonly segments: readonly string[];
  /** Names from the start of the walk to the directory. */
  readonly below: readonly string[];
  /** The directory itself is denied. */
  readonly isDenied: boolean;
}

/** The part of a directory that is asked for, in order, with its place among all names that are not denied. */
export function pageOf<T extends { readonly name: string }>(
  entries: readonly T[],
  page: ListedPart,
  { policy }: Pick<Access, "policy">,
): { readonly shown: readonly T[]; readonly counts: Pick<Listing, "total" | "start" | "denied"> } {
  const found = entries.filter(({ name }) => name.startsWith(page.startsWith ?? ""));
  const allowed = sortByName(found.filter(({ name }) => policy?.denies([], name) !== true));
  const start = startAfter(allowed, page.after) + page.offset;
  const denied = found.length - allowed.length;
  const counts = { total: allowed.length, start, ...(denied > 0 && { denied }) };
  return { shown: allowed.slice(start, start + page.limit), counts };
}

/** Visits everything below a directory of a tree according to {@link WalkOptions}, in one snapshot. */
export function walkBelow(tree: WalkedTree, segments: readonly string[], walk: Walk): Promise<"on" | "stop"> {
  return visitBelow(tree, { segments, below: [], isDenied: false }, walk);
}

/** @throws DENIED_BY_POLICY if a directory contains anything denied or protected */
export async function requireAllAllowed(tree: WalkedTree, segments: readonly string[], access: Access): Promise<void> {
  if (isUnguarded(access)) return;
  let refusal: FileAdapterError | undefined;
  const policy = {
    denies: (below: readonly string[], name: string): boolean => {
      refusal = refusalOf(access, below, name);
      return refusal !== undefined;
    },
  };
  const walk: WalkOptions = { visit: () => "enter", visitDenied: () => "stop", sizes: false };
  await walkBelow(tree, segments, { ...walk, access: { scope: access.scope, policy } });
  if (refusal !== undefined) throw refusal;
}

async function visitBelow(tree: WalkedTree, spot: Spot, walk: Walk): Promise<"on" | "stop"> {
  const { segments, below } = spot;
  const { access, sizes } = walk;
  const entries = await tree.entries(segments);
  await readRules(tree, { ...spot, entries }, walk);
  for (const found of sortByName(entries)) {
    access.scope.checkpoint();
    const breath = runIo(access.scope.breathe());
    if (isPending(breath)) await breath;
    const isDenied = spot.isDenied || access.policy?.denies(below, found.name) === true;
    const visit = isDenied ? walk.visitDenied : walk.visit;
    const entry = entryOf(found, { isTop: segments.length === 0, sizes, depth: below.length + 1 });
    const deciding = visit?.(entry) ?? "skip";
    const answer = isPending(deciding) ? await deciding : deciding;
    if (answer === "stop") return "stop";
    const path = [...segments, found.name];
    const after =
      answer === "enter" && found.type === "directory"
        ? await visitBelow(tree, { segments: path, below: [...below, found.name], isDenied }, walk)
        : answer === "read" && found.type === "file"
          ? await walk.content?.take(entry, await contentAt(tree, path, walk.content.maxBytes))
          : "on";
    if (after === "stop") return "stop";
  }
  return "on";
}

async function readRules(
  tree: WalkedTree,
  { segments, below, isDenied, entries }: Spot & { readonly entries: readonly TreeEntry[] },
  { rules, access }: Walk,
): Promise<void> {
  if (rules === undefined || isDenied) return;
  const contents: (WalkContent | undefined)[] = [];
  for (const wanted of rules.names) {
    // Neither is a working tree of Git: what stands in directories is not asked for.
    const isFile = entries.some(({ name, type }) => name === wanted && type === "file");
    const isRead = isFile && access.policy?.denies(below, wanted) !== true;
    contents.push(isRead ? await contentAt(tree, [...segments, wanted], rules.maxBytes) : undefined);
  }
  rules.found(below.length, contents);
}

function entryOf(
  { name, type, size, modified }: TreeEntry,
  { isTop, sizes, depth }: { isTop: boolean; sizes: boolean; depth: number },
): WalkEntry {
  return {
    ...{ name, type, depth, size: sizes ? (type === "file" ? size : 0) : undefined },
    ...(sizes && type === "file" ? { modified } : {}),
    ...(isReachableName(name, isTop) && !isReservedName(name) ? {} : { unreachable: true }),
  };
}

/** A damaged file must not keep the others from being read. */
async function contentAt(tree: WalkedTree, path: readonly string[], maxBytes: number): Promise<WalkContent> {
  try {
    const { bytes, size } = await tree.readFile(path, 0, maxBytes + 1);
    return size > maxBytes ? "too large" : bytes;
  } catch (error) {
    if (error instanceof FileAdapterError && DAMAGE.has(error.code)) return "unreadable";
    throw error;
  }
}
