// MCP tools of a venue: lists operations as tools and runs tool calls as jobs. Knows nothing of how messages travel.

import type { Abortable } from "../../core/call/scope.js";
import { FileAdapterError, Overloaded } from "../../core/errors/errors.js";
import { escapeText, internalError, timedOut } from "../../core/errors/texts.js";
import type { MemoryLease } from "../../core/memory.js";
import type { JsonObject, OperationMetadata } from "../../core/ports/adapter.js";
import type { ClientQuestion } from "../../core/ports/effect.js";
import type { StartedJob } from "../../core/ports/job.js";
import { answer, failure, outputSchemaOf } from "./answer.js";
import type { McpHost, ToolCall, ToolInput } from "./host.js";
import type { ProgressNotes } from "./progress.js";
import { INTERNAL_ERROR, INVALID_PARAMS, type Params, RequestFault, type RequestId, type ToolResult } from "./wire.js";

/** The server that answers. */
export interface Served {
  readonly host: McpHost;
  /** Memory accounting for a request and its answer, by request id; `undefined` if unlimited. */
  memoryOf(id: RequestId): MemoryLease | undefined;
  /** Results may hold {@link ContentBytes} in place of strings: whoever writes them has to take them. */
  readonly takesBytes: boolean;
}

/** A fault whose details a caller must not see. */
export function internalFault(host: Pick<McpHost, "logInternal">, error: unknown): RequestFault {
  host.logInternal(error, "");
  return new RequestFault(INTERNAL_ERROR, "Internal error");
}

/** An entry of `tools/list`. */
interface ListedTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations: object;
}

/** A `tools/call` request. */
export interface ToolRequest {
  readonly id: RequestId;
  readonly name: string;
  readonly args: Params;
  readonly signal: Abortable;
  /** Absent: the client did not ask for progress. */
  readonly progress?: ProgressNotes | undefined;
  /** Takes what the user is to decide before the call is made again. Absent: the client cannot ask. */
  readonly onQuestion?: ((question: ClientQuestion) => void) | undefined;
  /** The user's answer to such a question. */
  readonly answered?: { readonly token: string; readonly answer: "allowed" | "denied" | "dismissed" } | undefined;
  /** Called when the job has ended, which may be after the answer, or when there is none. */
  readonly ended?: (() => void) | undefined;
}

/** Answers `tools/list`. */
export const listTools = ({ host }: Served): { tools: ListedTool[] } => ({
  tools: host.tools
    .filter((tool) => tool.unavailable?.() === undefined)
    .map((tool) => (host.advertised === undefined ? tool : host.advertised(tool)))
    .filter((tool) => tool !== undefined)
    .map(toListEntry),
});

/** Answers `tools/call`. @throws RequestFault: unknown tool, or the venue is overloaded */
export async function runTool({ host, memoryOf, takesBytes }: Served, request: ToolRequest): Promise<ToolResult> {
  const { id, name, args, signal, progress, onQuestion, answered, ended } = request;
  const tool = host.tools.findLast(({ toolName }) => toolName === name);
  if (tool === undefined) throw new RequestFault(INVALID_PARAMS, `Unknown tool: ${escapeText(name)}`);
  // UCANs travel among the arguments; operations never see them.
  const { ucans, ...given } = args;
  if (ucans !== undefined) await host.fresh?.();
  const { input, shown, root }: ToolInput = host.inputOf?.(tool, given) ?? { input: given, shown: given };
  const memory = memoryOf(id);
  const approval = answered && (await host.answer?.(answered.token, answered.answer, ucans));
  const asBytes = takesBytes && tool.givesBytes === true;
  const call = { operation: tool.name, input, ucans, memory, onQuestion, approval, takesBytes: asBytes };
  const job = startJob(host, { ...call, report: progress?.report }, signal);
  if (ended !== undefined) job.result.then(ended, ended);
  try {
    const output = await outcome(job, host.maxWaitMs);
    return answer(tool, output, { input: shown, jobId: job.id, root });
  } catch (error) {
    if (error instanceof FileAdapterError) return failure(error, tool, { jobId: job.id, root });
    // For example, output that JSON cannot represent; the caller must not see such details.
    host.logInternal(error, job.id);
    return failure(internalError(job.id), tool, { jobId: job.id });
  } finally {
    progress?.end();
  }
}

/**
 * @throws RequestFault -32603 when the venue is overloaded; nothing has been done then, and the call can be retried
 */
export function startJob(host: McpHost, call: ToolCall, signal: Abortable): StartedJob {
  try {
    const job = host.submit(call, signal);
    // The job may outlive the request, so it holds the memory until it ends.
    const letGo = call.memory?.share();
    if (letGo !== undefined) job.result.then(letGo, letGo);
    return job;
  } catch (error) {
    if (error instanceof Overloaded) throw new RequestFault(INTERNAL_ERROR, error.message);
    throw error;
  }
}

/** The output of a job. @throws FileAdapterError, TIMEOUT among them where a call has to wait no longer */
export function outcome(job: StartedJob, maxWaitMs: number | undefined): Promise<unknown> {
  if (maxWaitMs === undefined) return job.result;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const giveUp = () => reject(timedOut(maxWaitMs));
    // The answer tells its id, by which the job is then asked for.
    timer = setTimeout(() => (job.settled?.(0) ?? Promise.resolve()).then(giveUp, giveUp), maxWaitMs);
  });
  return Promise.race([job.result, late]).finally(() => clearTimeout(timer));
}

/**
 * The entry of `tools/list`. `additionalProperties` is left out: the operation itself refuses unknown properties, and
 * can suggest the right name. Tools with rendered bodies have no output schema, since they return no structured
 * content.
 */
function toListEntry(tool: OperationMetadata): ListedTool {
  const { additionalProperties: _, ...inputSchema } = tool.input;
  return {
    name: tool.toolName,
    title: tool.title,
    description: tool.description,
    inputSchema,
    ...(tool.render === undefined ? { outputSchema: outputSchemaOf(tool) } : {}),
    annotations: tool.annotations,
  };
}
