// Lists directories and describes entries.

import type { Io } from "../../core/io.js";
import type { Access, FileStat, ListedPart, Listing } from "../../core/ports/backend.js";
import { readEntries, readNames } from "../../jail/directory.js";
import { identity, type Pinned } from "../../jail/handles.js";
import type { Jail } from "../../jail/jail.js";
import { allowedOf } from "./entry-patterns.js";
import type { KeptNames, ListNames } from "./list-names.js";
import { stampPart } from "./open.js";
import type { Arrival } from "./root.js";

/** Parameters of one page of a list. */
interface ListPage extends ListedPart {
  readonly access: Access;
  /** Names for later pages. */
  readonly kept: ListNames;
}

export function* listEntries(jail: Jail, directory: Pinned, page: ListPage): Io<Listing> {
  const { sys } = jail;
  const { offset, limit, access } = page;
  const top = directory === jail.top;
  const { names: all, denied: before } = yield* namesFor(jail, directory, page);
  const wanted = all.slice(offset, offset + limit);
  // Judged anew: names may have been kept from an earlier page.
  const names = yield* allowedOf(jail, directory, { names: wanted, access });
  const { entries, unreadable } = yield* readEntries(sys, directory, {
    ...{ names, top, scope: access.scope },
    stampPart: page.stamps === true ? stampPart : undefined,
  });
  const now = wanted.length - names.length;
  const denied = before + now;
  return { total: all.length - now, entries, ...(denied > 0 && { denied }), ...(unreadable > 0 && { unreadable }) };
}

/** The sorted names of a directory: for a later page those of the first, for 30 seconds. */
function* namesFor(jail: Jail, directory: Pinned, { offset, limit, access, kept }: ListPage): Io<KeptNames> {
  const { caller, scope } = access;
  const found = offset === 0 || caller === undefined ? undefined : kept.get(caller, keyOf(directory));
  // Whoever goes on asks at whole pages; any other offset is the beginning of something else.
  if (found !== undefined && offset % found.limit === 0) return found;
  const rules = { top: directory === jail.top, foldsCase: jail.foldsCase, scope };
  const all = yield* readNames(jail.sys, directory, rules);
  const names = yield* allowedOf(jail, directory, { names: all, access });
  const read = { names, denied: all.length - names.length, limit };
  if (caller === undefined) return read;
  if (offset % limit === 0 && offset + limit < names.length) kept.set(caller, keyOf(directory), read);
  else kept.delete(caller, keyOf(directory));
  return read;
}

/** Inode numbers are used again, so the time of creation belongs to it. */
const keyOf = (directory: Pinned): string => `${identity(directory)} ${directory.stat.createdMs}`;

export function* statArrival({ jail, walk, found }: Arrival): Io<FileStat | undefined> {
  if (found.state !== "found") return undefined;
  const { stat } = found.object;
  const { type } = stat;
  const isFile = type === "file";
  const readOnly = !(yield* jail.sys.mayWrite(found.object));
  const { modifiedMs: modified, createdMs: created } = stat;
  const entry = { type, size: isFile ? stat.size : 0, modified, readOnly, symlink: walk.lastIsLink, created };
  return isFile ? Object.assign(entry, stampPart(stat)) : entry;
}
