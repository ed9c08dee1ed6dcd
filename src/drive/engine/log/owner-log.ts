// Queries of an owner's log: entries, the content they keep, and whether a tree is unchanged since one.

import { viewOf } from "../../dlfs/node.js";
import { type CellScope, createScope } from "../cells.js";
import { readRange } from "../content/blob-reader.js";
import { compareTrees, type Difference } from "../content/differences.js";
import { nodeAt } from "../content/tree-read.js";
import type { DriveRead } from "../drives.js";
import { withExplainedErrors } from "../fault.js";
import type { EngineParts, OwnerQueue } from "../owner-queue.js";
import { drivesOf, type OwnerState } from "../state.js";
import { allBooks, findItem, itemsBefore } from "./books.js";
import { type LogEntry, type LogItem, type LogNote, readItem, withoutNodes } from "./entry.js";

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
   * @param node `undefined`: nothing @returns `undefined` if there are more than `most`
   */
  differences(
    node: Uint8Array | undefined,
    place: { readonly drive: string; readonly path: readonly string[] },
    most: number,
  ): Promise<readonly (readonly string[])[] | undefined>;
  /** Removes what entries keep, and adds one that says so. @returns ids of those that kept something */
  purge(drive: string, ids: readonly string[], note: LogNote): Promise<readonly string[]>;
}

const DAY_MS = 86_400_000;

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
  /** What is older is removed by the next changes. */
  const isKept = ({ entry: { time } }: LogItem): boolean => time >= parts.clock.nowMs() - parts.logQuota.days * DAY_MS;
  const entry = (id: string): Promise<LogEntry | undefined> =>
    look(async ({ state, scope }) => {
      const { books } = await allBooks(rootsOf(state), scope);
      const item = await findItem(books, id, scope);
      return item && isKept(item) ? await scope.run(() => readItem(item)) : undefined;
    });
  return {
    entry,
    page: ({ before, limit }) =>
      look(async ({ state, scope }) => {
        const books = await allBooks(rootsOf(state), scope);
        const { items, isWhole, isDamaged } = await itemsBefore(books, { before, limit }, scope);
        const entries: LogEntry[] = [];
        for (const item of items) if (isKept(item)) entries.push(await scope.run(() => readItem(item)));
        const next = isWhole || entries.length < items.length ? undefined : items.at(-1)?.entry.id;
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
        const isNothing = node === undefined;
        const differs = ({ path: at }: Difference): boolean =>
          (isNothing && at.length === path.length) || found.push(at) <= most;
        await compareTrees(node && (await scope.open(node)), now, { path, scope, differs, isDeep: isNothing });
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
