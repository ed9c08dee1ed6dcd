// Progress notifications of one tool call.

import type { ReportProgress } from "../../core/call/progress.js";
import type { Abortable } from "../../core/call/scope.js";
import type { Notification } from "./wire.js";

/** No notification comes before this, nor sooner than this after another one. Milliseconds. */
const PAUSE_MS = 500;

/** The parts of a request that progress depends on. */
export interface ReportingRequest {
  /** Names the request in its notifications. Neither a text nor a number: the client did not ask for them. */
  readonly progressToken?: unknown;
  readonly signal: Pick<Abortable, "aborted">;
  note(message: Notification): void;
}

/** Where a call reports, until it has ended. */
export interface ProgressNotes {
  readonly report: ReportProgress;
  /** Nothing is sent after this: the answer ends the call. */
  end(): void;
}

/**
 * Sends the progress of a call to a client that asked for it.
 *
 * @param now milliseconds of a monotonic clock
 * @returns `undefined` if the client did not ask
 */
export function progressNotes(
  { progressToken, note, signal }: ReportingRequest,
  now: () => number = () => performance.now(),
): ProgressNotes | undefined {
  if (typeof progressToken !== "string" && typeof progressToken !== "number") return undefined;
  let last = Number.NEGATIVE_INFINITY;
  let next = now() + PAUSE_MS;
  let isEnded = false;
  return {
    report(done, total, message) {
      // The protocol wants it to rise with each notification.
      if (isEnded || signal.aborted || done <= last || now() < next) return;
      last = done;
      next = now() + PAUSE_MS;
      const text = message?.();
      const params = {
        ...{ progressToken, progress: done },
        ...(total === undefined ? {} : { total }),
        ...(text === undefined ? {} : { message: text }),
      };
      note({ jsonrpc: "2.0", method: "notifications/progress", params });
    },
    end() {
      isEnded = true;
    },
  };
}
