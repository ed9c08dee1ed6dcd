// Undo and redo of a session: by the journal of the root where it has kept what was there, else from memory.

import type { CallTerms } from "../../../core/call/terms.js";
import { adapterError, type FileAdapterError } from "../../../core/errors/errors.js";
import { at, type Place, pathText } from "../../../core/errors/texts.js";
import type { HistoryOutput, MoveInput, UndoOutput } from "../../../schema/types.js";
import type { FileSession } from "../protocol/session.js";
import type { Change, MovedFile } from "../review/changes.js";
import type { Held, Lost, ShownPlace } from "../review/modified.js";
import {
  allowedCalls,
  codeOf,
  contentAt,
  type FileCalls,
  makeParents,
  putContent,
  removeFile,
  removeParents,
} from "./files.js";

/**
 * Undoes the last change of a session, or redoes the last undone one.
 * @returns the path of the changed file; `undefined` if there is none
 */
export function takeBack(session: FileSession, direction: "undo" | "redo"): Promise<string | undefined> {
  const { host, changes } = session;
  return host.turns.run(`step of ${session.id}`, async () => {
    for (;;) {
      const change = changes.next(direction);
      if (change === undefined) return undefined;
      const isDone = await host.turns.run(change.place.key, async () => {
        // Another write may have been recorded while this waited for its turn.
        if (changes.next(direction) !== change) return false;
        await takeBackNow(session, direction, change);
        return true;
      });
      if (isDone) return change.place.sent;
    }
  });
}

/** @throws CONFLICT if the file has changed since, or the earlier content was not kept */
async function takeBackNow(session: FileSession, direction: "undo" | "redo", change: Change): Promise<void> {
  const { changes, buffers } = session;
  // The user takes it back, not the agent.
  const calls = allowedCalls(session.calls);
  const { place, before, after, buffer, directories = [] } = change;
  const isCreated = before.kind === "missing";
  const makesParents = isCreated && (directories.length > 0 || change.entry === undefined);
  const made = direction === "redo" && makesParents ? await makeParents(calls, place) : directories;
  const entry = change.entry && (await takeBackByJournal(calls, { place, entry: change.entry }));
  if (change.entry === undefined) await takeBackFromMemory(calls, direction, change);
  if (direction === "undo" && isCreated) await removeParents(calls, place.root, directories);
  const latest = direction === "undo" ? before : after;
  const shown = latest.kind === "lost" ? await contentNow(calls, place, latest) : latest;
  changes.moveChange(direction, { ...change, directories: made, entry }, shown);
  const { key } = place;
  if (direction === "undo" && buffer !== undefined && buffers.get(key)?.dirty === false) buffers.restore(key, buffer);
}

/** The content that a journal has put there, for the modified set; as it was given if that cannot be read. */
async function contentNow(calls: FileCalls, place: ShownPlace, expected: Lost): Promise<Held | Lost> {
  try {
    const content = await contentAt(calls, place);
    const isIt = (content.kind === "text" || content.kind === "bytes") && content.hash === expected.hash;
    return isIt ? content : expected;
  } catch {
    return expected;
  }
}

/** Where no journal has kept it. */
async function takeBackFromMemory(calls: FileCalls, direction: "undo" | "redo", change: Change): Promise<void> {
  const { place, before, after, moved } = change;
  // Skipping this change to undo earlier ones would produce a state that never existed.
  if (before.kind === "lost" || after.kind === "lost") throw notKept(place);
  if (moved !== undefined) return moveBack(calls, direction, { place, before, moved });
  const [from, to] = direction === "undo" ? [after, before] : [before, after];
  if (to.kind !== "missing") {
    await putContent(calls, place, { content: to.kind === "text" ? to.text : to.bytes, expected: from });
  } else if (from.kind !== "missing") {
    await removeFile(calls, place, from.hash);
  }
}

/** What a moved file has replaced comes back after it, or goes with it. */
async function moveBack(
  calls: FileCalls,
  direction: "undo" | "redo",
  { place: to, before: replaced, moved }: Pick<Change, "place" | "before"> & { readonly moved: MovedFile },
): Promise<void> {
  const { place: from, before: content } = moved;
  if (replaced.kind === "lost" || content.kind === "missing" || content.hash === undefined) throw notKept(to);
  const ends = (one: Place, other: Place): MoveInput => ({
    ...{
      root: one.root,
      path: one.path,
      toRoot: other.root,
      to: other.path,
      parents: true,
      ifMatch: content.hash ?? "",
    },
  });
  if (direction === "redo") {
    const target = replaced.kind === "missing" ? { ifNoneMatchTo: "*" } : { overwrite: true, ifMatchTo: replaced.hash };
    await invoke(calls, "file:move", { ...ends(from, to), ...target });
    return;
  }
  await invoke(calls, "file:move", { ...ends(to, from), ifNoneMatchTo: "*" });
  if (replaced.kind === "missing") return;
  const was = replaced.kind === "text" ? replaced.text : replaced.bytes;
  await putContent(calls, to, { content: was, expected: { kind: "missing" } });
}

/** Newest entries of a session that are looked through for that of a change. */
const MAX_EXAMINED = 20;
/** Failures that mean that the journal has not kept what an entry needs. */
const NOT_KEPT = new Set(["NOT_SUPPORTED", "NOT_FOUND"]);

/**
 * The entry of a change that the session has just made; of a group the group.
 * @param made the operation, and the hash of what it has written
 * @returns `undefined`: no journal takes it back
 */
export async function entryOf(
  { id: via, calls, changes }: FileSession,
  { root, key }: ShownPlace,
  { op, hash }: { readonly op: string; readonly hash?: string | undefined },
): Promise<string | undefined> {
  const path = key.slice(root.length + 1);
  try {
    const input = { root, path, via, limit: MAX_EXAMINED };
    const { entries } = await invoke<HistoryOutput>(calls, "file:history", input, { details: true });
    const found = entries.find((one) => one.path === path && one.op === op && one.undoneBy === undefined);
    // Entries of moves and appends have no whole hash.
    const isOther = hash !== undefined && (found?.after?.hash ?? hash) !== hash;
    if (found?.undoable !== true || isOther) return undefined;
    const id = found.group ?? found.id;
    return changes.hasEntry(id) ? undefined : id;
  } catch {
    // There is no journal, or the caller may not look into it. The change is made, so the request has not failed.
    return undefined;
  }
}

/**
 * Undoes an entry; after an undo that is the entry of the undo, which redoes.
 * @param calls those of the user, who takes it back
 * @returns the entry by which this is taken back again
 * @throws CONFLICT if the file has changed since, or the journal has not kept what it was; FileAdapterError
 */
async function takeBackByJournal(
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

const notKept = (place: Place): FileAdapterError =>
  adapterError(
    "CONFLICT",
    `Cannot undo the write of "${pathText(place.path)}": what it overwrote was not kept. Undo goes no further back`,
    at(place),
  );
