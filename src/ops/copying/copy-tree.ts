// Copies a file or tree between roots or drives, with verification if asked for.

import { countText, type ReportProgress } from "../../core/call/progress.js";
import { conflict, isADirectory, notSupportedByRoot } from "../../core/errors/texts.js";
import { type Expected, etagOf, hasStamp, isExpected, namesStamp } from "../../core/etag.js";
import type { Copied, CopyOptions, PlaceOptions } from "../../core/ports/backend.js";
import type { OpenFile } from "../../core/ports/open-file.js";
import type { PathCall } from "../../core/ports/operation.js";
import type { SourceEntry, TreeSource } from "../../core/ports/tree-source.js";
import type { TwoPlaces } from "./two-places.js";

interface TreeCopyOptions extends PlaceOptions {
  /** Precondition on the source file. */
  readonly expectedFrom: Expected | undefined;
  /** Fails if any entry would be left out, and verifies what has been written. */
  readonly isWhole: boolean;
}

/** Copies an open source to its target. @throws CONFLICT, NOT_SUPPORTED, DENIED_BY_POLICY, and as a backend does */
export async function copyTree(
  { from, to }: TwoPlaces,
  source: TreeSource,
  { expectedFrom, isWhole, ...options }: TreeCopyOptions,
): Promise<Copied> {
  const { access } = from;
  const { place, verb } = access;
  if (expectedFrom !== undefined && source.top.type === "directory") throw isADirectory(place);
  const byStamp = namesStamp(expectedFrom);
  if (expectedFrom !== undefined && expectedFrom !== "nothing" && byStamp) {
    const { stamp } = (await from.root.backend.stat(from.path, access)) ?? {};
    if (!hasStamp(expectedFrom, stamp)) throw conflict(place, { verb, expected: expectedFrom.content });
  }
  const approve = (sha256: string | undefined): void => {
    if (expectedFrom !== undefined && !byStamp && sha256 !== undefined && !isExpected(expectedFrom, sha256)) {
      const expected = expectedFrom === "nothing" ? "*" : expectedFrom.content;
      throw conflict(place, { verb, expected, current: etagOf(sha256) });
    }
    if (!isWhole) return;
    if (source.refusal !== undefined) throw source.refusal;
    if (source.left.symlinks + source.left.unreadable > 0) {
      throw notSupportedByRoot(place, "moving links and special files elsewhere. Copy the rest, or delete them first");
    }
  };
  const origin = { root: from.root.name, path: access.realPath ?? from.path.segments };
  const how = { hash: expectedFrom !== undefined, verify: isWhole, approve, from: origin };
  return placeTree(to, source, { ...options, ...how });
}

/** Puts a tree in place, and tells of its progress. @throws as a backend does */
export async function placeTree(to: PathCall, source: TreeSource, options: CopyOptions): Promise<Copied> {
  const { report } = to.access.scope;
  const watched = report === undefined ? source : watchedSource(source, report);
  const counted = to.root.countSource?.(watched, to) ?? watched;
  return to.root.backend.place(to.path, counted, options, to.access);
}

/** The field of an answer for what was left out. */
export function hiddenOf<Kind extends string>(
  left: Readonly<Record<Kind, number>>,
): {
  readonly hidden?: Partial<Record<Kind, number>>;
} {
  const counted = Object.entries(left).filter(([, count]) => count !== 0);
  return counted.length === 0 ? {} : { hidden: Object.fromEntries(counted) as Partial<Record<Kind, number>> };
}

// Reports the progress of a copy while its source is read.

/** A source that reports what is read from it: bytes of a file, entries of a directory. */
function watchedSource(source: TreeSource, report: ReportProgress): TreeSource {
  let entries = 0;
  return mapSource(source, (entry) => {
    if (entry.below.length === 0) return entry.type === "file" ? watchedEntry(entry, report) : entry;
    report(++entries, undefined, () => `${countText(entries, "entry", "entries")} copied`);
    return entry;
  });
}

/** A source whose entries pass through `map`, from the top on. */
export const mapSource = (source: TreeSource, map: (entry: SourceEntry) => SourceEntry): TreeSource => ({
  top: map(source.top),
  ...(source.identity === undefined ? {} : { identity: source.identity }),
  async next() {
    const entry = await source.next();
    return entry === undefined ? undefined : map(entry);
  },
  get left() {
    return source.left;
  },
  get refusal() {
    return source.refusal;
  },
  isUnchanged: () => source.isUnchanged(),
  close: () => source.close(),
});

function watchedEntry(entry: SourceEntry, report: ReportProgress): SourceEntry {
  const open = async (): Promise<OpenFile> => {
    const file = await entry.open();
    return {
      ...{ size: file.size, modified: file.modified },
      ...(file.descriptor === undefined ? {} : { descriptor: file.descriptor }),
      async read(offset, length) {
        const bytes = await file.read(offset, length);
        const done = offset + bytes.length;
        report(done, Math.max(done, file.size));
        return bytes;
      },
      close: () => file.close(),
    };
  };
  return { ...entry, open };
}
