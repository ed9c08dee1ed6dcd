import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ShellConfig } from "../../core/ports/sandbox.js";
import { isDead, ownIdentity, parseIdentity, printIdentity } from "../../jail/staging/process-identity.js";
import { errnoOf } from "../../jail/sys.js";
import { type Delegation, findDelegation, OWN_LEAF } from "./control-group.js";

const PREFIX = "venue-files-run-";
/** Processes of bubblewrap, and of the shells that wait for it, that are no processes of the command. */
const OF_SANDBOX = 16;
/** How long the kernel may take to be done with processes that were killed. */
const REMOVE_MS = 2_000;
const LOOK_MS = 5;

/** Limits of one run together. */
export interface GroupLimits {
  readonly pids: number;
  /** Bytes, also of what it keeps in memory in temp directories. */
  readonly memory: number;
}

/** The control group of one run. */
export interface RunGroup {
  readonly directory: string;
  /** Moves a process in, before it has started others. @throws Error of the system */
  add(pid: number): void;
  /** Kills what is left in it and removes it. Never rejects: what cannot be removed is swept at the next start. */
  end(): Promise<void>;
}

/** @param shell `data` is then one bound for all processes of a run, beside its two temp directories */
export const groupLimits = ({ limits, scratchBytes }: ShellConfig): GroupLimits => ({
  pids: limits.nproc + OF_SANDBOX,
  memory: limits.data + 2 * scratchBytes,
});

/** Groups of runs below the one that was delegated to this process. */
export class RunGroups {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * Takes over a delegated group: sweeps what killed processes left, moves this process into a leaf of it, since a group
   * with processes can have no controllers below it, and sees whether a run could have its own.
   *
   * @returns why there can be none, where that is so
   */
  static async open(delegation: Delegation): Promise<RunGroups | string> {
    if (delegation.reason !== undefined) return delegation.reason;
    const { directory, isRoot } = delegation;
    const groups = new RunGroups(directory);
    try {
      await groups.#sweep();
      if (!isRoot) {
        const leaf = join(directory, OWN_LEAF);
        mkdirSync(leaf, { recursive: true });
        write(leaf, "cgroup.procs", String(process.pid));
      }
      write(directory, "cgroup.subtree_control", "+pids +memory");
      await groups.make({ pids: 1, memory: 1_048_576 }).end();
      return groups;
    } catch (error) {
      return `its control group cannot be used: ${errnoOf(error) ?? "it is refused"}`;
    }
  }

  /** @throws Error of the system */
  make({ pids, memory }: GroupLimits): RunGroup {
    const serial = randomBytes(8).toString("hex");
    const directory = join(this.#directory, `${PREFIX}${printIdentity(ownIdentity(), serial)}`);
    mkdirSync(directory);
    try {
      write(directory, "pids.max", String(pids));
      write(directory, "memory.max", String(memory));
      // Or what is over it would be written to the swap space of the host. Not every kernel has some.
      if (existsSync(join(directory, "memory.swap.max"))) write(directory, "memory.swap.max", "0");
    } catch (error) {
      rmdirSync(directory);
      throw error;
    }
    return {
      directory,
      add: (pid) => write(directory, "cgroup.procs", String(pid)),
      end: () => remove(directory),
    };
  }

  async #sweep(): Promise<void> {
    const own = ownIdentity();
    for (const name of readdirSync(this.#directory)) {
      const maker = name.startsWith(PREFIX) ? parseIdentity(name.slice(PREFIX.length)) : undefined;
      if (maker !== undefined && isDead(maker, own)) await remove(join(this.#directory, name));
    }
  }
}

let opened: Promise<RunGroups | string> | undefined;

/** Those of this process, which has only one group to take over, however many sandboxes it has. */
export function openRunGroups(): Promise<RunGroups | string> {
  opened ??= RunGroups.open(findDelegation());
  return opened;
}

const write = (directory: string, name: string, text: string): void =>
  // Of no use where it would be a plain file.
  writeFileSync(join(directory, name), text, { flag: "r+" });

/** A group goes only when nothing is in it, which takes a moment. */
async function remove(directory: string): Promise<void> {
  const end = performance.now() + REMOVE_MS;
  while (!isRemoved(directory) && performance.now() < end) {
    try {
      write(directory, "cgroup.kill", "1");
    } catch {
      // Before Linux 5.14. Its first process was killed, and with it all others of its namespace.
    }
    await sleep(LOOK_MS);
  }
}

function isRemoved(directory: string): boolean {
  try {
    rmdirSync(directory);
    return true;
  } catch {
    return !existsSync(directory);
  }
}
