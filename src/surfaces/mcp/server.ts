// The MCP server by the SDK: for every protocol generation and whatever a client asks.

import {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type StandardSchemaV1,
  specTypeSchemas,
} from "@modelcontextprotocol/server";
import type { ClientQuestion } from "../../core/ports/effect.js";
import type { DetachedCall } from "./detached-calls.js";
import type { McpHost } from "./host.js";
import { progressNotes } from "./progress.js";
import { ANSWER_MS, answerIn, canAsk, createQuestion } from "./questions.js";
import { createToolCalls, type MemoryOf } from "./tool-calls.js";

type RequestId = string | number;

export interface McpServerOptions {
  readonly memoryOf?: MemoryOf;
  /** Keeps calls from being cancelled with their connection. Absent: they are. */
  readonly detached?: { start(id: RequestId): DetachedCall; cancel(id: RequestId): void };
}

/** Creates an MCP server whose tools are the venue's operations; one per connection or stateless request. */
export function createMcpServer(host: McpHost, options: McpServerOptions = {}): Server {
  const { memoryOf = () => undefined, detached } = options;
  const server = new CheckedServer(host.serverInfo, {
    capabilities: { tools: {} },
    instructions: host.instructions,
    inputRequired: { roundTimeoutMs: ANSWER_MS },
  });
  const { list, call } = createToolCalls(host, memoryOf);
  server.setRequestHandler("tools/list", list);
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const { mcpReq } = context;
    const { id, signal } = mcpReq;
    const request = { id, name: params.name, args: params.arguments ?? {}, progress: progressNotes(mcpReq) };
    const answered = answerIn(context);
    let question: ClientQuestion | undefined;
    const onQuestion = (asked: ClientQuestion): void => {
      question = asked;
    };
    // Whoever dismissed the question is not asked again.
    const mayAsk = host.asksUsers === true && answered?.answer !== "dismissed";
    const questionPart = mayAsk && canAsk(context, server.getClientCapabilities()) ? { onQuestion } : {};
    const own = detached?.start(id);
    try {
      const result = await call({
        ...request,
        ...questionPart,
        answered,
        signal: own?.signal ?? signal,
        ended: own?.end,
      });
      return result.isError === true && question !== undefined ? createQuestion(question) : result;
    } catch (error) {
      // Nothing was started.
      own?.end();
      throw error;
    }
  });
  if (detached !== undefined) {
    server.setNotificationHandler("notifications/cancelled", ({ params }) => {
      if (params.requestId !== undefined) detached.cancel(params.requestId);
    });
  }
  return server;
}

/** Requests for which the SDK answers malformed parameters with an internal error. */
const SCHEMAS = new Map<string, StandardSchemaV1>([
  ["initialize", specTypeSchemas.InitializeRequest],
  ["tools/list", specTypeSchemas.ListToolsRequest],
]);

/** The SDK's server, except that malformed parameters are answered with -32602, naming the first invalid one. */
class CheckedServer extends Server {
  protected override _wrapHandler(
    ...[method, handler]: Parameters<Server["_wrapHandler"]>
  ): ReturnType<Server["_wrapHandler"]> {
    const handle = super._wrapHandler(method, handler);
    const schema = SCHEMAS.get(method)?.["~standard"];
    if (schema === undefined) return handle;
    return async (request, context) => {
      const { issues } = await schema.validate(request);
      if (issues === undefined) return handle(request, context);
      const [first] = issues;
      const at = (first?.path ?? []).map((step) => String(typeof step === "object" ? step.key : step)).join(".");
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Invalid ${method} request: ${at}: ${first?.message}`);
    };
  }
}
