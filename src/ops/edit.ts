import type { EditTerms } from "../core/call/terms.js";
import { FileAdapterError } from "../core/errors/errors.js";
import { conflict, permissionDenied } from "../core/errors/texts.js";
import { unkeptText } from "../core/errors/undo-texts.js";
import { counted } from "../core/errors/wording.js";
import { etagOf, expectedOf, hashText } from "../core/etag.js";
import type { HashedContent } from "../core/etag-cache.js";
import type { Rendering } from "../core/ports/adapter.js";
import type { Written } from "../core/ports/backend.js";
import type { Operation, PathCall } from "../core/ports/operation.js";
import type { EditInput, EditOutput } from "../schema/types.js";
import { hashWhole, placeKey, versionOf } from "./content/file-etag.js";
import type { Replacement } from "./editing/match.js";
import { converted, type NewContent, newContent, wholeContent } from "./editing/new-content.js";
import { planCell } from "./editing/notebook-cell.js";
import { type HeldOriginal, holdOriginal, type Original, textAfter, WHAT_IT_FOUND } from "./editing/original.js";
import { editsOf, inTurn, mayCancelOut, planOf } from "./editing/plan.js";
import { mostDiffChars, unifiedDiff } from "./editing/unified-diff.js";

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
    const { root, path, dryRun, cell, lineEnding } = input;
    const isPlanned = call.terms?.edits !== undefined;
    const mayCancel = !isPlanned && mayCancelOut(editsOf(input));
    const tells = dryRun === true || cell !== undefined || lineEnding !== undefined || mayCancel;
    const abilities = tells ? (["crud/write", "crud/read"] as const) : (["crud/write"] as const);
    const at = call.at({ root, path, abilities, changes: true });
    return dryRun === true ? editFile(input, at) : inTurn([at], () => editFile(input, at));
  },
  bytes: ({ size, dryRun, diff }) => (dryRun === true || diff === "" ? 0 : size),
  render,
};

async function editFile(input: EditInput, call: PathCall): Promise<EditOutput> {
  const { access, path } = call;
  const original = await holdOriginal(input, call);
  const mayRead = access.holds("crud/read");
  const { plan, content, applied, hint } = await planContent(input, original, { call, mayRead });
  const isDry = input.dryRun === true;
  if (isDry && content !== undefined) await refuseReadOnly(call);
  const written =
    content === undefined || isDry ? undefined : await commit(content, { input, original, call, mayRead });
  const sha256 =
    content === undefined ? original.sha256 : (written?.sha256 ?? (await hashWhole(content.bytes, call.access.scope)));
  return {
    path: path.text,
    size: content?.bytes.length ?? original.size,
    applied: applied ?? plan.length,
    ...(mayRead ? { ...versionOf(sha256, call), previousEtag: etagOf(original.sha256) } : {}),
    ...(mayRead && content !== undefined ? { firstChangedLine: content.firstLine } : {}),
    ...(mayRead && call.terms?.edits === undefined ? diffOf(original, plan, call) : {}),
    ...(isDry ? { dryRun: true } : {}),
    ...(hint === undefined ? {} : { hint }),
  };
}

interface PlannedContent {
  readonly plan: readonly Replacement[];
  /** `undefined`: nothing changes. */
  readonly content: NewContent | undefined;
  /** Edits made, if they are not those of the plan. */
  readonly applied?: number;
  readonly hint?: string;
}

async function planContent(
  input: EditInput,
  original: HeldOriginal,
  { call, mayRead }: { call: PathCall; mayRead: boolean },
): Promise<PlannedContent> {
  const terms = call.terms?.edits;
  const { cell, lineEnding } = input;
  if (terms !== undefined) return planBy(terms, original, { call, mayRead });
  const edits = editsOf(input);
  const planned =
    cell === undefined
      ? { plan: await planOf(edits, original, { call, mayRead }) }
      : await planCell(edits, original, { call, mayRead, cell });
  if (lineEnding === undefined) return { ...planned, content: await newContent(original, planned.plan, call) };
  const { text, changed } = await converted(textAfter(original, planned.plan, call), lineEnding, call.access.scope);
  const hint = `${counted(changed, "line end")} changed to ${lineEnding.toUpperCase()}`;
  return { ...planned, content: wholeContent(original, text, call), hint };
}

/**
 * The replacements as a profile plans them. Errors of the plan tell of the content, and are not given for a read-only file:
 * the write refuses such a file, so only a plan without a write looks whether the file is one.
 */
async function planBy(
  terms: EditTerms,
  original: HeldOriginal,
  { call, mayRead }: { call: PathCall; mayRead: boolean },
): Promise<PlannedContent> {
  const { text, sha256 } = original;
  const { scope } = call.access;
  const remainingMs = () => scope.remainingMs();
  let content: NewContent | undefined;
  try {
    const plan = await terms.plan({ text, sha256, mayRead, breathe: () => scope.pause(), remainingMs });
    content = await newContent(original, plan, call);
    return { plan, content };
  } finally {
    if (content === undefined) await refuseReadOnly(call);
  }
}

async function refuseReadOnly({ root, path, access }: PathCall): Promise<void> {
  if ((await root.backend.stat(path, access))?.readOnly === true) throw permissionDenied(access.place);
}

/** Writes the new content if the file is still as it was read. @throws CONFLICT */
async function commit(
  { bytes, unchangedBytes }: NewContent,
  { input, original, call, mayRead }: { input: EditInput; original: HeldOriginal; call: PathCall; mayRead: boolean },
): Promise<Written> {
  const { root, path, access, versions } = call;
  const content = hashText(original.sha256);
  const options = { parents: false, expected: { content, stamp: original.stamp, bytes: original.bytes } };
  const key = placeKey(call);
  let isLent = false;
  let hashed: HashedContent | undefined;
  const lend = (): Buffer => {
    isLent = true;
    return bytes;
  };
  const hash = () => {
    hashed = versions.recent.hash(key, bytes, unchangedBytes);
    return hashed?.sha256;
  };
  try {
    const written = await root.backend.write(path, { load: () => bytes, borrow: lend, hash }, options, access);
    if (isLent && written.sha256 !== undefined) versions.recent.keep(key, hashed ?? { bytes, sha256: written.sha256 });
    return written;
  } catch (error) {
    if (!(error instanceof FileAdapterError) || error.code !== "CONFLICT" || error.data["expected"] !== content)
      throw error;
    const { current } = error.data;
    const expected = input.ifMatch ?? (mayRead ? etagOf(original.sha256) : WHAT_IT_FOUND);
    const found = typeof current === "string" || current === null ? { current } : {};
    throw conflict(access.place, { verb: access.verb, expected, ...found });
  }
}

const diffOf = ({ text }: Original, replacements: readonly Replacement[], call: PathCall) =>
  unifiedDiff(text, { path: call.path.text, replacements, maxChars: mostDiffChars(call) });

function render(output: EditOutput, input: EditInput): Rendering {
  const { diff, ...rest } = output;
  if (diff === undefined) return { kind: "json", value: output, rest: {} };
  const isDry = output.dryRun === true;
  const cut = output.diffTruncated === true ? "Cut: the diff is longer. Read the file for the rest; " : "";
  const etag = isDry ? `dry run, nothing written; etag still ${output.previousEtag}` : `etag ${output.etag}`;
  const nothing =
    output.etag === output.previousEtag ? "No change: new and old text are equal" : "Line ends alone differ";
  const text = diff === "" ? nothing : diff;
  const isAll = [input, ...(input.edits ?? [])].some(({ replaceAll }) => replaceAll === true);
  const count = isAll ? `${output.applied} replaced` : undefined;
  const more = [count, unkeptText(output), output.hint].filter((one) => one !== undefined);
  return { kind: "text", text, rest, note: [`${cut}${etag}`, ...more].join(". ") };
}
