// Calls of tools that change something: approved by what they are about to do, and recorded for the modified set and undo.

import { applyPatch } from "diff";
import { adapterError } from "../../../core/errors/errors.js";
import { at, pathText } from "../../../core/errors/texts.js";
import { etagOf, hashText } from "../../../core/etag.js";
import {
  type ClientReview,
  type Effect,
  type EffectPart,
  type Proposal,
  shownPart,
} from "../../../core/ports/effect.js";
import { fieldsOf } from "../../../core/unknown.js";
import type { StatOutput } from "../../../schema/types.js";
import type { Buffered } from "../files/buffers.js";
import {
  type Content,
  contentAt,
  type FileCalls,
  type FilePlace,
  hashOfText,
  missingAbove,
  parentOf,
  realPathAt,
} from "../files/files.js";
import type { Mount } from "../files/mounts.js";
import { entryOf } from "../files/take-back.js";
import { describeWrite, heldPart, textContent } from "../files/write-text.js";
import { type FileSession, keyOf } from "../protocol/session.js";
import { type ApprovalRequest, Rejected, requireApproval, requireThisApproval } from "../review/approval.js";
import type { Trace } from "../review/audit.js";
import type { ShownPlace } from "../review/modified.js";

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
  /** Directories that the call makes for it, outermost first. */
  readonly directories: readonly string[];
}

/** Maximum attempts when others change the file concurrently; each attempt is approved again. */
const MAX_TRIES = 5;
/** Operations on the content of a file, whichever link leads there. All others are on the entry itself. */
const ON_CONTENT: ReadonlySet<string> = new Set(["file:write", "file:edit", "file:append"]);

/** @throws Rejected; CONFLICT; FileAdapterError */
export async function change(run: ToolRun, mounts: readonly Mount[]): Promise<unknown> {
  const { session, signal } = run;
  const places = await placesOf(run, mounts);
  const work = async (): Promise<unknown> => {
    const targets = await Promise.all(places.map((place) => lookAt(run, place)));
    const own = { ...run, input: onUnsaved(run, targets) };
    const output = await approved(own, targets);
    await remember(own, targets, fieldsOf(output));
    return output;
  };
  // In one order, so that two calls cannot wait for each other.
  const keys = [...new Set(places.map(({ key }) => key))].sort();
  return keys.reduceRight((next, key) => () => session.host.turns.run(key, next, signal), work)();
}

/** The places that a call changes, the target of a move first. Empty: the input is malformed, and the call says so. */
async function placesOf(
  { session, operation, input, signal }: ToolRun,
  mounts: readonly Mount[],
): Promise<readonly ShownPlace[]> {
  const { root, from, path = from, to, toRoot = root } = input;
  const source = [root, path] as const;
  const target = [toRoot, to] as const;
  const named = operation === "file:move" ? [target, source] : operation === "file:copy" ? [target] : [source];
  const found: ShownPlace[] = [];
  for (const [root, path] of named) {
    if (typeof root !== "string" || typeof path !== "string") return [];
    const place = { root, path };
    const prefix = mounts.find((one) => one.root === root)?.prefix ?? [];
    const sent = `/${[...prefix, ...path.split("/").filter((name) => name !== "")].join("/")}`;
    const { calls } = session;
    const key = ON_CONTENT.has(operation) ? await keyOf(calls, place, signal) : await keyOfEntry(calls, place, signal);
    found.push({ ...place, sent, key });
  }
  return found;
}

/** As `keyOf`, but of a link itself. */
async function keyOfEntry(calls: FileCalls, { root, path }: FilePlace, signal: AbortSignal): Promise<string> {
  const names = path.split("/").filter((name) => name !== "");
  const above = await realPathAt(calls, { root, path: parentOf(names.join("/")) }, signal);
  return `${root}:${[above, ...names.slice(-1)].filter((part) => part !== "").join("/")}`;
}

async function lookAt({ session, operation, input, calls, signal }: ToolRun, place: ShownPlace): Promise<Target> {
  const open = session.buffers.get(place.key);
  const before = operation === "file:mkdir" ? undefined : await contentOf(calls, operation, { place, signal });
  const isMade = input["parents"] === true && before?.kind === "missing";
  const directories = isMade ? await missingAbove(calls, place, signal).catch(() => []) : [];
  return { place, before, unsaved: open?.dirty === true ? open : undefined, directories };
}

/** @returns `undefined` for anything but a file: the call itself tells why it is refused */
async function contentOf(
  calls: FileCalls,
  operation: string,
  { place: { root, path }, signal }: { readonly place: FilePlace; readonly signal: AbortSignal },
): Promise<Content | undefined> {
  try {
    if (!ON_CONTENT.has(operation)) {
      const { symlink } = (await calls.adapter.invoke(
        "file:stat",
        { root, path },
        calls.context(signal),
      )) as StatOutput;
      if (symlink === true) return undefined;
    }
    return await contentAt(calls, { root, path }, signal);
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
async function approved(run: ToolRun, targets: readonly Target[]): Promise<unknown> {
  const { session, operation, input, calls, signal } = run;
  const { approve } = session.host;
  const context = calls.context(signal);
  if (approve === undefined) return calls.adapter.invoke(operation, input, context);
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
      return await calls.adapter.invoke(operation, input, { ...context, client: { isLocal: true, review } });
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

function describeChange(run: ToolRun, targets: readonly Target[], { effects, diff }: Proposal): ApprovalRequest {
  const { session, operation, signal } = run;
  const [effect] = effects;
  const [target] = targets;
  const text = target && effects.length === 1 ? newText(run, target, { effect, diff }) : undefined;
  if (target?.before !== undefined && text !== undefined) {
    const { place, before, unsaved } = target;
    const seen = unsaved === undefined ? heldPart(before) : textContent(unsaved.text);
    return describeWrite(session, { place, seen, after: textContent(text), signal });
  }
  return {
    ...{ kind: "change", sessionId: session.id, operation, path: target?.place.sent ?? "" },
    ...shownPart(effects),
    ...(diff === undefined ? {} : { diff }),
    signal,
  };
}

/** The text that a file will have, as far as it can be told for certain. */
function newText(
  { operation, input: { content } }: ToolRun,
  { before }: Target,
  { effect, diff }: { readonly effect: Effect | undefined; readonly diff: string | undefined },
): string | undefined {
  const sha256 = effect?.after?.sha256;
  if (sha256 === undefined || before === undefined) return undefined;
  const isIt = (text: unknown): text is string => typeof text === "string" && hashOfText(text) === hashText(sha256);
  const old = before.kind === "text" ? before.text : before.kind === "missing" ? "" : undefined;
  if (isIt(content)) return operation !== "file:append" ? content : old === undefined ? undefined : old + content;
  if (old === undefined || diff === undefined) return undefined;
  try {
    const patched = applyPatch(old, diff, { autoConvertLineEndings: false });
    return isIt(patched) ? patched : undefined;
  } catch {
    // The difference was cut.
    return undefined;
  }
}

/** Records what a call has done. */
async function remember(
  run: ToolRun,
  targets: readonly Target[],
  output: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { session, operation, calls, signal, trace } = run;
  const [target, source] = targets;
  if (
    target === undefined ||
    output["existed"] === false ||
    (output["created"] === false && operation === "file:mkdir")
  )
    return;
  const { place, before, unsaved } = target;
  const isGone = operation === "file:delete";
  const after: Content | undefined = isGone
    ? { kind: "missing" }
    : await contentOf(calls, operation, { place, signal });
  const op = operation.slice("file:".length);
  const hash = after !== undefined && "hash" in after ? after.hash : undefined;
  const entry = await entryOf(session, place, { op, hash });
  // A journal takes them back itself.
  const directories = entry === undefined ? target.directories : [];
  const isFile = before !== undefined && after !== undefined && (source === undefined || source.before !== undefined);
  if (!isFile) {
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

function noteHashes(trace: Trace, before: Content, after: Content): void {
  const hashIn = (content: Content): string | null => ("hash" in content ? content.hash : null);
  if (before.kind !== "unseen") trace.hashBefore = hashIn(before);
  if (after.kind !== "unseen") trace.hashAfter = hashIn(after);
  if ("size" in after) trace.bytes = after.size;
}
