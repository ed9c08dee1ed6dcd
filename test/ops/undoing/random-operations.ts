// Random operations on a root, for properties of undo.

import fc from "fast-check";

/** Longer than what is kept as a value in the journal. */
const LARGE = "y".repeat(70_000);
const NAMES = ["a", "b", "c", "d/a", "d/b", "d/e/a", "d", "d/e", "f/g"] as const;

/** One operation; most fail now and then, which changes nothing. */
export interface OperationStep {
  /** Without its adapter. */
  readonly what: string;
  readonly path: string;
  readonly to: string;
  readonly content: string;
}

const name = fc.constantFrom(...NAMES);
/** The places and the content of a step. */
export const anyPlaces = { path: name, to: name, content: fc.constantFrom("x\n", "old\n", "", LARGE) };

export const anyOperation: fc.Arbitrary<OperationStep> = fc.record({
  what: fc.constantFrom("write", "write", "append", "edit", "mkdir", "move", "copy", "delete"),
  ...anyPlaces,
});

const step = (what: string, path: string, to = "b", content = "x\n"): OperationStep => ({ what, path, to, content });

/** Trees that are moved, changed where they are then, and moved back, or replaced by another tree meanwhile. */
export const MOVED_TREES: [OperationStep[]][] = [
  [[step("delete", "d/e"), step("write", "d/e/a"), step("move", "d", "c"), step("write", "a")]],
  [[step("move", "d/e", "f/g"), step("move", "f/g", "d/e"), step("write", "d/e/a"), step("move", "d/e/a", "b")]],
  [[step("move", "d", "b"), step("write", "d/a"), step("delete", "d")]],
  [[step("move", "d/e", "f/g"), step("delete", "d/a"), step("move", "f/g", "d/e"), step("edit", "d/e/a")]],
];

export function inputOf(root: string, { what, path, to, content }: OperationStep): object {
  const place = { root, path };
  switch (what) {
    case "write":
      return { ...place, content, parents: true };
    case "append":
      return { ...place, content: `${content}+` };
    case "edit":
      return { ...place, oldText: "old", newText: "new" };
    case "patch":
      return {
        root,
        patch: `*** Begin Patch\n*** Update File: ${path}\n@@\n-old\n+patched\n*** Add File: ${to}.new\n+added\n*** End Patch\n`,
      };
    case "mkdir":
      return { ...place, parents: true };
    case "delete":
      return { ...place, recursive: true };
    default:
      return { ...place, to, overwrite: true, parents: true, ...(what === "copy" ? { recursive: true } : {}) };
  }
}
