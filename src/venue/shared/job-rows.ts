// Jobs whose ids were told while they ran, as sealed rows that all instances see. The row decides how such a job ended.

import type { Caller } from "../../core/call/caller.js";
import { attempt } from "../../core/io.js";
import type { CallerJobs, JobRecord } from "../../core/ports/job.js";
import type { Log } from "../../core/ports/log.js";
import type { Seal, Shared } from "../../core/ports/shared.js";
import { parseInput, stringifyExact } from "../../schema/exact-json.js";
import { ownerOf } from "../jobs/jobs.js";
import type { JobKeeper, KeptJob } from "../jobs/keeper.js";
import { type KeptContents, LostJob, lostRecord } from "./lost-job.js";
import { Owed } from "./owed.js";
import type { SharedEvents } from "./pieces/events.js";
import { reasonOf } from "./tick.js";

const MAX_ROW_BYTES = 262_144;
/** Writes that are owed; the oldest is given up. */
const MAX_OWED = 1000;
const PURGE_MS = 3_600_000;
/** How often the process looks whether it was stopped, and how long a pause lets others hold its jobs for lost. */
const LOOK_MS = 1000;
const STOPPED_MS = 5000;

const INSERT = `INSERT INTO job (id, instance, owners, sealed, ttl, state, expires)
  VALUES ($1, $2, ARRAY(SELECT jsonb_array_elements_text($3::jsonb)), $4, $5::float8 * interval '1 ms'`;
const BEGIN = `${INSERT}, 'open', NULL) ON CONFLICT (id) DO NOTHING`;
const END = `${INSERT}, 'ended', now() + $5::float8 * interval '1 ms') ON CONFLICT (id) DO UPDATE
  SET state = 'ended', sealed = excluded.sealed, updated = now(), expires = excluded.expires WHERE job.state = 'open' RETURNING id`;
const IS_GONE = "NOT EXISTS (SELECT FROM instance i WHERE i.number = job.instance AND is_live(i))";
const LOSE = `UPDATE job SET state = 'lost', updated = now(), expires = now() + ttl WHERE state = 'open' AND ${IS_GONE}
  AND id IN (SELECT id FROM job WHERE state = 'open' AND id = coalesce($1, id) AND ${IS_GONE} LIMIT 100)
  RETURNING id, state, sealed, (extract(epoch FROM updated) * 1000)::float8 AS updated`;
const IS_KEPT = "(expires IS NULL OR expires > now())";
const READ = `SELECT state, sealed, (extract(epoch FROM updated) * 1000)::float8 AS updated FROM job
  WHERE id = $1 AND ${IS_KEPT}`;
const LIST = `SELECT id, (count(*) OVER ())::int AS total FROM job
  WHERE owners @> ARRAY[$1::text] AND ${IS_KEPT} AND ${IS_GONE} ORDER BY id DESC LIMIT $2::bigint`;

const ARE_LOST = "SELECT id FROM job WHERE state = 'lost' AND id IN (SELECT jsonb_array_elements_text($1::jsonb))";

interface Row {
  readonly state: "open" | "ended" | "lost";
  readonly sealed: Uint8Array;
  /** Milliseconds since the epoch. */
  readonly updated: number;
}

export interface JobRowsOptions {
  readonly shared: Shared;
  readonly log: Log;
  /** How long the row of a finished job is kept, in milliseconds. */
  readonly ttlMs: number;
  readonly told: Pick<SharedEvents, "job" | "lostJob">;
  /** Hears that others hold a job of this instance for lost. */
  onLost(job: KeptJob, record: JobRecord): void;
}

export class JobRows implements JobKeeper {
  readonly #options: JobRowsOptions;
  readonly #shared: Shared;
  readonly #seal: Seal;
  /** Readers of the engine must not learn who sees a job in lists. */
  readonly #macOf: (owner: string) => string;
  /** Kept jobs of this instance that run. */
  readonly #open = new Map<string, KeptJob>();
  /** The last write of a job, which the next one follows. */
  readonly #writes = new WeakMap<KeptJob, Promise<void>>();
  readonly #owed = new Owed(MAX_OWED, (id) => this.#open.delete(id));
  readonly #stops: readonly (() => void)[];

  constructor(options: JobRowsOptions) {
    const { shared } = options;
    this.#options = options;
    this.#shared = shared;
    this.#seal = shared.sealed("job");
    this.#macOf = shared.mac("owners of jobs");
    const purge = () => this.#loseAll().then(() => shared.query("DELETE FROM job WHERE expires < now()"));
    quietly(purge);
    this.#stops = [
      every(PURGE_MS, () => quietly(purge)),
      whenStopped(() => quietly(() => this.#lookForLost())),
      shared.on("gone", () => quietly(() => this.#loseAll())),
    ];
  }

  get instance(): number {
    return this.#shared.self.number;
  }

  async begin(job: KeptJob): Promise<void> {
    const record = job.record();
    this.#open.set(job.id, job);
    await this.#write(job, () => this.#shared.query(BEGIN, this.#rowOf(job, record)));
    this.#options.told.job(job, record);
  }

  async end(job: KeptJob, record: JobRecord): Promise<void> {
    let isLost = false;
    await this.#write(job, async () => {
      const [written] = await this.#shared.query(END, this.#rowOf(job, record));
      isLost = written === undefined;
      if (isLost) await this.#lookForLost();
      this.#open.delete(job.id);
    });
    if (!isLost) this.#options.told.job(job, record);
  }

  remove(job: KeptJob): Promise<void> {
    this.#open.delete(job.id);
    return this.#write(job, () => this.#removeRow(job.id));
  }

  /**
   * The job of an instance that is gone. @returns `undefined`: there is no row; `alive`: its instance is there after all
   * @throws SHARED_STATE_UNAVAILABLE
   */
  async lost(id: string): Promise<CallerJobs | "alive" | undefined> {
    await this.#lose(id);
    const [row] = await this.#shared.query<Row>(READ, [id]);
    const contents = row && this.#contentsOf(id, row);
    if (contents === undefined) return undefined;
    return row?.state === "open" ? "alive" : new LostJob(contents, () => this.#removeRow(id));
  }

  /** Ids of kept jobs of instances that are gone, newest first. @throws SHARED_STATE_UNAVAILABLE */
  async lostOf(caller: Caller, most: number): Promise<{ readonly items: readonly string[]; readonly total: number }> {
    const rows = await this.#shared.query<{ id: string; total: number }>(LIST, [this.#macOf(ownerOf(caller)), most]);
    return { items: rows.map(({ id }) => id), total: rows[0]?.total ?? 0 };
  }

  /** Writes what is owed, once more. */
  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    await this.#owed.close();
  }

  /** After the writes of the job before it; what fails is tried again until it is done. */
  #write(job: KeptJob, work: () => Promise<unknown>): Promise<void> {
    const before = this.#writes.get(job) ?? Promise.resolve();
    const written = before
      .then(() => this.#owed.supersede(job.id))
      .then(work)
      .then(
        () => {},
        (error: unknown) => {
          this.#options.log.warn({ reason: reasonOf(error) }, "a job is not kept for other instances yet");
          this.#owed.owe(job.id, work);
        },
      );
    this.#writes.set(job, written);
    return written;
  }

  /** Instances that nobody saw go, too. */
  async #loseAll(): Promise<void> {
    while ((await this.#lose(null)) > 0);
  }

  /** Whoever turns a row tells of it. @param id `null`: any @returns how many */
  async #lose(id: string | null): Promise<number> {
    const rows = await this.#shared.query<Row & { readonly id: string }>(LOSE, [id]);
    for (const row of rows) {
      const contents = this.#contentsOf(row.id, row);
      if (contents !== undefined) this.#options.told.lostJob(contents, contents.record);
    }
    return rows.length;
  }

  async #lookForLost(): Promise<void> {
    for (const { id } of await this.#shared.query<{ id: string }>(ARE_LOST, [[...this.#open.keys()]])) {
      const job = this.#open.get(id);
      const [row] = job === undefined ? [] : await this.#shared.query<Row>(READ, [id]);
      const contents = row && this.#contentsOf(id, row);
      this.#open.delete(id);
      if (job !== undefined && contents !== undefined) this.#options.onLost(job, contents.record);
    }
  }

  async #removeRow(id: string): Promise<void> {
    await this.#shared.query("DELETE FROM job WHERE id = $1", [id]);
  }

  #rowOf({ id, owners, isPrivate }: KeptJob, record: JobRecord): readonly unknown[] {
    const macs = isPrivate ? [] : owners.map((owner) => this.#macOf(owner));
    const bytes = bytesOf({ record, owners, isPrivate });
    return [id, this.instance, macs, this.#seal.seal(id, bytes), this.#options.ttlMs];
  }

  #contentsOf(id: string, { state, sealed, updated }: Row): KeptContents | undefined {
    const bytes = this.#seal.open(id, sealed);
    const contents = bytes && (attempt(() => parseInput(bytes.toString())) as KeptContents | undefined);
    if (contents === undefined || state !== "lost") return contents;
    return { ...contents, record: lostRecord(contents.record, updated) };
  }
}

/** A record that is too large for a row goes without its output, and in the last resort without its input. */
function bytesOf({ record, ...rest }: KeptContents): Buffer {
  const { output: _, ...withoutOutput } = record;
  for (const kept of [record, withoutOutput]) {
    const bytes = Buffer.from(stringifyExact({ record: kept, ...rest }));
    if (bytes.length <= MAX_ROW_BYTES) return bytes;
  }
  return Buffer.from(stringifyExact({ record: { ...withoutOutput, input: "HIDDEN" }, ...rest }));
}

const quietly = (work: () => Promise<unknown>): void => void work().catch(() => {});

function every(ms: number, act: () => void): () => void {
  const timer = setInterval(act, ms).unref();
  return () => clearInterval(timer);
}

/** Acts after the process, or the machine, has stood still. */
function whenStopped(act: () => void): () => void {
  const now = () => [performance.now(), Date.now()] as const;
  let last = now();
  return every(LOOK_MS, () => {
    const [monotonic, wall] = now();
    if (Math.max(monotonic - last[0], wall - last[1]) > STOPPED_MS) act();
    last = [monotonic, wall];
  });
}
