// The operation that lists an archive as a whole.

import type { ArchiveEntry } from "../../core/call/archive.js";
import { type Operation, READS } from "../../core/ports/operation.js";
import type { ArchiveListInput, ArchiveListOutput } from "../../schema/types.js";
import { countWithin } from "../content/clamp.js";
import { hiddenOf } from "../copying/copy-tree.js";
import { type ArchiveSource, checkOneArchive, sourceOf } from "./source.js";

const MAX_LISTED = 5_000;
const BETWEEN_PAUSES = 1_000;

/** `list`: the entries of an archive, in its own order. */
export const listArchive: Operation<ArchiveListInput, ArchiveListOutput> = {
  name: "list",
  on: "places",
  ...READS,
  hidden: ["bytes"],
  check: checkOneArchive,
  run: (input, call) => {
    const source = sourceOf(input, call);
    return source.use(async ({ contents }) => {
      const { entries, leftOut } = contents;
      const all: ArchiveEntry[] = [];
      for (const [index, entry] of entries.entries()) {
        if (index % BETWEEN_PAUSES === 0) await call.scope.pause();
        if (!isDenied(entry, source)) all.push(entry);
      }
      const found = all.slice(0, MAX_LISTED).map(({ path, type, size, compressedSize, modified, packed }) => {
        const directory = type === "directory";
        const name = directory ? `${path}/` : path;
        const encrypted = packed.method === "encrypted" ? { encrypted: true as const } : {};
        return { name, size, compressedSize, directory, modified, ...encrypted };
      });
      const { budget } = call;
      const texts = budget === undefined ? [] : found.map((one) => JSON.stringify(one));
      const shown = budget === undefined ? found : found.slice(0, countWithin(texts, budget.defaultBytes));
      const left = hiddenOf({ unreadable: leftOut, policy: entries.length - all.length });
      return { entries: shown, count: all.length, truncated: shown.length < all.length, ...left };
    });
  },
};

function isDenied({ path }: ArchiveEntry, { denies }: ArchiveSource): boolean {
  const segments = path.split("/");
  return segments.some((name, depth) => denies(segments.slice(0, depth), name));
}
