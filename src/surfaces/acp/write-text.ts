import { requireApproval } from "./approval.js";
import type { Change, Held } from "./changes.js";
import { type Content, codeOf, contentAt, hashOfText, putContent, removeFile } from "./files.js";
import { alignNewlines, hasMark, withMark } from "./lines.js";
import type { AcpPlace } from "./mounts.js";
import { type FileSession, keyOf } from "./session.js";
import { unifiedDiff } from "./unified.js";

export interface WriteRequest {
  readonly place: AcpPlace;
  readonly text: string;
  readonly signal: AbortSignal;
}

export interface Written {
  readonly bytes: number;
  /** `null`: there was no file; `undefined`: the caller may not know. */
  readonly hashBefore: string | null | undefined;
  readonly hashAfter: string;
}

/** How often a change that somebody else's came before is made anew, and approved anew. */
const MAX_TRIES = 5;

/**
 * Writes a text file, once it is approved, over exactly the content that was shown for approval.
 * @throws Rejected; CONFLICT where others keep writing; FileAdapterError
 */
export function writeText(session: FileSession, request: WriteRequest): Promise<Written> {
  const write = async (): Promise<Written> => {
    for (let tries = 1; ; tries++) {
      try {
        return await writeOnce(session, request);
      } catch (error) {
        if (codeOf(error) !== "CONFLICT" || tries === MAX_TRIES) throw error;
      }
    }
  };
  return session.host.turns.run(keyOf(request.place), write, request.signal);
}

async function writeOnce(session: FileSession, request: WriteRequest): Promise<Written> {
  const { calls, host, changes, buffers } = session;
  const { signal } = request;
  const { root, path, sent } = request.place;
  const place = { root, path, sent };
  const before = await contentAt(calls, place, signal);
  const open = buffers.get(keyOf(place));
  const seen = open?.dirty === true ? textContent(open.text) : before;
  const content = textContent(compose(request.text, before, host.keepsNewlines));
  // Whoever may not write is told so by the write itself: nobody is asked for nothing.
  if (mayWrite(session, request)) {
    await requireApproval("write", { approve: host.approve, standing: session.standing, root: place.root }, () => ({
      kind: "write",
      sessionId: session.id,
      path: place.sent,
      oldText: seen.kind === "text" ? seen.text : null,
      newText: content.text,
      diff: unifiedDiff(place.sent, seen.kind === "text" ? seen.text : null, content.text),
      signal,
    }));
  }
  await putContent(calls, place, { content: content.text, expected: before, signal });
  const key = keyOf(place);
  if (isHeld(before)) {
    const change = { place, before, after: content };
    if (open?.dirty === true) changes.record(key, { ...change, buffer: open }, textContent(open.text));
    else changes.record(key, change);
  } else changes.recordBlind(key, place, content);
  buffers.saved(key, content.text, content.hash);
  return { bytes: content.size, hashBefore: hashBefore(before), hashAfter: content.hash };
}

const isHeld = (content: Content): content is Held => content.kind !== "large" && content.kind !== "unseen";

function hashBefore(content: Content): string | null | undefined {
  if (content.kind === "missing") return null;
  return content.kind === "unseen" ? undefined : content.hash;
}

function textContent(text: string): Extract<Content, { kind: "text" }> {
  return { kind: "text", text, hash: hashOfText(text), size: Buffer.byteLength(text) };
}

/** The text as it is written: what it must keep of the file is put back. */
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

/** Takes back the last change of a session, or the last that was taken back. @returns its path; `undefined`: there is none */
export function takeBack(session: FileSession, direction: "undo" | "redo"): Promise<string | undefined> {
  const { host, changes } = session;
  return host.turns.run(`step of ${session.id}`, async () => {
    for (;;) {
      const change = changes.next(direction);
      if (change === undefined) return undefined;
      const isDone = await host.turns.run(keyOf(change.place), async () => {
        // While it waited for its turn, a write may have come.
        if (changes.next(direction) !== change) return false;
        await takeBackNow(session, direction, change);
        return true;
      });
      if (isDone) return change.place.sent;
    }
  });
}

/** @throws CONFLICT when the file is not as the change left it */
async function takeBackNow(session: FileSession, direction: "undo" | "redo", change: Change): Promise<void> {
  const { calls, changes, buffers } = session;
  const { place, buffer } = change;
  const [from, to] = direction === "undo" ? [change.after, change.before] : [change.before, change.after];
  if (to.kind !== "missing") {
    await putContent(calls, place, { content: to.kind === "text" ? to.text : to.bytes, expected: from });
  } else if (from.kind !== "missing") await removeFile(calls, place, from.hash);
  const key = keyOf(place);
  changes.moved(direction, key);
  if (direction === "undo" && buffer !== undefined && buffers.get(key)?.dirty === false) buffers.restore(key, buffer);
}
