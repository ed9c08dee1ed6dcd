// The parsed form of a patch, file by file.

import type { Edit } from "../editing/match.js";
import { mayCancelOut } from "../editing/plan.js";

/** Changes of some lines that follow each other. */
export interface Hunk {
  /** Texts of lines above the change, in order, outermost first. */
  readonly anchors: readonly string[];
  /** Lines without their line feeds, as they are now and as they will be. A CR at the end of one is part of it. */
  readonly before: readonly string[];
  readonly after: readonly HunkLine[];
  /** The hunk lies at the end of the file. */
  readonly atEnd: boolean;
  /** Where the header of a unified diff puts it: lines of the old file that are above it. */
  readonly above?: number | undefined;
  /** Whether the file ends without a newline, before and after. Absent: the patch does not say. */
  readonly bare?: { readonly before: boolean; readonly after: boolean } | undefined;
}

/** A line of the new text: one of `before`, by its index, or a new one. */
export type HunkLine = { readonly kept: number } | { readonly added: string };

/** The change of one file. `executable`: whether it may be run afterwards; absent: as before. */
export type Section = { readonly path: string; readonly executable?: boolean | undefined } & (
  | { readonly kind: "add"; readonly content: string }
  | { readonly kind: "write"; readonly content: string }
  /** `hunks`: what the file must hold, all of it. */
  | { readonly kind: "delete"; readonly hunks?: readonly Hunk[] }
  | { readonly kind: "mkdir" }
  | { readonly kind: "move"; readonly to: string }
  /** `path` is new: a copy of `from`, with changes. */
  | { readonly kind: "copy"; readonly from: string; readonly hunks: readonly Hunk[] }
  | { readonly kind: "edit"; readonly edits: readonly Edit[] }
  | { readonly kind: "update"; readonly hunks: readonly Hunk[]; readonly to?: string | undefined }
);

/** As {@link mayCancelOut}; of hunks by their lines, but for the white space at their ends. A move is always a change. */
export function mayLeaveAsIs(section: Section): boolean {
  if (section.kind === "edit") return mayCancelOut(section.edits);
  if (section.kind !== "update" || section.to !== undefined) return false;
  const before = section.hunks.flatMap((hunk) => hunk.before);
  const after = section.hunks.flatMap((hunk) =>
    hunk.after.map((line) => ("kept" in line ? (hunk.before[line.kept] ?? "") : line.added)),
  );
  return before.length === after.length && sorted(before) === sorted(after);
}

const sorted = (lines: readonly string[]): string =>
  lines
    .map((line) => line.trimEnd())
    .toSorted()
    .join("\n");
