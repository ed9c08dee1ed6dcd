// Control groups of runs.

import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { attempt, works } from "../../core/io.js";
import type { ShellConfig } from "../../core/ports/sandbox.js";
import { errnoOf } from "../../jail/sys.js";
import { isDead, ownIdentity, parseIdentity, printIdentity } from "../../process/identity.js";
import { type Delegation, findDelegation, OWN_LEAF } from "./control-group.js";

const PREFIX = "venue-files-run-";
/** Processes of bubblewrap and its helper shells, added to the limit of the command. */
const OF_SANDBOX = 16;
/** Time (ms) the kernel may take to reap killed processes. */
const REMOVE_MS = 2_000;
const LOOK_MS = 5;

/** Limits of a whole run. */
export interface GroupLimits {
  readonly pids: number;
  /** Bytes, including files in its temp directories in memory. */
  readonly memory: number;
}

/** The control group of one run. */
export interface RunGroup {
  readonly directory: string;
  /**
   * Moves a process into the group before it has started others.
   * @throws system errors
   */
  add(pid: number): void;
  /**
   * Kills the remaining processes and removes the group. Never rejects: a group that remains is removed at the next
   * start.
   */
  end(): Promise<void>;
}

/** @param shell its `data` limits all processes of a run together, in addition to the two temp directories */
export const groupLimits = ({ limits, scratchBytes }: ShellConfig): GroupLimits => ({
  pids: limits.nproc + OF_SANDBOX,
  memory: limits.data + 2 * scratchBytes,
});

/** Groups of runs below the group delegated to this process. */
export class RunGroups {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /**
   * Takes over a delegated group: removes groups of killed processes, moves this process to a leaf (a group with
   * processes cannot have controllers below it), and tests whether a run could have its own group.
   *
   * @returns a text: why that is not possible
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

  /** @throws system errors */
  make({ pids, memory }: GroupLimits): RunGroup {
    const serial = randomBytes(8).toString("hex");
    const directory = join(this.#directory, `${PREFIX}${printIdentity(ownIdentity(), serial)}`);
    mkdirSync(directory);
    try {
      write(directory, "pids.max", String(pids));
      write(directory, "memory.max", String(memory));
      // Otherwise memory above the limit would be swapped out on the host. Not every kernel has swap accounting.
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

/** The groups of this process, which are shared by all its sandboxes since it can take over only one group. */
export function openRunGroups(): Promise<RunGroups | string> {
  opened ??= RunGroups.open(findDelegation());
  return opened;
}

const write = (directory: string, name: string, text: string): void =>
  // Must not create a plain file.
  writeFileSync(join(directory, name), text, { flag: "r+" });

/** A group can be removed only when empty, which takes a moment after a kill. */
async function remove(directory: string): Promise<void> {
  const end = performance.now() + REMOVE_MS;
  while (!isRemoved(directory) && performance.now() < end) {
    // It fails before Linux 5.14. Killing the first process of the namespace has ended all others.
    attempt(() => write(directory, "cgroup.kill", "1"));
    await sleep(LOOK_MS);
  }
}

const isRemoved = (directory: string): boolean => works(() => rmdirSync(directory)) || !existsSync(directory);
