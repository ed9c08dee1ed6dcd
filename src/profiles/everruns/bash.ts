// The `bash` tool of the Everruns profile.

import type { JsonObject } from "../../core/ports/adapter.js";
import { shellEnvironment } from "../../core/ports/sandbox.js";
import { commandTool, endOf, exitCodeOf, MAX_OUTPUT_BYTES, secondsWithin, WORKSPACE } from "../command-tool.js";
import type { BoundRoot, ProfileShell, ProfileTool } from "../profile.js";
import { describeTool } from "./describe-tool.js";
import type { SessionPaths } from "./session-path.js";
import { invalidParameter } from "./tool-fault.js";

export const BASH = "bash";

const USUAL_SECONDS = 30;
const MAX_SECONDS = 300;

/** Form of the tool in a variant. */
interface BashForm {
  /** Folder of its schema. */
  readonly folder: string;
  readonly command: string;
  readonly timeout: string;
  /** Units of the timeout in one second. */
  readonly units: number;
  /** Most bytes kept of stdout and stderr. */
  room(args: JsonObject, exitCode: number): { readonly stdout: number; readonly stderr: number };
}

export const STRICT_BASH: BashForm = {
  ...{ folder: "everruns", command: "command", timeout: "timeout", units: 1 },
  room: () => ({ stdout: 16_384, stderr: 4096 }),
};

/** Most bytes of each stream by `output`; `auto`, the default, goes by the exit code. */
const ROOM: Readonly<Record<string, number>> = {
  ...{ silent: 200, concise: 2048, normal: 8192, verbose: 16_384, full: 65_536 },
  ...{ success: 1024, failure: 8192 },
};

export const BASH_050: BashForm = {
  ...{ folder: "everruns-0.50", command: "commands", timeout: "timeout_ms", units: 1000 },
  room({ output = "auto" }, exitCode) {
    const most = ROOM[output === "auto" ? (exitCode === 0 ? "success" : "failure") : String(output)] ?? 0;
    return { stdout: most, stderr: most };
  },
};

interface BashParts {
  readonly paths: SessionPaths;
  readonly shell: ProfileShell;
  readonly form: BashForm;
}

/** The tool of a binding that has a shell. */
export function bashTool(parts: BashParts): ProfileTool {
  const facts = describeTool(BASH, parts.paths, parts.form.folder);
  return commandTool(facts, parts.shell, (args, root) => run(args, { ...parts, root }));
}

async function run(args: JsonObject, { paths, shell, form, root }: BashParts & { readonly root: BoundRoot }) {
  const seconds = secondsOf(args, form);
  const command = String(args[form.command]);
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
  const code = exitCodeOf(exit);
  const room = form.room(args, code);
  return {
    stdout: cleanOutput(stdout, room.stdout),
    stderr: `${cleanOutput(stderr, room.stderr)}${timedOut}`.replace(/^\n/, ""),
    exit_code: code,
  };
}

/** @throws INVALID_INPUT */
function secondsOf(args: JsonObject, { timeout, units }: BashForm): number {
  const given = args[timeout] ?? USUAL_SECONDS * units;
  const seconds = typeof given === "number" ? secondsWithin(given / units, MAX_SECONDS) : undefined;
  if (seconds === undefined) throw invalidParameter(timeout, "must be a number above 0");
  return seconds;
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Terminal control sequences (ECMA-48): CSI, OSC and other control strings, and the short escapes. */
const ANSI =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]?|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[0-~]?/g;
const HEAD_SHARE = 0.2;

/**
 * Cleans command output for a model: removes control sequences, resolves lines overwritten by carriage returns to their
 * final text, and cuts the middle out of long output.
 * @param mostBytes maximum bytes kept, without the marker for the cut
 */
export function cleanOutput(output: Uint8Array, mostBytes: number): string {
  const text = Buffer.from(output.buffer, output.byteOffset, output.byteLength).toString("utf8");
  return cutMiddle(applyReturns(text.replace(ANSI, "")), mostBytes);
}

/**
 * A lone carriage return moves to the start of the line; the old text is discarded only once something is written over
 * it.
 */
function applyReturns(text: string): string {
  if (!text.includes("\r")) return text;
  const lines = text.replace(/\r+\n/g, "\n").split("\n");
  return lines.map((line) => line.split("\r").findLast((part) => part !== "") ?? "").join("\n");
}

function cutMiddle(text: string, mostBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= mostBytes) return text;
  const headBytes = Math.floor(mostBytes * HEAD_SHARE);
  const head = bytes.subarray(0, characterAt(bytes, headBytes, -1));
  const tail = bytes.subarray(characterAt(bytes, bytes.length - (mostBytes - headBytes), 1));
  const left = bytes.length - head.length - tail.length;
  return `${head.toString("utf8")}\n... [${left} bytes left out] ...\n${tail.toString("utf8")}`;
}

/** The character boundary nearest to `at` in the direction of `step`. */
function characterAt(bytes: Buffer, at: number, step: -1 | 1): number {
  let start = at;
  while (((bytes[start] ?? 0) & 0xc0) === 0x80) start += step;
  return start;
}
