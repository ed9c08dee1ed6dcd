// Parses unified diffs: of git with its extended headers, of `diff -u`, and as models write them.

import { fault, HunkDraft, headerIn, isSentWithCrlf, type Line, linesIn } from "./lines.js";
import { bareName, gitSides, pathOf, type Side, type Sides, sideOf } from "./names.js";
import type { Hunk, Section } from "./section.js";

/** A file of a diff, as its lines tell of it. */
interface FileDraft {
  /** Its first line. */
  readonly number: number;
  isGit?: boolean;
  git?: Sides | undefined;
  old?: Side;
  now?: Side;
  renamedFrom?: string;
  copiedFrom?: string;
  to?: string;
  isAdded?: boolean;
  isDeleted?: boolean;
  executable?: boolean;
  readonly hunks: Hunk[];
}

/** Whether a diff begins at a line: with a command, or with the two names of a file. */
export const beginsUnifiedDiff = (lines: readonly Line[], at: number): boolean =>
  /^(?:diff --(?:git|cc|combined) |Index: )/.test(lines[at]?.text ?? "") || areNames(lines, at);

const areNames = (lines: readonly Line[], at: number): boolean =>
  lines[at]?.text.startsWith("--- ") === true && lines[at + 1]?.text.startsWith("+++ ") === true;

/** @throws INVALID_INPUT that names the line and says what belongs there */
export function parseUnifiedDiff(patch: string): Section[] {
  const diff = diffOf(linesIn(patch));
  const files: FileDraft[] = [];
  for (let at = 0; at < diff.lines.length; ) at = readPart(diff, at, files);
  const newline = isSentWithCrlf(patch) ? "\r\n" : "\n";
  const sections = files.flatMap((file) => sectionOf(file, newline));
  if (sections.length === 0) throw fault(1, "it changes nothing");
  return sections;
}

interface Diff {
  readonly lines: readonly Line[];
  /** For each line the first from it on that is not empty; the number of lines where none is. */
  readonly filled: Uint32Array;
}

function diffOf(lines: readonly Line[]): Diff {
  const filled = new Uint32Array(lines.length);
  let next = lines.length;
  for (let at = lines.length - 1; at >= 0; at--) {
    if (lines[at]?.text !== "") next = at;
    filled[at] = next;
  }
  return { lines, filled };
}

/** @returns the line behind what it has read */
function readPart(diff: Diff, at: number, files: FileDraft[]): number {
  const { lines } = diff;
  const { text, number } = lines[at] as Line;
  const last = files.at(-1);
  if (/^(?:diff --(?:git|cc|combined) |Index: )/.test(text)) {
    if (/^diff --c/.test(text)) throw ofMerge(number);
    const isGit = text.startsWith("diff");
    const git = isGit ? gitSides(text.slice("diff --git ".length), number) : undefined;
    files.push({ number, isGit, git, hunks: [] });
    return at + 1;
  }
  if (areNames(lines, at)) {
    const isNew = last === undefined || last.old !== undefined || last.hunks.length > 0;
    const file: FileDraft = isNew ? { number, hunks: [] } : last;
    if (isNew) files.push(file);
    file.old = sideOf(text.slice(4), number);
    file.now = sideOf((lines[at + 1]?.text ?? "").slice(4), number + 1);
    return at + 2;
  }
  if (text.startsWith("@@")) {
    if (text.startsWith("@@@")) throw ofMerge(number);
    if (last === undefined) throw fault(number, "a hunk without the name of its file. Put --- and +++ with it above");
    const { hunk, next } = hunkAt(diff, at);
    if (hunk !== undefined) last.hunks.push(hunk);
    return next;
  }
  if (last?.isGit === true && last.hunks.length === 0) readExtended(last, text, number);
  refuseBinary(text, number);
  return at + 1;
}

const ofMerge = (number: number) => fault(number, "this is the diff of a merge. Make one against a single parent");

function refuseBinary(text: string, number: number): void {
  if (!/^(?:GIT binary patch$|Binary files .* differ$)/.test(text)) return;
  throw fault(number, "binary content cannot be patched. Leave this file out, and write its bytes with file_write");
}

const EXECUTABLE = 0o111;

/** A line of git between the command and the names. */
function readExtended(file: FileDraft, text: string, number: number): void {
  const mode = /^(old|new|new file|deleted file) mode (\d{6})$/.exec(text);
  if (mode !== null) {
    const [, kind, digits = ""] = mode;
    if (!digits.startsWith("100")) {
      const what = digits === "120000" ? "a symbolic link" : "a submodule";
      throw fault(number, `this is ${what}, which a patch cannot change. Leave this file out`);
    }
    file.isAdded ||= kind === "new file";
    file.isDeleted ||= kind === "deleted file";
    const isExecutable = (Number.parseInt(digits, 8) & EXECUTABLE) !== 0;
    if (kind === "new" || (kind === "new file" && isExecutable)) file.executable = isExecutable;
    return;
  }
  const [, verb, end, name = ""] = /^(rename|copy) (from|to) (.*)$/.exec(text) ?? [];
  if (verb === undefined) return;
  const path = bareName(name, number);
  if (end === "to") file.to = path;
  else if (verb === "rename") file.renamedFrom = path;
  else file.copiedFrom = path;
}

/** The hunk whose header is at a line. `undefined`: there is nothing in it. */
function hunkAt(diff: Diff, at: number): { hunk: Hunk | undefined; next: number } {
  const { lines } = diff;
  const { text, number } = lines[at] as Line;
  const header = headerIn(text);
  const draft = new HunkDraft(true);
  draft.above = header?.above;
  let next = at + 1;
  for (; next < lines.length; next++) {
    const line = lines[next] as Line;
    const left = leftOf(draft, header);
    if (endsHunk(diff, next, left)) break;
    if (!draft.add(line))
      throw fault(line.number, "a line of a hunk begins with a space (kept), - (removed) or + (added)");
  }
  const left = leftOf(draft, header);
  if (next >= lines.length - 1 && left !== undefined && (left.old > 0 || left.new > 0)) {
    throw fault(
      number,
      "its hunk has more lines than follow. If the patch was cut off, send it again; else write @@ alone, without numbers",
    );
  }
  return { hunk: draft.isEmpty ? undefined : draft.finish(), next };
}

interface Left {
  readonly old: number;
  readonly new: number;
}

/** Lines that the header announces and that have not come. `undefined`: it announces none. */
const leftOf = (draft: HunkDraft, header: { oldCount: number; newCount: number } | undefined): Left | undefined =>
  header && { old: header.oldCount - draft.before.length, new: header.newCount - draft.after.length };

/** Whether a hunk ends before a line. Headers written by models count badly, so they alone do not decide. */
function endsHunk({ lines, filled }: Diff, at: number, left: Left | undefined): boolean {
  const { text } = lines[at] as Line;
  if (text.startsWith("\\")) return false;
  if (/^(?:@@|diff |Index: |```)/.test(text)) return true;
  const isDone = left !== undefined && left.old <= 0 && left.new <= 0;
  if (areNames(lines, at)) {
    // A removed line that begins with --, and an added one with ++: only if the header counts just these two.
    const areLines = left?.old === 1 && left.new === 1;
    return isDone || (!areLines && /^(?:@@|$)/.test(lines[at + 2]?.text ?? ""));
  }
  const then = filled[at] ?? lines.length;
  if (left === undefined) return then === lines.length;
  // The last is what follows the last line feed.
  if (!isDone) return text === "" && at === lines.length - 1;
  // The signature of a mail.
  if (/^-- ?$/.test(text)) return true;
  if (text !== "") return !/^[ +-]/.test(text);
  return (
    then === lines.length ||
    !/^[ +-]/.test(lines[then]?.text ?? "") ||
    areNames(lines, then) ||
    /^-- ?$/.test(lines[then]?.text ?? "")
  );
}

/** None: the file stays as it is. */
function sectionOf(file: FileDraft, newline: string): Section[] {
  const { number, renamedFrom, copiedFrom, to, hunks, git, old, now, executable } = file;
  const isSame = hunks.length === 0 && executable === undefined;
  if (copiedFrom !== undefined && to !== undefined) {
    return [{ kind: "copy", from: copiedFrom, path: to, hunks, executable }];
  }
  if (renamedFrom !== undefined && to !== undefined) {
    const move = { path: renamedFrom, to };
    return isSame ? [{ kind: "move", ...move }] : [{ kind: "update", hunks, ...move, executable }];
  }
  const isAdded = file.isAdded === true || old?.isAbsent === true;
  const isDeleted = file.isDeleted === true || now?.isAbsent === true;
  if (isSame && !isAdded && !isDeleted) return [];
  const path = pathOf({ git, old, now }, number);
  if (isAdded) return [{ kind: "add", path, content: contentOf(hunks, { number, newline }), executable }];
  return isDeleted ? [{ kind: "delete", path, hunks }] : [{ kind: "update", path, hunks, executable }];
}

/** The text of a new file. */
function contentOf(hunks: readonly Hunk[], { number, newline }: { number: number; newline: string }): string {
  const lines = hunks.flatMap(({ after }) => after.map((line) => ("added" in line ? line.added : undefined)));
  if (lines.includes(undefined) || hunks.some(({ before }) => before.length > 0)) {
    throw fault(number, "a new file has added lines (+) only");
  }
  const text = lines.map((line) => `${line}${newline}`).join("");
  return hunks.at(-1)?.bare?.after === true ? text.slice(0, -newline.length) : text;
}
