// Loaded into a venue under test: answers each message of the bench with its memory after a full collection, in bytes.
import { setTimeout as sleep } from "node:timers/promises";

process.on("message", async () => {
  globalThis.gc();
  // Finalizers run in between; what they let go is collected too.
  await sleep(50);
  globalThis.gc();
  process.send?.(process.memoryUsage());
});
// It keeps no process alive.
process.channel?.unref();
