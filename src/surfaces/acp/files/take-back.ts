// Undo and redo of a session: by the journal of the root where it has kept what was there, else from memory.

import { adapterError, type FileAdapterError } from "../../../core/errors/errors.js";
import { at, type Place, pathText } from "../../../core/errors/texts.js";
import type { MoveInput, UndoOutput } from "../../../schema/types.js";
import type { FileSession } from "../protocol/session.js";
import type { Change, MovedFile } from "../review/changes.js";
import type { Held, Lost, ShownPlace } from "../review/modified.js";
import {
  allowedCalls,
  changeBy,
  codeOf,
  contentAt,
  type Done,
  type FileCalls,
  putContent,
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
  const { place, before, after, buffer } = change;
  const entry = change.entry && (await takeBackByJournal(calls, { place, entry: change.entry }));
  const directories = change.entry === undefined ? await takeBackFromMemory(calls, direction, change) : [];
  const latest = direction === "undo" ? before : after;
  const shown = latest.kind === "lost" ? await contentNow(calls, place, latest) : latest;
  changes.moveChange(direction, { ...change, directories, entry }, shown);
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

/** Where no journal has kept it. @returns the directories made for the change */
async function takeBackFromMemory(
  calls: FileCalls,
  direction: "undo" | "redo",
  { place, before, after, moved, directories = [] }: Change,
): Promise<readonly string[]> {
  // Skipping this change to undo earlier ones would produce a state that never existed.
  if (before.kind === "lost" || after.kind === "lost") throw notKept(place);
  const isBack = direction === "undo";
  const [from, to] = isBack ? [after, before] : [before, after];
  const { directories: made } =
    moved === undefined
      ? await replace(calls, place, { from, to })
      : await moveBack(calls, direction, { place, replaced: before, moved });
  if (!isBack) return made;
  // The file that the move had replaced.
  if (moved !== undefined && to.kind !== "missing") await replace(calls, place, { from: { kind: "missing" }, to });
  await removeParents(calls, place.root, directories);
  return directories;
}

function replace(
  calls: FileCalls,
  place: Place,
  { from, to }: { readonly from: Held; readonly to: Held },
): Promise<Done> {
  if (to.kind !== "missing") {
    return putContent(calls, place, { content: to.kind === "text" ? to.text : to.bytes, expected: from });
  }
  const { root, path } = place;
  const ifMatch = from.kind === "missing" ? undefined : from.hash;
  return changeBy(calls, calls.context(), ["file:delete", { root, path, ifMatch }]);
}

/** Moves a file between its two places. What it has replaced is not there then. */
function moveBack(
  calls: FileCalls,
  direction: "undo" | "redo",
  { place, replaced, moved }: { readonly place: Place; readonly replaced: Held; readonly moved: MovedFile },
): Promise<Done> {
  const { place: own, before: content } = moved;
  if (content.kind === "missing" || content.hash === undefined) throw notKept(place);
  const isBack = direction === "undo";
  const [from, to] = isBack ? [place, own] : [own, place];
  const input: MoveInput = {
    ...{ root: from.root, path: from.path, toRoot: to.root, to: to.path, parents: true, ifMatch: content.hash },
    ...(isBack || replaced.kind === "missing" ? { ifNoneMatchTo: "*" } : { overwrite: true, ifMatchTo: replaced.hash }),
  };
  return changeBy(calls, calls.context(), ["file:move", input]);
}

/** Failures that mean that the journal has not kept what an entry needs. */
const NOT_KEPT = new Set(["NOT_SUPPORTED", "NOT_FOUND"]);

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
    const { adapter, context } = calls;
    const done = (await adapter.invoke("file:undo", { root: place.root, id }, context())) as UndoOutput;
    return done.group ?? done.id;
  } catch (error) {
    throw NOT_KEPT.has(codeOf(error) ?? "") ? notKept(place) : error;
  }
}

const notKept = (place: Place): FileAdapterError =>
  adapterError(
    "CONFLICT",
    `Cannot undo the write of "${pathText(place.path)}": what it overwrote was not kept. Undo goes no further back`,
    at(place),
  );
