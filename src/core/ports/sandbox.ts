import type { SurfaceContext } from "./adapter.js";

export type DriverName = "bwrap" | "just-bash" | "none" | "unsafe";

/** Limits of all processes of one run together or of each, as `prlimit` names them. Sizes are bytes. */
export interface ShellLimits {
  /** Processes of one run; before Linux 5.14, of the user that runs it. */
  readonly nproc: number;
  /** Of one file. */
  readonly fsize: number;
  /** Of one process, and of all of a run where it has a control group: heap and data. */
  readonly data: number;
  /** Descriptors of one process. */
  readonly nofile: number;
  readonly core: number;
}

/** How commands are run (`profiles.<name>.shell`): checked and complete. */
export interface ShellConfig {
  /** `auto`: bubblewrap where it works, else none. */
  readonly driver: "auto" | "bwrap" | "just-bash" | "none";
  readonly network: boolean;
  /** Whom commands run as where this process is root. Absent: the owner of the root directory. */
  readonly uid?: number;
  readonly gid?: number;
  /** Host folders seen read-only. `path` is absolute; `at`: where, by default at the same path. */
  readonly extraMounts: readonly { readonly path: string; readonly at?: string }[];
  /** Size of the temp directory in the sandbox. */
  readonly scratchBytes: number;
  readonly limits: ShellLimits;
  /** Plain child processes of the host, without any guard: for development. */
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

/** Programs of the system, as in `PATH` of every run. */
export const SHELL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * Environment of a shell: what `pip install` and others put below `~/.local` is found, and `pip` may put it there.
 *
 * @param home absolute path inside
 */
export function shellEnvironment(home: string): Readonly<Record<string, string>> {
  // A path with a colon would be two.
  const own = home.includes(":") ? "" : `${home === "/" ? "" : home}/.local/bin:`;
  return { PATH: `${own}${SHELL_PATH}`, HOME: home, LANG: "C.UTF-8", PIP_BREAK_SYSTEM_PACKAGES: "1" };
}

export interface SandboxProbe {
  readonly available: boolean;
  /** Why not, for the operator: it may hold host paths. */
  readonly reason?: string;
  readonly network: boolean;
  /** What connects it, where runs have a network of their own. */
  readonly networkBy?: "pasta" | "slirp4netns";
  /** Whether the programs of the host are there (`node`, `git`, `python3`). */
  readonly realBinaries: boolean;
}

/** What runs commands where they can harm nothing but what is mounted. */
export interface Sandbox {
  readonly name: DriverName;
  /** What it shows of a mount: the directory of the host, or what operations show of the root. */
  readonly shows: "host" | "files";
  /** Whom commands run as where this process is root, if the operator says so. */
  readonly uid?: number;
  readonly gid?: number;
  /** Asked once; later calls get the same answer. Never rejects. */
  probe(): Promise<SandboxProbe>;
  /** Starts one command. What fails after that is told by its `exited` and `started`. */
  run(job: SandboxJob): SandboxProcess;
}

/** What every run is given. Times are milliseconds, sizes bytes. */
export interface RunOptions {
  /** A program and its arguments; no shell unless it is one. */
  readonly argv: readonly string[];
  /** Absolute path inside. */
  readonly cwd: string;
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Absent: no limit. */
  readonly timeoutMs?: number;
  /** Most bytes kept of both streams together. */
  readonly outputBytes: number;
  /** `head`: what comes after them is dropped; `tail`: what came before. */
  readonly keep: "head" | "tail";
  readonly signal?: AbortSignal;
}

/** What a run is asked for: the port's job without what the adapter finds out itself. */
export interface ExecRequest extends RunOptions {
  readonly sandbox: Sandbox;
  /** At least one. `prefix`: directory of the root that is mounted in its place; `at`: absolute path inside. */
  readonly mounts: readonly ExecMount[];
  /** For the audit. Default: `argv`, joined by spaces. */
  readonly command?: string;
}

export interface ExecMount {
  readonly root: string;
  readonly prefix?: string;
  readonly at: string;
  /** Commands may not change it, whatever their caller may. */
  readonly readOnly?: boolean;
}

/** Runs commands as an operation like any other: same rights, same audit. */
export type Exec = (request: ExecRequest, context: SurfaceContext) => Promise<SandboxProcess>;

export interface SandboxJob extends RunOptions {
  readonly mounts: readonly SandboxMount[];
}

/** A root, or a directory of it, as a command sees it. */
export interface SandboxMount extends ExecMount {
  readonly writable: boolean;
  /** Present where the root is a directory of the host. */
  readonly host?: HostMount;
  /** The same by operations of the caller, for drivers that know no disk. */
  readonly files: SandboxFiles;
}

/** A directory of the host, held open by the jail for as long as the job lasts. */
export interface HostMount {
  /** Handle of the very directory, of this process. Absent: nothing is there, and an empty directory is shown. */
  readonly descriptor?: number;
  /** Where the directory was when it was found; only for drivers without a guard. */
  readonly path: string;
  /** Who owns the root. */
  readonly uid: number;
  readonly gid: number;
  /** What must not be seen, behind the directories that must keep their names. */
  readonly masks: readonly Mask[];
}

/** Something to mount over. `pin`: a directory that is seen, but must keep its name, since there is a mask below it. */
export interface Mask {
  /** Below the mount; as bytes, since not every name is UTF-8. */
  readonly path: Uint8Array;
  readonly kind: "file" | "directory" | "pin";
}

/** The mounted directory by operations of whoever runs the command. */
export interface SandboxFiles {
  /**
   * @param operation its short name (`read`) @param input its input without `root`; paths are below the mount
   * @throws FileAdapterError
   */
  invoke(operation: string, input: Readonly<Record<string, unknown>>): Promise<unknown>;
}

export interface SandboxExit {
  /** `null`: it was ended by a signal. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  /** Output was dropped. */
  readonly truncated: boolean;
}

/** Bytes as they are at the moment, cut where a character begins or ends. */
export interface SandboxOutput {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  /** Both, in the order in which they arrived. */
  readonly combined: Uint8Array;
  readonly truncated: boolean;
  /** With `keep: "head"`: which stream there was no more room for first. */
  readonly cutStream?: "stdout" | "stderr";
}

export interface SandboxProcess {
  /** Rejects when nothing was run: the sandbox could not be made. @throws FileAdapterError */
  readonly started: Promise<void>;
  /** Once every process of the run is dead and its changes are seen by all. Never rejects. */
  readonly exited: Promise<SandboxExit>;
  output(): SandboxOutput;
  /** Ends every process of the run; waits for that. More than once is harmless. */
  kill(): Promise<void>;
}
