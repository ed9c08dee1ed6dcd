// A session's view of files: the directories it reaches, its open buffers, its changes and its standing approvals.

import type { Clock } from "../../../core/clock.js";
import type { SurfaceContext } from "../../../core/ports/adapter.js";
import type { Log } from "../../../core/ports/log.js";
import type { Turns } from "../../../core/turns.js";
import { Buffers } from "../files/buffers.js";
import { type AcpAdapter, type FileCalls, type FilePlace, realPathAt } from "../files/files.js";
import { below, type Mount } from "../files/mounts.js";
import { type Approve, StandingAnswers } from "../review/approval.js";
import { Changes, type HistoryLimits } from "../review/changes.js";

/** Shared by all sessions of one host. */
export interface Host {
  readonly adapter: AcpAdapter;
  /** Caller and caps list, added to every call. */
  readonly base: SurfaceContext;
  readonly approve: Approve | undefined;
  readonly maxReadBytes: number | undefined;
  readonly history: HistoryLimits;
  readonly keepsNewlines: boolean;
  readonly turns: Turns;
  readonly clock: Clock;
  readonly log: Log;
}

/** The files of one session: reachable directories, open buffers, change history. */
export interface FileSession {
  readonly id: string;
  readonly host: Host;
  readonly calls: FileCalls;
  readonly buffers: Buffers;
  readonly changes: Changes;
  readonly standing: StandingAnswers;
}

/** A directory that a session may reach. */
export interface Reach {
  /** The name of a root, then the segments of a path in it. */
  readonly place: readonly string[];
  /** Path as agents see it: segments of an absolute path. */
  readonly at: readonly string[];
}

/** The directories of a session plus the mounts below them. A directory inside another one is omitted. */
export function reachOf(mounts: readonly Mount[], directories: readonly (readonly string[])[]): readonly Reach[] {
  const outer = directories.filter(
    (one, index) =>
      !directories.some(
        (other, at) => at !== index && below(other, one) !== undefined && (other.length < one.length || at < index),
      ),
  );
  return outer.flatMap((directory) => {
    const [own] = mounts.flatMap(({ root, prefix }): Reach[] => {
      const segments = below(prefix, directory);
      return segments === undefined ? [] : [{ place: [root, ...segments], at: directory }];
    });
    const inside = mounts
      .filter(({ prefix }) => prefix.length > directory.length && below(directory, prefix) !== undefined)
      .map(({ root, prefix }): Reach => ({ place: [root], at: prefix }));
    return own === undefined ? inside : [own, ...inside];
  });
}

/** @param within the reachable directories, as in `SurfaceContext` */
export function createFileSession(id: string, host: Host, within: readonly (readonly string[])[]): FileSession {
  const { adapter, base } = host;
  // Places were found by absolute paths.
  const own = { ...base, surface: "acp", session: id, within, exactPaths: true } as const;
  const context = (signal?: AbortSignal): SurfaceContext => (signal === undefined ? own : { ...own, signal });
  return {
    id,
    host,
    calls: { adapter, context },
    buffers: new Buffers(),
    changes: new Changes(host.history),
    standing: new StandingAnswers(),
  };
}

/** Key of a file: its root and its path with symlinks resolved, so that all paths to it share one key. */
export async function keyOf(calls: FileCalls, place: FilePlace, signal?: AbortSignal): Promise<string> {
  return `${place.root}:${await realPathAt(calls, place, signal)}`;
}
