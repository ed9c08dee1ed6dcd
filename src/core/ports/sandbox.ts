// Port of sandboxes: drivers that run commands with access to nothing but their mounts, and their configuration.

export type DriverName = "bwrap" | "just-bash" | "none" | "unsafe";

/** Resource limits per process or per run, named as by prlimit(1). Sizes are bytes. */
export interface ShellLimits {
  /** Processes per run; before Linux 5.14, per user. */
  readonly nproc: number;
  /** Per file. */
  readonly fsize: number;
  /** Heap and data per process, and per run where the run has a control group. */
  readonly data: number;
  /** File descriptors per process. */
  readonly nofile: number;
  readonly core: number;
}

/** Checked, complete configuration of command execution (`profiles.<name>.shell`). */
export interface ShellConfig {
  /** `auto`: bubblewrap if it works, else none. */
  readonly driver: "auto" | "bwrap" | "just-bash" | "none";
  readonly network: boolean;
  /** User and group of commands if this process is root. Absent: the owner of the root directory. */
  readonly uid?: number;
  readonly gid?: number;
  /** Host directories mounted read-only. `path` is absolute; `at` is the mount point, by default the same path. */
  readonly extraMounts: readonly { readonly path: string; readonly at?: string }[];
  /** Size of the sandbox's temp directory in bytes. */
  readonly scratchBytes: number;
  readonly limits: ShellLimits;
  /** Plain child processes of the host without any isolation; for development. */
  readonly unsafe: boolean;
}

export const DEFAULT_SHELL: ShellConfig = {
  driver: "auto",
  network: false,
  extraMounts: [],
  scratchBytes: 67_108_864,
  limits: { nproc: 256, fsize: 268_435_456, data: 1_073_741_824, nofile: 1024, core: 0 },
  unsafe: false,
};

/** System directories in the `PATH` of every run. */
export const SHELL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * Environment of a shell. Programs in `~/.local/bin` are on the `PATH`, and `pip` may install there.
 *
 * @param home absolute path inside
 */
export function shellEnvironment(home: string): Readonly<Record<string, string>> {
  // A colon would split the entry in two.
  const own = home.includes(":") ? "" : `${home === "/" ? "" : home}/.local/bin:`;
  return { PATH: `${own}${SHELL_PATH}`, HOME: home, LANG: "C.UTF-8", PIP_BREAK_SYSTEM_PACKAGES: "1" };
}

export interface SandboxProbe {
  readonly available: boolean;
  /** Why it is not available; for the operator, since it may contain host paths. */
  readonly reason?: string;
  readonly network: boolean;
  /** The tool that connects it, where runs have a network of their own. */
  readonly networkBy?: "pasta" | "slirp4netns";
  /** Whether the programs of the host are available (`node`, `git`, `python3`). */
  readonly realBinaries: boolean;
}

/** Runs commands that can affect nothing but their mounts. */
export interface Sandbox {
  readonly name: DriverName;
  /** How mounts appear: as the host directory itself, or through file operations on the root. */
  readonly shows: "host" | "files";
  /** User and group of commands if this process is root and the operator configured them. */
  readonly uid?: number;
  readonly gid?: number;
  /** Probes once; later calls return the same result. Never rejects. */
  probe(): Promise<SandboxProbe>;
  /** Starts one command. Later failures are reported by its `exited` and `started`. */
  run(job: SandboxJob): SandboxProcess;
}

/** Options of every run. Times are milliseconds, sizes bytes. */
export interface RunOptions {
  /** Program and arguments; not interpreted by a shell. */
  readonly argv: readonly string[];
  /** Absolute path inside the sandbox. */
  readonly cwd: string;
  /** The complete environment; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  /** Absent: no limit. */
  readonly timeoutMs?: number;
  /** Maximum bytes kept of both output streams together. */
  readonly outputBytes: number;
  /** End of the output to keep when it exceeds `outputBytes`: the first bytes (`head`) or the last (`tail`). */
  readonly keep: "head" | "tail";
  readonly signal?: AbortSignal;
}

/** Request for a run: a {@link SandboxJob} without what the adapter adds itself. */
export interface ExecRequest extends RunOptions {
  readonly sandbox: Sandbox;
  /** At least one. `prefix`: directory of the root to mount instead of the root; `at`: absolute mount point. */
  readonly mounts: readonly ExecMount[];
  /**
   * Clone the mounted directories before, so that everything the command changes can be undone. For roots with a
   * journal, up to a number and size of files; what was not kept says why in its history.
   */
  readonly snapshot?: boolean;
  /** Text for the audit record. Default: `argv`, joined by spaces. */
  readonly command?: string;
}

export interface ExecMount {
  readonly root: string;
  readonly prefix?: string;
  readonly at: string;
  /** Mounted read-only, even if the caller has write access. */
  readonly readOnly?: boolean;
}

export interface SandboxJob extends RunOptions {
  readonly mounts: readonly SandboxMount[];
}

/** A root, or a directory in it, as mounted for a command. */
export interface SandboxMount extends ExecMount {
  readonly writable: boolean;
  /** Present if the root is a host directory. */
  readonly host?: HostMount;
  /** The same tree through the caller's operations, for drivers without disk access. */
  readonly files: SandboxFiles;
}

/** A host directory, held open by the jail while the job lasts. */
export interface HostMount {
  /** File descriptor of the directory in this process. Absent: it does not exist, and an empty one is mounted. */
  readonly descriptor?: number;
  /** Path of the directory when it was opened; only for the unsafe driver, since it may have moved. */
  readonly path: string;
  /** Owner of the root directory. */
  readonly uid: number;
  readonly gid: number;
  /** Entries to hide or to mount read-only, outer before inner, after the directories that are pinned for them. */
  readonly masks: readonly Mask[];
}

/**
 * An entry to mount over. `pin`: a visible directory that must not be renamed, since there is a mask below it.
 * `readonly`: a visible file or directory that commands cannot change, with all below it.
 */
export interface Mask {
  /** Relative to the mount; bytes, since names need not be valid UTF-8. */
  readonly path: Uint8Array;
  readonly kind: "file" | "directory" | "pin" | "readonly";
}

/** The mounted directory through operations of the caller who runs the command. */
export interface SandboxFiles {
  /**
   * @param operation short name (`read`) @param input without `root`; paths are relative to the mount
   * @throws FileAdapterError
   */
  invoke(operation: string, input: Readonly<Record<string, unknown>>): Promise<unknown>;
}

export interface SandboxExit {
  /** `null` if it was killed by a signal. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  /** Output was dropped. */
  readonly truncated: boolean;
}

/** Output so far, truncated at character boundaries. */
export interface SandboxOutput {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  /** Both streams, in order of arrival. */
  readonly combined: Uint8Array;
  readonly truncated: boolean;
  /** With `keep: "head"`: the stream that was truncated first. */
  readonly cutStream?: "stdout" | "stderr";
}

export interface SandboxProcess {
  /** Rejects if the sandbox could not be set up, so that nothing was run. @throws FileAdapterError */
  readonly started: Promise<void>;
  /** Resolves once every process of the run is dead and its changes are visible to all. Never rejects. */
  readonly exited: Promise<SandboxExit>;
  output(): SandboxOutput;
  /** Kills every process of the run, and waits for that. Idempotent. */
  kill(): Promise<void>;
}

// Mounts: directories of a root that commands can work in.

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
