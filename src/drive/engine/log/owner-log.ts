// Queries of an owner's log: entries, the content they keep, and whether a tree is unchanged since one.

import { cellOf } from "../../cad3/encoding/cell.js";
import { viewOf } from "../../dlfs/node.js";
import type { CellScope } from "../cells.js";
import { readRange } from "../content/blob-reader.js";
import { compareTrees, type Difference } from "../content/differences.js";
import { entriesAt, heldAt, nodeAt, statAt } from "../content/tree-read.js";
import type { DriveRead, DriveStat } from "../drives.js";
import { withExplainedErrors } from "../fault.js";
import type { EngineParts, OwnerQueue } from "../owner-queue.js";
import { drivesOf, type OwnerState, withState } from "../state.js";
import { allBooks, findItem, itemsBefore } from "./books.js";
import { type LogEntry, type LogItem, type LogNote, readItem, withoutNodes } from "./entry.js";

export interface LogPage {
  /** Entries of all drives, newest first. */
  readonly entries: readonly LogEntry[];
  /** Id to go on before; absent: there are no more. */
  readonly next?: string;
  readonly isDamaged: boolean;
}

/** An entry in a kept tree. */
export interface KeptNode {
  readonly stat: DriveStat;
  /** Its Ref. */
  readonly node: Uint8Array;
  /** Names in a directory; absent if there are too many. */
  readonly names?: readonly string[];
}

/** The log of one owner's drives. Every method throws STORE_UNAVAILABLE. */
export interface DriveLog {
  page(query: { readonly before?: string | undefined; readonly limit: number }): Promise<LogPage>;
  entry(id: string): Promise<LogEntry | undefined>;
  /** Size of a file, and a range of it. @param node its Ref, of an entry @throws STORE_DAMAGED */
  read(node: Uint8Array, offset: number, length: number): Promise<DriveRead>;
  /**
   * Looks up a path in a tree that an entry has kept. @param names below the tree
   * @returns `undefined` if nothing is there @throws STORE_DAMAGED
   */
  below(node: Uint8Array, names: readonly string[]): Promise<KeptNode | undefined>;
  /**
   * Paths below a directory at which a tree differs from an entry's node in what it holds; times do not count.
   * @param node `undefined`: nothing @returns `undefined` if there are more than `most`
   */
  differences(
    node: Uint8Array | undefined,
    place: { readonly drive: string; readonly path: readonly string[] },
    most: number,
  ): Promise<readonly (readonly string[])[] | undefined>;
  /** Removes the content that entries keep, and adds an entry of the purge. @returns ids of entries that kept content */
  purge(drive: string, ids: readonly string[], note: LogNote): Promise<readonly string[]>;
}

const DAY_MS = 86_400_000;
/** Most entries of a kept directory that are listed, tombstones included. */
const MAX_NAMES = 10_000;

export function createOwnerLog(queue: () => OwnerQueue, parts: EngineParts): DriveLog {
  const look = <T>(work: (scope: CellScope, state: OwnerState) => Promise<T>): Promise<T> =>
    withExplainedErrors({ drive: "", path: [] }, () =>
      withState(queue(), parts.pool, (state, scope) => work(scope, state)),
    );
  /** Hides expired entries until the next changes remove them. */
  const isKept = ({ entry: { time } }: LogItem): boolean => time >= parts.clock.nowMs() - parts.logQuota.days * DAY_MS;
  return {
    entry: (id) =>
      look(async (scope, { roots }) => {
        const { books } = await allBooks([...roots.values()], scope);
        const item = await findItem(books, id, scope);
        return item && isKept(item) ? await scope.run(() => readItem(item)) : undefined;
      }),
    page: ({ before, limit }) =>
      look(async (scope, { roots }) => {
        const books = await allBooks([...roots.values()], scope);
        const { items, isWhole, isDamaged } = await itemsBefore(books, { before, limit }, scope);
        const entries: LogEntry[] = [];
        for (const item of items) if (isKept(item)) entries.push(await scope.run(() => readItem(item)));
        const next = isWhole || entries.length < items.length ? undefined : items.at(-1)?.entry.id;
        return { entries, isDamaged, ...(next === undefined ? {} : { next }) };
      }),
    read: (node, offset, length) =>
      look(async (scope) => {
        const value = await scope.open(node);
        const view = await scope.run(() => viewOf(value));
        if (view.kind !== "file") throw new TypeError("Only files have content");
        return readRange(view.data, { offset, length }, scope);
      }),
    below: (node, names) =>
      look(async (scope) => {
        const root = await scope.open(node);
        const held = await scope.run(() => heldAt({ value: root }, names));
        const stat = held && (await statAt({ root, scope }, names));
        if (held === undefined || stat === undefined) return undefined;
        const found = { stat, node: held.valueRef ?? cellOf(held.value).ref };
        const view = await scope.run(() => viewOf(held.value));
        if (view.kind !== "directory" || view.entries.size > MAX_NAMES) return found;
        const listed = await entriesAt({ root, scope }, names);
        return { ...found, names: listed.map(({ name }) => name) };
      }),
    differences: (node, { drive, path }, most) =>
      look(async (scope, state) => {
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
      return queue().change(drive, async (draft) => {
        const purged: string[] = [];
        const wanted = [...new Set(ids)];
        draft.edits.push(async (edit) => {
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
        return purged;
      });
    },
  };
}
