// Lists directories and describes entries.

import type { CallScope } from "../../core/call/scope.js";
import type { Io } from "../../core/io.js";
import type { Access, FileStat, ListedPart, Listing } from "../../core/ports/backend.js";
import { type Name, readEntries, readNames, sortYielding } from "../../jail/directory.js";
import type { Pinned } from "../../jail/handles.js";
import type { Jail } from "../../jail/jail.js";
import { isBefore, sortByName, startAfter } from "../../path/order.js";
import { allowedOf } from "./entry-patterns.js";
import { stampPart } from "./open.js";
import type { Arrival } from "./root.js";

export function* listEntries(
  jail: Jail,
  directory: Pinned,
  page: ListedPart & { readonly access: Access },
): Io<Listing> {
  const { sys, foldsCase } = jail;
  const { limit, access } = page;
  const top = directory === jail.top;
  const { startsWith } = page;
  const all = yield* readNames(sys, directory, { foldsCase, scope: access.scope, startsWith });
  const allowed = yield* allowedOf(jail, directory, { names: all, access });
  const most = page.after === undefined ? page.offset + limit : allowed.length;
  const sorted = yield* firstSorted(allowed, most, access.scope);
  const start = startAfter(sorted, page.after) + page.offset;
  const { entries, unreadable, vanished } = yield* readEntries(sys, directory, {
    ...{ names: sorted.slice(start, start + limit), top, scope: access.scope },
    stampPart: page.stamps === true ? stampPart : undefined,
  });
  const denied = all.length - allowed.length;
  return {
    total: allowed.length,
    start,
    entries,
    ...(denied > 0 && { denied }),
    ...(unreadable > 0 && { unreadable }),
    ...(vanished > 0 && { vanished }),
  };
}

/** Names that are sorted at a time, and most that are worth it. */
const PIECE = 4096;

/** The first of some names, sorted: the many others need only be told apart from them. */
function* firstSorted(names: readonly Name[], most: number, scope: CallScope): Io<readonly Name[]> {
  if (most > PIECE) return yield* sortYielding(names, scope);
  let first: readonly Name[] = [];
  for (let at = 0; at < names.length; at += PIECE) {
    yield* scope.breathe();
    const last = first[most - 1];
    const earlier = names.slice(at, at + PIECE).filter((name) => last === undefined || isBefore(name, last));
    first = sortByName([...first, ...earlier]).slice(0, most);
  }
  return first;
}

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
