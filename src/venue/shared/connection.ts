// One connection to the engine: a client of its own, whose requests end by a timer of ours. A request that runs over it loses the connection.

import { once } from "node:events";
import { connect, isIP, type Socket } from "node:net";
import type postgres from "postgres";
import { adapterError, FileAdapterError } from "../../core/errors/errors.js";
import type { SharedQuery } from "../../core/ports/shared.js";
import { codeOf, fieldsOf } from "../../core/unknown.js";

export const REQUEST_MS = 2000;
/** A connection may take longer: no request is on its way by it yet. */
const CONNECT_MS = 5000;

/** A process whose timer fires so much late stood still, perhaps with the machine. */
const STOOD_STILL_MS = 500;

/**
 * Gives something up that takes too long, once what has come until then is read. A process that stood still waits once more, as whoever is
 * to answer may have stood still with it. @returns keeps it from being given up
 */
export function giveUpAfter(ms: number, giveUp: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const wait = (isAgain: boolean): void => {
    const due = performance.now() + ms;
    timer = setTimeout(() => {
      if (!isAgain && performance.now() - due > STOOD_STILL_MS) wait(true);
      else setImmediate(() => void (isOver || giveUp()));
    }, ms);
  };
  wait(false);
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

export interface Engine {
  readonly postgres: typeof postgres;
  readonly url: string;
  /** Schema of the venue's tables. */
  readonly schema: string;
  /** Figures of all connections. */
  readonly requests: Requests;
}

/** Durations of requests to the engine, in milliseconds, until somebody takes them; and how many requests found no engine. */
interface Requests {
  readonly durations: number[];
  failures: number;
}

/** Nobody may ask for metrics. */
const MOST_DURATIONS = 1000;

interface ConnectionOptions {
  /** Hears notifications; none of a client that was dropped. */
  readonly onNotify?: ((channel: string, payload: string) => void) | undefined;
  /** The engine, the network or this class ended it. */
  readonly onDrop?: (() => void) | undefined;
}

interface Client {
  readonly sql: postgres.Sql;
  socket?: Socket;
  /** Statements can be sent. */
  ready: Promise<unknown>;
  isReady: boolean;
  isDropped: boolean;
}

/** Classes of errors that say nothing of the statement: connection, login, database, deadlock, resources, operator, system; read-only. */
const ENGINE_FAULT = /^(?:08|28|3D|40|53|57|58|25006)/;

const UNAVAILABLE = "What the instances of this venue share cannot be reached. Try again in 1 s";

/** The engine is not reached, or takes no writes. Never tells its address, nor whatever a driver says. */
export const unavailable = (reason: string): FileAdapterError =>
  adapterError("SHARED_STATE_UNAVAILABLE", UNAVAILABLE, { retryable: true, reason });

/** The error of a statement: of the engine, or what it says of the statement. */
export function errorOf(error: unknown): unknown {
  if (error instanceof FileAdapterError) return error;
  const code = codeOf(error) ?? "";
  const isOfStatement = fieldsOf(error)["severity"] !== undefined && !ENGINE_FAULT.test(code);
  // Without a code it was thrown by the work of a transaction.
  return code === "" || isOfStatement ? error : unavailable(code);
}

export class Connection {
  readonly #engine: Engine;
  readonly #options: ConnectionOptions;
  #client: Client | undefined;
  /** Starts with another of several hosts each time. */
  #attempts = 0;
  #isClosed = false;

  constructor(engine: Engine, options: ConnectionOptions = {}) {
    this.#engine = engine;
    this.#options = options;
  }

  /** Whether statements can be sent at once. */
  get isOpen(): boolean {
    return this.#client?.isReady === true;
  }

  /** Runs statements one after another: the first has `ms`, and each later one as long again. @throws as of {@link errorOf} */
  async run<Result>(work: (query: SharedQuery) => Promise<Result>, ms = REQUEST_MS): Promise<Result> {
    if (this.#isClosed) throw unavailable("closed");
    this.#client ??= this.#connect();
    const client = this.#client;
    const begun = performance.now();
    const { requests } = this.#engine;
    let keep = () => {};
    let wait = (_ms: number) => {};
    const expired = new Promise<never>((_, reject) => {
      wait = (left) => {
        keep();
        keep = giveUpAfter(left, () => reject(unavailable("timeout")));
      };
    });
    wait(ms);
    let isFirst = true;
    const query: SharedQuery = async (text, values = []) => {
      // An engine that is far away takes long for many, one that is gone for one.
      if (!isFirst) wait(Math.max(ms, REQUEST_MS));
      isFirst = false;
      // Values are of PostgreSQL's types, so rows are whatever the caller knows them to be.
      return (await client.sql.unsafe(text, values as never[], { prepare: true })) as never;
    };
    try {
      // Nothing is sent before: a request that was told to have failed must not run later.
      await Promise.race([client.ready, expired]);
      return await Promise.race([work(query), expired]);
    } catch (thrown) {
      const error = errorOf(thrown);
      if (isUnavailable(error)) requests.failures++;
      if (isUnavailable(error) && client.isReady) this.#drop(client);
      throw error;
    } finally {
      keep();
      wait = () => {};
      if (requests.durations.length < MOST_DURATIONS) requests.durations.push(performance.now() - begun);
    }
  }

  close(): void {
    this.#isClosed = true;
    if (this.#client !== undefined) this.#drop(this.#client);
  }

  #drop(client: Client): void {
    if (client.isDropped) return;
    client.isDropped = true;
    if (this.#client === client) this.#client = undefined;
    // By hand: the client would wait for a peer that may be silent.
    client.socket?.destroy();
    void client.sql.end({ timeout: 0 }).catch(() => {});
    if (!this.#isClosed) this.#options.onDrop?.();
  }

  #connect(): Client {
    const { url, schema, postgres: open } = this.#engine;
    const first = this.#attempts++;
    const client: Client = {
      ...{ ready: Promise.resolve(), isReady: false, isDropped: false },
      sql: open(url, {
        ...{ max: 1, idle_timeout: 0, max_lifetime: null, fetch_types: false, connect_timeout: 0 },
        connection: { search_path: `"${schema}"`, application_name: "venue-files" },
        onnotice: () => {},
        onclose: () => this.#drop(client),
        // Options of the client that its types leave out.
        ...{
          socket: (to: Target) => openSocket(to, { client, first }),
          onnotify: (channel: string, payload: string) => {
            if (!client.isDropped) this.#options.onNotify?.(channel, payload);
          },
        },
      }),
    };
    const keep = giveUpAfter(CONNECT_MS, () => this.#drop(client));
    client.ready = client.sql.unsafe("SELECT 1").then(
      () => {
        client.isReady = true;
        keep();
      },
      (error: unknown) => {
        keep();
        this.#drop(client);
        throw error;
      },
    );
    // Whoever waits is told; nobody may.
    client.ready.catch(() => {});
    return client;
  }
}

export const isUnavailable = (error: unknown): boolean =>
  error instanceof FileAdapterError && error.code === "SHARED_STATE_UNAVAILABLE";

interface Target {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path?: string | false;
}

/** A socket that is connected, known to its client so that it can be destroyed. */
async function openSocket(
  { host, port, path }: Target,
  { client, first }: { readonly client: Client; readonly first: number },
): Promise<Socket> {
  // A dropped client would go on by itself.
  if (client.isDropped) throw unavailable("closed");
  const at = first % host.length;
  const name = host[at] ?? "localhost";
  const socket = typeof path === "string" ? connect(path) : connect(port[at] ?? 5432, name);
  client.socket = socket;
  socket.setNoDelay(true);
  await once(socket, "connect");
  // The name that TLS verifies.
  return Object.assign(socket, isIP(name) === 0 ? { host: name } : {});
}

/** Several connections, each for one request at a time. */
export class Pool {
  readonly #all: readonly Connection[];
  readonly #free: Connection[];
  readonly #waiting: ((connection: Connection) => void)[] = [];

  constructor(connections: readonly Connection[]) {
    this.#all = connections;
    this.#free = [...connections];
  }

  /** As of {@link Connection.run}; the wait for a connection counts. */
  async run<Result>(work: (query: SharedQuery) => Promise<Result>): Promise<Result> {
    const begun = performance.now();
    const connection = this.#free.pop() ?? (await this.#wait());
    try {
      return await connection.run(work, Math.max(1, REQUEST_MS - (performance.now() - begun)));
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free.push(connection);
      else next(connection);
    }
  }

  #wait(): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const keep = giveUpAfter(REQUEST_MS, () => {
        this.#waiting.splice(this.#waiting.indexOf(take), 1);
        reject(unavailable("busy"));
      });
      const take = (connection: Connection) => {
        keep();
        resolve(connection);
      };
      this.#waiting.push(take);
    });
  }

  close(): void {
    for (const one of this.#all) one.close();
  }
}

/** Statements of a work as one transaction. */
export const inTransaction =
  <Result>(work: (query: SharedQuery) => Promise<Result>) =>
  async (query: SharedQuery): Promise<Result> => {
    await query("BEGIN");
    try {
      const result = await work(query);
      await query("COMMIT");
      return result;
    } catch (error) {
      // Where this fails too, the connection is dropped, which has the same effect.
      await query("ROLLBACK").catch(() => {});
      throw error;
    }
  };
