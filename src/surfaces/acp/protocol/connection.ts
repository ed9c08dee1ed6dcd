// One connection to an agent: which version it speaks, and its sessions.

import {
  type ClientApp,
  type ClientConnection,
  type ClientContext,
  type McpServer,
  methods,
  type NewSessionRequest,
  type SessionInfo,
  type Stream,
} from "@agentclientprotocol/sdk";
import { adapterError } from "../../../core/errors/errors.js";
import { findPlace, type Mount } from "../files/mounts.js";
import type { ProtocolChoice, ProtocolVersion } from "../options.js";
import type { Peer, ToolServer } from "./handlers.js";
import {
  type AcpCapabilities,
  type AgentFacts,
  type Agreement,
  connectApp,
  discard,
  negotiate,
  type Offered,
  serversOf,
} from "./negotiate.js";
import { reachOf } from "./session.js";
import { directoriesOf, type SessionDirectories, type Sessions } from "./sessions.js";

/** Parameters of `session/new` and `session/resume`. */
export interface NewSession extends SessionDirectories {
  readonly mcpServers?: readonly McpServer[];
}

/** A connected agent. Whatever is asked of it waits until the version is agreed on. */
export interface AcpConnection {
  /** The version spoken. Rejects if there is none. */
  readonly protocol: Promise<ProtocolVersion>;
  /** How the agent gets at files: by its methods, as MCP tools over the connection, or not at all. */
  readonly files: Promise<"fs" | "mcp" | "none">;
  /** For requests to the agent: `agent.request("session/prompt", …)`. */
  readonly agent: Pick<ClientContext, "request" | "notify">;
  /**
   * Opens a session that reaches only its directories.
   * @throws Error, before it is sent, if a directory is in no mount; RequestError from the agent
   */
  newSession(request: NewSession): Promise<string>;
  /** One page of the sessions that the agent keeps; those outside the mounts are left out. @throws NOT_SUPPORTED */
  listSessions(request?: { readonly cwd?: string; readonly cursor?: string }): Promise<{
    readonly sessions: readonly SessionInfo[];
    readonly nextCursor?: string;
  }>;
  /**
   * Goes on with a session that the agent keeps. What it changed here before can still be undone.
   * @throws as `newSession`; NOT_SUPPORTED
   */
  resumeSession(sessionId: string, request: NewSession): Promise<void>;
  /** Has the agent forget a session, and ends its commands. @throws NOT_SUPPORTED */
  deleteSession(sessionId: string): Promise<void>;
  /** Ends a session that the agent may keep, and its commands. @throws NOT_SUPPORTED */
  endSession(sessionId: string): Promise<void>;
  /** Resolves when the connection ends. The agent's sessions stay registered. */
  readonly closed: Promise<void>;
  /** Closes the connection and ends all commands of the agent. */
  close(): Promise<void>;
}

/** Called with the app once the version is known, before anything of the agent is handled. */
export type Configure = (app: ClientApp, version: ProtocolVersion) => unknown;

interface ConnectionParts {
  readonly peer: Peer;
  readonly sessions: Sessions;
  readonly choice: ProtocolChoice;
  /** Agents of version 1 get tools too. */
  readonly mcp: boolean;
  capabilities(): Promise<AcpCapabilities>;
  /** An app with all handlers of the version. */
  app(version: ProtocolVersion): Promise<ClientApp>;
  readonly configure: Configure;
}

/** The MCP surface, which agents of version 1 do without. */
export const loadTools = () => import("../tools/server.js");

/** Serves tools for a session that is about to be opened. @throws Error if a directory is in no mount */
export async function serveTools(
  peer: Peer,
  directories: SessionDirectories,
  mounts: readonly Mount[],
): Promise<ToolServer> {
  const reach = reachOf(mounts, directoriesOf(directories, mounts));
  return (await loadTools()).serveTools(peer, { reach, mounts });
}

/** A connection with its version. */
interface Opened extends Pick<Agreement, "version"> {
  readonly agent: ClientContext;
  readonly facts: AgentFacts;
  readonly files: "fs" | "mcp" | "none";
  readonly connection: Pick<ClientConnection, "closed" | "close">;
}

export function createConnection(stream: Stream, parts: ConnectionParts): AcpConnection {
  const { peer, sessions } = parts;
  const stop = new AbortController();
  const opened = quiet(open(stream, parts, stop.signal));
  const closed = opened
    .then(({ connection }) => connection.closed)
    .catch(() => {})
    .then(() => sessions.release(peer));
  const agent = {
    request: async (...given: Parameters<ClientContext["request"]>) => (await opened).agent.request(...given),
    notify: async (...given: Parameters<ClientContext["notify"]>) => (await opened).agent.notify(...given),
  } as AcpConnection["agent"];
  const require = async (offer: Offered): Promise<void> => {
    if ((await opened).facts.offers(offer)) return;
    throw adapterError("NOT_SUPPORTED", `The agent offers no sessions to ${offer}`, {});
  };
  const end = async (sessionId: string, offer: "delete" | "close"): Promise<void> => {
    await require(offer);
    await agent.request(methods.agent.session[offer], { sessionId });
    await sessions.detach(peer, sessionId);
  };
  return {
    agent,
    closed,
    protocol: quiet(opened.then(({ version }) => version)),
    files: quiet(opened.then(({ files }) => files)),
    newSession: (request) => newSession(parts, opened, request),
    async listSessions(request = {}) {
      await require("list");
      const { mounts } = await peer.ready();
      const page = await agent.request(methods.agent.session.list, { ...request });
      const { sessions: all, nextCursor: next } = page;
      return { sessions: all.filter((one) => isIn(mounts, one)), ...(next ? { nextCursor: next } : {}) };
    },
    async resumeSession(sessionId, request) {
      directoriesOf(request, (await peer.ready()).mounts);
      await require("resume");
      await resumeSession(parts, opened, { sessionId, request });
    },
    deleteSession: (sessionId) => end(sessionId, "delete"),
    endSession: (sessionId) => end(sessionId, "close"),
    async close() {
      stop.abort();
      await opened.then(({ connection }) => connection.close()).catch(() => {});
      await closed;
    },
  };
}

/** Nobody has to wait for it: who does is told of a failure. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

/** @throws RequestError; Error if the agent speaks another version */
async function open(stream: Stream, parts: ConnectionParts, signal: AbortSignal): Promise<Opened> {
  const { peer, choice, configure } = parts;
  const agreed = await negotiate(stream, { choice, capabilities: await parts.capabilities() }, signal);
  const { version, agent: facts } = agreed;
  peer.agent = facts.name;
  try {
    const app = await parts.app(version);
    configure(app, version);
    const connection = await connectApp(app, agreed);
    if (signal.aborted) connection.close();
    const hasTools = peer.host.adapter.operations !== undefined;
    const takesTools = facts.takesTools && hasTools && (version !== 1 || parts.mcp);
    const files = takesTools ? "mcp" : version === 1 ? "fs" : "none";
    if (files === "none")
      peer.host.log.warn({ agent: facts.name }, "the agent gets no files: it takes no MCP over ACP");
    return { version, facts, files, agent: connection.agent, connection };
  } catch (error) {
    discard(agreed.stream);
    throw error;
  }
}

/** The part of a request that both ways to a session have in common. */
function requestOf(
  { cwd, additionalDirectories = [], mcpServers = [] }: NewSession,
  { facts, version }: Opened,
  tools: ToolServer | undefined,
): NewSessionRequest {
  // Additional directories are sent only to agents that announce support; the session reaches them either way.
  const takesDirectories = additionalDirectories.length > 0 && facts.offers("additionalDirectories");
  return {
    cwd,
    mcpServers: [...serversOf(mcpServers, version), ...(tools === undefined ? [] : [tools.declaration])],
    ...(takesDirectories ? { additionalDirectories: [...additionalDirectories] } : {}),
  };
}

async function newSession(parts: ConnectionParts, opening: Promise<Opened>, request: NewSession): Promise<string> {
  const { peer, sessions } = parts;
  const { opened, tools, mounts } = await prepared(parts, opening, request);
  peer.opening++;
  try {
    const params = requestOf(request, opened, tools);
    const { sessionId } = await opened.agent.request(methods.agent.session.new, params);
    sessions.add(peer, sessionId, { directories: request, mounts, tools });
    return sessionId;
  } catch (error) {
    tools?.close();
    throw error;
  } finally {
    peer.opening--;
  }
}

async function resumeSession(
  parts: ConnectionParts,
  opening: Promise<Opened>,
  { sessionId, request }: { readonly sessionId: string; readonly request: NewSession },
): Promise<void> {
  const { opened, tools, mounts } = await prepared(parts, opening, request);
  // The agent may use its files as it resumes.
  const settle = parts.sessions.resume(parts.peer, sessionId, { directories: request, mounts, tools });
  let isDone = false;
  try {
    const params = { sessionId, ...requestOf(request, opened, tools) };
    await opened.agent.request(methods.agent.session.resume, params);
    isDone = true;
  } finally {
    await settle(isDone);
  }
}

/** @throws Error if a directory is in no mount */
async function prepared(parts: ConnectionParts, opening: Promise<Opened>, request: NewSession) {
  const { mounts } = await parts.peer.ready();
  directoriesOf(request, mounts);
  const opened = await opening;
  return { mounts, opened, tools: opened.files === "mcp" ? await serveTools(parts.peer, request, mounts) : undefined };
}

function isIn(mounts: readonly Mount[], session: SessionDirectories): boolean {
  return [session.cwd, ...(session.additionalDirectories ?? [])].every((path) => findPlace(mounts, path) !== undefined);
}
