// The row of this instance in the engine, and those of its peers.

import { randomBytes } from "node:crypto";
import { ConfigError } from "../../config/errors.js";
import type { Instance, InstanceDigest, SharedQuery } from "../../core/ports/shared.js";
import { codeOf } from "../../core/unknown.js";

/** How long a number is not given again. */
const KEPT = "interval '1 day'";
const ATTEMPTS = 20;

/** Facts of an instance about itself. */
export interface InstanceFacts {
  readonly name: string;
  readonly version: string;
  readonly digest: InstanceDigest;
}

/** An instance, and the last change it has taken in. */
export interface SeenInstance extends Instance {
  /** MAC of its number and address. */
  readonly mac?: string | null;
  readonly seen: number;
}

export interface TickRow {
  /** Whether the row of this instance was there. */
  readonly own: boolean;
  readonly n: number;
  readonly did: string;
  readonly format: number;
  /** Milliseconds since the epoch, by the engine's clock. */
  readonly now: number;
  readonly fsync: string;
  readonly instances: readonly SeenInstance[];
}

export const INSTANCES = `(SELECT coalesce(json_agg(json_build_object('number', number, 'advertise', split_part(advertise, '#', 1),
  'mac', split_part(advertise, '#', 2), 'name', name,
  'version', version, 'digest', digest, 'seen', seen,
  'live', is_live(instance)) ORDER BY number), '[]')
  FROM instance WHERE beat > clock_timestamp() - ${KEPT})`;

const TICK = `WITH own AS (
    UPDATE instance SET beat = clock_timestamp(), clock = to_timestamp($3::float8 / 1000), seen = $4, advertise = $5, digest = $6,
      since = CASE WHEN beat < clock_timestamp() - interval '5 seconds' THEN clock_timestamp() ELSE since END
    WHERE number = $1 AND boot = $2 RETURNING number)
  SELECT EXISTS (SELECT FROM own) AS own, n::float8 AS n, did, format, current_setting('fsync') AS fsync,
    extract(epoch FROM clock_timestamp())::float8 * 1000 AS now, ${INSTANCES} AS instances FROM epoch`;

const INSERT = `INSERT INTO instance (number, boot, name, version, digest, beat, clock)
  VALUES ($1, $2, $3, $4, $5, clock_timestamp(), to_timestamp($6::float8 / 1000)) ON CONFLICT DO NOTHING RETURNING number`;

const FREE = `SELECT free FROM generate_series(1, 65535) free
  WHERE NOT EXISTS (SELECT FROM instance WHERE number = free) ORDER BY free LIMIT 1`;

/** This instance in the engine. Its number stays, unless the engine lost it and gave it to another. */
export class OwnInstance {
  /** For MACs of addresses: who can write to the engine must not lead requests elsewhere. */
  readonly #mac: (text: string) => string;
  /** Tells it from others that had its number. */
  readonly #boot = randomBytes(8).toString("hex");
  readonly #facts: InstanceFacts;
  /** Both are told to peers by the next tick. */
  advertise: string | undefined;
  digest: InstanceDigest;
  number = 0;

  constructor(facts: InstanceFacts, mac: (text: string) => string) {
    this.#facts = facts;
    this.#mac = mac;
    this.digest = facts.digest;
  }

  get self(): Instance {
    const { number, advertise, digest } = this;
    return { ...this.#facts, number, advertise, digest, live: true };
  }

  /** Takes the lowest number that nobody had for a day. @throws ConfigError where there is none */
  async allot(query: SharedQuery): Promise<void> {
    await query(`DELETE FROM instance WHERE beat < clock_timestamp() - ${KEPT}`);
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const [row] = await query<{ free: number }>(FREE);
      if (row === undefined) break;
      if (await this.#insert(row.free, query)) return;
    }
    throw new ConfigError(["'shared' has no free number for this instance: too many were started within a day"], 69);
  }

  /** Writes that this instance is alive, and reads what there is to know. */
  async tick(seen: number, query: SharedQuery): Promise<TickRow> {
    const { number, advertise } = this;
    const address = advertise === undefined ? null : `${advertise}#${this.#mac(`${number} ${advertise}`)}`;
    const values = [number, this.#boot, Date.now(), seen, address, this.digest];
    const [row] = await query<TickRow>(TICK, values);
    if (row === undefined) throw notPrepared();
    // A standby that lost writes, or a clean-up after a suspension of a day.
    if (!row.own && !(await this.#insert(this.number, query))) await this.allot(query);
    const instances = row.instances.map((one) => (this.#isOwnWord(one) ? one : { ...one, advertise: undefined }));
    return { ...row, instances };
  }

  /** Whether an instance of the venue itself has told its address. */
  #isOwnWord({ number, advertise, mac }: SeenInstance): boolean {
    return typeof advertise === "string" && mac === this.#mac(`${number} ${advertise}`);
  }

  /** Peers see at once that it is gone. */
  async stop(query: SharedQuery): Promise<void> {
    await query("UPDATE instance SET stopped = true WHERE number = $1 AND boot = $2", [this.number, this.#boot]);
  }

  async #insert(number: number, query: SharedQuery): Promise<boolean> {
    const { name, version } = this.#facts;
    const values = [number, this.#boot, name, version, this.digest, Date.now()];
    const rows = await query(INSERT, values);
    if (rows.length > 0) this.number = number;
    return rows.length > 0;
  }
}

const INIT = "Run: venue-files cluster init --config FILE";

export const notPrepared = (): ConfigError =>
  new ConfigError([`'shared.postgres' leads to a database without the tables of this venue. ${INIT}`], 78);

/** No such schema or table. */
export const isUnprepared = (error: unknown): boolean => ["42P01", "3F000", "42883"].includes(codeOf(error) ?? "");

/** Version of the schema. Programs of the version before it run with it too. */
export const FORMAT = 1;

/** @throws ConfigError */
export function checkOwner({ did, format }: Pick<TickRow, "did" | "format">, own: string): void {
  if (did !== own) {
    const text =
      "'shared.postgres' has the state of another venue. Set 'seed' or 'seedFile' to the key of all instances, or another 'shared.postgres.schema'";
    throw new ConfigError([text], 78);
  }
  if (format < FORMAT) {
    throw new ConfigError([`'shared.postgres' has tables of an earlier version. ${INIT}`], 78);
  }
  if (format > FORMAT + 1) {
    throw new ConfigError(["'shared.postgres' has tables of a later version. Use the program that made them"], 78);
  }
}
