// Reports how the sandbox of a configuration confines commands.

import { release } from "node:os";
import { AS_ROOT } from "../core/errors/sandbox-texts.js";
import type { DriverName, SandboxProbe, ShellConfig } from "../core/ports/sandbox.js";
import { findDelegation } from "./bwrap/control-group.js";
import { type Identity, identityFor } from "./bwrap/identity.js";
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

/**
 * Runs `true` in a sandbox like those of the shell, without changing this process.
 * @param owner of the directory that commands are to work in
 */
export async function reportSandbox(config: ShellConfig, owner: Identity): Promise<SandboxReport> {
  const sandbox = await createSandbox(config, { controlGroups: false });
  const probe = await sandbox.probe();
  if (!probe.available) return { sandbox: `none: ${lineOf(probe.reason)}`, network: "no commands" };
  const host = { path: "", masks: [], ...owner };
  if (sandbox.shows === "host" && identityFor(config, [{ host }]) === "root") {
    return { sandbox: `none: ${AS_ROOT}`, network: "no commands" };
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
