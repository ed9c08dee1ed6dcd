// The progress line of long commands.

import { aborted } from "../core/errors/texts.js";
import { counted } from "../core/errors/wording.js";
import type { CommandContext } from "./context.js";

const EVERY_MS = 250;
const MIB = 2 ** 20;

/** Progress display of a long command, on terminals only, and its cancellation points. */
export interface Progress {
  /** @param bytes total so far @throws ABORTED after SIGINT or SIGTERM */
  at(bytes: number): void;
  /** Passes content through, and adds its size to the total of all streams. */
  through(content: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
  /** Counts a file of several that is done. */
  file(): void;
  /** Clears the display. */
  end(): void;
}

/** From this call on, the first signal stops the command at its next `at`, so that it can clean up. */
export function createProgress({ stderr, untilStopped }: Pick<CommandContext, "stderr" | "untilStopped">): Progress {
  const isShown = stderr.isTTY === true;
  let isStopped = false;
  let shownAt = Number.NEGATIVE_INFINITY;
  let passed = 0;
  let files = 0;
  void untilStopped().then(() => {
    isStopped = true;
  });
  const at = (bytes: number): void => {
    if (isStopped) throw aborted();
    const now = performance.now();
    if (!isShown || now - shownAt < EVERY_MS) return;
    shownAt = now;
    const before = files === 0 ? "" : `${counted(files, "file")}, `;
    stderr.write(`\r${before}${(bytes / MIB).toFixed(1)} MiB `);
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
    file() {
      files++;
    },
    end() {
      if (Number.isFinite(shownAt)) stderr.write("\r\u001b[K");
    },
  };
}
