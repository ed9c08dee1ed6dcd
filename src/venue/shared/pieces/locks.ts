// WebDAV locks of all instances: a sealed row each. A lock is taken under the turn of its tree, since a deep one meets those below it.
// One look of a request has the properties that it may need, too.

import type { Shared, SharedQuery } from "../../../core/ports/shared.js";
import {
  type Lock,
  type LockRequest,
  Locks,
  type LocksOptions,
  type Taken,
} from "../../../surfaces/http/dav/locks/locks.js";
import type { Asked } from "../../../surfaces/http/dav/spot.js";
import { Markup } from "../../../surfaces/http/dav/xml/write.js";
import { PROPERTIES_ASKED, PropertyRows, SharedProperties, TURN } from "./properties.js";

const TABLE = "dav_lock";
const RETRY_MS = 1000;

const FIELDS = "id, sealed, since, (extract(epoch FROM expires - now()) * 1000)::float8 AS left_ms";
const READ_ALL = `SELECT ${FIELDS} FROM dav_lock WHERE expires > now() ORDER BY since`;
const OF_TREES = `SELECT ${FIELDS} FROM dav_lock WHERE tree IN (SELECT jsonb_array_elements_text($1::jsonb)) AND expires > now()`;
const READ = `${OF_TREES} ORDER BY since`;
const LOOK = `${OF_TREES} UNION ALL SELECT id, sealed, NULL, NULL FROM dav_property WHERE ${PROPERTIES_ASKED} ORDER BY since`;
/** Expired ones go as others come. */
const COUNT = `WITH expired AS (DELETE FROM dav_lock WHERE expires < now())
  SELECT count(*)::int AS total, (count(*) FILTER (WHERE caller = $1))::int AS own FROM dav_lock WHERE expires > now()`;
const PUT = `INSERT INTO dav_lock (id, tree, caller, sealed, expires) VALUES ($1, $2, $3, $4, now() + $5::int * interval '1 s')`;
const WRITE = `UPDATE dav_lock SET sealed = $2, expires = CASE WHEN $3::int IS NULL THEN expires ELSE now() + $3::int * interval '1 s' END
  WHERE id = $1`;

interface Row {
  readonly id: string;
  readonly sealed: Uint8Array;
  /** `null`: it is of properties. */
  readonly left_ms: number | null;
}

/** Changes that the row of a lock has yet to get. */
type Change = { readonly lock: Lock; readonly isRefreshed: boolean } | "removed";

/** How the locks of a venue of several instances are made. */
export const locksOf = (shared: Shared) => (options: LocksOptions) => new SharedLocks(options, shared);

class SharedLocks extends Locks {
  readonly #shared: Shared;
  readonly #options: LocksOptions;
  readonly #macOf: (text: string) => string;
  readonly #properties: PropertyRows;
  readonly #owed = new Map<string, Change>();
  #retry: NodeJS.Timeout | undefined;

  constructor(options: LocksOptions, shared: Shared) {
    super(options);
    this.#options = options;
    this.#shared = shared;
    this.#macOf = shared.mac(TABLE);
    this.#properties = new PropertyRows(shared);
  }

  /** @throws SHARED_STATE_UNAVAILABLE */
  override async look(asked?: Asked): Promise<SharedProperties | undefined> {
    if (asked === undefined) this.#take(await this.#shared.query<Row>(READ_ALL), undefined);
    if (asked === undefined || asked.trees.length === 0) return undefined;
    const { trees, spots } = asked;
    const values = [trees.map((tree) => this.#macOf(tree)), ...this.#properties.idsOf(asked)];
    const rows = await this.#shared.query<Row>(LOOK, values);
    const isLock = ({ left_ms: left }: Row) => left !== null;
    this.#take(rows.filter(isLock), trees);
    return spots.length === 0
      ? undefined
      : new SharedProperties(
          this.#properties,
          rows.filter((row) => !isLock(row)),
        );
  }

  override async take(request: LockRequest): Promise<Taken> {
    const { tree } = request.spot;
    let taken: Taken;
    try {
      return await this.#shared.transaction(async (query) => {
        await query(TURN, [`${TABLE} ${this.#macOf(tree)}`]);
        this.#take(await query<Row>(READ, [[this.#macOf(tree)]]), [tree]);
        taken = (await this.#hasRoomFor(request, query)) ? await super.take(request) : undefined;
        if (taken !== undefined && "lock" in taken) await query(PUT, this.#rowOf(taken.lock));
        return taken;
      });
    } catch (error) {
      // Its row may be there all the same.
      if (taken !== undefined && "lock" in taken) this.remove(taken.lock);
      throw error;
    }
  }

  override refresh(lock: Lock, seconds: number): void {
    super.refresh(lock, seconds);
    this.#owed.set(lock.id, { lock, isRefreshed: true });
  }

  override setHash(lock: Lock, hash: string | undefined): void {
    if (lock.hash === hash) return;
    super.setHash(lock, hash);
    const owed = this.#owed.get(lock.id);
    if (owed !== "removed") this.#owed.set(lock.id, { lock, isRefreshed: owed?.isRefreshed === true });
  }

  override remove(lock: Lock): void {
    super.remove(lock);
    this.#owed.set(lock.id, "removed");
  }

  /** Writes what requests have changed. What fails is tried again; until then others see it as it was. */
  override async settle(): Promise<void> {
    try {
      if (this.#owed.size > 0) await this.#write();
      await this.#properties.settle();
    } catch {
      clearTimeout(this.#retry);
      this.#retry = setTimeout(() => void this.settle(), RETRY_MS).unref();
    }
  }

  async #write(): Promise<void> {
    const owed = new Map(this.#owed);
    const removed = [...owed].flatMap(([id, change]) => (change === "removed" ? [id] : []));
    if (removed.length > 0)
      await this.#shared.query("DELETE FROM dav_lock WHERE id IN (SELECT jsonb_array_elements_text($1::jsonb))", [
        removed,
      ]);
    for (const [id, change] of owed) {
      if (change === "removed") continue;
      const { lock, isRefreshed } = change;
      await this.#shared.query(WRITE, [id, this.#sealed(lock), isRefreshed ? lock.seconds : null]);
    }
    for (const [id, change] of owed) if (this.#owed.get(id) === change) this.#owed.delete(id);
  }

  async #hasRoomFor({ caller }: LockRequest, query: SharedQuery): Promise<boolean> {
    const [row] = await query<{ total: number; own: number }>(COUNT, [this.#macOf(caller)]);
    return row === undefined || (row.total < this.#options.most && row.own < Locks.MOST_PER_CALLER);
  }

  /** @param trees that the rows are all of; absent: all there are */
  #take(rows: readonly Row[], trees: readonly string[] | undefined): void {
    const found = new Map(rows.flatMap((row) => this.#read(row) ?? []).map((lock) => [lock.id, lock]));
    for (const known of this.all()) {
      const isMeant = trees === undefined || trees.includes(known.spot.tree);
      if (isMeant && !found.has(known.id)) this.forget(known);
    }
    for (const [id, lock] of found) if (!this.#owed.has(id)) this.put(lock);
  }

  /** A row that this venue did not seal for its place locks nothing. */
  #read({ id, sealed, left_ms: left }: Row): Lock | undefined {
    const bytes = this.#shared.sealed(TABLE).open(id, sealed);
    if (bytes === undefined) return undefined;
    const { owner, ...lock } = JSON.parse(bytes.toString());
    // Rows end by the engine's clock.
    return { ...lock, owner: Markup.trusted(owner), expires: this.#options.now() + (left ?? 0) };
  }

  #rowOf(lock: Lock): readonly unknown[] {
    return [lock.id, this.#macOf(lock.spot.tree), this.#macOf(lock.caller), this.#sealed(lock), lock.seconds];
  }

  #sealed(lock: Lock): Buffer {
    const text = JSON.stringify({ ...lock, owner: lock.owner.text });
    return this.#shared.sealed(TABLE).seal(lock.id, Buffer.from(text));
  }
}
