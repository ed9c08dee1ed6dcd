// Undo and redo by the journal of a root: what was too large to hold comes back too, and the history tells of an undo.

import { etagOf } from "../../../core/etag.js";
import type { HistoryOutput, UndoOutput } from "../../../schema/types.js";
import type { FileSession } from "../protocol/session.js";
import type { Change, Held } from "../review/changes.js";
import { allowedCalls, codeOf, type FileCalls } from "./files.js";

/** Newest entries of a file that are looked through for that of a change. */
const MAX_EXAMINED = 20;
/** Failures that mean that the journal cannot take a change back: there is none, or it has not kept the content. */
const NOT_HERE = new Set(["NOT_SUPPORTED", "NOT_FOUND", "UNKNOWN_OPERATION", "CAPABILITY_DENIED"]);

/**
 * Undoes the entry of a change; after an undo that is the entry of the undo, which redoes.
 * @returns the entry by which this is taken back again; `undefined`: the journal cannot do it, and nothing has changed
 * @throws CONFLICT if the file has changed since; FileAdapterError
 */
export async function takeBackByJournal(session: FileSession, change: Change): Promise<string | undefined> {
  // The user takes it back, not the agent.
  const calls = allowedCalls(session.calls);
  const id = change.entry ?? (await quietly(findEntry(session, calls, change)));
  if (id === undefined) return undefined;
  const done = await quietly(invoke<UndoOutput>(calls, "file:undo", { root: change.place.root, id }));
  return done?.group ?? done?.id;
}

/** The entry of a write of this session that still stands. */
async function findEntry({ id: via }: FileSession, calls: FileCalls, change: Change): Promise<string | undefined> {
  const { root, key } = change.place;
  const path = key.slice(root.length + 1);
  const etag = etagIn(change.after);
  const { entries } = await invoke<HistoryOutput>(calls, "file:history", { root, path, via, limit: MAX_EXAMINED });
  const found = entries.find((one) => one.path === path && one.op === "write" && one.undoneBy === undefined);
  return found?.undoable === true && etag !== undefined && found.after?.etag === etag ? found.id : undefined;
}

const etagIn = (content: Held): string | undefined =>
  content.kind === "missing" ? undefined : etagOf(content.hash.slice("sha256:".length));

const invoke = <T>({ adapter, context }: FileCalls, operation: string, input: object): Promise<T> =>
  adapter.invoke(operation, input, context()) as Promise<T>;

async function quietly<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (NOT_HERE.has(codeOf(error) ?? "")) return undefined;
    throw error;
  }
}
