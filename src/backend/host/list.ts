// Lists directories and describes entries.

import type { Io } from "../../core/io.js";
import type { Access, FileStat, ListedPart, Listing } from "../../core/ports/backend.js";
import { readEntries, readNames } from "../../jail/directory.js";
import type { Pinned } from "../../jail/handles.js";
import type { Jail } from "../../jail/jail.js";
import { startAfter } from "../../path/order.js";
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
  const all = yield* readNames(sys, directory, { top, foldsCase, scope: access.scope, startsWith });
  const allowed = yield* allowedOf(jail, directory, { names: all, access });
  const start = startAfter(allowed, page.after) + page.offset;
  const { entries, unreadable, vanished } = yield* readEntries(sys, directory, {
    ...{ names: allowed.slice(start, start + limit), top, scope: access.scope },
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
