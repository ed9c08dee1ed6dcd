// The `bash` tool of the Everruns profile.

import type { JsonObject } from "../../core/ports/adapter.js";
import { shellEnvironment } from "../../core/ports/sandbox.js";
import { commandTool, endOf, exitCodeOf, MAX_OUTPUT_BYTES, secondsWithin, WORKSPACE } from "../command-tool.js";
import type { BoundRoot, ProfileShell, ProfileTool } from "../profile.js";
import { cleanOutput } from "./clean-output.js";
import { describeTool } from "./describe-tool.js";
import type { SessionPaths } from "./session-path.js";
import { invalidParameter } from "./tool-fault.js";

export const BASH = "bash";

const USUAL_SECONDS = 30;
const MAX_SECONDS = 300;
const MAX_STDOUT_BYTES = 16_384;
const MAX_STDERR_BYTES = 4096;

interface BashParts {
  readonly paths: SessionPaths;
  readonly shell: ProfileShell;
}

/** The tool of a binding that has a shell. */
export function bashTool(parts: BashParts): ProfileTool {
  return commandTool(describeTool(BASH, parts.paths), parts.shell, (args, root) => run(args, { ...parts, root }));
}

async function run(args: JsonObject, { paths, shell, root }: BashParts & { readonly root: BoundRoot }) {
  const seconds = secondsOf(args["timeout"]);
  const command = String(args["command"]);
  const place = paths.prefix || WORKSPACE;
  const directory = paths.parse(String(args["working_dir"] ?? ""));
  const env = shellEnvironment(place);
  const script = directory === "/" ? command : `cd -- ${quoted(`${place}${directory}`)} || exit 1\n${command}`;
  const process = await root.exec(
    {
      ...{ sandbox: await shell.sandbox, argv: ["/bin/bash", "-c", script], command, cwd: place, env },
      ...{ timeoutMs: seconds * 1000, outputBytes: MAX_OUTPUT_BYTES, keep: "tail" },
    },
    place,
  );
  const exit = await endOf(process, root);
  const { stdout, stderr } = process.output();
  const timedOut = exit.timedOut ? `\nCommand timed out after ${seconds} seconds` : "";
  return {
    stdout: cleanOutput(stdout, MAX_STDOUT_BYTES),
    stderr: `${cleanOutput(stderr, MAX_STDERR_BYTES)}${timedOut}`.replace(/^\n/, ""),
    exit_code: exitCodeOf(exit),
  };
}

/** @throws INVALID_INPUT */
function secondsOf(timeout: unknown = USUAL_SECONDS): number {
  const seconds = secondsWithin(timeout, MAX_SECONDS);
  if (seconds === undefined) throw invalidParameter("timeout", "must be a number above 0");
  return seconds;
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
