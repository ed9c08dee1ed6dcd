// Lets other calls run.

import type { CallScope } from "../../core/call/scope.js";
import { isPending, runIo } from "../../core/io.js";

export async function yieldIfDue(scope: CallScope): Promise<void> {
  const pause = runIo(scope.breathe());
  if (isPending(pause)) await pause;
}
