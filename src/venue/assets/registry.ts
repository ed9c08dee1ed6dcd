// The in-memory index of assets, and what each counts against the limits.

import type { Page, Paged } from "../../core/call/page.js";
import type { OwnAsset } from "../../core/ports/asset.js";
import { readMetadata, summaryOf } from "./metadata.js";
import type { AssetRecord } from "./store.js";

/** Bytes an asset counts besides its texts: entries in three indexes, and its file. */
const OVERHEAD_BYTES = 512;
const OWNER_BYTES = 128;

interface Entry {
  readonly record: AssetRecord;
  readonly summary: OwnAsset;
  /** Registration time of each owner, by DID. */
  readonly owners: ReadonlyMap<string, number>;
}

/** The assets of a venue in memory, indexed by id, by order of registration, and by owner. */
export class AssetRegistry {
  /** Oldest first; assets of operations before all others. */
  readonly #order: string[] = [];
  readonly #operations = new Map<string, Buffer>();
  readonly #entries = new Map<string, Entry>();
  /** Ids by DID, oldest first. */
  readonly #own = new Map<string, string[]>();

  get size(): number {
    return this.#order.length;
  }

  /** Metadata as compact JSON. */
  json(id: string): Buffer | undefined {
    return this.#operations.get(id) ?? this.#entries.get(id)?.record.json;
  }

  isOperation(id: string): boolean {
    return this.#operations.has(id);
  }

  record(id: string): AssetRecord | undefined {
    return this.#entries.get(id)?.record;
  }

  isOwner(id: string, did: string): boolean {
    return this.#entries.get(id)?.owners.has(did) === true;
  }

  /** Loads stored records, in any order. The registry must be empty. @returns bytes they count */
  restore(records: readonly AssetRecord[]): number {
    let bytes = 0;
    for (const record of [...records].sort((a, b) => a.registered - b.registered)) bytes += this.put(record);
    for (const [did, ids] of this.#own) ids.sort((a, b) => this.#at(a, did) - this.#at(b, did));
    return bytes;
  }

  /**
   * Adds the asset of an operation, in place of a registered asset with the same metadata.
   * @returns bytes the replaced asset had counted
   */
  addOperation(id: string, json: Buffer): number {
    if (this.#operations.has(id)) return 0;
    const taken = this.#remove(id);
    this.#operations.set(id, json);
    this.#order.unshift(id);
    return taken;
  }

  /** Adds a record, or replaces the one with fewer owners. @returns bytes it counts more */
  put(record: AssetRecord): number {
    const { id, json, owners } = record;
    const old = this.#entries.get(id);
    if (this.#operations.has(id) || (old !== undefined && old.owners.size >= owners.length)) return 0;
    if (old === undefined) this.#order.push(id);
    const summary = old?.summary ?? summaryOf(id, readMetadata(json));
    const known = old?.owners ?? new Map();
    this.#entries.set(id, { record, summary, owners: new Map(owners.map(({ did, at }) => [did, at])) });
    for (const { did } of owners) {
      if (known.has(did)) continue;
      const ids = this.#own.get(did);
      if (ids === undefined) this.#own.set(did, [id]);
      else ids.push(id);
    }
    return costOf(record) - (old === undefined ? 0 : costOf(old.record));
  }

  list(page: Page): Paged<string> {
    return newest(this.#order, page);
  }

  listOwn(page: Page, did: string): Paged<OwnAsset> {
    const paged = newest(this.#own.get(did) ?? [], page);
    return { ...paged, items: paged.items.map((id) => this.#entries.get(id)?.summary ?? { id }) };
  }

  #at(id: string, did: string): number {
    return this.#entries.get(id)?.owners.get(did) ?? 0;
  }

  #remove(id: string): number {
    const entry = this.#entries.get(id);
    if (entry === undefined) return 0;
    this.#entries.delete(id);
    this.#order.splice(this.#order.indexOf(id), 1);
    for (const did of entry.owners.keys()) {
      const ids = this.#own.get(did) ?? [];
      ids.splice(ids.indexOf(id), 1);
    }
    return costOf(entry.record);
  }
}

/** Bytes a record counts against the limits. */
export function costOf({ json, owners }: Pick<AssetRecord, "json" | "owners">): number {
  return owners.reduce((sum, { did }) => sum + ownerCost(did), OVERHEAD_BYTES + json.length);
}

/** Bytes an additional owner counts against the limits. */
export const ownerCost = (did: string): number => OWNER_BYTES + Buffer.byteLength(did, "utf8");

function newest<T>(oldestFirst: readonly T[], { offset, limit }: Page): Paged<T> {
  const total = oldestFirst.length;
  const end = Math.max(0, total - offset);
  return { items: oldestFirst.slice(Math.max(0, end - limit), end).reverse(), total, offset, limit };
}
