// One connection to an agent: `initialize` (once) and `session/new`.

import {
  type ClientConnection,
  type ClientContext,
  type Implementation,
  type InitializeRequest,
  type McpServer,
  methods,
} from "@agentclientprotocol/sdk";
import type { Mount } from "../files/mounts.js";
import type { Peer } from "./handlers.js";
import { directoriesOf, type SessionDirectories, type Sessions } from "./sessions.js";

const PROTOCOL_VERSION = 1;
/** Maximum characters kept of an agent's name. */
const MAX_NAME = 200;

/** Parameters of `session/new`. */
export interface NewSession extends SessionDirectories {
  readonly mcpServers?: readonly McpServer[];
}

/** A connected agent. */
export interface AcpConnection {
  /** For requests to the agent: `agent.request("session/prompt", …)`. */
  readonly agent: ClientContext;
  /**
   * Opens a session that reaches only its directories; sends `initialize` before the first one.
   * @throws Error, before anything is sent, if a directory is in no mount; RequestError from the agent
   */
  newSession(request: NewSession): Promise<string>;
  /** Resolves when the connection ends. The agent's sessions stay registered. */
  readonly closed: Promise<void>;
  /** Closes the connection and ends all commands of the agent. */
  close(): Promise<void>;
}

export interface ConnectionParts {
  readonly peer: Peer;
  readonly sessions: Sessions;
  mounts(): Promise<readonly Mount[]>;
  readonly clientInfo: Implementation;
  capabilities(): Promise<AcpCapabilities>;
}

export function createConnection(connection: ClientConnection, parts: ConnectionParts): AcpConnection {
  const { agent } = connection;
  const { peer, sessions } = parts;
  let greeted: Promise<{ readonly takesDirectories: boolean }> | undefined;
  const closed = connection.closed.then(() => sessions.release(peer));
  return {
    agent,
    closed,
    async newSession({ cwd, additionalDirectories = [], mcpServers = [] }) {
      const mounts = await parts.mounts();
      const directories = { cwd, additionalDirectories };
      directoriesOf(directories, mounts);
      greeted ??= greet(connection, parts);
      const { takesDirectories } = await greeted;
      peer.opening++;
      try {
        const { sessionId } = await agent.request(methods.agent.session.new, {
          cwd,
          mcpServers: [...mcpServers],
          ...(takesDirectories && additionalDirectories.length > 0
            ? { additionalDirectories: [...additionalDirectories] }
            : {}),
        });
        sessions.add(peer, sessionId, { directories, mounts });
        return sessionId;
      } finally {
        peer.opening--;
      }
    },
    async close() {
      connection.close();
      await closed;
    },
  };
}

/** @throws RequestError; Error if the agent speaks another protocol version */
async function greet(connection: ClientConnection, { peer, clientInfo, capabilities }: ConnectionParts) {
  const clientCapabilities = await capabilities();
  const request: InitializeRequest = { protocolVersion: PROTOCOL_VERSION, clientCapabilities, clientInfo };
  const { protocolVersion, agentInfo, agentCapabilities } = await connection.agent.request(
    methods.agent.initialize,
    request,
  );
  if (protocolVersion !== PROTOCOL_VERSION) {
    connection.close();
    throw new Error(`The agent speaks version ${protocolVersion} of the protocol, not ${PROTOCOL_VERSION}`);
  }
  peer.agent = agentInfo?.name.slice(0, MAX_NAME);
  // Additional directories are sent only to agents that announce support; the session reaches them either way.
  return { takesDirectories: (agentCapabilities?.sessionCapabilities?.additionalDirectories ?? null) !== null };
}

/** Capabilities announced to agents in `initialize`. */
export interface AcpCapabilities {
  readonly fs: { readonly readTextFile: boolean; readonly writeTextFile: boolean };
  readonly terminal: boolean;
}
