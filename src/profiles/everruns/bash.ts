import { constants } from "node:os";
import type { JsonObject, Rendering } from "../../core/adapter.js";
import { type SandboxExit, SHELL_PATH } from "../../core/sandbox.js";
import type { BoundRoot } from "../bound-root.js";
import { type ProfileShell, type ProfileTool, ToolError } from "../profile.js";
import { cleanOutput } from "./clean-output.js";
import { described } from "./described.js";
import type { SessionPaths } from "./session-path.js";
import { invalidParameter } from "./tool-fault.js";

export const BASH = "bash";
export const NO_SANDBOX = "no sandbox available";

const WORKSPACE = "/workspace";
const USUAL_SECONDS = 30;
const MOST_SECONDS = 300;
/** Kept of a run; of what is longer, the end. */
const MOST_OUTPUT_BYTES = 10 * 1_048_576;
const MOST_STDOUT_BYTES = 16_384;
const MOST_STDERR_BYTES = 4096;
const TIMED_OUT = 124;
const SIGNALS: ReadonlyMap<string, number> = new Map(Object.entries(constants.signals));

interface BashParts {
  readonly paths: SessionPaths;
  readonly shell: ProfileShell;
}

/** The tool of a binding that has a shell. */
export function bashTool(parts: BashParts): ProfileTool {
  const { shell, paths } = parts;
  const tool = described(BASH, paths);
  return {
    ...tool,
    get description() {
      return `${tool.description} ${limitsOf(shell)}`;
    },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    ...{ ability: "exec/run", changes: true, render: asJson },
    ready: () => shell.ready,
    unavailable: () => (shell.probe?.available === true ? undefined : NO_SANDBOX),
    run: (args, root) => run(args, { ...parts, root }),
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

async function run(args: JsonObject, { paths, shell, root }: BashParts & { readonly root: BoundRoot }) {
  const seconds = secondsOf(args["timeout"]);
  const command = String(args["command"]);
  const place = paths.prefix || WORKSPACE;
  const directory = paths.parse(String(args["working_dir"] ?? ""));
  const env = { PATH: SHELL_PATH, HOME: place, LANG: "C.UTF-8" };
  const script = directory === "/" ? command : `cd -- ${quoted(`${place}${directory}`)} || exit 1\n${command}`;
  const process = await root.exec(
    {
      ...{ sandbox: await shell.sandbox, argv: ["/bin/bash", "-c", script], command, cwd: place, env },
      ...{ timeoutMs: seconds * 1000, outputBytes: MOST_OUTPUT_BYTES, keep: "tail" },
    },
    place,
  );
  const exit = await process.exited;
  if (root.isCancelled && !exit.timedOut) throw new ToolError("ABORTED", "cancelled");
  const { stdout, stderr } = process.output();
  const timedOut = exit.timedOut ? `\nCommand timed out after ${seconds} seconds` : "";
  return {
    stdout: cleanOutput(stdout, MOST_STDOUT_BYTES),
    stderr: `${cleanOutput(stderr, MOST_STDERR_BYTES)}${timedOut}`.replace(/^\n/, ""),
    exit_code: exitCodeOf(exit),
  };
}

/** @throws INVALID_INPUT */
function secondsOf(timeout: unknown = USUAL_SECONDS): number {
  if (typeof timeout === "number" && Number.isFinite(timeout) && timeout > 0) return Math.min(timeout, MOST_SECONDS);
  throw invalidParameter("timeout", "must be a number above 0");
}

const exitCodeOf = ({ exitCode, signal, timedOut }: SandboxExit): number =>
  timedOut ? TIMED_OUT : (exitCode ?? 128 + (SIGNALS.get(signal ?? "") ?? 0));

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
