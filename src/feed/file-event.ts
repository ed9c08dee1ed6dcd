// Events of files: what readers of the feed are told of a change.

import { etagOf } from "../core/etag.js";
import type { ChangeRecord } from "../core/ports/changes/change.js";

/** One change in a root. Paths are real segments below the root. */
export interface FileEvent {
  readonly type: "created" | "modified" | "deleted" | "moved";
  readonly path: readonly string[];
  /** Where a moved entry was. */
  readonly from?: readonly string[];
  readonly entryType: "file" | "directory";
  /** Of the file's content, where all of it was seen. */
  readonly etag?: string;
  /** `external`: somebody else's change, as far as it was seen. */
  readonly origin: "adapter" | "external";
}

/** The events of a committed change, in order. */
export function eventsOf({ action, kind, path, from, fromRoot, made = [], after }: ChangeRecord): FileEvent[] {
  const origin = "adapter";
  const isMove = action === "moved" && from !== undefined && fromRoot === undefined;
  const folders = made.map((folder) => ({ type: "created", path: folder, entryType: "directory", origin }) as const);
  const event: FileEvent = {
    type: action === "moved" && !isMove ? "created" : action,
    path,
    ...(isMove ? { from } : {}),
    entryType: kind === "directory" ? "directory" : "file",
    ...(after?.sha256 === undefined ? {} : { etag: etagOf(after.sha256) }),
    origin,
  };
  const isToldAlready = folders.some((folder) => isSamePath(folder.path, path)) && event.type === "created";
  return isToldAlready ? folders : [...folders, event];
}

export const keyOf = (path: readonly string[]): string => path.join("/");

export const isSamePath = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && isWithin(one, other);

/** Whether a path is a directory or below it. */
export const isWithin = (path: readonly string[], directory: readonly string[]): boolean =>
  path.length >= directory.length && directory.every((name, index) => path[index] === name);
