// Runs of the system and processes in them, for leftovers of processes: Linux has an id for each, other systems only the time that it was started.

import { readFileSync } from "node:fs";
import { uptime } from "node:os";
import { attempt } from "../core/io.js";
import { isLinux } from "../core/system.js";
import { codeOf } from "../core/unknown.js";

/** Clocks are set right while a system runs: by hours where another system of the machine leaves local time in them. */
const TOLERANCE_S = 86_400;

/** A file of procfs. Elsewhere somebody else may have made one of that name. */
export const readProc = (path: string): string | undefined =>
  isLinux() ? attempt(() => readFileSync(path, "latin1")) : undefined;

/** Id of this run of the system; `undefined` where it has none. */
export const bootId = (): string | undefined => readProc("/proc/sys/kernel/random/boot_id")?.trim();

/** Whether a process has this number. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It runs as another user, or with more rights.
    return codeOf(error) === "EPERM";
  }
}

/** When the system was started, in seconds. */
export const systemStart = (): number => Math.round(Date.now() / 1000 - uptime());

/** Whether a process that noted this start is of an earlier run, and so dead whoever has its number now. 0: it noted none. */
export const isEarlierRun = (start: number): boolean => start > 0 && start + TOLERANCE_S < systemStart();
