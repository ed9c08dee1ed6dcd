import { hash } from "node:crypto";
import type { EditTerms } from "../core/call/terms.js";
import { FileAdapterError } from "../core/errors/errors.js";
import { conflict, permissionDenied } from "../core/errors/texts.js";
import { etagOf, expectedOf, hashText } from "../core/etag.js";
import type { Rendering } from "../core/ports/adapter.js";
import type { Written } from "../core/ports/backend.js";
import type { Operation, PathCall } from "../core/ports/operation.js";
import type { EditInput, EditOutput } from "../schema/types.js";
import { versionOf } from "./content/file-etag.js";
import { lineAt } from "./content/terminators.js";
import { firstDifference } from "./editing/apply.js";
import { editsOf } from "./editing/input.js";
import type { Replacement } from "./editing/match.js";
import { bytesOf, type Original, readOriginal, textAfter, WHAT_IT_FOUND } from "./editing/original.js";
import { planOf, yieldIfDue } from "./editing/plan.js";
import { unifiedDiff } from "./editing/unified-diff.js";

/** Most characters of a diff, for models and for other callers. */
const DIFF_CHARS_MODEL = 4_000;
const DIFF_CHARS = 16_000;

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
  return terms.plan({ text, sha256, mayRead, breathe: () => yieldIfDue(scope), remainingMs });
}

/** Writes the new content if the file is still as it was read. @throws CONFLICT */
async function commit(
  bytes: Buffer,
  { input, original, call, mayRead }: { input: EditInput; original: Original; call: PathCall; mayRead: boolean },
): Promise<Written> {
  const { root, path, access } = call;
  const content = hashText(original.sha256);
  const options = { parents: false, expected: { content, stamp: original.stamp } };
  try {
    return await root.backend.write(path, { load: () => bytes }, options, access);
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
