// Undo and redo by the journal of a root: what was too large to hold comes back too, and the history tells of an undo.

import type { CallTerms } from "../../../core/call/terms.js";
import { notKept } from "../../../core/errors/undo-texts.js";
import type { HistoryOutput, UndoOutput } from "../../../schema/types.js";
import type { FileSession } from "../protocol/session.js";
import type { ShownPlace } from "../review/modified.js";
import { codeOf, type FileCalls } from "./files.js";

/** Newest entries of a file that are looked through for that of a change. */
const MAX_EXAMINED = 20;
/** Failures that mean that the journal has not kept what an entry needs. */
const NOT_KEPT = new Set(["NOT_SUPPORTED", "NOT_FOUND"]);

/**
 * The entry of a write that the session has just made.
 * @returns `undefined`: no journal takes it back
 */
export async function entryOfWrite(
  { id: via, calls, changes }: FileSession,
  { root, key }: ShownPlace,
  hash: string,
): Promise<string | undefined> {
  const path = key.slice(root.length + 1);
  try {
    const input = { root, path, via, limit: MAX_EXAMINED };
    const { entries } = await invoke<HistoryOutput>(calls, "file:history", input, { details: true });
    const found = entries.find((one) => one.path === path && one.op === "write" && one.undoneBy === undefined);
    const isOfWrite = found?.undoable === true && found.after?.hash === hash && !changes.hasEntry(found.id);
    return isOfWrite ? found.id : undefined;
  } catch {
    // There is no journal, or the caller may not look into it. The file is written, so the request has not failed.
    return undefined;
  }
}

/**
 * Undoes an entry; after an undo that is the entry of the undo, which redoes.
 * @param calls those of the user, who takes it back
 * @returns the entry by which this is taken back again
 * @throws CONFLICT if the file has changed since, or the journal has not kept what it was; FileAdapterError
 */
export async function takeBackByJournal(
  calls: FileCalls,
  { place, entry: id }: { readonly place: ShownPlace; readonly entry: string },
): Promise<string | undefined> {
  try {
    const done = await invoke<UndoOutput>(calls, "file:undo", { root: place.root, id });
    return done.group ?? done.id;
  } catch (error) {
    throw NOT_KEPT.has(codeOf(error) ?? "") ? notKept(place) : error;
  }
}

const invoke = <T>({ adapter, context }: FileCalls, operation: string, input: object, terms?: CallTerms): Promise<T> =>
  adapter.invoke(operation, input, { ...context(), ...(terms === undefined ? {} : { terms }) }) as Promise<T>;
