import type { HostMount } from "./sandbox.js";

/** How a directory is to be shown to commands. */
export interface MountOptions {
  /** Whether they may change it. */
  readonly writable: boolean;
  /** Other processes may prepare changes in the root meanwhile, and nothing of that must be seen. */
  readonly keepsStage: boolean;
  /** Whom a temp root is given to where this process is root, so that they need not be. */
  readonly user: { readonly uid: number; readonly gid: number };
}

/** A directory held open for commands. Whoever opens it closes it. */
export interface MountedDirectory extends HostMount {
  /** After commands that could write: takes back rights that no file here may have, and counts again. Never fails. */
  settle(): Promise<void>;
  close(): Promise<void>;
}
