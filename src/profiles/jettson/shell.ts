import { constants } from "node:os";
import type { JsonObject } from "../../core/adapter.js";
import { type SandboxExit, type SandboxOutput, SHELL_PATH } from "../../core/sandbox.js";
import type { BoundRoot } from "../bound-root.js";
import { type ProfileShell, type ProfileTool, ToolError } from "../profile.js";
import { isBlocked } from "./blocklist.js";
import { asJson, described } from "./files.js";

export const SHELL_TOOL = "jettson_shell_run";
export const NO_SANDBOX = "no sandbox available";
export const INVALID_TIMEOUT = "invalid timeout_seconds.";
const BLOCKED = "command matches a blocked pattern (destructive or escape attempt).";

const WORKSPACE = "/workspace";
const USUAL_SECONDS = 30;
const MOST_SECONDS = 60;
const MOST_OUTPUT_BYTES = 10 * 1_048_576;
const CUT = "\n... [output truncated: combined output exceeded 10 MB] ...";
const TIMED_OUT = 124;
const ENV = { PATH: SHELL_PATH, HOME: WORKSPACE, LANG: "C.UTF-8" };
const SIGNALS: ReadonlyMap<string, number> = new Map(Object.entries(constants.signals));

/** The shell tool of a binding that has one. */
export function shellTool(shell: ProfileShell): ProfileTool {
  const tool = described(SHELL_TOOL);
  return {
    ...tool,
    get description() {
      return `${tool.description} ${limitsOf(shell)}`;
    },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    ...{ ability: "exec/run", changes: true, render: asJson },
    ready: () => shell.ready,
    unavailable: () => (shell.probe?.available === true ? undefined : NO_SANDBOX),
    run: (args, root) => run(String(args["command"]), args["timeout_seconds"], { root, shell }),
  };
}

/** What an agent should not have to find out. */
function limitsOf({ probe }: ProfileShell): string {
  const programs =
    probe?.realBinaries === false
      ? "It is a bash interpreter without programs of a system: no python3, node, npm, git, curl."
      : "Programs are those of the host.";
  return `${programs}${probe?.network === true ? "" : " There is no network."}`;
}

async function run(
  command: string,
  seconds: unknown,
  { root, shell }: { readonly root: BoundRoot; readonly shell: ProfileShell },
): Promise<JsonObject> {
  const timeoutMs = timeoutOf(seconds);
  if (isBlocked(command)) throw new ToolError("DENIED_BY_POLICY", BLOCKED);
  const process = await root.exec({
    ...{ sandbox: await shell.sandbox, argv: ["/bin/sh", "-c", command], command, cwd: WORKSPACE, env: ENV, timeoutMs },
    ...{ outputBytes: MOST_OUTPUT_BYTES, keep: "head" },
  });
  const exit = await process.exited;
  if (root.isCancelled && !exit.timedOut) throw new ToolError("ABORTED", "cancelled");
  return resultOf(exit, process.output());
}

/** @throws ToolError */
function timeoutOf(seconds: unknown = USUAL_SECONDS): number {
  if (typeof seconds !== "number" || !Number.isFinite(seconds) || seconds <= 0) {
    throw new ToolError("INVALID_INPUT", INVALID_TIMEOUT);
  }
  return Math.min(seconds, MOST_SECONDS) * 1000;
}

function resultOf({ exitCode, signal, timedOut }: SandboxExit, output: SandboxOutput): JsonObject {
  const { stdout, stderr, truncated, cutStream } = output;
  return {
    stdout: textOf(stdout, cutStream === "stdout"),
    stderr: textOf(stderr, cutStream === "stderr"),
    exit_code: timedOut ? TIMED_OUT : (exitCode ?? 128 + (SIGNALS.get(signal ?? "") ?? 0)),
    truncated,
    timed_out: timedOut,
  };
}

const textOf = (bytes: Uint8Array, isCut: boolean): string =>
  `${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8")}${isCut ? CUT : ""}`;
