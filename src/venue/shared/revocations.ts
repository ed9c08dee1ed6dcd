// Revocations that all instances share. Each keeps all of them in its list file too, so what the engine loses is put back.

import type { Log } from "../../core/ports/log.js";
import type { SharedQuery } from "../../core/ports/shared.js";
import { isEntry } from "../../ucan/verify/revocation-list.js";
import type { Identity } from "../identity/identity.js";
import { CurrentRevocations, type RevocationList } from "../identity/revocations.js";

const PUT = `WITH missing AS MATERIALIZED (
    SELECT entry FROM jsonb_array_elements_text($1::jsonb) AS wanted(entry)
    WHERE NOT EXISTS (SELECT FROM revocation known WHERE known.entry = wanted.entry)),
  changed AS MATERIALIZED (SELECT next_epoch() AS n WHERE EXISTS (SELECT FROM missing))
  INSERT INTO revocation (entry, n) SELECT entry, n FROM missing, changed ON CONFLICT DO NOTHING`;

/** A column that reads rows after an epoch. */
export const revocationColumn = (since: string): string =>
  `(SELECT coalesce(json_agg(entry), '[]') FROM revocation WHERE revocation.n > ${since}) AS revocations`;

export class SharedRevocations extends CurrentRevocations {
  readonly #query: SharedQuery;
  readonly #log: Log;
  /** Known to be in the engine. */
  #kept = new Set<string>();
  /** The entries of the list when they were last compared with those. */
  #compared: ReadonlySet<string> | undefined;

  constructor(
    names: Pick<Identity, "did" | "keyDid">,
    { query, log }: { readonly query: SharedQuery; readonly log: Log },
  ) {
    super(names);
    this.#query = query;
    this.#log = log;
  }

  /** @param list of this instance alone, which holds what all have */
  override over(list: RevocationList): void {
    super.over(list);
    this.#compared = undefined;
  }

  /** @throws RangeError; SHARED_STATE_UNAVAILABLE: nothing was done, or the connection broke while it was */
  override async add(entries: readonly string[]): Promise<void> {
    if (!entries.every(isEntry)) throw new RangeError("Cannot revoke: neither a token id nor a DID");
    await this.#put(entries, this.#query);
    this.#take(entries);
  }

  /** Takes in rows. @returns whether the engine has lost some */
  read(entries: readonly string[], isWhole: boolean): boolean {
    const before = this.#kept;
    if (isWhole) {
      this.#kept = new Set();
      this.#compared = undefined;
    }
    this.#take(entries);
    return isWhole && [...before].some((entry) => !this.#kept.has(entry));
  }

  /** Puts what the list has and the engine has not, be it lost there or written by a command. */
  async mend(query: SharedQuery): Promise<void> {
    const { entries } = this.list;
    if (entries === this.#compared) return;
    const missing = [...entries].filter((entry) => !this.#kept.has(entry));
    if (missing.length > 0) await this.#put(missing, query);
    this.#compared = entries;
  }

  async #put(entries: readonly string[], query: SharedQuery): Promise<void> {
    await query(PUT, [entries]);
    for (const entry of entries) this.#kept.add(entry);
  }

  /** In force at once; the file is written behind. */
  #take(entries: readonly string[]): void {
    for (const entry of entries) this.#kept.add(entry);
    const missing = entries.filter((entry) => isEntry(entry) && !this.list.has(entry));
    if (missing.length === 0) return;
    this.list
      .add(missing)
      .catch((err: unknown) => this.#log.error({ err }, "a shared revocation is not in the list file"));
  }
}
