import { aborted } from "../core/errors/texts.js";
import type { CommandContext } from "./context.js";

const EVERY_MS = 250;
const MIB = 2 ** 20;

/** How far a long command is, shown on a terminal only; and where it is told to stop. */
export interface Progress {
  /** @param bytes in all @throws ABORTED after SIGINT or SIGTERM */
  at(bytes: number): void;
  /** Passes on what comes, and counts it together with all else that passes. */
  through(content: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
  /** Takes away what is shown. */
  end(): void;
}

/** From here on the first signal stops the command where it asks, so that nothing is left behind. */
export function createProgress({ stderr, untilStopped }: Pick<CommandContext, "stderr" | "untilStopped">): Progress {
  const isShown = stderr.isTTY === true;
  let isStopped = false;
  let shownAt = Number.NEGATIVE_INFINITY;
  let passed = 0;
  void untilStopped().then(() => {
    isStopped = true;
  });
  const at = (bytes: number): void => {
    if (isStopped) throw aborted();
    const now = performance.now();
    if (!isShown || now - shownAt < EVERY_MS) return;
    shownAt = now;
    stderr.write(`\r${(bytes / MIB).toFixed(1)} MiB `);
  };
  return {
    at,
    async *through(content) {
      for await (const piece of content) {
        passed += piece.length;
        at(passed);
        yield piece;
      }
    },
    end() {
      if (Number.isFinite(shownAt)) stderr.write("\r\u001b[K");
    },
  };
}
