// Identifies processes across pid reuse.

import { readlinkSync } from "node:fs";
import { attempt } from "../../../core/io.js";
import { isLinux } from "../../../core/system.js";
import { bootId, isEarlierRun, isRunning, readProc, systemStart } from "../../../process/system-start.js";

/** Start time is field 22 of /proc/<pid>/stat, the 20th after the process name, which may contain spaces. */
const START_FIELD = 19;

/** Identifies this process, so that others can tell whether it still runs even if its pid is reused. */
export const ownToken = (): string => `${hostPart()} ${process.pid} ${startOf(process.pid) ?? systemStart()}`;

/** Whether a process may still be running. One in another container cannot be checked, so it counts as running. */
export function mayRun(token: string): boolean {
  if (token === "") return false;
  const [boot, space, pid, start] = token.split(" ");
  const [ownBoot, ownSpace] = hostPart().split(" ");
  if (boot !== ownBoot) return false;
  if (space !== ownSpace) return true;
  const found = startOf(Number(pid));
  return found === undefined ? isRunning(Number(pid)) && !isEarlierRun(Number(start)) : found === start;
}

const hostPart = (): string =>
  `${bootId() ?? "-"} ${(isLinux() ? attempt(() => readlinkSync("/proc/self/ns/pid")) : undefined) ?? "-"}`;

function startOf(pid: number): string | undefined {
  const status = readProc(`/proc/${pid}/stat`);
  return status?.slice(status.lastIndexOf(")") + 2).split(" ")[START_FIELD];
}
