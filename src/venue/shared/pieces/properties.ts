// What WebDAV clients store beside resources, at all instances: a sealed row for each resource. Only MACs tell the engine where it lies.

import type { Seal, Shared, SharedQuery } from "../../../core/ports/shared.js";
import {
  changedWithin,
  DeadProperties,
  type Kept,
  NONE,
  type PropertyChanges,
  pathOf,
} from "../../../surfaces/http/dav/properties/dead.js";
import type { Asked, Spot } from "../../../surfaces/http/dav/spot.js";

const TABLE = "dav_property";

export const TURN = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";

const idsIn = (parameter: string): string => `ARRAY(SELECT jsonb_array_elements_text(${parameter}::jsonb))`;

/** Rows that a request may need, by the parameters 2 to 4: see {@link PropertyRows.idsOf}. */
export const PROPERTIES_ASKED = `id = ANY (${idsIn("$2")}) OR above[2] = ANY (${idsIn("$3")}) OR above && ${idsIn("$4")}`;

const READ = "SELECT id, sealed FROM dav_property WHERE id = $1";
const USED = "SELECT coalesce(sum(octet_length(sealed)), 0)::float8 AS bytes FROM dav_property";
const WRITE = `WITH gone AS (DELETE FROM dav_property WHERE id = ANY (${idsIn("$1")}))
  INSERT INTO dav_property (id, above, sealed) SELECT above[1], above, decode(sealed, 'base64')
  FROM jsonb_to_recordset($2::jsonb) AS put(above text[], sealed text) ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed`;

interface SealedRow {
  readonly id: string;
  readonly sealed: Uint8Array;
}

/** Properties of a place; without any they are to go. */
interface Change {
  readonly tree: string;
  readonly path: string;
  readonly kept: Kept | undefined;
}

export class PropertyRows {
  readonly #shared: Shared;
  readonly #seal: Seal;
  readonly #mac: (text: string) => string;
  /** Changes that the rows have yet to get, by id. */
  readonly #owed = new Map<string, Change>();
  /** One write after another: a later one must not be overtaken. */
  #writing = Promise.resolve();

  constructor(shared: Shared) {
    this.#shared = shared;
    this.#seal = shared.sealed(TABLE);
    this.#mac = shared.mac(TABLE);
  }

  /** Ids of places whose own properties are asked for, those of their members, and all below. */
  idsOf({ spots, reach }: Asked): readonly (readonly string[])[] {
    const ids = spots.map((spot) => this.#idOf(spot.tree, pathOf(spot)));
    return [reach === "all" ? [] : ids, reach === "members" ? ids : [], reach === "all" ? ids : []];
  }

  /** @returns without those that this venue did not seal for their place */
  read(rows: readonly SealedRow[]): readonly (Change & { readonly kept: Kept })[] {
    return rows.flatMap(({ id, sealed }) => {
      const bytes = this.#seal.open(id, sealed);
      if (bytes === undefined) return [];
      const { tree, path, isCollection, properties } = JSON.parse(bytes.toString());
      return { tree, path, kept: { isCollection, properties: new Map<string, string>(properties) } };
    });
  }

  owe(change: Change): void {
    this.#owed.set(this.#idOf(change.tree, change.path), change);
  }

  /** Writes what is owed. @throws SHARED_STATE_UNAVAILABLE: it still is */
  settle(): Promise<void> {
    if (this.#owed.size === 0) return this.#writing;
    const written = this.#writing.then(() => this.#write());
    this.#writing = written.catch(() => {});
    return written;
  }

  /** Changes those of one resource as they are now. @returns `false`: beyond the limits @throws SHARED_STATE_UNAVAILABLE */
  async change(spot: Spot, isCollection: boolean, changes: PropertyChanges): Promise<boolean> {
    const place = { tree: spot.tree, path: pathOf(spot) };
    const id = this.#idOf(place.tree, place.path);
    await this.settle();
    return this.#shared.transaction(async (query) => {
      await query(TURN, [`${TABLE} ${id}`]);
      const rows = await query<SealedRow>(READ, [id]);
      const before = this.read(rows).find(({ kept }) => kept.isCollection === isCollection)?.kept.properties;
      const properties = changedWithin(before ?? NONE, changes);
      if (properties === undefined) return false;
      const change = { ...place, kept: { isCollection, properties } };
      const more = this.#sealed(change).length - (rows[0]?.sealed.length ?? 0);
      if (more > 0 && (await this.used(query)) + more > DeadProperties.MOST_BYTES) return false;
      await query(WRITE, this.#valuesOf([change]));
      return true;
    });
  }

  /** Bytes of all there are. @throws SHARED_STATE_UNAVAILABLE */
  async used(query: SharedQuery = this.#shared.query): Promise<number> {
    return (await query<{ bytes: number }>(USED))[0]?.bytes ?? 0;
  }

  async #write(): Promise<void> {
    const owed = new Map(this.#owed);
    await this.#shared.query(WRITE, this.#valuesOf([...owed.values()]));
    for (const [id, change] of owed) if (this.#owed.get(id) === change) this.#owed.delete(id);
  }

  #valuesOf(changes: readonly Change[]): readonly unknown[] {
    const isGone = ({ kept }: Change) => kept === undefined || kept.properties.size === 0;
    const put = changes
      .filter((change) => !isGone(change))
      .map((change) => ({
        above: this.#above(change),
        sealed: this.#sealed(change).toString("base64"),
      }));
    return [changes.filter(isGone).map(({ tree, path }) => this.#idOf(tree, path)), put];
  }

  #sealed({ tree, path, kept }: Change): Buffer {
    const contents = { tree, path, isCollection: kept?.isCollection, properties: [...(kept?.properties ?? [])] };
    return this.#seal.seal(this.#idOf(tree, path), Buffer.from(JSON.stringify(contents)));
  }

  /** Ids of a place and of those above it, upwards. */
  #above({ tree, path }: Change): readonly string[] {
    const segments = path === "" ? [] : path.split("/");
    const paths = [path, ...segments.map((_, index) => segments.slice(0, -1 - index).join("/"))];
    return paths.map((each) => this.#idOf(tree, each));
  }

  #idOf(tree: string, path: string): string {
    return this.#mac(`${tree}\0${path}`);
  }
}

/** The properties that one request may need, as they were when it looked. What it changes is written before its answer. */
export class SharedProperties extends DeadProperties {
  readonly #rows: PropertyRows;

  constructor(rows: PropertyRows, found: readonly SealedRow[]) {
    super(undefined);
    this.#rows = rows;
    for (const { tree, path, kept } of rows.read(found)) super.put(tree, path, kept);
  }

  override async change(spot: Spot, isCollection: boolean, changes: PropertyChanges): Promise<boolean> {
    return changes.size === 0 || this.#rows.change(spot, isCollection, changes);
  }

  override async hasRoomForCopy(spot: Spot): Promise<boolean> {
    const bytes = this.bytesWithin(spot);
    return bytes === 0 || bytes + (await this.#rows.used()) <= DeadProperties.MOST_BYTES;
  }

  protected override put(tree: string, path: string, kept: Kept): void {
    super.put(tree, path, kept);
    if (kept.properties.size > 0) this.#rows.owe({ tree, path, kept });
  }

  protected override remove(tree: string, path: string): boolean {
    const isGone = super.remove(tree, path);
    if (isGone) this.#rows.owe({ tree, path, kept: undefined });
    return isGone;
  }
}
