import { hash } from "node:crypto";
import type { CallScope } from "../core/call/scope.js";
import type { EditTerms } from "../core/call/terms.js";
import { ambiguousMatch, noMatch, notTextToEdit, overlappingEdits } from "../core/errors/edit-texts.js";
import { FileAdapterError } from "../core/errors/errors.js";
import { conflict, contentTooLarge, permissionDenied, tooLargeToRead } from "../core/errors/texts.js";
import { etagOf, expectedOf, hashText, isExpected, type Sha256 } from "../core/etag.js";
import { isPending, runIo } from "../core/io.js";
import type { Rendering } from "../core/ports/adapter.js";
import type { ReadRange, Written } from "../core/ports/backend.js";
import type { Operation, PathCall } from "../core/ports/operation.js";
import type { EditInput, EditOutput } from "../schema/types.js";
import { decodeText, encodeText, type TextForm } from "./content/encoding.js";
import { versionOf } from "./content/file-etag.js";
import { lineAt } from "./content/terminators.js";
import { firstDifference, inOrder, lengthAfter, overlapIn, type Planned, replaced } from "./editing/apply.js";
import { editsOf } from "./editing/input.js";
import { type Edit, EditMatcher, type Match, type Replacement } from "./editing/match.js";
import { nearestLines } from "./editing/nearest-lines.js";
import { unifiedDiff } from "./editing/unified-diff.js";

const BOM = "\ufeff";
/** Time limit for finding lines similar to an edit that does not match; a step under way may exceed it a little. */
const NEAREST_MS = 30;
const LINES_TOLD = 10;
/** Most characters of a diff, for models and for other callers. */
const DIFF_CHARS_MODEL = 4_000;
const DIFF_CHARS = 16_000;
/** Stands for the expected etag in errors, for callers that may not read. */
const WHAT_IT_FOUND = "unchanged";

/** `edit`: replaces exact parts of a text file; all edits or none. */
export const edit: Operation<EditInput, EditOutput> = {
  name: "edit",
  on: "places",
  ability: "crud/write",
  changes: true,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  hidden: ["edits", "oldText", "newText"],
  check(input) {
    editsOf(input);
    expectedOf(input);
  },
  run(input, call) {
    const { root, path, dryRun } = input;
    const abilities = dryRun === true ? (["crud/write", "crud/read"] as const) : (["crud/write"] as const);
    return editFile(input, call.at({ root, path, abilities, changes: true }));
  },
  bytes: ({ size, dryRun, diff }) => (dryRun === true || diff === "" ? 0 : size),
  render,
};

/** A file's text as the edits match it: with its byte order mark, so that a copy of the first line matches. */
interface Original {
  readonly text: string;
  readonly form: TextForm;
  readonly sha256: Sha256;
  readonly size: number;
}

async function editFile(input: EditInput, call: PathCall): Promise<EditOutput> {
  const { access, path } = call;
  const original = await readOriginal(input, call);
  const mayRead = access.holds("crud/read");
  const terms = call.terms?.edits;
  const plan =
    terms === undefined
      ? await planOf(editsOf(input), original, { call, mayRead })
      : await planBy(terms, original, { call, mayRead });
  const text = textAfter(original, plan, call);
  const first = firstDifference(original.text, text, plan[0]?.start ?? 0);
  const bytes = first === undefined ? undefined : bytesOf(text, original, call);
  const isDry = input.dryRun === true;
  const written = bytes === undefined || isDry ? undefined : await commit(bytes, { input, original, call, mayRead });
  const sha256 = bytes === undefined ? original.sha256 : (written?.sha256 ?? hash("sha256", bytes));
  return {
    path: path.text,
    size: bytes?.length ?? original.size,
    applied: plan.length,
    ...(mayRead ? { ...versionOf(sha256, call), previousEtag: etagOf(original.sha256) } : {}),
    ...(mayRead && first !== undefined ? { firstChangedLine: lineAt(first, original.text) } : {}),
    ...(mayRead && terms === undefined ? diffOf(original, plan, call) : {}),
    ...(isDry ? { dryRun: true } : {}),
  };
}

/** @throws CONFLICT, NOT_FOUND, TOO_LARGE, NOT_TEXT */
async function readOriginal(input: EditInput, call: PathCall): Promise<Original> {
  const { access, root, path, limits } = call;
  const limit = limits.maxReadBytes;
  const tooLarge = (size: number) => tooLargeToRead(access.place, size, limit, "Replace it whole with file_write");
  const plan = (size: number): ReadRange => {
    if (size > limit) throw tooLarge(size);
    return { offset: 0, length: limit + 1 };
  };
  const expected = expectedOf(input);
  const found = await asConflictIfMissing(async () => root.backend.read(path, plan, access), input, call);
  try {
    const { bytes, stamp } = found;
    if (bytes.length > limit) throw tooLarge(bytes.length);
    const sha256 = hash("sha256", bytes);
    call.versions.put(root.name, stamp, sha256);
    if (expected !== undefined && !isExpected(expected, sha256)) throw stale(input, call, etagOf(sha256));
    const decoded = decodeText(bytes, input.encoding ?? root.encoding);
    if (decoded === undefined) throw notTextToEdit(access.place);
    const { text, encoding, bom } = decoded;
    return { text: bom ? BOM + text : text, form: { encoding, bom }, sha256, size: bytes.length };
  } finally {
    found.release?.();
  }
}

async function asConflictIfMissing<T>(read: () => Promise<T>, input: EditInput, call: PathCall): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const isMissing = error instanceof FileAdapterError && error.code === "NOT_FOUND";
    throw isMissing && input.ifMatch !== undefined ? stale(input, call, null) : error;
  }
}

/** CONFLICT: the content does not meet the precondition. @param current its etag; `null`: the file does not exist */
const stale = ({ ifMatch = WHAT_IT_FOUND }: EditInput, { access }: PathCall, current: string | null) =>
  conflict(access.place, {
    verb: access.verb,
    expected: ifMatch,
    ...(access.holds("crud/read") ? { current } : {}),
  });

/** The replacements of all edits, by position. @throws NO_MATCH, AMBIGUOUS_MATCH, OVERLAPPING_EDITS */
async function planOf(
  edits: readonly Edit[],
  { text, form }: Original,
  { call, mayRead }: { call: PathCall; mayRead: boolean },
): Promise<readonly Planned[]> {
  const { place, scope } = call.access;
  const matcher = new EditMatcher(text);
  const planned: Planned[] = [];
  for (const [index, one] of edits.entries()) {
    const match = matcher.match(one);
    if (match.found !== one.expect) {
      throw mismatch(one, match, { call, text: mayRead ? text : undefined, edit: index, of: edits.length });
    }
    // The byte order mark stays, even if an edit's old text begins with it.
    const kept = form.bom ? match.replacements.map(behindMark) : match.replacements;
    for (const replacement of kept) planned.push({ ...replacement, edit: index });
    await breath(scope);
  }
  const ordered = inOrder(planned);
  const overlap = overlapIn(ordered);
  if (overlap === undefined) return ordered;
  const [first, second] = overlap.map((one) => one.edit).toSorted((left, right) => left - right);
  throw overlappingEdits(place, [first ?? 0, second ?? 0]);
}

/** The replacements as a profile plans them. Refuses a read-only file before it reveals anything about its content. */
async function planBy(
  terms: EditTerms,
  { text, sha256 }: Original,
  { call, mayRead }: { call: PathCall; mayRead: boolean },
): Promise<readonly Replacement[]> {
  const { access, path, root } = call;
  const { scope } = access;
  if ((await root.backend.stat(path, access))?.readOnly === true) throw permissionDenied(access.place);
  const remainingMs = () => scope.remainingMs();
  return terms.plan({ text, sha256, mayRead, breathe: () => breath(scope), remainingMs });
}

const behindMark = <R extends { start: number; end: number; text: string }>(one: R): R =>
  one.start > 0 ? one : { ...one, start: 1, text: one.text.startsWith(BOM) ? one.text.slice(1) : one.text };

async function breath(scope: CallScope): Promise<void> {
  const pause = runIo(scope.breathe());
  if (isPending(pause)) await pause;
}

interface Mismatch {
  readonly call: PathCall;
  /** `undefined`: the caller may not read the file. */
  readonly text: string | undefined;
  readonly edit: number;
  readonly of: number;
}

function mismatch({ oldText, expect }: Edit, { found, starts }: Match, { call, text, edit: index, of }: Mismatch) {
  const { place, scope } = call.access;
  const which = { edit: index, of };
  if (found > 0) {
    const lines = text === undefined ? undefined : starts.slice(0, LINES_TOLD).map((start) => lineAt(start, text));
    return ambiguousMatch(place, { ...which, found, expected: expect, ...(lines === undefined ? {} : { lines }) });
  }
  if (text === undefined) return noMatch(place, which);
  const until = Math.max(0, scope.remainingMs() - NEAREST_MS);
  return noMatch(place, { ...which, nearest: nearestLines(oldText, text, () => scope.remainingMs() <= until) });
}

/** @throws TOO_LARGE before a text of that size is built */
function textAfter({ text, size }: Original, plan: readonly Replacement[], call: PathCall): string {
  const limit = Math.max(call.limits.maxWriteBytes, size);
  const length = lengthAfter(text, plan);
  // Every encoding takes at least one byte for each character.
  if (length > limit) throw contentTooLarge(call.access.place, length, limit);
  return replaced(text, plan);
}

/** @throws TOO_LARGE, NOT_TEXT */
function bytesOf(text: string, { form, size }: Original, call: PathCall): Buffer {
  const { place } = call.access;
  const bytes = encodeText(text.slice(form.bom ? BOM.length : 0), form);
  if (bytes === undefined)
    throw notTextToEdit(place, `Its encoding, ${form.encoding}, has no way to write the new text`);
  const limit = Math.max(call.limits.maxWriteBytes, size);
  if (bytes.length > limit) throw contentTooLarge(place, bytes.length, limit);
  return bytes;
}

/** Writes the new content if the file is still as it was read. @throws CONFLICT */
async function commit(
  bytes: Buffer,
  { input, original, call, mayRead }: { input: EditInput; original: Original; call: PathCall; mayRead: boolean },
): Promise<Written> {
  const { root, path, access } = call;
  const content = hashText(original.sha256);
  try {
    return await root.backend.write(path, { load: () => bytes }, { parents: false, expected: { content } }, access);
  } catch (error) {
    if (!(error instanceof FileAdapterError) || error.code !== "CONFLICT" || error.data["expected"] !== content)
      throw error;
    const { current } = error.data;
    const expected = input.ifMatch ?? (mayRead ? etagOf(original.sha256) : WHAT_IT_FOUND);
    const found = typeof current === "string" || current === null ? { current } : {};
    throw conflict(access.place, { verb: access.verb, expected, ...found });
  }
}

const diffOf = ({ text }: Original, replacements: readonly Replacement[], { budget, path }: PathCall) =>
  unifiedDiff(text, {
    path: path.text,
    replacements,
    maxChars: budget === undefined ? DIFF_CHARS : DIFF_CHARS_MODEL,
  });

function render(output: EditOutput): Rendering {
  const { diff, ...rest } = output;
  if (diff === undefined) return { kind: "json", value: output, rest: {} };
  const isDry = output.dryRun === true;
  const cut = output.diffTruncated === true ? "Cut: the diff is longer. Read the file for the rest; " : "";
  const etag = isDry ? `dry run, nothing written; etag still ${output.previousEtag}` : `etag ${output.etag}`;
  const text = diff === "" ? "No change: new and old text are equal" : diff;
  const hint = output.hint === undefined ? "" : `. ${output.hint}`;
  return { kind: "text", text, rest, note: `${cut}${etag}${hint}` };
}
