// The file tools that models are offered unless more is asked for, and what they are told of all of them.

/** The file operations agents use most, in the order they are offered. */
export const EVERYDAY: readonly string[] = [
  ...["roots", "list", "tree", "read", "stat", "glob", "grep"],
  ...["write", "edit", "append", "mkdir", "move", "copy", "delete"],
].map((name) => `file:${name}`);

const ROOTS =
  "Files in named roots. Start with file_roots, then file_tree. root is a name from there, path relative to it; none is the root itself.";
const ONE_ROOT =
  "Files in one root, which needs no naming (file_roots tells of it). Start with file_tree. path is relative to the root; none is the root itself.";
const RULES =
  'parents: true makes missing directories. ifMatch: the etag or hash you saw, ifNoneMatch: "*" for a new file; …To: the same of the target; else CONFLICT. ' +
  "Errors carry a code; a denial is final.";

/** Instructions to a model on the file tools. @param hasOneRoot whether there is one root, which needs no naming */
export const instructions = (hasOneRoot: boolean): string => `${hasOneRoot ? ONE_ROOT : ROOTS} ${RULES}`;

/** Limits of reads for models where no configuration says otherwise. */
export const READ_BUDGET = { defaultBytes: 65_536, defaultLines: 2000, maxBytes: 1_048_576 } as const;
