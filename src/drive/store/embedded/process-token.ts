// Identifies processes across pid reuse.

import { readFileSync, readlinkSync } from "node:fs";
import { attempt } from "../../../core/io.js";

/** Start time is field 22 of /proc/<pid>/stat, the 20th after the process name, which may contain spaces. */
const START_FIELD = 19;

/** Identifies this process, so that others can tell whether it still runs even if its pid is reused. */
export const ownToken = (): string => `${hostPart()} ${process.pid} ${startOf(process.pid) ?? ""}`;

/** Whether a process may still be running. One in another container cannot be checked, so it counts as running. */
export function mayRun(token: string): boolean {
  if (token === "") return false;
  const [boot, space, pid, start] = token.split(" ");
  const [ownBoot, ownSpace] = hostPart().split(" ");
  if (boot !== ownBoot) return false;
  if (space !== ownSpace) return true;
  return start === "" ? isThere(Number(pid)) : startOf(Number(pid)) === start;
}

const hostPart = (): string =>
  `${attempt(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()) ?? "-"} ${
    attempt(() => readlinkSync("/proc/self/ns/pid")) ?? "-"
  }`;

function startOf(pid: number): string | undefined {
  const status = attempt(() => readFileSync(`/proc/${pid}/stat`, "latin1"));
  return status?.slice(status.lastIndexOf(")") + 2).split(" ")[START_FIELD];
}

function isThere(pid: number): boolean {
  return attempt(() => process.kill(pid, 0)) === true;
}
