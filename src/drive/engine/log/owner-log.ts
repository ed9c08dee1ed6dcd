// Queries of an owner's log: entries, the content they keep, and whether a tree is unchanged since one.

import { cellOf } from "../../cad3/encoding/cell.js";
import { sameBytes } from "../../cad3/ref.js";
import type { Value } from "../../cad3/value.js";
import { type NodeView, viewOf } from "../../dlfs/node.js";
import { type CellScope, createScope, loadIndex } from "../cells.js";
import { readRange } from "../content/blob-reader.js";
import { nodeAt } from "../content/tree-read.js";
import type { DriveRead } from "../drives.js";
import { withExplainedErrors } from "../fault.js";
import type { EngineParts, OwnerQueue } from "../owner-queue.js";
import { drivesOf, type OwnerState } from "../state.js";
import { allBooks, findItem, itemsBefore } from "./books.js";
import { type LogEntry, type LogNote, readItem, withoutNodes } from "./entry.js";

export interface LogPage {
  /** Of all drives, newest first. */
  readonly entries: readonly LogEntry[];
  /** Id to go on before; absent: there are no more. */
  readonly next?: string;
  readonly isDamaged: boolean;
}

/** The log of one owner's drives. Every method throws STORE_UNAVAILABLE. */
export interface DriveLog {
  page(query: { readonly before?: string | undefined; readonly limit: number }): Promise<LogPage>;
  entry(id: string): Promise<LogEntry | undefined>;
  /** Size of a file, and a range of it. @param node its Ref, of an entry @throws STORE_DAMAGED */
  read(node: Uint8Array, offset: number, length: number): Promise<DriveRead>;
  /**
   * Paths below a directory at which a tree differs from an entry's node in what it holds; times do not count.
   * @returns `undefined` if there are more than `most`
   */
  differences(
    node: Uint8Array,
    place: { readonly drive: string; readonly path: readonly string[] },
    most: number,
  ): Promise<readonly (readonly string[])[] | undefined>;
  /** Removes what entries keep, and adds one that says so. @returns ids of those that kept something */
  purge(drive: string, ids: readonly string[], note: LogNote): Promise<readonly string[]>;
}

interface Ground {
  readonly state: OwnerState;
  readonly scope: CellScope;
}

export function createOwnerLog(queue: () => OwnerQueue, parts: EngineParts): DriveLog {
  const look = <T>(work: (ground: Ground) => Promise<T>): Promise<T> =>
    withExplainedErrors({ drive: "", path: [] }, async () => {
      const { state, release } = await queue().load({ mayBeStale: true });
      try {
        return await work({ state, scope: createScope(parts.pool, { find: (hash) => state.merged.get(hash) }) });
      } finally {
        release();
      }
    });
  const entry = (id: string): Promise<LogEntry | undefined> =>
    look(async ({ state, scope }) => {
      const { books } = await allBooks(rootsOf(state), scope);
      const item = await findItem(books, id, scope);
      return item && (await scope.run(() => readItem(item)));
    });
  return {
    entry,
    page: ({ before, limit }) =>
      look(async ({ state, scope }) => {
        const books = await allBooks(rootsOf(state), scope);
        const { items, isWhole, isDamaged } = await itemsBefore(books, { before, limit }, scope);
        const entries: LogEntry[] = [];
        for (const item of items) entries.push(await scope.run(() => readItem(item)));
        const next = isWhole ? undefined : items.at(-1)?.entry.id;
        return { entries, isDamaged, ...(next === undefined ? {} : { next }) };
      }),
    read: (node, offset, length) =>
      look(async ({ scope }) => {
        const value = await scope.open(node);
        const view = await scope.run(() => viewOf(value));
        if (view.kind !== "file") throw new TypeError("Only files have content");
        return readRange(view.data, { offset, length }, scope);
      }),
    differences: (node, { drive, path }, most) =>
      look(async ({ state, scope }) => {
        const root = (await drivesOf(state, scope)).get(drive);
        const now = root === undefined ? undefined : await scope.run(() => nodeAt(root, path));
        const found: (readonly string[])[] = [];
        await compare(await scope.open(node), now, { path, scope, found, most });
        return found.length > most ? undefined : found;
      }),
    async purge(drive, ids, note) {
      let purged: string[] = [];
      await queue().change(drive, async (draft) => {
        purged = [];
        const wanted = [...new Set(ids)];
        draft.edits.push(async (edit) => {
          purged = [];
          for (const id of wanted) {
            await edit.update(id, (item) => {
              if (item.entry.drive !== drive || (item.before === undefined && item.after === undefined)) return item;
              purged.push(id);
              return withoutNodes(item, "purged");
            });
          }
        });
        draft.notes.push({
          ...{ drive, note: { ...note, files: wanted.length }, before: undefined, after: undefined, kept: 0 },
          ...{ reason: "purged", ticket: {} },
        });
        return { isRepeatable: true };
      });
      return purged;
    },
  };
}

const rootsOf = ({ roots }: OwnerState) => [...roots.values()].flat();

interface Comparing {
  readonly path: readonly string[];
  readonly scope: CellScope;
  readonly found: (readonly string[])[];
  readonly most: number;
}

async function compare(one: Value | undefined, other: Value | undefined, at: Comparing): Promise<void> {
  const { path, scope, found, most } = at;
  if (found.length > most) return;
  if (one !== undefined && other !== undefined && sameBytes(cellOf(one).ref, cellOf(other).ref)) return;
  const [a, b] = [await liveView(one, scope), await liveView(other, scope)];
  if (a === undefined && b === undefined) return;
  if (a?.kind === "file" && b?.kind === "file" && sameBytes(cellOf(a.data).ref, cellOf(b.data).ref)) return;
  if (a?.kind !== "directory" || b?.kind !== "directory") {
    found.push(path);
    return;
  }
  if (sameBytes(cellOf(a.entries).ref, cellOf(b.entries).ref)) return;
  await loadIndex(a.entries, scope);
  await loadIndex(b.entries, scope);
  const names = new Set<string>();
  for (const { entries } of [a, b]) for (const [name] of entries.entries()) names.add(String(name));
  for (const name of names) {
    await compare(a.entries.get(name), b.entries.get(name), { ...at, path: [...path, name] });
  }
}

async function liveView(node: Value | undefined, scope: CellScope): Promise<NodeView | undefined> {
  if (node === undefined) return undefined;
  const view = await scope.run(() => viewOf(node));
  return view.kind === "tombstone" ? undefined : view;
}
