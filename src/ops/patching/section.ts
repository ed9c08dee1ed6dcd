// The parsed form of a patch, file by file.

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
