// Lists directories and describes entries.

import type { Io } from "../../core/io.js";
import type { Access, FileStat, Listing } from "../../core/ports/backend.js";
import { readEntries, readNames } from "../../jail/directory.js";
import type { Pinned } from "../../jail/handles.js";
import type { Jail } from "../../jail/jail.js";
import { allowedOf } from "./denied.js";
import { stampPart } from "./open.js";
import type { Arrival } from "./root.js";

export function* listEntries(
  jail: Jail,
  directory: Pinned,
  { offset, limit, access }: { offset: number; limit: number; access: Access },
): Io<Listing> {
  const { sys, foldsCase } = jail;
  const top = directory === jail.top;
  const all = yield* readNames(sys, directory, { top, foldsCase, scope: access.scope });
  const allowed = yield* allowedOf(jail, directory, { names: all, access });
  const names = allowed.slice(offset, offset + limit);
  const { entries, unreadable } = yield* readEntries(sys, directory, { names, top, scope: access.scope });
  const denied = all.length - allowed.length;
  return { total: allowed.length, entries, ...(denied > 0 && { denied }), ...(unreadable > 0 && { unreadable }) };
}

export function* statArrival({ jail, walk, found }: Arrival): Io<FileStat | undefined> {
  if (found.state !== "found") return undefined;
  const { stat, path } = found.object;
  const { type } = stat;
  return {
    type,
    size: type === "file" ? stat.size : 0,
    modified: stat.modifiedMs,
    readOnly: !(yield* jail.sys.mayWrite(path)),
    symlink: walk.lastIsLink,
    created: stat.createdMs,
    ...(type === "file" ? stampPart(stat) : {}),
  };
}
