// The `jettson_shell_run` tool: runs `/bin/sh -c` in the sandbox, with a blocklist and a timeout.

import type { JsonObject } from "../../core/ports/adapter.js";
import { type SandboxExit, type SandboxOutput, shellEnvironment } from "../../core/ports/sandbox.js";
import { commandTool, endOf, exitCodeOf, MAX_OUTPUT_BYTES, secondsWithin, WORKSPACE } from "../command-tool.js";
import type { BoundRoot } from "../profile.js";
import { type ProfileShell, type ProfileTool, ToolError } from "../profile.js";
import { isBlocked } from "./blocklist.js";
import { describeTool } from "./files.js";

export const SHELL_TOOL = "jettson_shell_run";
export const INVALID_TIMEOUT = "invalid timeout_seconds.";
const BLOCKED = "command matches a blocked pattern (destructive or escape attempt).";

const USUAL_SECONDS = 30;
const MAX_SECONDS = 60;
const CUT = "\n... [output truncated: combined output exceeded 10 MB] ...";
const ENV = shellEnvironment(WORKSPACE);

/** The shell tool of a binding that has one. */
export function shellTool(shell: ProfileShell): ProfileTool {
  return commandTool(describeTool(SHELL_TOOL), shell, (args, root) =>
    run(String(args["command"]), args["timeout_seconds"], { root, shell }),
  );
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
    ...{ outputBytes: MAX_OUTPUT_BYTES, keep: "head" },
  });
  return resultOf(await endOf(process, root), process.output());
}

/** @throws ToolError */
function timeoutOf(seconds: unknown = USUAL_SECONDS): number {
  const within = secondsWithin(seconds, MAX_SECONDS);
  if (within === undefined) throw new ToolError("INVALID_INPUT", INVALID_TIMEOUT);
  return within * 1000;
}

function resultOf(exit: SandboxExit, output: SandboxOutput): JsonObject {
  const { stdout, stderr, truncated, cutStream } = output;
  return {
    stdout: textOf(stdout, cutStream === "stdout"),
    stderr: textOf(stderr, cutStream === "stderr"),
    exit_code: exitCodeOf(exit),
    truncated,
    timed_out: exit.timedOut,
  };
}

const textOf = (bytes: Uint8Array, isCut: boolean): string =>
  `${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8")}${isCut ? CUT : ""}`;
