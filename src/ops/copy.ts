import { isADirectory } from "../core/errors/texts.js";
import type { Operation } from "../core/ports/operation.js";
import type { TreeSource } from "../core/ports/tree-source.js";
import type { CopyInput, CopyOutput } from "../schema/types.js";
import { copyTree, hiddenOf, mapSource } from "./copying/copy-tree.js";
import { checkTwoPlaces, etagIn, expectedFrom, placeOptions, placesOf } from "./copying/two-places.js";
import { refuseTwinFolders } from "./searching/alike.js";

/** `copy`: copies a file, or a directory with its content. */
export const copy: Operation<CopyInput & EmptyCopy, CopyOutput> = {
  name: "copy",
  on: "places",
  ability: "crud/write",
  also: ["crud/read"],
  changes: true,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  check: checkTwoPlaces,
  async run(input, call) {
    const places = placesOf(input, call, { abilities: ["crud/read"], changes: false });
    const { from, to, isOneTree } = places;
    await refuseTwinFolders(to, input.parents === true);
    const { backend } = from.root;
    const source = await backend.source(from.path, { followLast: true, there: to.access }, from.access);
    try {
      const isDirectory = source.top.type === "directory";
      const isEmpty = isDirectory && input.isEmptyCopy === true;
      if (isDirectory && !isEmpty && input.recursive !== true)
        throw isADirectory(from.access.place, "Pass recursive: true", { option: "recursive" });
      const paths = { path: from.path.text, to: to.path.text, copied: true };
      if (isOneTree && from.path.text === to.path.text) return { ...paths, overwritten: false, files: 0, atomic: true };
      const options = { ...placeOptions(input, call), expectedFrom: expectedFrom(input, call), isWhole: false };
      const copied = await copyTree(
        places,
        isEmpty || call.terms?.isShallow === true ? topOf(source) : source,
        options,
      );
      const { overwritten, files } = copied;
      return {
        ...paths,
        overwritten,
        ...etagIn(to, copied),
        files,
        atomic: true,
        ...hiddenOf(source.left),
        ...hintFor(isEmpty),
      };
    } finally {
      source.close();
    }
  },
};

interface EmptyCopy {
  /** A directory is made anew, without what is in it. */
  readonly isEmptyCopy?: boolean;
}

const hintFor = (isEmpty: boolean): { hint?: string } =>
  isEmpty ? { hint: "The copy is empty. Pass recursive: true to copy what is in the directory" } : {};

/** A source without what is in it. */
const topOf = (source: TreeSource): TreeSource => ({
  ...mapSource(source, (entry) => entry),
  refusal: undefined,
  next: () => undefined,
});
