// The changes of a place as an async iterable, for the library.

import type { InvokeContext } from "../core/ports/adapter.js";
import type { FileChange, PlaceWatch } from "../core/ports/changes/watch.js";
import type { Dispatcher } from "../dispatch/dispatch.js";
import { WATCH, type WatchInput } from "../dispatch/watches.js";
import type { EventLog } from "../feed/event-log.js";

/** Place and options of the watch. */
export interface FollowInput extends WatchInput {
  /** From an answer of `file:watch` for the same place. Default: from now on. */
  readonly cursor?: string | undefined;
}

/** A change, or that changes were missed: list again then. */
export type FollowedChange = FileChange | { readonly type: "overflow" };

export interface FollowParts {
  readonly dispatcher: Dispatcher;
  readonly log: EventLog;
  /** Aborted when the adapter closes. */
  readonly closed: AbortSignal;
}

/** Ends when `context.signal` is aborted, or the adapter closes. @throws as `file:watch` does, before the first change */
export async function* follow(
  { root, path = "", recursive = true, cursor }: FollowInput,
  context: InvokeContext,
  { dispatcher, log, closed }: FollowParts,
): AsyncGenerator<FollowedChange> {
  const input = { root, path, recursive };
  const first = await dispatcher.invoke(WATCH, { ...input, cursor: cursor ?? null, limit: 1 }, context);
  const watch = dispatcher.watch(input, context);
  if (watch === undefined) return;
  const signals = [closed, ...(context.signal === undefined ? [] : [context.signal])];
  try {
    let position = watch.positionOf(cursor ?? (first as { cursor: string }).cursor);
    do {
      const end = log.position;
      if (watch.hasLost(position)) yield { type: "overflow" };
      else for (const { event } of watch.read(position)) yield event;
      position = end;
    } while (log.position > position || (await waitForEvent(watch, signals)));
  } finally {
    watch.close();
  }
}

/** Waits for the next event. @returns `false`: there will be none */
async function waitForEvent(watch: PlaceWatch, signals: readonly AbortSignal[]): Promise<boolean> {
  let stop = () => {};
  try {
    return await new Promise((resolve) => {
      const end = () => resolve(false);
      const unlisten = watch.listen(() => resolve(true));
      for (const signal of signals) signal.addEventListener("abort", end, { once: true });
      stop = () => {
        unlisten();
        for (const signal of signals) signal.removeEventListener("abort", end);
      };
      if (signals.some(({ aborted }) => aborted)) end();
    });
  } finally {
    stop();
  }
}
