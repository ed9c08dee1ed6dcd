// The operation that lists an archive as a whole.

import { LOOKS, type Operation } from "../../core/ports/operation.js";
import { countWithin } from "../content/clamp.js";
import { type ArchiveInput, checkOneArchive, sourceOf } from "./source.js";

const MAX_LISTED = 5_000;

interface ListedEntry {
  /** That of a directory ends with a slash. */
  readonly name: string;
  readonly size: number;
  readonly compressedSize: number;
  readonly directory: boolean;
  readonly modified: number;
  readonly encrypted?: true;
}

export interface ArchiveListOutput {
  readonly entries: readonly ListedEntry[];
  readonly count: number;
  readonly truncated: boolean;
  readonly hidden?: { readonly unreadable: number };
}

/** `list`: the entries of an archive, in its own order. */
export const listArchive: Operation<ArchiveInput, ArchiveListOutput> = {
  name: "list",
  on: "places",
  ability: "crud/read",
  changes: false,
  annotations: LOOKS,
  hidden: ["bytes"],
  check: checkOneArchive,
  run: (input, call) =>
    sourceOf(input, call).use(async ({ contents }) => {
      const { entries: all, leftOut } = contents;
      const found = all.slice(0, MAX_LISTED).map(({ path, type, size, compressedSize, modified, packed }) => {
        const directory = type === "directory";
        const name = directory ? `${path}/` : path;
        const encrypted = packed.method === "encrypted" ? { encrypted: true as const } : {};
        return { name, size, compressedSize, directory, modified, ...encrypted };
      });
      const { budget } = call;
      const shown =
        budget === undefined
          ? found
          : found.slice(
              0,
              countWithin(
                found.map((one) => JSON.stringify(one)),
                budget.defaultBytes,
              ),
            );
      const hidden = leftOut === 0 ? {} : { hidden: { unreadable: leftOut } };
      return { entries: shown, count: all.length, truncated: shown.length < all.length, ...hidden };
    }),
};
