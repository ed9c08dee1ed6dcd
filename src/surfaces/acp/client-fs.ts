// Entry point of the ACP surface: ties connections, sessions, mounts, editor buffers and undo to one file adapter.

import type { ClientApp, McpServer, Stream } from "@agentclientprotocol/sdk";
import { systemClock } from "../../core/clock.js";
import { silentLog } from "../../core/ports/log.js";
import { Turns } from "../../core/turns.js";
import { openBuffer, saveBuffer } from "./files/buffer-files.js";
import { rootsOf } from "./files/files.js";
import { findPlace, namesDirectory, placeMounts } from "./files/mounts.js";
import { takeBack } from "./files/take-back.js";
import type { AcpLimits, AcpOptions, ProtocolVersion } from "./options.js";
import { type AcpConnection, type Configure, createConnection, loadTools, serveTools } from "./protocol/connection.js";
import { registerElicitation } from "./protocol/elicitation.js";
import { type Peer, type Ready, registerHandlers } from "./protocol/handlers.js";
import { type AcpCapabilities, newApp, newApp1 } from "./protocol/negotiate.js";
import { type FileSession, type Host, keyOf } from "./protocol/session.js";
import { type SessionDirectories, Sessions } from "./protocol/sessions.js";
import { canRun } from "./protocol/terminals.js";
import type { Modified, ShownPlace } from "./review/modified.js";
import { unifiedDiff } from "./review/unified.js";

const LIMITS = {
  undoEntries: 1000,
  undoBytes: 67_108_864,
  terminals: 8,
  terminalTimeoutMs: 3_600_000,
} satisfies AcpLimits;

/**
 * Serves files to agents of the Agent Client Protocol: version 1 by its methods `fs/*` and `terminal/*`, version 2 as MCP
 * tools over the connection. All paths are absolute, as agents see them. The caller owns the adapter and closes it.
 * @example
 * const acp = new AcpClientFs({ adapter, mounts: [{ root: "docs" }], approve: async ({ diff }) => ask(diff) });
 * const { agent, newSession } = acp.connect(ndJsonStream(toAgent, fromAgent));
 * const sessionId = await newSession({ cwd: "/work/docs" });
 */
export class AcpClientFs {
  readonly #options: AcpOptions;
  readonly #host: Host;
  readonly #sessions: Sessions;
  readonly #peers = new WeakMap<ClientApp, Peer>();
  readonly #connections = new Set<AcpConnection>();
  #ready: Promise<Ready> | undefined;

  /** @throws Error if `mounts` is empty */
  constructor(options: AcpOptions) {
    if (options.mounts.length === 0) throw new Error("'mounts' must name at least one root");
    const limits = { ...LIMITS, ...options.limits };
    this.#options = options;
    this.#host = hostOf(options, limits);
    const { terminals: most, terminalTimeoutMs: timeoutMs } = limits;
    this.#sessions = new Sessions(this.#host, { runs: options.terminals, most, timeoutMs });
  }

  /** The `clientCapabilities` for hosts that send `initialize` themselves. @throws Error if a mount is invalid */
  async capabilities(): Promise<AcpCapabilities> {
    const { readTextFile, writeTextFile, terminal } = (await this.#waitForClient()).offer;
    const { elicit, elicitUrl } = this.#options;
    const elicitation = { form: {}, ...(elicitUrl === true ? { url: {} } : {}) };
    return { fs: { readTextFile, writeTextFile }, terminal, ...(elicit === undefined ? {} : { elicitation }) };
  }

  /**
   * Connects to one agent, and agrees with it on a version.
   * @param configure registers further handlers, for example for `session/update` and `session/request_permission`; in
   * version 2 they are those of the SDK's `experimental/v2`
   */
  connect(stream: Stream, configure: Configure = () => {}): AcpConnection {
    const peer = this.#newPeer();
    const connection = createConnection(stream, {
      ...{ peer, configure, sessions: this.#sessions, choice: this.#options.protocol ?? "auto" },
      mcp: this.#options.mcp === true,
      capabilities: () => this.capabilities(),
      app: async (version) => this.#register(await newApp(version), peer, version),
    });
    this.#connections.add(connection);
    void connection.closed.then(() => this.#connections.delete(connection));
    return connection;
  }

  /**
   * A client app with all handlers, for hosts that connect it themselves (once) and register its sessions with {@link
   * addSession}.
   */
  app(options?: { readonly protocol: 1 }): ClientApp;
  /** One of the SDK's `experimental/v2`. */
  app(options: { readonly protocol: 2 }): Promise<ClientApp>;
  app({ protocol }: { readonly protocol: ProtocolVersion } = { protocol: 1 }): ClientApp | Promise<ClientApp> {
    const peer = this.#newPeer();
    if (protocol === 1) return this.#register(newApp1(), peer, protocol);
    return newApp(protocol).then((app) => this.#register(app, peer, protocol));
  }

  /**
   * Registers a session that the host has opened over `app`, so that its agent can use it.
   * @param directories `tools`: what {@link declareTools} has answered for it
   * @throws Error if a directory is outside the mounts, the id is already registered, or `app` belongs to another
   * instance
   */
  async addSession(
    app: ClientApp,
    sessionId: string,
    directories: SessionDirectories & { readonly tools?: McpServer },
  ): Promise<void> {
    const peer = this.#peerOf(app);
    const { mounts } = await this.#waitForClient();
    const tools = [...peer.tools.values()].find(({ declaration }) => declaration === directories.tools);
    this.#sessions.add(peer, sessionId, { directories, mounts, tools });
  }

  /**
   * Serves tools for a session that the host is about to open over `app`, with an agent that takes MCP over ACP.
   * @returns what to send in its `mcpServers`
   * @throws Error as `addSession`
   */
  async declareTools(app: ClientApp, directories: SessionDirectories): Promise<McpServer> {
    const { mounts } = await this.#waitForClient();
    return (await serveTools(this.#peerOf(app), directories, mounts)).declaration;
  }

  /**
   * Ends the commands of a session and drops its buffers and change history.
   * @throws Error if the session is unknown
   */
  async closeSession(sessionId: string): Promise<void> {
    await this.#sessions.remove(sessionId);
  }

  /**
   * Opens an editor buffer: the session's agent reads this text instead of the file.
   * @param options `dirty`: the buffer has unsaved changes; default: whether `text` differs from the file
   * @throws FileAdapterError; Error if the session is unknown or the path names no file in a mount
   */
  async openBuffer(
    sessionId: string,
    path: string,
    text: string,
    options: { readonly dirty?: boolean } = {},
  ): Promise<void> {
    const { files, place } = await this.#fileIn(sessionId, path);
    await openBuffer(files, place, { text, dirty: options.dirty });
  }

  /** Replaces the text of an open buffer and marks it dirty. @throws Error if no buffer is open for the path */
  async changeBuffer(sessionId: string, path: string, text: string): Promise<void> {
    const { files, place } = await this.#fileIn(sessionId, path);
    if (!files.buffers.change(place.key, text)) throw new Error("There is no open buffer of that path");
  }

  /**
   * Writes the buffer to the file.
   * @throws CONFLICT if the file has changed since the buffer was opened or saved (the buffer stays open); Error if no
   * buffer is open for the path
   */
  async saveBuffer(sessionId: string, path: string): Promise<void> {
    const { files, place } = await this.#fileIn(sessionId, path);
    await saveBuffer(files, place);
  }

  /** Closes the buffer: the agent reads the file again. Unsaved text is discarded. */
  async closeBuffer(sessionId: string, path: string): Promise<void> {
    const { files, place } = await this.#fileIn(sessionId, path);
    files.buffers.close(place.key);
  }

  /** Files changed in a session, each with its first old text and its latest new text. */
  modified(sessionId: string): readonly Modified[] {
    return this.#sessions.get(sessionId).files.changes.modified.list();
  }

  /** One entry of {@link modified} as a unified diff; `""` if the file has not changed. */
  async diff(sessionId: string, path: string): Promise<string> {
    const { files, place } = await this.#fileIn(sessionId, path);
    const found = files.changes.modified.of(place.key);
    if (found?.omitted === true) return `--- ${found.path}\n+++ ${found.path}\n... too large to show ...\n`;
    return found === undefined ? "" : unifiedDiff(found.path, found.oldText, found.newText, found.overwrites);
  }

  /**
   * Undoes the last change.
   * @returns the path of the changed file; `undefined` if there is nothing to undo
   * @throws CONFLICT, leaving the file as it is, if the file has changed since or the overwritten content was not kept
   */
  undo(sessionId: string): Promise<string | undefined> {
    return takeBack(this.#sessions.get(sessionId).files, "undo");
  }

  /** Redoes the change undone last. Result and errors as for {@link undo}. */
  redo(sessionId: string): Promise<string | undefined> {
    return takeBack(this.#sessions.get(sessionId).files, "redo");
  }

  /** Closes all connections and ends all commands. */
  async close(): Promise<void> {
    await Promise.all([...this.#connections].map((connection) => connection.close()));
    await this.#sessions.release();
  }

  #newPeer(): Peer {
    const peer: Peer = {
      agent: undefined,
      opening: 0,
      tools: new Map(),
      host: this.#host,
      onAudit: this.#options.onAudit,
      ready: () => this.#waitForClient(),
      session: (id) => this.#sessions.of(peer, id),
    };
    return peer;
  }

  #register(app: ClientApp, peer: Peer, version: ProtocolVersion): ClientApp {
    const { elicit, elicitUrl = false, mcp = false } = this.#options;
    if (version === 1) registerHandlers(app, peer);
    if (version !== 1 || mcp) {
      app.onRequest(
        "mcp/message",
        (params: unknown) => params,
        async (request) => (await loadTools()).answerTools(peer, request),
      );
    }
    if (elicit !== undefined) registerElicitation(app, peer, { elicit, withUrl: elicitUrl });
    app.onConnect(({ closed }) => void closed.then(() => this.#sessions.release(peer)));
    this.#peers.set(app, peer);
    return app;
  }

  #peerOf(app: ClientApp): Peer {
    const peer = this.#peers.get(app);
    if (peer === undefined) throw new Error("That app was not made here");
    return peer;
  }

  /** Prepared once; a failed attempt is retried on the next call. */
  #waitForClient(): Promise<Ready> {
    this.#ready ??= this.#prepare().catch((error: unknown) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  async #prepare(): Promise<Ready> {
    const { adapter, mounts: wanted, terminals } = this.#options;
    const { base } = this.#host;
    const mounts = placeMounts(wanted, await rootsOf(adapter, base));
    const terminal = terminals !== undefined && (await canRun(this.#host, terminals, mounts));
    const writeTextFile = mounts.some(({ readOnly }) => !readOnly);
    return { mounts, offer: { readTextFile: true, writeTextFile, terminal } };
  }

  /** A session of any connection, and a file in it. @throws Error if there is no such session or mount */
  async #fileIn(sessionId: string, path: string): Promise<{ files: FileSession; place: ShownPlace }> {
    const { files } = this.#sessions.get(sessionId);
    const place = findPlace((await this.#waitForClient()).mounts, path);
    if (place === undefined) throw new Error("That path is in no mount");
    if (namesDirectory(path)) throw new Error("That path names a directory");
    const key = await keyOf(files.calls, place);
    return { files, place: { root: place.root, path: place.path, sent: path, key } };
  }
}

function hostOf(options: AcpOptions, limits: AcpLimits & typeof LIMITS): Host {
  const { adapter, approve, caller, caps, newlines, clock = systemClock, log = silentLog } = options;
  return {
    adapter,
    approve,
    base: { ...caller, ...(caps === undefined ? {} : { caps }) },
    maxReadBytes: limits.maxReadBytes,
    history: { entries: limits.undoEntries, bytes: limits.undoBytes },
    keepsNewlines: newlines === "keep",
    turns: new Turns(),
    clock,
    log,
  };
}
