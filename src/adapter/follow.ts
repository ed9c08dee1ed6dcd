// The changes of a place as an async iterable, for the library.

import type { InvokeContext } from "../core/ports/adapter.js";
import type { FileChange } from "../core/ports/changes/events.js";
import { deferred } from "../core/turns.js";
import type { Dispatcher } from "../dispatch/dispatch.js";
import { readerOf, WATCH, type WatchInput } from "../dispatch/watches.js";
import type { EventLog, LogReader } from "../feed/event-log.js";

/** Place and options of the watch. */
export interface FollowInput extends WatchInput {
  /** From an answer of `file:watch` for the same place. Default: from now on. */
  readonly cursor?: string | undefined;
}

/** A change, or that changes were missed: list again then. */
export type FollowedChange = FileChange | { readonly type: "overflow" };

/** Ends when `context.signal` is aborted, or the log ends. @throws as `file:watch` does, before the first change */
export async function* follow(
  { root, path = "", recursive = true, cursor }: FollowInput,
  context: InvokeContext,
  dispatcher: Dispatcher,
  log: EventLog,
): AsyncGenerator<FollowedChange> {
  const input = { root, path, recursive };
  const first = await dispatcher.invoke(WATCH, { ...input, cursor: cursor ?? null, limit: 1 }, context);
  const place = dispatcher.watch(input, context);
  if (place === undefined) return;
  const reader = readerOf(log, place);
  try {
    await place.ready();
    let position = reader.positionOf(cursor ?? (first as { cursor: string }).cursor);
    for (;;) {
      const end = log.position;
      if (reader.hasLost(position)) yield { type: "overflow" };
      // Copied at once, since the consumer may be slow.
      else for (const { data } of [...reader.read(position)]) yield data;
      position = end;
      if (log.position > position) continue;
      if (log.isEnded || context.signal?.aborted === true) return;
      await nextEvent(reader, context.signal);
    }
  } finally {
    place.close();
  }
}

/** Resolves at the next event, at the end, or when the signal is aborted. */
async function nextEvent(reader: LogReader<FileChange>, signal: AbortSignal | undefined): Promise<void> {
  const { promise: woken, resolve: wake } = deferred();
  const stop = reader.listen(wake);
  signal?.addEventListener("abort", wake, { once: true });
  await woken;
  stop();
  signal?.removeEventListener("abort", wake);
}
