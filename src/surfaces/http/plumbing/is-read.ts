// Detects whether a request body has been consumed.

import type { IncomingMessage } from "node:http";
import { setImmediate } from "node:timers/promises";

/**
 * Whether a body was read to its end, or never will be. Waits one turn: data that came with the head may be unparsed.
 */
export async function isRead(raw: IncomingMessage): Promise<boolean> {
  await setImmediate();
  return raw.complete || raw.destroyed;
}
