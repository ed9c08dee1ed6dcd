import {
  type ClientConnection,
  type ClientContext,
  type Implementation,
  type InitializeRequest,
  type McpServer,
  methods,
} from "@agentclientprotocol/sdk";
import type { AcpCapabilities } from "../client-fs.js";
import type { Mount } from "../files/mounts.js";
import type { Peer } from "./handlers.js";
import { directoriesOf, type SessionDirectories, type Sessions } from "./sessions.js";

const PROTOCOL_VERSION = 1;
/** Characters of the name of an agent. */
const MAX_NAME = 200;

/** What `session/new` is asked for. */
export interface NewSession extends SessionDirectories {
  readonly mcpServers?: readonly McpServer[];
}

/** One agent, connected. */
export interface AcpConnection {
  /** For requests to the agent: `agent.request("session/prompt", …)`. */
  readonly agent: ClientContext;
  /**
   * Opens a session that reaches its directories and nothing else; greets the agent before the first.
   * @throws Error, before the agent is asked, for a directory in no mount; RequestError of the agent
   */
  newSession(request: NewSession): Promise<string>;
  /** Resolves when the agent is gone. Its sessions stay known. */
  readonly closed: Promise<void>;
  /** Ends all commands of the agent. */
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

/** @throws RequestError; Error where the agent speaks another version */
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
  // An agent that does not say that it takes them is not sent any: it may reach them all the same.
  return { takesDirectories: (agentCapabilities?.sessionCapabilities?.additionalDirectories ?? null) !== null };
}
