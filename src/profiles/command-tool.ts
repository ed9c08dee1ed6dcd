import { constants } from "node:os";
import type { FileAdapterError } from "../core/errors/errors.js";
import type { Rendering } from "../core/ports/adapter.js";
import type { SandboxExit, SandboxProcess } from "../core/ports/sandbox.js";
import type { BoundRoot } from "./bound-root.js";
import { type ProfileShell, type ProfileTool, ToolError } from "./profile.js";

/** What whoever calls it is told where no commands can be run. */
export const NO_SANDBOX = "no sandbox available";
/** Where commands see the bound root, unless a profile says otherwise. */
export const WORKSPACE = "/workspace";
/** Bytes kept of the output of one command. */
export const MOST_OUTPUT_BYTES = 10 * 1_048_576;

const TIMED_OUT = 124;
const SIGNALS: ReadonlyMap<string, number> = new Map(Object.entries(constants.signals));

/** Commands cannot be run for as long as it is so: their caller is told how much it is. */
export const isTooManyDenied = ({ code, data }: FileAdapterError): boolean =>
  code === "DENIED_BY_POLICY" && typeof data["denied"] === "number";

type ToolFacts = Pick<ProfileTool, "name" | "title" | "description" | "input" | "output">;

/** A tool that runs commands: offered where there is a sandbox, and described by what is in it. */
export function commandTool(facts: ToolFacts, shell: ProfileShell, run: ProfileTool["run"]): ProfileTool {
  return {
    ...facts,
    get description() {
      return `${facts.description} ${limitsOf(shell)}`;
    },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    ...{ ability: "exec/run", changes: true, render: asJson },
    ready: () => shell.ready,
    unavailable: () => (shell.probe?.available === true ? undefined : NO_SANDBOX),
    run,
  };
}

const asJson = (value: unknown): Rendering => ({ kind: "json", value, rest: {} });

/** What an agent should not have to find out. */
function limitsOf({ probe }: ProfileShell): string {
  const programs =
    probe?.realBinaries === false
      ? "It is a bash interpreter without programs of a system: no python3, node, npm, git, curl."
      : "Programs are those of the host.";
  return `${programs}${probe?.network === true ? "" : " There is no network."}`;
}

/** Waits for the end of a command. @throws ToolError when its caller has given up */
export async function endOf(process: SandboxProcess, root: BoundRoot): Promise<SandboxExit> {
  const exit = await process.exited;
  if (root.isCancelled && !exit.timedOut) throw new ToolError("ABORTED", "cancelled");
  return exit;
}

/** As a shell tells of it: 124 for one that ran out of time, 128 and more for a signal. */
export const exitCodeOf = ({ exitCode, signal, timedOut }: SandboxExit): number =>
  timedOut ? TIMED_OUT : (exitCode ?? 128 + (SIGNALS.get(signal ?? "") ?? 0));

/** Seconds within bounds. `undefined`: not a time. */
export const secondsWithin = (value: unknown, most: number): number | undefined =>
  typeof value === "number" && Number.isFinite(value) && value > 0 ? Math.min(value, most) : undefined;
