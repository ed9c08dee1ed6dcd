// The Jettson profile: file tools and a shell on one workspace.

import type { FileAdapterError } from "../../core/errors/errors.js";
import { sandboxText } from "../../core/errors/sandbox-texts.js";
import { escapeText } from "../../core/errors/texts.js";
import type { JsonObject } from "../../core/ports/adapter.js";
import { type SandboxExit, type SandboxOutput, shellEnvironment } from "../../core/ports/sandbox.js";
import {
  commandTool,
  endOf,
  exitCodeOf,
  isTooManyDenied,
  MAX_OUTPUT_BYTES,
  secondsWithin,
  WORKSPACE,
} from "../command-tool.js";
import {
  type BoundRoot,
  denial,
  type FailedCall,
  type Profile,
  type ProfileShell,
  type ProfileTool,
  ToolError,
} from "../profile.js";
import { isBlocked } from "./blocklist.js";
import { describeTool, ESCAPES, fileTools } from "./files.js";

const FILES_REJECTED = "Jettson Files rejected the operation: ";
const SHELL_REJECTED = "Jettson Shell rejected the command: ";

/** Jettson Files and Jettson Shell: file tools and a shell on one workspace. */
export const jettson: Profile = {
  name: "jettson",
  description: "Jettson Files and Shell: read, write, list and delete files in /workspace, run commands there.",
  instructions: "Files of the workspace; paths are relative to /workspace. A failure is { error }.",
  links: "follow",
  open: (_binding, { shell }) => ({
    tools: [...fileTools(), ...(shell === undefined ? [] : [shellTool(shell)])],
    errorText: textOf,
    errorValue: (text, tool) => ({ error: `${tool === SHELL_TOOL ? SHELL_REJECTED : FILES_REJECTED}${text}` }),
  }),
};

// Error texts of the Jettson tools, by error code and tool.

/** JSON pointer of the field. */
const TIMEOUT = "/timeout_seconds";

/** Texts for error codes, the same for every tool. `p`: the path as the caller knows it. */
const TEXTS: Readonly<Record<string, (p: string) => string>> = {
  INVALID_PATH: () => ESCAPES,
  PATH_NOT_RELATIVE: () => ESCAPES,
  PATH_ESCAPES_ROOT: () => ESCAPES,
  SYMLINK_ESCAPE: () => ESCAPES,
  DANGLING_SYMLINK: () => ESCAPES,
  OTHER_DEVICE: () => ESCAPES,
  ROOT_DELETE: () => ESCAPES,
  NOT_FOUND: (p) => `no such file: ${p}`,
  PARENT_MISSING: (p) => `no such file: ${p}`,
  NOT_A_DIRECTORY: (p) => `${p} is not a directory`,
  EXISTS_NOT_DIRECTORY: (p) => `${p} is not a directory`,
  READ_ONLY_ROOT: () => "root is read-only",
  PERMISSION_DENIED: (p) => `${p} is read-only`,
  NOT_TEXT: (p) => `${p} is not UTF-8 text`,
  // Devices and pipes hold no text.
  NOT_A_FILE: (p) => `${p} is not UTF-8 text`,
  TOO_LARGE: () => "content exceeds the 5 MB limit",
  DENIED_BY_POLICY: (p) => `${p} is denied by policy`,
  QUOTA_EXCEEDED: () => "quota exceeded",
  DRIVE_REQUIRES_AUTH: () => "permission denied: requires an authenticated caller",
  ABORTED: () => "cancelled",
};

/** Text of a failure of an operation, without the tool name as prefix. */
function textOf(error: FileAdapterError, { tool }: FailedCall): string {
  const { code, data, message } = error;
  const p = shown(data["path"]);
  if (isTooManyDenied(error)) return message;
  if (code === "CAPABILITY_DENIED") return denial(data["required"]);
  if (code === "INVALID_INPUT") return data["pointer"] === TIMEOUT ? INVALID_TIMEOUT : `invalid argument: ${message}`;
  if (code === "NOT_SUPPORTED" && tool === SHELL_TOOL) return sandboxText(error);
  if (code === "IS_A_DIRECTORY") {
    return tool.endsWith("_delete")
      ? `${p} is a directory — use Jettson Shell with rmdir for that.`
      : `${p} is a directory`;
  }
  return TEXTS[code]?.(p) ?? "internal error";
}

const shown = (path: unknown): string => (typeof path === "string" && path !== "" ? escapeText(path) : ".");

const SHELL_TOOL = "jettson_shell_run";
const INVALID_TIMEOUT = "invalid timeout_seconds.";
const BLOCKED = "command matches a blocked pattern (destructive or escape attempt).";

const USUAL_SECONDS = 30;
const MAX_SECONDS = 60;
const CUT = "\n... [output truncated: combined output exceeded 10 MB] ...";
const ENV = shellEnvironment(WORKSPACE);

/** The shell tool of a binding that has one. */
function shellTool(shell: ProfileShell): ProfileTool {
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
  const process = await root.exec(
    {
      ...{ sandbox: await shell.sandbox, argv: ["/bin/sh", "-c", command], command, cwd: WORKSPACE, env: ENV },
      ...{ timeoutMs, outputBytes: MAX_OUTPUT_BYTES, keep: "head" },
    },
    WORKSPACE,
  );
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
    stdout: outputText(stdout, cutStream === "stdout"),
    stderr: outputText(stderr, cutStream === "stderr"),
    exit_code: exitCodeOf(exit),
    truncated,
    timed_out: exit.timedOut,
  };
}

const outputText = (bytes: Uint8Array, isCut: boolean): string =>
  `${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8")}${isCut ? CUT : ""}`;
