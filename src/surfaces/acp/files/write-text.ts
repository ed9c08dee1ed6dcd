// Approved writes for `fs/write_text_file`, and undo and redo. Every write is conditional on the content that was
// approved.

import type { CallTerms } from "../../../core/call/terms.js";
import { adapterError, type FileAdapterError } from "../../../core/errors/errors.js";
import { at, type Place, pathText } from "../../../core/errors/texts.js";
import type { HistoryOutput, UndoOutput } from "../../../schema/types.js";
import { type FileSession, keyOf } from "../protocol/session.js";
import { type ApprovalRequest, requireApproval, runApproved } from "../review/approval.js";
import type { Change } from "../review/changes.js";
import { type Held, type Lost, type Overwritten, overwrittenBy, type ShownPlace } from "../review/modified.js";
import { unifiedDiff } from "../review/unified.js";
import {
  allowedCalls,
  type Content,
  codeOf,
  contentAt,
  type FileCalls,
  hashOfText,
  makeParents,
  putContent,
  removeFile,
  removeParents,
} from "./files.js";
import { alignNewlines, hasMark, withMark } from "./lines.js";
import type { AcpPlace } from "./mounts.js";

export interface WriteRequest {
  readonly place: AcpPlace;
  readonly text: string;
  readonly signal: AbortSignal;
}

export interface Written {
  readonly bytes: number;
  /** `null`: the file did not exist; `undefined`: the caller may not know. */
  readonly hashBefore: string | null | undefined;
  readonly hashAfter: string;
  /** Present if the overwritten content is not known as text. */
  readonly overwrites?: Overwritten;
}

/** Maximum attempts when others change the file concurrently; each attempt is approved again. */
const MAX_TRIES = 5;

/**
 * Writes a text file after approval, and only over the content that was shown for approval.
 * @throws Rejected; CONFLICT if others keep changing the file; FileAdapterError
 */
export async function writeText(session: FileSession, request: WriteRequest): Promise<Written> {
  const { calls, host } = session;
  const key = await keyOf(calls, request.place, request.signal);
  const write = async (): Promise<Written> => {
    for (let tries = 1; ; tries++) {
      try {
        return await writeOnce(session, request, key);
      } catch (error) {
        if (codeOf(error) !== "CONFLICT" || tries === MAX_TRIES) throw error;
      }
    }
  };
  return host.turns.run(key, write, request.signal);
}

async function writeOnce(session: FileSession, request: WriteRequest, key: string): Promise<Written> {
  const { calls, host, changes, buffers } = session;
  const { signal } = request;
  const { root, path, sent } = request.place;
  const place = { root, path, sent, key };
  const content = await contentAt(calls, place, signal);
  const before = isHeld(content) ? content : describeLost(content);
  const open = buffers.get(key);
  const seen = open?.dirty === true ? textContent(open.text) : before;
  const after = textContent(compose(request.text, content, host.keepsNewlines));
  const describe = () => toRequest(session, { place, seen, after, signal });
  const { approve } = host;
  // If the caller may not write, the write itself reports it; nobody is asked for approval in vain.
  const wasAsked =
    mayWrite(session, request) &&
    (await requireApproval("write", { approve, standing: session.standing, root }, describe));
  const directories = await runApproved({ approve, wasAsked }, describe, async (isAllowed) => {
    const own = isAllowed ? allowedCalls(calls) : calls;
    const made = content.kind === "missing" ? await makeParents(own, place, signal) : [];
    try {
      await putContent(own, place, { content: after.text, expected: content, signal });
    } catch (error) {
      await removeParents(own, root, made);
      throw error;
    }
    return made;
  });
  if (content.kind === "unseen") {
    changes.recordBlind(place, after);
  } else {
    const change = { place, before, after, directories, entry: await entryOfWrite(session, place, after.hash) };
    if (open?.dirty === true) changes.record({ ...change, buffer: open }, textContent(open.text));
    else changes.record(change);
  }
  buffers.saved(key, after.text, after.hash);
  const overwrites = overwrittenBy(before);
  return {
    ...{ bytes: after.size, hashBefore: hashBefore(content), hashAfter: after.hash },
    ...(overwrites === undefined ? {} : { overwrites }),
  };
}

interface Showing {
  readonly place: ShownPlace;
  readonly seen: Held | Lost;
  readonly after: Extract<Content, { kind: "text" }>;
  readonly signal: AbortSignal;
}

/** The change as shown for approval. */
function toRequest({ id: sessionId }: FileSession, { place: { sent }, seen, after, signal }: Showing): ApprovalRequest {
  const oldText = seen.kind === "text" ? seen.text : null;
  const overwrites = overwrittenBy(seen);
  return {
    ...{ kind: "write", sessionId, path: sent, oldText, newText: after.text, signal },
    ...(overwrites === undefined ? {} : { overwrites }),
    diff: unifiedDiff(sent, oldText, after.text, overwrites),
  };
}

const isHeld = (content: Content): content is Held => content.kind !== "large" && content.kind !== "unseen";

const describeLost = (content: Exclude<Content, Held>): Lost =>
  content.kind === "large" ? { kind: "lost", hash: content.hash, size: content.size } : { kind: "lost" };

function hashBefore(content: Content): string | null | undefined {
  if (content.kind === "missing") return null;
  return content.kind === "unseen" ? undefined : content.hash;
}

function textContent(text: string): Extract<Content, { kind: "text" }> {
  return { kind: "text", text, hash: hashOfText(text), size: Buffer.byteLength(text) };
}

/** The text to write: keeps the file's byte order mark and, if configured, its line endings. */
function compose(text: string, before: Content, keepsNewlines: boolean): string {
  if (before.kind !== "text") return text;
  const aligned = keepsNewlines ? alignNewlines(text, before.text) : text;
  return hasMark(before.text) ? withMark(aligned) : aligned;
}

function mayWrite({ host, calls }: FileSession, { place: { root, segments, readOnly } }: WriteRequest): boolean {
  if (readOnly) return false;
  const rights = host.adapter.rights?.("file:write", calls.context());
  return rights === undefined || rights.allows([root, ...segments], "crud/write");
}

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
  const made = direction === "redo" && isCreated ? await makeParents(calls, place) : directories;
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
    return isHeld(content) && content.kind !== "missing" && content.hash === expected.hash ? content : expected;
  } catch {
    return expected;
  }
}

/** Where no journal has kept it. */
async function takeBackFromMemory(calls: FileCalls, direction: "undo" | "redo", change: Change): Promise<void> {
  const { place, before, after } = change;
  // Skipping this change to undo earlier ones would produce a state that never existed.
  if (before.kind === "lost" || after.kind === "lost") throw notKept(place);
  const [from, to] = direction === "undo" ? [after, before] : [before, after];
  if (to.kind !== "missing") {
    await putContent(calls, place, { content: to.kind === "text" ? to.text : to.bytes, expected: from });
  } else if (from.kind !== "missing") {
    await removeFile(calls, place, from.hash);
  }
}

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
