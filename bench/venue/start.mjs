import { spawnSync } from "node:child_process";
import { performance } from "node:perf_hooks";
import { startVenue } from "./process.mjs";

/**
 * Milliseconds from starting the process to the first answer of status, and to that of a first operation; beside them
 * those of a Node that does nothing, since both depend on how busy the machine is.
 */
export async function measureStart(folder, { rounds }) {
  const first = [];
  const operation = [];
  const idle = [];
  for (let round = 0; round < rounds; round += 1) {
    const startedMs = performance.now();
    spawnSync(process.execPath, ["-e", "0"]);
    idle.push(performance.now() - startedMs);
    const venue = await startVenue(folder, {});
    await (await fetch(`${venue.url}/api/v1/status`)).json();
    first.push(performance.now() - venue.startedMs);
    const job = await fetch(`${venue.url}/api/v1/invoke`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"operation":"file:roots"}',
    });
    await job.json();
    operation.push(performance.now() - venue.startedMs);
    await venue.stop();
  }
  const middle = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
  return { statusMs: middle(first), operationMs: middle(operation), idleMs: middle(idle) };
}
