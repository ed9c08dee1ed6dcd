// Shared state in PostgreSQL: connections, tick and listener, and the port that the pieces of the venue use.

import { createHmac } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { AuditSink } from "../../audit/record.js";
import { ConfigError } from "../../config/errors.js";
import type { VenueConfig } from "../../config/types.js";
import type { Log } from "../../core/ports/log.js";
import type { Instance, InstanceDigest, Shared, SharedHandlers, SharedQuery } from "../../core/ports/shared.js";
import type { SigningKey } from "../../ucan/mint/signing-key.js";
import { createSeal, secretFor } from "../identity/seal.js";
import { Connection, type Engine, inTransaction, isUnavailable, Pool, unavailable } from "./connection.js";
import { checkOwner, type InstanceFacts, isUnprepared, notPrepared, OwnInstance, type TickRow } from "./instances.js";
import { type Heard, Notifications } from "./notifications.js";
import { revocationColumn, SharedRevocations } from "./revocations.js";
import { reasonOf, STALE_MS, Tick } from "./tick.js";
import { SharedTokens, type TokenRows, tokenColumns } from "./tokens.js";

const START_MS = 10_000;
const RETRY_MS = 500;
const POOL = 3;
/** Views are at most so old. */
const EFFECTIVE_MS = 5000;
const WAIT_MS = 6000;
const WAIT_STEP_MS = 100;
const USES_MS = 60_000;

export interface PostgresOptions {
  readonly engine: Engine;
  readonly did: string;
  readonly key: SigningKey;
  readonly facts: InstanceFacts;
  readonly log: Log;
  digestOf(config: VenueConfig): InstanceDigest;
  /** By which URL peers reach this instance. @param port absent: it listens on a socket */
  advertised(port: number | undefined): string | undefined;
}

/** Part of the answer of what revokes. Times are milliseconds since the epoch. */
export interface Effect {
  readonly effectiveBy: number;
  readonly missing?: readonly number[];
}

interface Changes extends TokenRows {
  readonly n: number;
  readonly revocations: readonly string[];
}

export class PostgresShared implements Shared {
  readonly #options: PostgresOptions;
  readonly #own: OwnInstance;
  readonly #pool: Pool;
  readonly #connection: Connection;
  readonly #notifications: Notifications;
  readonly #handlers: { readonly [Name in keyof SharedHandlers]: Set<SharedHandlers[Name]> } = {
    gone: new Set(),
    gap: new Set(),
  };
  /** Live peers, as handlers have been told. */
  #told: readonly Instance[] = [];
  /** Live peers that are configured differently, as the log has told it. */
  #differing = "";
  #hasWarned = false;
  /** When last uses are exchanged next. */
  #usesAt = 0;
  /** Lines with the number of this instance. */
  readonly log: Log;
  readonly tick: Tick;
  readonly revocations: SharedRevocations;
  readonly tokens: SharedTokens;

  constructor(options: PostgresOptions) {
    const { engine, facts } = options;
    this.#options = options;
    this.#own = new OwnInstance(facts, this.mac("addresses"));
    this.log = numbered(options.log, () => this.#own.number);
    const { log } = this;
    this.#pool = new Pool(Array.from({ length: POOL }, () => new Connection(engine)));
    this.#connection = new Connection(engine);
    this.#notifications = new Notifications(engine, () => {
      for (const gap of this.#handlers.gap) gap();
      void this.tick.now().catch(() => {});
    });
    this.tick = new Tick({
      ...{ own: this.#own, connection: this.#connection, listener: this.#notifications.connection, log },
      check: (row) => checkOwner(row, options.did),
      read: (since, query, isLost) => this.#read(since, query, isLost),
      took: (row, query) => this.#took(row, query),
    });
    this.revocations = new SharedRevocations({ did: options.did, keyDid: options.key.did }, { query: this.query, log });
    const refresh = () => this.tick.refresh();
    this.tokens = new SharedTokens({ query: this.query, seal: this.sealed("access"), log, refresh });
    this.hear("epoch", () => void this.tick.now().catch(() => {}));
  }

  get self(): Instance {
    return this.#own.self;
  }

  /** Figures of all connections. */
  get requests(): Engine["requests"] {
    return this.#options.engine.requests;
  }

  peers(): readonly Instance[] {
    return this.tick.instances;
  }

  get live(): readonly Instance[] {
    return this.peers().filter(({ live }) => live);
  }

  readonly query: SharedQuery = (text, values) => this.#pool.run((query) => query(text, values));

  transaction<Result>(work: (query: SharedQuery) => Promise<Result>): Promise<Result> {
    return this.#pool.run(inTransaction(work));
  }

  sealed(table: string) {
    return createSeal(this.secret(`table ${table}`));
  }

  secret(use: string): Buffer {
    return sharedSecret(this.#options.key, use);
  }

  mac(use: string): (text: string) => string {
    return macOf(this.secret(use));
  }

  notify(kind: string, payload: string): Promise<void> {
    return this.#notifications.send(`${this.#own.number} ${kind} ${payload}`, this.query);
  }

  hear(kind: string, heard: Heard): () => void {
    return this.#notifications.hear(kind, heard);
  }

  on<Name extends keyof SharedHandlers>(event: Name, handler: SharedHandlers[Name]): () => void {
    const all = this.#handlers[event];
    all.add(handler);
    return () => void all.delete(handler);
  }

  /** Numbers of live peers that are configured differently. */
  get differing(): readonly number[] {
    // By fields: the engine gives them in an order of its own.
    const { digest: own } = this.self;
    return this.live.filter(({ digest }) => !isDeepStrictEqual(digest, own)).map(({ number }) => number);
  }

  /** An audit whose records have the number of this instance. */
  audited(audit: AuditSink): AuditSink {
    return { write: (record) => audit.write({ ...record, instance: this.#own.number }), close: () => audit.close() };
  }

  /** @throws SHARED_STATE_UNAVAILABLE where the view of tokens and revocations is too old to decide by */
  readonly requireFresh = (graceMs = 0): void => {
    if (this.tick.ageMs >= STALE_MS + graceMs) throw unavailable("stale");
  };

  /** Reads again where the view is too old. @returns `undefined`: it is not @throws as {@link requireFresh}, after 2 s */
  readonly fresh = (): Promise<void> | undefined => this.tick.fresh();

  /**
   * When what was just committed holds at every instance: those that do not know it by then deny.
   * @param waits until all live instances know it, 6 s at most; `missing` are those that have not said so
   */
  readonly effect = async (waits: boolean): Promise<Effect> => {
    const effectiveBy = Date.now() + EFFECTIVE_MS;
    if (!waits) return { effectiveBy };
    const until = performance.now() + WAIT_MS;
    let n: number | undefined;
    for (;;) {
      const isRead = await this.tick.now().then(
        () => true,
        () => false,
      );
      if (isRead) n ??= this.tick.seen;
      const missing = this.tick.instances.filter(({ live, seen }) => live && seen < (n ?? Infinity));
      if (isRead && missing.length === 0) return { effectiveBy: Math.min(effectiveBy, Date.now()) };
      if (performance.now() > until) return { effectiveBy, missing: missing.map(({ number }) => number) };
      await pause(WAIT_STEP_MS);
    }
  };

  /** Tells peers the address of this instance. */
  async listening(port: number | undefined): Promise<void> {
    this.#own.advertise = this.#options.advertised(port);
    await this.tick.now().catch(() => {});
  }

  /** Tells peers, by the next tick, what it is configured with now. */
  reloaded(config: VenueConfig): void {
    this.#own.digest = this.#options.digestOf(config);
  }

  /** Connects, takes a number and reads what there is. @throws ConfigError 69 where the engine is not reached, else 78 */
  async start(): Promise<void> {
    const until = performance.now() + START_MS;
    for (;;) {
      try {
        if (this.#own.number === 0) await this.#connection.run((query) => this.#own.allot(query));
        await this.tick.now();
        await this.#notifications.listen();
        return await this.#notifications.hearOneself((word) => this.notify("hello", word));
      } catch (error) {
        if (isUnprepared(error)) throw notPrepared();
        if (error instanceof ConfigError) throw error;
        const reason = reasonOf(error);
        if (!isUnavailable(error) && reason === "unknown") throw error;
        if (!isUnavailable(error)) throw new ConfigError([`'shared.postgres' cannot be used (${reason})`], 78);
        const cannot = (text: string, status: 69 | 78) => new ConfigError([`'shared.postgres.url' ${text}`], status);
        if (/^(?:28|3D)/.test(reason))
          throw cannot(`is refused by the engine (${reason}). Correct user, password and database`, 78);
        if (performance.now() > until) throw cannot(`leads to no engine (${reason}). Start it, or correct the URL`, 69);
        await pause(RETRY_MS);
      }
    }
  }

  async close(): Promise<void> {
    this.tick.stop();
    if (this.#own.number !== 0 && this.#connection.isOpen) {
      await this.#connection.run((query) => this.#own.stop(query), RETRY_MS).catch(() => {});
    }
    for (const one of [this.#pool, this.#connection, this.#notifications]) one.close();
  }

  /** All in one statement, so that rows and epoch are of one moment. */
  async #read(since: number, query: SharedQuery, isLost: boolean): Promise<number> {
    const after = String(Math.trunc(since));
    const isWhole = since === 0;
    const known = isWhole ? [...this.tokens.tokens().values()] : undefined;
    const [changes] = await query<Changes>(
      `SELECT n::float8 AS n, ${revocationColumn(after)}, ${tokenColumns(after)} FROM epoch`,
    );
    if (changes === undefined) throw notPrepared();
    const hasLost = [
      this.revocations.read(changes.revocations, isWhole),
      await this.tokens.read(changes, query, known),
    ];
    if (isLost || hasLost.includes(true)) {
      this.log.error({}, "the shared engine has lost writes: what is known to have ended is put back, links end");
      await this.tokens.endLinks(query);
    }
    return changes.n;
  }

  async #took(row: TickRow, query: SharedQuery): Promise<void> {
    const { log } = this;
    if (row.fsync === "off" && !this.#hasWarned) {
      this.#hasWarned = true;
      log.warn({}, "the shared engine runs with fsync = off: revocations may be lost when its machine fails");
    }
    await this.revocations.mend(query);
    await this.#exchangeUses(query);
    const peers = this.tick.instances;
    const gone = this.#told.filter(({ number }) => !peers.some((peer) => peer.number === number && peer.live));
    this.#told = this.live;
    for (const peer of gone) for (const handler of this.#handlers.gone) handler({ ...peer, live: false });
    this.#compare();
  }

  /** Warns of peers with other tokens, grants or roots: each serves by its own. */
  #compare(): void {
    const { differing } = this;
    if (differing.join() === this.#differing) return;
    this.#differing = differing.join();
    const text = "other instances have other static tokens, grants or roots: venue-files cluster status compares them";
    if (differing.length > 0) this.log.warn({ instances: differing }, text);
  }

  async #exchangeUses(query: SharedQuery): Promise<void> {
    if (performance.now() < this.#usesAt) return;
    await this.tokens.exchangeUses(query);
    this.#usesAt = performance.now() + USES_MS;
  }
}

function numbered(log: Log, number: () => number): Log {
  const line =
    (level: "debug" | "info" | "warn" | "error") =>
    (fields: object, text: string): void =>
      log[level]({ instance: number(), ...fields }, text);
  const levels = { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
  return log.debugs === undefined ? levels : { debugs: log.debugs, ...levels };
}

export const sharedSecret = ({ privateKey }: SigningKey, use: string): Buffer => secretFor(privateKey, `shared ${use}`);

export const macOf =
  (secret: Buffer) =>
  (text: string): string =>
    createHmac("sha256", secret).update(text).digest("base64url");
