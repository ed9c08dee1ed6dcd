// Approved writes for `fs/write_text_file`. Every write is conditional on the content that was approved.

import { type FileSession, keyOf } from "../protocol/session.js";
import { type ApprovalRequest, runApproved } from "../review/approval.js";
import type { Trace } from "../review/audit.js";
import { type Held, type Lost, overwrittenBy } from "../review/modified.js";
import { unifiedDiff } from "../review/unified.js";
import { allowedCalls, type Content, codeOf, contentAt, hashOfText, putContent } from "./files.js";
import type { AcpPlace } from "./mounts.js";

export interface WriteRequest {
  readonly place: AcpPlace;
  readonly text: string;
  readonly signal: AbortSignal;
  /** Filled in for the audit. */
  readonly trace: Trace;
}

const BOM = "\ufeff";
/** Maximum attempts when others change the file concurrently; each attempt is approved again. */
const MAX_TRIES = 5;

/**
 * Writes a text file after approval, and only over the content that was shown for approval.
 * @throws Rejected; CONFLICT if others keep changing the file; FileAdapterError
 */
export async function writeText(session: FileSession, request: WriteRequest): Promise<void> {
  const { calls, host } = session;
  const key = await keyOf(calls, request.place, request.signal);
  const write = async (): Promise<void> => {
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

async function writeOnce(session: FileSession, request: WriteRequest, key: string): Promise<void> {
  const { calls, host, changes, buffers, standing } = session;
  const { signal, trace } = request;
  const { root, path, sent } = request.place;
  const place = { root, path, sent, key };
  const content = await contentAt(calls, place, signal);
  const before = heldPart(content);
  const open = buffers.get(key);
  const seen = open?.dirty === true ? textContent(open.text) : before;
  const after = textContent(compose(request.text, content, host.keepsNewlines));
  const describe = (): ApprovalRequest => {
    const oldText = seen.kind === "text" ? seen.text : null;
    const overwrites = overwrittenBy(seen);
    return {
      ...{ kind: "write", sessionId: session.id, path: sent, oldText, newText: after.text, signal },
      ...(overwrites === undefined ? {} : { overwrites }),
      diff: unifiedDiff(sent, oldText, after.text, overwrites),
    };
  };
  // If the caller may not write, the write itself reports it; nobody is asked for approval in vain.
  const asking = { approve: mayWrite(session, request) ? host.approve : undefined, standing, root };
  const { directories, entry } = await runApproved("write", asking, describe, (isAllowed) =>
    putContent(isAllowed ? allowedCalls(calls) : calls, place, { content: after.text, expected: content, signal }),
  );
  const change = { place, before, after, directories, entry };
  if (content.kind === "unseen") changes.recordBlind(place, after);
  else if (open?.dirty === true) changes.record({ ...change, buffer: open }, seen);
  else changes.record(change);
  buffers.saved(key, after.text, after.hash);
  noteHashes(trace, content, after);
  const overwrites = overwrittenBy(before);
  if (overwrites !== undefined) trace.overwrites = overwrites;
}

export function noteHashes(trace: Trace, before: Content, after: Content): void {
  const hashIn = (content: Content): string | null => ("hash" in content ? content.hash : null);
  if (before.kind !== "unseen") trace.hashBefore = hashIn(before);
  if (after.kind !== "unseen") trace.hashAfter = hashIn(after);
  if ("size" in after) trace.bytes = after.size;
}

/** Content as far as it is in memory. */
export function heldPart(content: Content): Held | Lost {
  if (content.kind === "unseen") return { kind: "lost" };
  return content.kind === "large" ? { kind: "lost", hash: content.hash, size: content.size } : content;
}

export function textContent(text: string): Extract<Content, { kind: "text" }> {
  return { kind: "text", text, hash: hashOfText(text), size: Buffer.byteLength(text) };
}

/** The text to write: keeps the file's byte order mark and, if configured, its line endings. */
function compose(text: string, before: Content, keepsNewlines: boolean): string {
  if (before.kind !== "text") return text;
  const aligned = keepsNewlines ? alignNewlines(text, before.text) : text;
  return before.text.startsWith(BOM) && !aligned.startsWith(BOM) ? BOM + aligned : aligned;
}

/** Converts `text` to the dominant line ending of `like`; unchanged if `like` has no line endings. */
function alignNewlines(text: string, like: string): string {
  const crlf = like.match(/\r\n/g)?.length ?? 0;
  const lf = (like.match(/\n/g)?.length ?? 0) - crlf;
  if (crlf + lf === 0) return text;
  // A tie is decided by the first line ending.
  const isCrlf = crlf === lf ? /\r?\n/.exec(like)?.[0] === "\r\n" : crlf > lf;
  return text.replace(/\r?\n/g, isCrlf ? "\r\n" : "\n");
}

function mayWrite({ host, calls }: FileSession, { place: { root, segments, readOnly } }: WriteRequest): boolean {
  if (readOnly) return false;
  const rights = host.adapter.rights?.("file:write", calls.context());
  return rights === undefined || rights.allows([root, ...segments], "crud/write");
}
