import type { IncomingMessage } from "node:http";
import { setImmediate } from "node:timers/promises";

/** Whether a body has been read to its end, or will never come. What came with the head is still being parsed. */
export async function isRead(raw: IncomingMessage): Promise<boolean> {
  await setImmediate();
  return raw.complete || raw.destroyed;
}
