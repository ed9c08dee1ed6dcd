// Changes in the order they were made, put together as what one actor did in one go.

import type { HistoryEntry } from "../api/operations.js";

/** Entries of one actor and credential without a pause of 30 minutes; newest first. */
export interface Session {
  readonly id: string;
  readonly actor: string;
  readonly via: string;
  readonly entries: readonly HistoryEntry[];
}

const PAUSE_MS = 30 * 60 * 1000;

/** @param entries newest first */
export function sessionsOf(entries: readonly HistoryEntry[]): readonly Session[] {
  const sessions: { id: string; actor: string; via: string; entries: HistoryEntry[] }[] = [];
  const open = new Map<string, (typeof sessions)[number]>();
  for (const entry of entries) {
    const { actor, via = "", id, time } = entry;
    const key = `${actor}\n${via}`;
    const last = open.get(key);
    const before = last?.entries.at(-1);
    if (last !== undefined && before !== undefined && before.time - time <= PAUSE_MS) last.entries.push(entry);
    else {
      const session = { id, actor, via, entries: [entry] };
      sessions.push(session);
      open.set(key, session);
    }
  }
  return sessions;
}

/** State of a file before the first of some changes, and after the last. */
export interface FileChange {
  readonly root: string;
  readonly path: string;
  /** Newest first. */
  readonly entries: readonly HistoryEntry[];
  /** `<id>:before` or `<id>:after` of the file:read operation; `undefined`: there was no file. */
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** Bytes of the larger one. */
  readonly size: number;
  readonly afterEtag: string | undefined;
}

/** The files of some changes. @param entries newest first */
export function filesOf(entries: readonly HistoryEntry[]): readonly FileChange[] {
  const byFile = new Map<string, HistoryEntry[]>();
  for (const entry of entries) {
    if (entry.kind !== "file") continue;
    const key = `${entry.root}/${entry.path}`;
    byFile.set(key, [...(byFile.get(key) ?? []), entry]);
  }
  return [...byFile.values()].flatMap((some) => {
    const [last, first] = [some[0], some.at(-1)];
    if (last === undefined || first === undefined) return [];
    return {
      ...{ root: last.root, path: last.path, entries: some },
      before: first.before === null ? undefined : `${first.id}:before`,
      after: last.after === null ? undefined : `${last.id}:after`,
      size: Math.max(first.before?.size ?? 0, last.after?.size ?? 0),
      afterEtag: last.after?.etag,
    };
  });
}
