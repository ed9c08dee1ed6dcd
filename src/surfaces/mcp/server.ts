import { ProtocolError, ProtocolErrorCode, type Server, type Tool } from "@modelcontextprotocol/server";
import { FileAdapterError } from "../../core/errors/errors.js";
import { Overloaded } from "../../core/errors/overload.js";
import { escapeText, internalError, timedOut } from "../../core/errors/texts.js";
import type { MemoryLease } from "../../core/memory.js";
import type { OperationMetadata } from "../../core/ports/adapter.js";
import type { StartedJob } from "../../core/ports/job.js";
import { answer, failure } from "./answer.js";
import { CheckedServer } from "./checked-server.js";
import type { McpHost, ToolCall } from "./host.js";

/** What a request and its answer may take, by its id; `undefined`: nobody counts. */
export type MemoryOf = (id: string | number) => MemoryLease | undefined;

/** An MCP server whose tools are the operations of a venue; one for each connection or stateless request. */
export function createMcpServer(host: McpHost, memoryOf: MemoryOf = () => undefined): Server {
  const server = new CheckedServer(host.serverInfo, { capabilities: { tools: {} }, instructions: host.instructions });
  const tools = new Map(host.tools.map((tool) => [tool.toolName, tool]));
  server.setRequestHandler("tools/list", () => ({
    tools: host.tools.filter((tool) => tool.unavailable?.() === undefined).map(advertise),
  }));
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const tool = tools.get(params.name);
    if (tool === undefined) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${escapeText(params.name)}`);
    }
    const { input, ucans } = splitTokens(params.arguments ?? {});
    const memory = memoryOf(context.mcpReq.id);
    const job = submit(host, { operation: tool.name, input, ucans, memory }, context.mcpReq.signal);
    // It may go on when nobody waits for it any more.
    if (memory !== undefined) keep(memory, job);
    try {
      return answer(tool, await outcome(job, host.maxWaitMs), { input, jobId: job.id });
    } catch (error) {
      if (error instanceof FileAdapterError) return failure(error, job.id);
      // An answer that JSON cannot hold, for example: nothing of such an error is for the caller.
      host.logInternal(error, job.id);
      return failure(internalError(job.id), job.id);
    }
  });
  return server;
}

function keep(memory: MemoryLease, { result }: StartedJob): void {
  const letGo = memory.share();
  result.then(letGo, letGo);
}

/** @throws ProtocolError when there is too much to do already; nothing has been done then, and it can be tried again */
function submit(host: McpHost, call: ToolCall, signal: AbortSignal): StartedJob {
  try {
    return host.submit(call, signal);
  } catch (error) {
    if (error instanceof Overloaded) throw new ProtocolError(ProtocolErrorCode.InternalError, error.message);
    throw error;
  }
}

/** Tokens travel among the arguments; no operation ever sees them. */
function splitTokens(given: Record<string, unknown>): { input: Record<string, unknown>; ucans: unknown } {
  if (!Object.hasOwn(given, "ucans")) return { input: given, ucans: undefined };
  const { ucans, ...input } = given;
  return { input, ucans };
}

function outcome(job: StartedJob, maxWaitMs: number | undefined): Promise<unknown> {
  if (maxWaitMs === undefined) return job.result;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(timedOut(maxWaitMs)), maxWaitMs);
  });
  return Promise.race([job.result, late]).finally(() => clearTimeout(timer));
}

/**
 * The entry of `tools/list`. Extra properties are not forbidden there but refused by the operation, which can say what
 * was meant. Answers with a body have no output schema, since they have no structured content.
 */
function advertise(tool: OperationMetadata): Tool {
  const { additionalProperties: _, ...inputSchema } = tool.input;
  return {
    name: tool.toolName,
    title: tool.title,
    description: tool.description,
    inputSchema: inputSchema as Tool["inputSchema"],
    ...(tool.render === undefined ? { outputSchema: tool.output as NonNullable<Tool["outputSchema"]> } : {}),
    annotations: tool.annotations,
  };
}
