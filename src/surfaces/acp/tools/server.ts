// MCP over ACP: the server of tools that one session declares, and the requests that its agent sends it (`mcp/message`).

import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { type ClientContext, type McpServer, RequestError } from "@agentclientprotocol/sdk";
import { adapterError } from "../../../core/errors/errors.js";
import { fieldsOf, isObject } from "../../../core/unknown.js";
import { Methods } from "../../mcp/methods.js";
import { type AcpSession, audit, type Peer, type ToolServer } from "../protocol/handlers.js";
import { CLIENT_NAME } from "../protocol/negotiate.js";
import { type OfferedTools, toolHost } from "./host.js";

const METHOD = "mcp/message";
/** Errors of the binding, apart from those of MCP inside an answer. */
const UNAVAILABLE = -33001;
/** Maximum characters of an unknown id that is repeated. */
const MAX_SHOWN = 200;

interface Served extends ToolServer {
  readonly methods: Methods;
  /** Ids of requests that are not answered yet. */
  readonly running: Set<string>;
  readonly signal: AbortSignal;
}

/** Registers a server for a session that is about to be opened. */
export function serveTools(peer: Peer, offered: OfferedTools): ToolServer {
  const stop = new AbortController();
  let session: AcpSession | undefined;
  // An agent may list the tools before it answers; a call may come in the same tick as the answer.
  const bound = async (): Promise<AcpSession> => {
    if (session === undefined) await setImmediate();
    if (session !== undefined) return session;
    throw adapterError("BUSY", "The session is not open yet. Call again once its request is answered", {});
  };
  const serverId = randomUUID();
  const server: Served = {
    declaration: { type: "acp", name: CLIENT_NAME, serverId } as unknown as McpServer,
    methods: new Methods(toolHost(peer, offered, bound), () => undefined),
    running: new Set(),
    signal: stop.signal,
    bind(opened) {
      session = opened;
    },
    close() {
      peer.tools.delete(serverId);
      stop.abort();
    },
  };
  peer.tools.set(serverId, server);
  return server;
}

/** A request of an agent, as an app of the SDK hands it on. */
interface Incoming {
  readonly params: unknown;
  readonly signal: AbortSignal;
  readonly agent: Pick<ClientContext, "notify">;
}

/** Answers `mcp/message`. @returns the answer of MCP, which may be an error @throws RequestError of the binding */
export async function answerTools(peer: Peer, { params: sent, signal: cancelled, agent }: Incoming): Promise<object> {
  const { serverId, requestId, method, params } = fieldsOf(sent);
  const startedMs = peer.host.clock.monotonicMs();
  const refused = (outcome: string, error: RequestError): RequestError => {
    audit(peer, { method: METHOD, outcome, startedMs, trace: { sessionId: "", bytes: 0 } });
    return error;
  };
  if (typeof serverId !== "string" || typeof requestId !== "string" || typeof method !== "string") {
    throw refused("INVALID_PARAMS", RequestError.invalidParams());
  }
  const server = peer.tools.get(serverId) as Served | undefined;
  const data = { serverId: serverId.slice(0, MAX_SHOWN) };
  if (server === undefined) {
    throw refused("UNKNOWN_SESSION", new RequestError(UNAVAILABLE, "MCP server registration unavailable", data));
  }
  if (server.running.has(requestId)) throw refused("INVALID_PARAMS", RequestError.invalidParams(data));
  server.running.add(requestId);
  const signal = AbortSignal.any([cancelled, server.signal]);
  try {
    const request = { jsonrpc: "2.0", id: requestId, method, params: isObject(params) ? params : undefined } as const;
    const note = (message: { readonly method: string; readonly params?: unknown }): void => {
      if (!server.running.has(requestId)) return;
      agent.notify(METHOD, { serverId, requestId, method: message.method, params: message.params }).catch(() => {});
    };
    const outcome = await server.methods.outcome(request, { era: "modern", signal, note });
    if (signal.aborted) throw RequestError.requestCancelled();
    // The call of a tool tells of itself, but not where it is none.
    if ("error" in outcome && method === "tools/call") refused("INVALID_PARAMS", RequestError.invalidParams());
    return outcome;
  } finally {
    server.running.delete(requestId);
  }
}
