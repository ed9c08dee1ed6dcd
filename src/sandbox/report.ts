// Reports how the sandbox of a configuration confines commands.

import { release } from "node:os";
import { assembleAdapter, type HostedFileAdapter } from "../adapter/adapter.js";
import { FileAdapterError } from "../core/errors/errors.js";
import { DRIVE_NEEDS_THREADS } from "../core/errors/sandbox-texts.js";
import type { FileConfig, RootConfig } from "../core/file-config.js";
import {
  type DriverName,
  type Sandbox,
  type SandboxProbe,
  SHELL_PATH,
  type ShellConfig,
} from "../core/ports/sandbox.js";
import { RootsError } from "../roots/open.js";
import { findDelegation } from "./bwrap/control-group.js";
import { createSandbox } from "./create.js";

/** How the commands of a shell are confined, in words for an operator; may contain host paths. */
export interface SandboxReport {
  readonly sandbox: string;
  /** Mechanism that limits the number of processes of a run. Absent: none; likewise below. */
  readonly processes?: string;
  readonly group?: string;
  readonly network: string;
}

/** Linux version from which on processes are counted per user namespace. */
const COUNTED_BY_RUN = [5, 14] as const;

/** Where commands are to run. */
export interface CommandPlace {
  readonly file: FileConfig;
  /** Name of the root. */
  readonly root: string;
  readonly prefix?: string | undefined;
}

const TRIAL_MS = 10_000;

/** Runs `true` as the commands of a shell are run, without changing this process or what is in the root. */
export async function reportSandbox(config: ShellConfig, place: CommandPlace): Promise<SandboxReport> {
  const reasons: string[] = [];
  const onWarning = (text: string): void => void reasons.push(text.slice(text.indexOf(": ") + 2));
  const sandbox = await createSandbox(config, { controlGroups: false, onWarning });
  const probe = await sandbox.probe();
  const refusal = probe.available ? await tryIn(place, sandbox) : probe.reason;
  if (refusal !== undefined || !probe.available) {
    return { sandbox: `none: ${lineOf(reasons.at(-1) ?? refusal)}`, network: "no commands" };
  }
  const about = { sandbox: NAMES[sandbox.name], network: networkOf(sandbox.name, probe) };
  if (sandbox.name !== "bwrap") return about;
  const { reason } = findDelegation();
  return {
    ...about,
    processes: countsByRun(release()) ? "processes counted by run" : "processes counted by user (before Linux 5.14)",
    group: reason === undefined ? "a control group for each run" : `no control groups: ${reason}`,
  };
}

/**
 * Runs a command through the very operation that all commands go through: with the root's own owner and masks.
 * @returns why it was not run
 */
async function tryIn({ file, root, prefix }: CommandPlace, sandbox: Sandbox): Promise<string | undefined> {
  const found = file.roots[root];
  if (found === undefined || sandbox.shows === "files") return undefined;
  if (found.kind === "dlfs") return DRIVE_NEEDS_THREADS;
  const mount = { root, at: "/workspace", readOnly: true, ...(prefix === undefined ? {} : { prefix }) };
  let adapter: HostedFileAdapter | undefined;
  try {
    adapter = await assembleAdapter({ ...file, roots: { [root]: unchanged(found) } }, { discloseHostPaths: false });
    const running = await adapter.exec({
      ...{ sandbox: unguarded(sandbox), mounts: [mount], argv: ["true"], cwd: "/workspace", env: { PATH: SHELL_PATH } },
      ...{ timeoutMs: TRIAL_MS, outputBytes: 1024, keep: "head" },
    });
    const { exitCode } = await running.exited;
    return exitCode === 0 ? undefined : "a sandbox can be made, but nothing runs in it";
  } catch (error) {
    if (error instanceof FileAdapterError || error instanceof RootsError) return error.message;
    throw error;
  } finally {
    await adapter?.close();
  }
}

/** Without a guard nothing is read-only, and `true` writes nothing. */
const unguarded = (sandbox: Sandbox): Sandbox => ({
  ...{ name: sandbox.name, shows: sandbox.shows, probe: () => sandbox.probe() },
  ...(sandbox.uid === undefined ? {} : { uid: sandbox.uid }),
  ...(sandbox.gid === undefined ? {} : { gid: sandbox.gid }),
  run: (job) => sandbox.run({ ...job, mounts: job.mounts.map((mount) => ({ ...mount, writable: true })) }),
});

/** Nothing is prepared, counted or recorded in a root that is read-only. */
const unchanged = (root: RootConfig): RootConfig => ({ ...root, readOnly: true });

const NAMES: Readonly<Record<DriverName, string>> = {
  bwrap: "bubblewrap",
  "just-bash": "just-bash",
  none: "none",
  unsafe: "WITHOUT A GUARD",
};

/** Program output on one line. */
const lineOf = (reason = "it does not work here"): string => reason.replace(/\s*\n[\s;]*/g, "; ").replace(/; $/, "");

function networkOf(name: DriverName, { networkBy }: SandboxProbe): string {
  if (name === "unsafe") return "network of the host";
  return networkBy === undefined ? "no network" : `network by ${networkBy}`;
}

/** @param kernel as printed by `uname -r` */
export function countsByRun(kernel: string): boolean {
  const [major = 0, minor = 0] = kernel.split(".").map((part) => Number.parseInt(part, 10));
  const [since, sinceMinor] = COUNTED_BY_RUN;
  return major > since || (major === since && minor >= sinceMinor);
}
