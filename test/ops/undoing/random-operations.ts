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
  [[step("move", "a", "d/b"), step("move", "d", "c"), step("delete", "c/b")]],
  [
    [
      step("move", "a", "d/b"),
      step("move", "d", "c"),
      step("write", "c/b"),
      step("move", "c", "d"),
      step("delete", "d/b"),
    ],
  ],
  [[step("move", "a", "d/e/b"), step("move", "d/e", "c"), step("move", "d", "f/g"), step("delete", "c/b")]],
  [
    [
      step("move", "a", "d/b"),
      step("move", "d", "c"),
      step("move", "c/b", "b"),
      step("write", "b"),
      step("delete", "b"),
    ],
  ],
];

/** A change of something that is there. */
export interface Picked {
  readonly what: string;
  /** Which of the entries, and which of the folders it goes to. */
  readonly entry: number;
  readonly folder: number;
  readonly name: string;
  readonly content: string;
}

/** Mostly moves, of folders and of what is in them. */
export const anyPicked: fc.Arbitrary<Picked> = fc.record({
  what: fc.constantFrom("move", "move", "move", "delete", "write", "copy", "append"),
  ...{
    entry: fc.nat(99),
    folder: fc.nat(99),
    name: fc.constantFrom("a", "b", "c"),
    content: fc.constantFrom("x\n", LARGE),
  },
});

/** @param entries paths of all that is there, those of folders with a slash at the end */
export function stepOf({ what, entry, folder, name, content }: Picked, entries: readonly string[]): OperationStep {
  const folders = ["", ...entries.filter((path) => path.endsWith("/"))];
  const path = (entries[entry % Math.max(1, entries.length)] ?? "a").replace(/\/$/, "");
  return { what, path, to: `${folders[folder % folders.length]}${name}`, content };
}

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
