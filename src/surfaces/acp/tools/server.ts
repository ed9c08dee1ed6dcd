// MCP over ACP: the server of tools that one session declares, the requests that its agent sends it (`mcp/message`), and how a call
// becomes a call of the file adapter within the session's directories.

import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { type ClientContext, type McpServer, RequestError } from "@agentclientprotocol/sdk";
import { adapterError, FileAdapterError } from "../../../core/errors/errors.js";
import { invalidInput, pathText } from "../../../core/errors/texts.js";
import type { OperationMetadata, SurfaceContext } from "../../../core/ports/adapter.js";
import { fieldsOf, isObject } from "../../../core/unknown.js";
import type { RootsOutput } from "../../../schema/types.js";
import { packageVersion } from "../../../version.js";
import type { McpHost, ToolCall } from "../../mcp/host.js";
import { serveRequest } from "../../mcp/methods.js";
import { advertisedTool } from "../../mcp/offer/advertised-tool.js";
import { EVERYDAY, instructions, READ_BUDGET } from "../../mcp/offer/everyday.js";
import { toolInput } from "../../mcp/offer/tool-input.js";
import type { Served } from "../../mcp/tool-calls.js";
import { type FileCalls, type FilePlace, isByPath } from "../files/files.js";
import { findPlace, type Mount } from "../files/mounts.js";
import { unsavedAt } from "../files/read-text.js";
import { type AcpSession, audit, type Peer, type ToolServer } from "../protocol/handlers.js";
import { CLIENT_NAME } from "../protocol/negotiate.js";
import type { Reach } from "../protocol/session.js";
import { Rejected } from "../review/approval.js";
import type { Trace } from "../review/audit.js";
import { change, type ToolRun } from "./change.js";

const METHOD = "mcp/message";
/** Errors of the binding, apart from those of MCP inside an answer. */
const UNAVAILABLE = -33001;
/** Maximum characters of an unknown id that is repeated. */
const MAX_SHOWN_ID = 200;

interface RunningServer extends ToolServer {
  readonly by: Served;
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
  const server: RunningServer = {
    declaration: { type: "acp", name: CLIENT_NAME, serverId } as unknown as McpServer,
    by: { host: toolHost(peer, offered, bound), memoryOf: () => undefined, takesBytes: false },
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
  const server = peer.tools.get(serverId) as RunningServer | undefined;
  const data = { serverId: serverId.slice(0, MAX_SHOWN_ID) };
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
    const outcome = await serveRequest(request, { era: "modern", signal, note }, server.by);
    if (signal.aborted) throw RequestError.requestCancelled();
    // The call of a tool tells of itself, but not where it is none.
    if ("error" in outcome && method === "tools/call") refused("INVALID_PARAMS", RequestError.invalidParams());
    return outcome;
  } finally {
    server.running.delete(requestId);
  }
}

/** Places of a session that is about to be opened. */
interface OfferedTools {
  readonly reach: readonly Reach[];
  readonly mounts: readonly Mount[];
}

function toolHost(peer: Peer, offered: OfferedTools, session: () => Promise<AcpSession>): McpHost {
  const { operations = [] } = peer.host.adapter;
  const { reach, mounts } = offered;
  const roots = new Set(reach.map(({ place: [root = ""] }) => root));
  const [first] = roots;
  const onlyRoot = roots.size === 1 ? first : undefined;
  const isWritable = mounts.some(({ root, readOnly }) => roots.has(root) && !readOnly);
  const tools = EVERYDAY.flatMap((one) => operations.find((tool) => tool.name === one) ?? []).filter(
    ({ changes }) => isWritable || !changes,
  );
  const offers = (operation: string): boolean => tools.some((tool) => tool.name === operation);
  const budget = { ...READ_BUDGET, offers };
  return {
    serverInfo: { name: CLIENT_NAME, version: packageVersion() },
    instructions: `${instructions(onlyRoot !== undefined)} ${directoriesText(reach)}`,
    tools,
    maxWaitMs: undefined,
    advertised: (tool) => advertisedTool(tool, { isBrief: true, hasOnlyRoot: onlyRoot !== undefined }),
    inputOf: (tool, given) => toolInput(tool, located(given, mounts), onlyRoot),
    // Calls have no records: they cannot outlive the session.
    submit: (call, signal) => ({
      id: randomUUID(),
      // The binding cancels by a whole signal.
      result: run({ peer, offered, tools, budget, session }, call, signal as AbortSignal),
    }),
    logInternal: (err) => peer.host.log.error({ err }, "internal error"),
  };
}

/** The directories by both names: agents know them by absolute paths. */
const directoriesText = (reach: readonly Reach[]): string =>
  `Absolute paths below these directories are taken too: ${reach
    .map(({ at, place: [root = "", ...below] }) => `/${at.join("/")} is "${below.join("/")}" in root ${root}`)
    .join("; ")}.`;

/** Absolute paths, and references to files in the roots, as roots and paths in them. */
function located(
  given: Readonly<Record<string, unknown>>,
  mounts: readonly Mount[],
): Readonly<Record<string, unknown>> {
  let found = given;
  for (const [path, root] of PLACES) {
    const sent = given[path];
    const place = typeof sent === "string" ? placeOf(sent, mounts) : undefined;
    const isMeant = place !== undefined && (given[root] ?? place.root) === place.root;
    if (isMeant) found = { ...found, [root]: place.root, [path]: place.path };
  }
  return found;
}

const PLACES = [
  ["path", "root"],
  ["from", "root"],
  ["to", "toRoot"],
] as const;

function placeOf(sent: string, mounts: readonly Mount[]): FilePlace | undefined {
  if (sent.startsWith("/")) return findPlace(mounts, sent);
  const [, root, path = ""] = /^file:\/{1,2}([^/]+)(?:\/(.*))?$/s.exec(sent) ?? [];
  return root !== undefined && mounts.some((one) => one.root === root) ? { root, path } : undefined;
}

/** State shared by the tools of one session. */
interface Offering {
  readonly peer: Peer;
  readonly offered: OfferedTools;
  readonly tools: readonly OperationMetadata[];
  readonly budget: SurfaceContext["budget"];
  session(): Promise<AcpSession>;
}

/** @throws FileAdapterError, told in the words of the session */
async function run(
  { peer, offered, tools, budget, session }: Offering,
  { operation, input: given, ucans, report }: ToolCall,
  signal: AbortSignal,
): Promise<unknown> {
  const input = fieldsOf(given);
  const shown = (name: string): object =>
    typeof input[name] === "string" ? { [name]: input[name].slice(0, MAX_SHOWN) } : {};
  const trace: Trace = { sessionId: "", bytes: 0, ...shown("root"), ...shown("path") };
  const startedMs = peer.host.clock.monotonicMs();
  let outcome = "OK";
  try {
    const { files } = await session();
    trace.sessionId = files.id;
    if (ucans !== undefined)
      throw invalidInput("'ucans' are not taken here: the host says who calls", "/ucans", "nothing");
    // Tools take paths as models write them, as over other connections.
    const { exactPaths: _, ...own } = files.calls.context(signal);
    const context: SurfaceContext = { ...own, budget, report };
    const calls: FileCalls = { ...files.calls, context: () => context };
    const toolRun: ToolRun = { session: files, operation, input, calls, signal, trace };
    const isChange = tools.find(({ name }) => name === operation)?.changes === true;
    return isChange ? await change(toolRun, offered.mounts) : await look(toolRun, offered);
  } catch (error) {
    outcome = error instanceof Rejected ? "REJECTED" : error instanceof FileAdapterError ? error.code : "INTERNAL";
    throw told(error, input["path"]);
  } finally {
    audit(peer, { method: operation, outcome, startedMs, trace });
  }
}

const MAX_SHOWN = 4096;

function told(error: unknown, path: unknown): unknown {
  if (error instanceof Rejected) {
    return adapterError("APPROVAL_DENIED", "The user does not allow this. Do not ask again without a reason", {});
  }
  // Where a link leads is nothing that the agent may know.
  if (!isByPath(error)) return error;
  const shown = typeof path === "string" ? `: "${pathText(path)}"` : "";
  return adapterError("CAPABILITY_DENIED", `Path is outside the session's directories${shown}`, {});
}

/** A call that changes nothing. Open buffers are read in place of their files. */
async function look(
  { session, operation, input, calls, signal, trace }: ToolRun,
  offered: OfferedTools,
): Promise<unknown> {
  const { root, path, version } = input;
  const isShown = operation === "file:read" && typeof root === "string" && typeof path === "string";
  const unsaved =
    isShown && version === undefined ? await unsavedAt(session, calls, { root, path }, signal) : undefined;
  const output = await calls.adapter.invoke(operation, input, { ...calls.context(signal), terms: unsaved?.terms });
  if (operation === "file:read") {
    const { length, size } = fieldsOf(output);
    trace.bytes = Number(length ?? size ?? 0);
  }
  return operation === "file:roots" ? rootsOutput(output as RootsOutput, offered) : output;
}

/** Roots as agents know them: by the paths of their mounts. */
function rootsOutput({ roots, ...rest }: RootsOutput, { reach, mounts }: OfferedTools): RootsOutput {
  const seen = roots.filter(({ name }) => reach.some(({ place: [root] }) => root === name));
  const pathOf = (name: string): string => `/${mounts.find(({ root }) => root === name)?.prefix.join("/") ?? ""}`;
  return { ...rest, roots: seen.map((one) => ({ ...one, path: pathOf(one.name) })) };
}
