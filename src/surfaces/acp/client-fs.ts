// Entry point of the ACP surface: ties connections, sessions, mounts, editor buffers and undo to one file adapter.

import type { ClientApp, Stream } from "@agentclientprotocol/sdk";
import { systemClock } from "../../core/clock.js";
import { silentLog } from "../../core/ports/log.js";
import { Turns } from "../../core/turns.js";
import { packageVersion } from "../../version.js";
import { openBuffer, saveBuffer } from "./files/buffer-files.js";
import { rootsOf } from "./files/files.js";
import { findPlace, namesDirectory, placeMounts } from "./files/mounts.js";
import { takeBack } from "./files/write-text.js";
import type { AcpLimits, AcpOptions } from "./options.js";
import { PacedApp } from "./paced-stream.js";
import { type AcpCapabilities, type AcpConnection, createConnection } from "./protocol/connection.js";
import { type Peer, type Ready, registerHandlers } from "./protocol/handlers.js";
import { type FileSession, type Host, keyOf } from "./protocol/session.js";
import { type SessionDirectories, Sessions } from "./protocol/sessions.js";
import { canRun } from "./protocol/terminals.js";
import type { Modified, ShownPlace } from "./review/modified.js";
import { unifiedDiff } from "./review/unified.js";

const CLIENT_NAME = "venue-files";
const LIMITS = {
  undoEntries: 1000,
  undoBytes: 67_108_864,
  terminals: 8,
  terminalTimeoutMs: 3_600_000,
} satisfies AcpLimits;

/**
 * Serves the `fs/*` and `terminal/*` methods of the Agent Client Protocol (version 1) to agents. All paths are
 * absolute, as agents see them. The caller owns the adapter and closes it.
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
  #known: Ready | undefined;

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
    return { fs: { readTextFile, writeTextFile }, terminal };
  }

  /**
   * Connects to one agent.
   * @param configure registers further handlers, for example for `session/update` and `session/request_permission`
   */
  connect(stream: Stream, configure: (app: ClientApp) => unknown = () => {}): AcpConnection {
    const { app, peer } = this.#newApp();
    configure(app);
    const connection = createConnection(app.connect(stream), {
      peer,
      sessions: this.#sessions,
      mounts: async () => (await this.#waitForClient()).mounts,
      clientInfo: { name: CLIENT_NAME, version: packageVersion() },
      capabilities: () => this.capabilities(),
    });
    this.#connections.add(connection);
    void connection.closed.then(() => this.#connections.delete(connection));
    return connection;
  }

  /**
   * A client app with all handlers, for hosts that connect it themselves (once) and register its sessions with {@link
   * addSession}.
   */
  app(): ClientApp {
    return this.#newApp().app;
  }

  /**
   * Registers a session that the host has opened over `app`, so that its agent can use it.
   * @throws Error if a directory is outside the mounts, the id is already registered, or `app` belongs to another
   * instance
   */
  async addSession(app: ClientApp, sessionId: string, directories: SessionDirectories): Promise<void> {
    const peer = this.#peers.get(app);
    if (peer === undefined) throw new Error("That app was not made here");
    const { mounts } = await this.#waitForClient();
    this.#sessions.add(peer, sessionId, { directories, mounts });
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
    const { files } = this.#sessions.get(sessionId);
    await openBuffer(files, await this.#place(files, path), { text, dirty: options.dirty });
  }

  /** Replaces the text of an open buffer and marks it dirty. @throws Error if no buffer is open for the path */
  async changeBuffer(sessionId: string, path: string, text: string): Promise<void> {
    const { files } = this.#sessions.get(sessionId);
    const { key } = await this.#place(files, path);
    if (!files.buffers.change(key, text)) throw new Error("There is no open buffer of that path");
  }

  /**
   * Writes the buffer to the file.
   * @throws CONFLICT if the file has changed since the buffer was opened or saved (the buffer stays open); Error if no
   * buffer is open for the path
   */
  async saveBuffer(sessionId: string, path: string): Promise<void> {
    const { files } = this.#sessions.get(sessionId);
    await saveBuffer(files, await this.#place(files, path));
  }

  /** Closes the buffer: the agent reads the file again. Unsaved text is discarded. */
  async closeBuffer(sessionId: string, path: string): Promise<void> {
    const { files } = this.#sessions.get(sessionId);
    files.buffers.close((await this.#place(files, path)).key);
  }

  /** Files changed in a session, each with its first old text and its latest new text. */
  modified(sessionId: string): readonly Modified[] {
    return this.#sessions.get(sessionId).files.changes.modified.list();
  }

  /** One entry of {@link modified} as a unified diff; `""` if the file has not changed. */
  async diff(sessionId: string, path: string): Promise<string> {
    const { files } = this.#sessions.get(sessionId);
    const found = files.changes.modified.of((await this.#place(files, path)).key);
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

  #newApp(): { app: ClientApp; peer: Peer } {
    const sessions = this.#sessions;
    const peer: Peer = {
      agent: undefined,
      opening: 0,
      host: this.#host,
      onAudit: this.#options.onAudit,
      known: () => this.#known,
      ready: () => this.#waitForClient(),
      session: (id) => sessions.of(peer, id),
    };
    const app = registerHandlers(new PacedApp({ name: CLIENT_NAME }), peer);
    app.onConnect(({ closed }) => void closed.then(() => sessions.release(peer)));
    this.#peers.set(app, peer);
    return { app, peer };
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
    this.#known = { mounts, offer: { readTextFile: true, writeTextFile, terminal } };
    return this.#known;
  }

  async #place({ calls }: FileSession, path: string): Promise<ShownPlace> {
    const place = findPlace((await this.#waitForClient()).mounts, path);
    if (place === undefined) throw new Error("That path is in no mount");
    if (namesDirectory(path)) throw new Error("That path names a directory");
    return { root: place.root, path: place.path, sent: path, key: await keyOf(calls, place) };
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
