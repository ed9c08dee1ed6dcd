// Creates the sandbox of a profile.

import { type Clock, systemClock } from "../core/clock.js";
import { noSandbox } from "../core/errors/sandbox-texts.js";
import type { DriverName, Sandbox, SandboxProbe, ShellConfig } from "../core/ports/sandbox.js";

export interface SandboxParts {
  readonly clock?: Clock;
  /** Receives warnings for the operator, such as why there is no sandbox; may contain host paths. */
  readonly onWarning?: (text: string) => void;
  /**
   * Give each run its own control group, if one is delegated to this process. This moves the process to the group
   * `venue-files` below its own. Default true.
   */
  readonly controlGroups?: boolean;
}

/**
 * Creates the configured sandbox and tests it. There is no fallback to an unconfined shell: without a sandbox, nothing
 * runs.
 */
export async function createSandbox(config: ShellConfig, parts: SandboxParts = {}): Promise<Sandbox> {
  const { clock = systemClock, onWarning = () => {}, controlGroups = true } = parts;
  const host = { clock, controlGroups, onFailure: (reason: string) => onWarning(`a command was not run: ${reason}`) };
  if (config.unsafe) {
    onWarning("shell.unsafe is set: commands are plain processes of this host, and can do whatever this process can");
    const { UnsafeSandbox } = await import("./unsafe.js");
    return new UnsafeSandbox(config, host);
  }
  if (config.driver === "none") return createNone("shell.driver is none");
  const sandbox: Sandbox =
    config.driver === "just-bash"
      ? new (await import("./just-bash/just-bash.js")).JustBashSandbox(host)
      : new (await import("./bwrap/bwrap.js")).BwrapSandbox(config, host);
  const { available, reason = "it does not work here" } = await sandbox.probe();
  if (available) return sandbox;
  onWarning(`there is no sandbox for commands: ${reason}`);
  return config.driver === "auto" ? createNone(reason) : sandbox;
}

/** A sandbox that is unavailable for the given reason. */
function createNone(reason: string, name: DriverName = "none"): Sandbox {
  const probe: SandboxProbe = { available: false, reason, network: false, realBinaries: false };
  return {
    name,
    shows: "files",
    probe: async () => probe,
    run() {
      throw noSandbox(reason);
    },
  };
}
