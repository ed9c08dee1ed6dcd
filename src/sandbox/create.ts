import { type Clock, systemClock } from "../core/clock.js";
import type { Sandbox, ShellConfig } from "../core/sandbox.js";
import { BwrapSandbox } from "./bwrap.js";
import { createNone } from "./none.js";
import { UnsafeSandbox } from "./unsafe.js";

export interface SandboxParts {
  readonly clock?: Clock;
  /** Told what an operator should know: why there is no sandbox, or none for one run. It may hold host paths. */
  readonly onWarning?: (text: string) => void;
}

/**
 * Chooses what runs commands, and sees whether it works here. There is no way back to the host's own shell: where a sandbox
 * cannot be had, nothing is run.
 */
export async function createSandbox(config: ShellConfig, parts: SandboxParts = {}): Promise<Sandbox> {
  const { clock = systemClock, onWarning = () => {} } = parts;
  const host = { clock, onFailure: (reason: string) => onWarning(`a command was not run: ${reason}`) };
  if (config.unsafe) {
    onWarning("shell.unsafe is set: commands are plain processes of this host, and can do whatever this process can");
    return new UnsafeSandbox(config, host);
  }
  if (config.driver === "none") return createNone("shell.driver is none");
  const sandbox = config.driver === "just-bash" ? await justBash(config, host) : new BwrapSandbox(config, host);
  const { available, reason = "it does not work here" } = await sandbox.probe();
  if (available) return sandbox;
  onWarning(`there is no sandbox for commands: ${reason}`);
  return config.driver === "auto" ? createNone(reason) : sandbox;
}

async function justBash(config: ShellConfig, host: { clock: Clock; onFailure: (reason: string) => void }) {
  const { JustBashSandbox } = await import("./just-bash.js");
  return new JustBashSandbox(config, host);
}
