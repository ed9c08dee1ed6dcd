import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { HttpCalls } from "../../src/cli/calls/http-calls.js";
import { createFileAdapter, FileAdapterError } from "../../src/index.js";
import { runHere, serveHere } from "../cli/in-process.js";
import { serve } from "../cli/process.js";
import { invoke } from "../surfaces/http/client.js";
import { type RawAnswer, startRaw } from "../surfaces/mcp/raw.js";
import { restOf, textOf } from "../surfaces/mcp/sessions.js";
import { CAPS, type ParityCall } from "./calls.js";
import type { Ground } from "./fixture.js";

/** What came of one call, in the one form that every surface is brought to. */
export type Outcome =
  | { readonly code: "OK"; readonly output: unknown }
  | { readonly code: string; readonly error: string; readonly data: unknown };

/** Makes calls one after the other on fresh ground. */
export type Surface = (ground: Ground, calls: readonly ParityCall[], narrowed: boolean) => Promise<Outcome[]>;

/** Over MCP a text ends with its code, and names tools as the client does. */
function plainText(text: string, code: string): string {
  const end = ` [${code}]`;
  if (!text.endsWith(end)) throw new Error(`no code behind: ${text}`);
  return text.slice(0, -end.length).replaceAll(/\bfile_(mkdir|list|read|write)\b/g, "file:$1");
}

/** Long paths in a text are cut in their middle, over MCP shorter than elsewhere. */
const failed = (code: string, error: string, data: unknown): Outcome => ({
  code,
  error: error.replace(/^(.{16}).*…[^']*/s, "$1…"),
  data: data ?? {},
});

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) as unknown;

async function inTurn(calls: readonly ParityCall[], make: (call: ParityCall) => Promise<Outcome>): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const call of calls) outcomes.push(await make(call));
  return outcomes;
}

export const library: Surface = async (ground, calls, narrowed) => {
  const files = await createFileAdapter(ground.file);
  const context = narrowed ? { caps: CAPS } : {};
  const outcomes = await inTurn(calls, async ({ operation, input }) => {
    try {
      return { code: "OK", output: plain(await files.invoke(operation, input, context)) };
    } catch (error) {
      if (!(error instanceof FileAdapterError)) throw error;
      return failed(error.code, error.message, plain(error.data));
    }
  });
  await files.close();
  return outcomes;
};

export const commandLine: Surface = async (ground, calls, narrowed) => {
  const caps = join(ground.folder, "caps.json5");
  writeFileSync(caps, JSON.stringify(CAPS));
  const options = ["--config", ground.config, ...(narrowed ? ["--caps", caps] : [])];
  return inTurn(calls, async ({ operation, input }) => {
    const { status, stdout, stderr } = await runHere(["call", operation, JSON.stringify(input), ...options]);
    if (status === 0 && stderr === "") return { code: "OK", output: JSON.parse(stdout) as unknown };
    if (status !== 1 || stdout !== "") throw new Error(`${operation}: ${status} ${stdout} ${stderr}`);
    const { error, errorCode, errorData } = JSON.parse(stderr) as Record<string, string>;
    return failed(errorCode ?? "", error ?? "", errorData);
  });
};

export const http: Surface = async (ground, calls, narrowed) => {
  const served = await serve(["--config", ground.config]);
  const outcomes = await inTurn(calls, async ({ operation, input }) => {
    const call = { operation, input, wait: true, ...(narrowed ? { caps: CAPS } : {}) };
    const response = await invoke(served.url, call);
    if (response.status !== 201) throw new Error(`${operation}: ${response.status} ${await response.text()}`);
    const job = (await response.json()) as Record<string, string>;
    if (job["status"] === "COMPLETE") return { code: "OK", output: job["output"] };
    return failed(job["errorCode"] ?? "", job["error"] ?? "", job["errorData"]);
  });
  await served.stop();
  return outcomes;
};

/** The client behind `--url`. */
export const remote: Surface = async (ground, calls, narrowed) => {
  const served = await serveHere(["--config", ground.config]);
  const { signal } = new AbortController();
  const caps = narrowed ? CAPS : undefined;
  const venue = new HttpCalls({ url: served.url, token: undefined, ucans: [], caps, signal });
  const outcomes = await inTurn(calls, async ({ operation, input }) => {
    try {
      return { code: "OK", output: plain(await venue.run(operation, input)) };
    } catch (error) {
      if (!(error instanceof FileAdapterError)) throw error;
      return failed(error.code, error.message, plain(error.data));
    }
  });
  await served.stop();
  return outcomes;
};

export const mcp: Surface = async (ground, calls, narrowed) => {
  const caps = join(ground.folder, "caps.json5");
  writeFileSync(caps, JSON.stringify(CAPS));
  const raw = await startRaw(["--config", ground.config, ...(narrowed ? ["--caps", caps] : [])]);
  const outcomes = await inTurn(calls, (call) =>
    outcomeOfTool(call, async (name, input) => (await raw.call(name, input)).result as ToolAnswer),
  );
  await raw.process.stop();
  return outcomes;
};

type ToolAnswer = NonNullable<RawAnswer["result"]>;

/** Makes a call by its tool. */
export async function outcomeOfTool(
  { operation, input }: ParityCall,
  call: (name: string, input: unknown) => Promise<ToolAnswer>,
): Promise<Outcome> {
  const name = operation.replace(":", "_");
  // Lists are text for a model unless it asks for what other surfaces answer.
  const result = await call(name, name === "file_list" ? { ...(input as object), format: "json" } : input);
  if (result.isError !== true) return { code: "OK", output: outputOf(name, input, result) };
  const error = result._meta?.["venue-files/error"] as { errorCode: string; errorData: unknown };
  return failed(error.errorCode, plainText(textOf(result), error.errorCode), error.errorData);
}

/** The output of the operation, put together from the places where a tool's answer has it. */
function outputOf(name: string, input: unknown, answer: ToolAnswer): unknown {
  if (answer.structuredContent !== undefined) return answer.structuredContent;
  const [block = {}] = answer.content;
  const rest = restOf(answer) as object | undefined;
  if (name === "file_list") return JSON.parse(textOf(answer));
  // The files, an empty line, the diff.
  if (name === "file_patch") return { diff: textOf(answer).split(/\n\n(.*)/s)[1] ?? "", ...rest };
  if (name === "file_tree") return { tree: textOf(answer), ...rest };
  if ((input as { mode?: string }).mode === "json") return { value: JSON.parse(textOf(answer)) as unknown, ...rest };
  const resource = block["resource"] as { blob: string } | undefined;
  const content = String(block["text"] ?? block["data"] ?? resource?.blob);
  // Some hosts refuse an empty text, so a note stands in its place.
  const isEmpty = /^(Empty file|Past the end: the file has \d+ (bytes|lines?))\b/.test(content);
  return { content: isEmpty ? "" : content, ...rest };
}
