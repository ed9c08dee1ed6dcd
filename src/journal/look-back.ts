// The entry at a path at the time of a change, found from the present entry and the changes that came later.

import { isSamePath } from "../core/call/path.js";
import type { IdentifiedRecord, Part, Present, TrashFolder } from "../core/ports/changes/journal-writer.js";

/** `was missing`: a later change found nothing there. */
export type Found = Present | "missing" | "was missing" | "unknown";

type Path = readonly string[];

/** A later change, made or not: its record holds the state of the place before it. */
interface Later {
  readonly record: IdentifiedRecord;
  readonly isMade: boolean;
}

export class LookBack {
  readonly #bin: TrashFolder;
  readonly #trashPrefix: string;
  /** Newest first. */
  readonly #later: Later[] = [];

  constructor(bin: TrashFolder, trashPrefix: string) {
    this.#bin = bin;
    this.#trashPrefix = trashPrefix;
  }

  /** Goes back behind a change. */
  goBehind(later: Later): void {
    this.#later.push(later);
  }

  /** The entry at a path right after the change in question. @param part see {@link TrashFolder.present} */
  async at(path: Path, part?: Part): Promise<Found> {
    let now = path;
    for (const { record, isMade } of this.#later.toReversed()) {
      const seen = seenBy(record, now);
      if (seen !== undefined) return seen;
      const [into, out] = [namesBelow(record.path, now), namesBelow(record.from, now)];
      if (isMade && record.action === "moved" && out !== undefined) now = [...record.path, ...out];
      else if (isMade && record.action === "deleted" && into !== undefined) return this.#inTrash(record.id, into);
      else if (isMade && into !== undefined && record.kind === "directory" && record.action !== "modified") {
        // A directory that did not exist had no entries.
        return record.before === null ? "was missing" : "unknown";
      }
    }
    return this.#bin.present(now, part);
  }

  async #inTrash(id: string, names: Path): Promise<Found> {
    const found = await this.#bin.look(this.#trashPrefix + id, names);
    return found === undefined ? "unknown" : { kind: found.kind, state: found };
  }
}

/** The entry that a change found at a path before it; `undefined`: it did not look there. */
function seenBy({ path, made = [], before, kind }: IdentifiedRecord, at: Path): Found | undefined {
  if (made.some((one) => isSamePath(one, at))) return "was missing";
  if (!isSamePath(path, at)) return undefined;
  return before === null ? "was missing" : { kind, state: before };
}

/** `undefined`: it is neither the path nor below it. */
const namesBelow = (path: Path | undefined, at: Path): Path | undefined =>
  path?.every((name, index) => name === at[index]) === true ? at.slice(path.length) : undefined;
