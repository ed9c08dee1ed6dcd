// The parsed form of a patch, file by file.

import { mayCancelOut } from "../editing/input.js";
import type { Edit } from "../editing/match.js";

/** Changes of some lines that follow each other. */
export interface Hunk {
  /** Texts of lines above the change, in order: each is looked for behind the one before. */
  readonly anchors: readonly string[];
  /** Lines without terminators: as they are now, and as they will be. */
  readonly before: readonly string[];
  readonly after: readonly HunkLine[];
  /** It lies at the end of the file. */
  readonly atEnd: boolean;
}

/** A line of the new text: one of `before`, by its index, or a new one. */
export type HunkLine = { readonly kept: number } | { readonly added: string };

/** The change of one file. */
export type Section = { readonly path: string } & (
  | { readonly kind: "add"; readonly content: string }
  | { readonly kind: "write"; readonly content: string }
  | { readonly kind: "delete" }
  | { readonly kind: "mkdir" }
  | { readonly kind: "move"; readonly to: string }
  | { readonly kind: "edit"; readonly edits: readonly Edit[] }
  | { readonly kind: "update"; readonly hunks: readonly Hunk[]; readonly to?: string }
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
