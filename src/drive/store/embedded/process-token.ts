import { readFileSync, readlinkSync } from "node:fs";

/** The start time is the 22nd field of a process's status, the 20th after its name, which may hold spaces. */
const START_FIELD = 19;

/** Names this process so that others can tell whether it still runs, also when its id is used again. */
export const ownToken = (): string => `${hostPart()} ${process.pid} ${startOf(process.pid) ?? ""}`;

/** Whether a process may still run: of another container nobody can tell, so it counts as running. */
export function mayRun(token: string): boolean {
  if (token === "") return false;
  const [boot, space, pid, start] = token.split(" ");
  const [ownBoot, ownSpace] = hostPart().split(" ");
  if (boot !== ownBoot) return false;
  if (space !== ownSpace) return true;
  return start === "" ? isThere(Number(pid)) : startOf(Number(pid)) === start;
}

const hostPart = (): string =>
  `${quietly(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()) ?? "-"} ${
    quietly(() => readlinkSync("/proc/self/ns/pid")) ?? "-"
  }`;

function startOf(pid: number): string | undefined {
  const status = quietly(() => readFileSync(`/proc/${pid}/stat`, "latin1"));
  return status?.slice(status.lastIndexOf(")") + 2).split(" ")[START_FIELD];
}

function isThere(pid: number): boolean {
  return quietly(() => process.kill(pid, 0)) === true;
}

function quietly<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
