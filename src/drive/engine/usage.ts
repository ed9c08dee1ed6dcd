import { cellOf } from "../cell.js";
import type { CadMap } from "../hash-map.js";
import type { CadIndex } from "../index-map.js";
import { type IndexChild, knownRef } from "../index-node.js";
import { directoryOf, type FileNode, viewOf } from "../node.js";
import { hashOfRef, isBranch, toHex } from "../ref.js";
import type { Value } from "../value.js";
import { branchOf, type CellPool, type CellScope, createScope, type Overlay } from "./cells.js";
import { unlessDamaged } from "./fault.js";
import { createLru, type Lru } from "./lru.js";
import { sizesOf, viewNow } from "./tree-read.js";

/** How many bytes the files of an owner have. Remembers it for parts of directories, so that only what is new is counted. */
export interface Usage {
  /** @param drives encoded, its cells at hand @throws MISSING_CELL, BAD_FORMAT, STORE_UNAVAILABLE */
  bytesIn(drives: CadMap, overlay: Overlay): Promise<number>;
}

/** Parts of directories; each takes some 150 bytes. */
const MAX_REMEMBERED = 200_000;

export function createUsage(pool: CellPool): Usage {
  const known = createLru<number>(MAX_REMEMBERED, () => 1);
  return {
    async bytesIn(drives, overlay) {
      let bytes = 0;
      for (const [, root] of drives) if (root !== null) bytes += await directoryBytes(root, { pool, known, overlay });
      return bytes;
    },
  };
}

/** Counts a directory: what has been read of one is not kept for the next. @param node encoded */
async function directoryBytes(node: Value, counting: Counting): Promise<number> {
  const { ref } = cellOf(node);
  const hash = toHex(hashOfRef(ref));
  const before = counting.known.get(hash);
  if (before !== undefined) return before;
  const scope = createScope(counting.pool, counting.overlay);
  // What is damaged counts as nothing: it must not keep the rest from being changed.
  const directory = await unlessDamaged(async () => {
    const opened = await scope.open(ref);
    return scope.run(() => directoryOf(opened));
  });
  const bytes = directory === undefined ? 0 : await entryBytes(directory.entries, scope, counting);
  counting.known.set(hash, bytes);
  return bytes;
}

interface Counting {
  readonly pool: CellPool;
  readonly known: Lru<number>;
  readonly overlay: Overlay;
}

/** A node of an index that is being counted. */
interface Count {
  readonly hash: string | undefined;
  readonly parent: Count | undefined;
  bytes: number;
}

/** Counts the entries of a directory, level by level, and then the directories in it. */
async function entryBytes({ root }: CadIndex, scope: CellScope, counting: Counting): Promise<number> {
  const { known } = counting;
  const counts: Count[] = [];
  const top: Count = { hash: undefined, parent: undefined, bytes: 0 };
  const values: { readonly value: Value; readonly count: Count }[] = [];
  let level: { child: IndexChild; parent: Count }[] = root === undefined ? [] : [{ child: root, parent: top }];
  while (level.length > 0) {
    const unknown = level.flatMap(({ child, parent }) => {
      const count: Count = { hash: hashOf(child), parent, bytes: 0 };
      const bytes = count.hash === undefined ? undefined : known.get(count.hash);
      if (bytes === undefined) return [{ child, count }];
      parent.bytes += bytes;
      return [];
    });
    await scope.fetch(unknown.flatMap(({ child }) => ("load" in child ? [child.ref] : [])));
    level = [];
    for (const { child, count } of unknown) {
      const node = "load" in child ? await unlessDamaged(() => scope.run(() => child.load())) : child;
      if (node === undefined) continue;
      counts.push(count);
      if (node.own !== undefined) values.push({ value: node.own.value, count });
      for (const below of node.children) level.push({ child: below, parent: count });
    }
  }
  await scope.fetch(values.flatMap(({ value }) => branchOf(value) ?? []));
  const files: { data: FileNode["data"]; count: Count }[] = [];
  for (const { value, count } of values) {
    const view = viewNow(value) ?? (await unlessDamaged(() => scope.run(() => viewOf(value))));
    if (view?.kind === "file") files.push({ data: view.data, count });
    if (view?.kind === "directory") count.bytes += await directoryBytes(value, counting);
  }
  for (const [{ count }, size] of await sizesOf(files, scope)) count.bytes += size;
  // Children come after their parents.
  for (const { hash, parent, bytes } of counts.reverse()) {
    if (parent !== undefined) parent.bytes += bytes;
    if (hash !== undefined) known.set(hash, bytes);
  }
  return top.bytes;
}

function hashOf(child: IndexChild): string | undefined {
  const ref = knownRef(child);
  return ref === undefined || !isBranch(ref) ? undefined : toHex(hashOfRef(ref));
}
