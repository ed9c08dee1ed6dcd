// Entries of the log of an owner's drives: how one is noted, stored and read.

import type { AgeLooks } from "../../../core/age-looks.js";
import type { ChangeOrigin, EntryChange, EntryState } from "../../../core/ports/changes/change.js";
import type { JournalEntry, NotUndoable } from "../../../core/ports/changes/journal.js";
import { cellOf } from "../../cad3/encoding/cell.js";
import { toHex } from "../../cad3/ref.js";
import type { Value } from "../../cad3/value.js";
import { viewOf } from "../../dlfs/node.js";
import { isDamage, missingHash } from "../fault.js";

/** Kept in the top cell as JSON. */
export interface LogFacts {
  /** Entries. */
  readonly n: number;
  /** Bytes that only the log keeps. */
  readonly b: number;
  /** Id of the newest entry. */
  readonly l: string;
  /** Entries up to this id keep no content. */
  readonly c: string;
  /** Entry whose content counts for itself. */
  readonly p?: string | undefined;
  /** Looks at the clock so far, by which old entries may go. */
  readonly t?: AgeLooks | undefined;
}

/** The noted facts of one change. */
export type LogNote = ChangeOrigin & EntryChange;

/** Gets the id of its entry when the change is committed. */
export interface LogTicket {
  id?: string;
}

/** A noted change, with the nodes before and after it at its path. */
export interface Noted {
  readonly drive: string;
  readonly note: LogNote;
  /** Node of the drive's tree; `undefined`: nothing was there. */
  readonly before: Value | undefined;
  readonly after: Value | undefined;
  /** Bytes that only the log keeps. */
  readonly kept: number;
  /** Why the node before is not kept. */
  readonly reason?: NotUndoable | undefined;
  readonly ticket: LogTicket;
}

/** An entry as stored: JSON beside the nodes it refers to. The owner is left out, since a log has one owner. */
export interface StoredEntry extends Omit<LogNote, "driveOwner"> {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly drive: string;
  readonly undoneBy?: string | undefined;
  readonly reason?: NotUndoable | undefined;
  /** Places of the nodes in the record; absent: there is none, or it is no longer kept. */
  readonly b?: number | undefined;
  readonly a?: number | undefined;
  /** Bytes that only the log keeps. */
  readonly kept?: number | undefined;
  /** Its bytes count for themselves, since they are most of the quota. */
  readonly apart?: true | undefined;
  /** Raised by every change of the entry, to tell copies of it apart. */
  readonly rev?: number | undefined;
}

/** An entry with its nodes, as values that can be put into a record. */
export interface LogItem {
  readonly entry: StoredEntry;
  readonly before: Value | undefined;
  readonly after: Value | undefined;
}

export interface LogEntry {
  readonly entry: JournalEntry;
  readonly drive: string;
  /** Refs of its nodes. */
  readonly before: Uint8Array | undefined;
  readonly after: Uint8Array | undefined;
  /** Bytes that only the log keeps. */
  readonly kept: number;
}

/** Most nodes of a record, and characters of its JSON: a record is one cell. */
const MAX_NODES = 12;
const MAX_CHARS = 3000;

/**
 * Records of entries, in order; each is a vector of JSON and nodes.
 * @param isOne makes one of all: a record whose entries change stays one, though they take more characters than before
 */
export function recordsOf(
  items: readonly LogItem[],
  { isOne = false } = {},
): { readonly key: string; readonly value: readonly Value[] }[] {
  const records: { key: string; value: readonly Value[] }[] = [];
  let [json, nodes, key]: [string[], Value[], string] = [[], [], ""];
  let chars = 0;
  const end = (): void => {
    if (json.length > 0) records.push({ key, value: [`[${json.join(",")}]`, ...nodes] });
    [json, nodes, chars] = [[], [], 0];
  };
  for (const { entry, before, after } of items) {
    if (!isOne && (nodes.length + 2 > MAX_NODES || chars > MAX_CHARS)) end();
    if (json.length === 0) key = entry.id;
    const b = before === undefined ? undefined : nodes.push(before);
    const a = after === undefined ? undefined : nodes.push(after);
    const text = JSON.stringify(Object.assign({}, withoutPlaces(entry), { b, a }));
    json.push(text);
    chars += text.length;
  }
  end();
  return records;
}

/** An entry that was read has the places of its nodes in another record. */
function withoutPlaces(entry: StoredEntry): StoredEntry {
  if (entry.a === undefined && entry.b === undefined) return entry;
  const { a: _, b: __, ...rest } = entry;
  return rest;
}

/** Entries of an opened record. @throws MISSING_CELL */
export function itemsOf(record: readonly Value[], textOf: (value: Value) => string): LogItem[] {
  const [json = "[]"] = record;
  const entries = JSON.parse(textOf(json)) as StoredEntry[];
  const node = (place: number | undefined): Value | undefined => (place === undefined ? undefined : record[place]);
  return entries.map((entry) => ({ entry, before: node(entry.b), after: node(entry.a) }));
}

/** @throws MISSING_CELL where a node is no longer there */
export function readItem({ entry, before, after }: LogItem): LogEntry {
  const { drive, kept = 0, apart: _, rev: __, a: ___, b: ____, reason, undoneBy, ...record } = entry;
  const [old, fresh] = [stateWith(record.before, before), stateWith(record.after, after)];
  return {
    ...{ drive, kept, before: refOfNode(before), after: refOfNode(after) },
    entry: {
      ...record,
      ...{ before: old, after: fresh, undoable: reason === undefined },
      ...(reason === undefined ? {} : { reason }),
      ...(undoneBy === undefined ? {} : { undoneBy }),
    },
  };
}

const refOfNode = (node: Value | undefined): Uint8Array | undefined =>
  node === undefined ? undefined : cellOf(node).ref;

/** A file has the version of its content. */
function stateWith(state: EntryState | null, node: Value | undefined): EntryState | null {
  if (state === null || node === undefined) return state;
  const version = versionOf(node);
  return version === undefined ? state : { ...state, version };
}

function versionOf(node: Value): string | undefined {
  try {
    const view = viewOf(node);
    return view.kind === "file" ? contentVersion(toHex(cellOf(view.data).ref)) : undefined;
  } catch (error) {
    if (isDamage(error) && missingHash(error) === undefined) return undefined;
    throw error;
  }
}

/** Version of a file of a drive. Files of equal bytes have the same. @param content Ref of its bytes in hex */
export const contentVersion = (content: string): string => `drive:${content}:0`;

/** Bytes of an entry that count against the quota. */
export const countedBytes = ({ kept = 0, apart }: StoredEntry): number => (apart === true ? 0 : kept);

export const withNextRevision = ({ entry, ...nodes }: LogItem): LogItem => ({
  ...nodes,
  entry: { ...entry, rev: (entry.rev ?? 0) + 1 },
});

export function withoutNodes({ entry }: LogItem, reason: "pruned" | "purged"): LogItem {
  const { kept: _, apart: __, ...rest } = entry;
  const isNeeded = entry.before !== null && entry.addition === undefined && entry.action !== "moved";
  return { entry: { ...rest, ...(isNeeded ? { reason } : {}) }, before: undefined, after: undefined };
}
