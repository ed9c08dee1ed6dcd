// Tools that run commands in a sandbox: shared limits, description, exit codes and timeouts.

import { constants } from "node:os";
import { countText } from "../core/call/progress.js";
import type { FileAdapterError } from "../core/errors/errors.js";
import { noSandboxText } from "../core/errors/sandbox-texts.js";
import type { SandboxExit, SandboxProcess } from "../core/ports/sandbox.js";
import { type BoundRoot, type ProfileShell, type ProfileTool, renderJson, ToolError } from "./profile.js";

/** Default mount point of the bound root in the sandbox. */
export const WORKSPACE = "/workspace";
/** Maximum bytes kept of one command's output. */
export const MAX_OUTPUT_BYTES = 10 * 1_048_576;

const TIMED_OUT = 124;
/** How often the progress of a command is reported. */
const TELL_MS = 1000;
const SIGNALS: ReadonlyMap<string, number> = new Map(Object.entries(constants.signals));

/**
 * Whether commands are refused because too many entries are denied by policy; the message, which holds only their
 * number, may be shown to the caller.
 */
export const isTooManyDenied = ({ code, data }: FileAdapterError): boolean =>
  code === "DENIED_BY_POLICY" && typeof data["denied"] === "number";

type ToolFacts = Pick<ProfileTool, "name" | "title" | "description" | "input" | "output">;

/**
 * A tool that runs commands. It is offered only if there is a sandbox, and its description states what the sandbox
 * contains.
 */
export function commandTool(facts: ToolFacts, shell: ProfileShell, run: ProfileTool["run"]): ProfileTool {
  return {
    ...facts,
    get description() {
      return `${facts.description} ${limitsOf(shell)}`;
    },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    ...{ ability: "exec/run", changes: true, render: renderJson },
    ready: () => shell.ready,
    unavailable: () => (shell.probe?.available === true ? undefined : noSandboxText(shell.probe?.reason)),
    run,
  };
}

/** Limits of the sandbox, stated up front so that agents need not find them out. */
function limitsOf({ probe }: ProfileShell): string {
  const programs =
    probe?.realBinaries === false
      ? "It is a bash interpreter without programs of a system: no python3, node, npm, git, curl."
      : "Programs are those of the host.";
  return `${programs}${probe?.network === true ? "" : " There is no network."}`;
}

/** Waits for a command to exit. @throws ToolError (ABORTED) if the caller has cancelled */
export async function endOf(process: SandboxProcess, root: BoundRoot): Promise<SandboxExit> {
  const { report } = root;
  const since = performance.now();
  const tell = (): void => report?.(Math.round((performance.now() - since) / 1000), undefined, () => outputOf(process));
  const timer = report === undefined ? undefined : setInterval(tell, TELL_MS);
  const exit = await process.exited.finally(() => clearInterval(timer));
  if (root.isCancelled && !exit.timedOut) throw new ToolError("ABORTED", "cancelled");
  return exit;
}

const outputOf = (process: SandboxProcess): string =>
  `running, ${countText(process.output().combined.length, "byte")} of output`;

/** Exit code by shell convention: 124 after a timeout, 128 + n for signal n. */
export const exitCodeOf = ({ exitCode, signal, timedOut }: SandboxExit): number =>
  timedOut ? TIMED_OUT : (exitCode ?? 128 + (SIGNALS.get(signal ?? "") ?? 0));

/** Clamps a number of seconds to `most`; `undefined` if it is not a positive number. */
export const secondsWithin = (value: unknown, most: number): number | undefined =>
  typeof value === "number" && Number.isFinite(value) && value > 0 ? Math.min(value, most) : undefined;
