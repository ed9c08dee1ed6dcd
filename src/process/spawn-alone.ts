// Starting programs that get no open file of this process. Node opens its own files so that children do not inherit them,
// but libraries (LMDB) and whoever started this process may not.

import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { isLinux } from "../core/system.js";

/** Descriptors of the child: each a pipe, nothing, or one of this process. */
export type Descriptors = readonly ("pipe" | "ignore" | number)[];

export interface SpawnAloneOptions extends Omit<SpawnOptions, "stdio"> {
  readonly stdio: Descriptors;
}

/** O_CLOEXEC, as the kernel prints it. */
const CLOSE_ON_EXEC = 0o2000000;

/**
 * Starts a program as `spawn` of Node does; it inherits nothing but the descriptors that `stdio` gives it. On Linux, others
 * that would be open in it are `/dev/null`; other systems close them by themselves.
 */
export function spawnAlone(
  file: string,
  args: readonly string[],
  { stdio, ...options }: SpawnAloneOptions,
): ChildProcess {
  const inherited = isLinux() ? inheritable() : [];
  if (inherited.every((descriptor) => isGiven(stdio, descriptor))) {
    return spawn(file, [...args], { ...options, stdio: [...stdio] });
  }
  const nothing = openSync("/dev/null", "r");
  try {
    return spawn(file, [...args], { ...options, stdio: only(stdio, inherited, nothing) });
  } finally {
    closeSync(nothing);
  }
}

/** The same descriptors, and `nothing` for each further one that would be inherited. */
function only(stdio: Descriptors, inherited: readonly number[], nothing: number): ("pipe" | "ignore" | number)[] {
  const length = Math.max(stdio.length, ...inherited.map((descriptor) => descriptor + 1));
  const leaks = new Set(inherited);
  return Array.from({ length }, (_, descriptor) => {
    if (isGiven(stdio, descriptor)) return stdio[descriptor] ?? "ignore";
    return leaks.has(descriptor) ? nothing : "ignore";
  });
}

/** "ignore" above 2 leaves the descriptor as it is. */
const isGiven = (stdio: Descriptors, descriptor: number): boolean =>
  descriptor < 3 || (stdio[descriptor] ?? "ignore") !== "ignore";

/** Descriptors above 2 that children of this process inherit. */
function inheritable(): number[] {
  return readdirSync("/proc/self/fdinfo")
    .map(Number)
    .filter((descriptor) => descriptor > 2 && isInheritable(descriptor));
}

function isInheritable(descriptor: number): boolean {
  try {
    const [, flags = "0"] = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8")) ?? [];
    return (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    // Already closed: it was used to read the directory.
    return false;
  }
}
