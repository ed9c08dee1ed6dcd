// Calls of tools that change something: approved by what they are about to do, and recorded for the modified set and undo.

import { adapterError } from "../../../core/errors/errors.js";
import { at, pathText } from "../../../core/errors/texts.js";
import { etagOf, hashText } from "../../../core/etag.js";
import { type ClientReview, type EffectPart, type Proposal, shownPart } from "../../../core/ports/effect.js";
import type { Buffered } from "../files/buffers.js";
import {
  type Content,
  changeBy,
  contentAt,
  type Done,
  type FileCalls,
  type FilePlace,
  hashOfText,
} from "../files/files.js";
import type { Mount } from "../files/mounts.js";
import { heldPart, noteHashes, textContent } from "../files/write-text.js";
import { type FileSession, keyOf } from "../protocol/session.js";
import { type ChangeRequest, Rejected, requireApproval, requireThisApproval } from "../review/approval.js";
import type { Trace } from "../review/audit.js";
import type { ShownPlace } from "../review/modified.js";
import { unifiedDiff } from "../review/unified.js";

/** One call of a tool. */
export interface ToolRun {
  readonly session: FileSession;
  readonly operation: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly calls: FileCalls;
  readonly signal: AbortSignal;
  /** Filled in for the audit. */
  readonly trace: Trace;
}

/** A place that a call changes, as it was before. */
interface Target {
  readonly place: ShownPlace;
  /** Absent: no file, or one that the session may not reach. */
  readonly before: Content | undefined;
  /** The open buffer, where it has unsaved changes. */
  readonly unsaved: Buffered | undefined;
}

/** Maximum attempts when others change the file concurrently; each attempt is approved again. */
const MAX_TRIES = 5;

/** @throws Rejected; CONFLICT; FileAdapterError */
export async function change(run: ToolRun, mounts: readonly Mount[]): Promise<unknown> {
  const { session, signal } = run;
  const places = await placesOf(run, mounts);
  const work = async (): Promise<unknown> => {
    const targets = await Promise.all(places.map((place) => lookAt(run, place)));
    const own = { ...run, input: onUnsaved(run, targets) };
    const done = await approved(own, targets);
    await remember(own, targets, done);
    return done.output;
  };
  // In one order, so that two calls cannot wait for each other.
  const keys = [...new Set(places.map(({ key }) => key))].sort();
  return keys.reduceRight((next, key) => () => session.host.turns.run(key, next, signal), work)();
}

/** The places that a call changes, the target of a move first. Empty: the input is malformed, and the call says so. */
async function placesOf(
  { operation, input, calls, signal }: ToolRun,
  mounts: readonly Mount[],
): Promise<readonly ShownPlace[]> {
  const { root, from, path = from, to, toRoot = root } = input;
  const source = [root, path] as const;
  const target = [toRoot, to] as const;
  const named = operation === "file:move" ? [target, source] : operation === "file:copy" ? [target] : [source];
  const found: ShownPlace[] = [];
  for (const [root, path] of named) {
    if (typeof root !== "string" || typeof path !== "string") return [];
    const prefix = mounts.find((one) => one.root === root)?.prefix ?? [];
    const sent = `/${[...prefix, ...path.split("/").filter((name) => name !== "")].join("/")}`;
    found.push({ root, path, sent, key: await keyOf(calls, { root, path }, signal) });
  }
  return found;
}

async function lookAt({ session, calls, signal }: ToolRun, place: ShownPlace): Promise<Target> {
  const open = session.buffers.get(place.key);
  return { place, before: await contentOf(calls, place, signal), unsaved: open?.dirty === true ? open : undefined };
}

/** @returns `undefined` for anything but a file: the call itself tells why it is refused */
async function contentOf(calls: FileCalls, place: FilePlace, signal: AbortSignal): Promise<Content | undefined> {
  try {
    return await contentAt(calls, place, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    return undefined;
  }
}

/**
 * Unsaved text is what the agent has read: its etag stands for that of the file, and only a whole write replaces it.
 * @returns the input @throws CONFLICT
 */
function onUnsaved({ operation, input }: ToolRun, targets: readonly Target[]): ToolRun["input"] {
  const [open] = targets.filter(({ unsaved }) => unsaved !== undefined);
  if (open?.unsaved === undefined || operation === "file:copy") return input;
  const { place, before, unsaved } = open;
  const what = `"${pathText(place.path)}" has unsaved changes in the user's editor`;
  if (operation !== "file:write") {
    throw adapterError("CONFLICT", `${what}. Write the whole file (file_write), or ask the user to save it`, at(place));
  }
  const { ifMatch } = input;
  if (ifMatch === undefined || ifMatch === null) return input;
  const hash = hashOfText(unsaved.text);
  const isSeen = ifMatch === hash || ifMatch === etagOf(hash.slice(hashText("").length));
  if (isSeen && before !== undefined && "hash" in before) return { ...input, ifMatch: before.hash };
  throw adapterError("CONFLICT", `${what}, which you have not seen. Read it again`, at(place));
}

/** Runs a call. What it is about to do is asked first, and it does that from that state or nothing. */
async function approved(run: ToolRun, targets: readonly Target[]): Promise<Done> {
  const { session, operation, input, calls, signal } = run;
  const { approve } = session.host;
  const context = calls.context(signal);
  if (approve === undefined) return changeBy(calls, context, [operation, input]);
  // By the roots that the call turns out to change, whichever way it names them.
  const asksIn = (root: string): boolean => session.standing.of("write", root) !== "allow";
  const allowed = new Set<string>();
  for (let tries = 1; ; tries++) {
    const proposals: Proposal[] = [];
    const review: ClientReview = {
      asksIn,
      allows: (part) => allowed.has(textOf(part)),
      ask: (proposal) => proposals.push(proposal),
    };
    try {
      return await changeBy(calls, { ...context, client: { isLocal: true, review } }, [operation, input]);
    } catch (error) {
      const [proposal] = proposals;
      if (proposal === undefined || tries > MAX_TRIES) throw error;
      const asking = [...new Set(proposal.parts.map(({ root }) => root))].filter(asksIn);
      const describe = () => describeChange(run, targets, proposal);
      if (asking.some((root) => session.standing.of("write", root) === "reject")) throw new Rejected();
      const [root] = asking;
      if (root === undefined) await requireThisApproval(approve, describe());
      else await requireApproval("write", { approve, standing: session.standing, root }, describe);
      for (const part of proposal.parts) allowed.add(textOf(part));
    }
  }
}

const textOf = ({ root, before, after }: EffectPart): string => JSON.stringify([root, before, after]);

function describeChange(
  { session, operation, input: { content }, signal }: ToolRun,
  [target]: readonly Target[],
  { effects, diff }: Proposal,
): ChangeRequest {
  const { place, unsaved } = target ?? {};
  const path = place?.sent ?? "";
  // The unsaved text is what the user sees, and loses.
  const shown = unsaved !== undefined && typeof content === "string" ? unifiedDiff(path, unsaved.text, content) : diff;
  return {
    ...{ kind: "change", sessionId: session.id, operation, path, signal },
    ...shownPart(effects),
    ...(shown === undefined ? {} : { diff: shown }),
  };
}

/** Records what a call has done. */
async function remember(
  { session, operation, calls, signal, trace }: ToolRun,
  [target, source]: readonly Target[],
  { changes: [made], directories, entry }: Done,
): Promise<void> {
  if (target === undefined || made === undefined) return;
  const { place, before, unsaved } = target;
  // A link that was replaced or removed is not what it leads to.
  const isLookedAt = place.key === `${place.root}:${made.path.join("/")}`;
  const isFile = isLookedAt && made.kind === "file" && (source === undefined || source.before !== undefined);
  const after: Content | undefined =
    operation === "file:delete" ? { kind: "missing" } : await contentOf(calls, place, signal);
  if (!isFile || before === undefined || after === undefined) {
    const lost = { kind: "lost" } as const;
    // Without a journal a new directory stays.
    if (operation !== "file:mkdir" || entry !== undefined)
      session.changes.record({ place, before: lost, after: lost, entry, isOther: true });
    return;
  }
  noteHashes(trace, before, after);
  const now = heldPart(after);
  if (before.kind === "unseen") return session.changes.recordBlind(place, now);
  const moved = source?.before === undefined ? {} : { moved: { place: source.place, before: heldPart(source.before) } };
  const kept = { place, before: heldPart(before), after: now, directories, entry, ...moved };
  if (unsaved === undefined) session.changes.record(kept);
  else session.changes.record({ ...kept, buffer: unsaved }, textContent(unsaved.text));
  if (after.kind === "text") session.buffers.saved(place.key, after.text, after.hash);
}
