// Port of mounts: directories of a root that commands can work in.

import type { HostMount } from "./sandbox.js";

/** How a directory is mounted for commands. */
export interface MountOptions {
  /** Whether commands may change it. */
  readonly writable: boolean;
  /** Mask the staging directory, since other processes may be preparing changes in the root. */
  readonly keepsStage: boolean;
  /** Clone the directory before, so that what commands replace and delete there can be brought back. */
  readonly keepsTree?: boolean;
  /** New owner of a temp root if this process is root, so that commands need not run as root. */
  readonly user: { readonly uid: number; readonly gid: number };
}

export interface Settled {
  /** Entries that commands had made under denied names, and that were removed because they were too many to hide. */
  readonly removed: number;
  /** Entries that commands had given denied names, and that have visible ones again for the same reason. */
  readonly returned: number;
}

/** A directory held open for commands; its opener closes it. */
export interface MountedDirectory extends HostMount {
  /** Present if it must be mounted read-only, since these protected entries are too many to mount so one by one. */
  readonly tooManyProtected?: number;
  /**
   * After commands that could write: removes forbidden permission bits, clears too many denied entries, records what was
   * changed, recounts the quota. Never rejects.
   */
  settle(): Promise<Settled>;
  close(): Promise<void>;
}
