// Access tokens, sessions and links that all instances share: sealed rows by hashes, of which each instance has a copy.

import { Overloaded } from "../../core/errors/errors.js";
import type { Log } from "../../core/ports/log.js";
import type { Seal, SharedQuery } from "../../core/ports/shared.js";
import type { AccessEntry, AccessRevocation, SignedUcan, TokenStore } from "../identity/access-entry.js";

type Kind = "token" | "link" | "ucan";

const DAY_MS = 86_400_000;
/** Looks for unknown secrets, a second. */
const MOST_LOOKS = 20;
const SECOND_MS = 1000;
/** Uses that others wrote while this instance read them. */
const OVERLAP_MS = 120_000;

const PUT = `WITH changed AS MATERIALIZED (SELECT next_epoch() AS n)
  INSERT INTO access (kind, id, sha256, sealed, expires, n)
  SELECT $1, $2, $3, $4, to_timestamp($5::float8 / 1000), n FROM changed ON CONFLICT DO NOTHING RETURNING id`;

const END = `WITH changed AS MATERIALIZED (SELECT next_epoch() AS n)
  INSERT INTO ended (id, at, keep, n) SELECT id, to_timestamp(at / 1000), keep, n
  FROM jsonb_to_recordset($1::jsonb) AS marks(id text, at float8, keep boolean), changed
  ON CONFLICT (id) DO UPDATE SET keep = false, n = excluded.n WHERE ended.keep AND NOT excluded.keep`;

/** Links that were made before the engine lost writes: one may have been used. */
const END_LINKS = `WITH changed AS MATERIALIZED (SELECT next_epoch() AS n)
  INSERT INTO ended (id, at, keep, n) SELECT id, clock_timestamp(), false, changed.n FROM access link, changed
  WHERE kind = 'link' AND NOT EXISTS (SELECT FROM access token WHERE token.kind = 'token' AND token.id = link.id)
  ON CONFLICT DO NOTHING`;

const USES = `WITH own AS (INSERT INTO used (id, at)
    SELECT id, to_timestamp(at / 1000) FROM jsonb_to_recordset($1::jsonb) AS uses(id text, at float8)
    ON CONFLICT (id) DO UPDATE SET at = greatest(used.at, excluded.at))
  SELECT id, extract(epoch FROM at)::float8 * 1000 AS at FROM used WHERE at > to_timestamp($2::float8 / 1000)`;

/** With its last use. A link has the id of the token that it becomes. */
const REMOVE = `WITH unused AS (DELETE FROM used WHERE id = $2 AND $1 = 'token') DELETE FROM access WHERE kind = $1 AND id = $2`;

/** Columns that read rows after an epoch. */
export const tokenColumns = (since: string): string =>
  `(SELECT coalesce(json_agg(json_build_object('kind', kind, 'id', id, 'sealed', encode(sealed, 'base64'))), '[]')
    FROM access WHERE access.n > ${since}) AS tokens,
  (SELECT coalesce(json_agg(json_build_object('id', id, 'at', extract(epoch FROM at)::float8 * 1000, 'keep', keep)), '[]')
    FROM ended WHERE ended.n > ${since}) AS ended`;

export interface TokenRows {
  readonly tokens: readonly Row[];
  readonly ended: readonly (AccessRevocation & { readonly id: string })[];
}

interface Row {
  readonly kind: Kind;
  readonly id: string;
  /** Base64. */
  readonly sealed: string;
}

interface TokenParts {
  readonly query: SharedQuery;
  readonly seal: Seal;
  readonly log: Log;
  /** Reads what changed until now. */
  refresh(): Promise<void>;
}

export class SharedTokens implements TokenStore {
  readonly #parts: TokenParts;
  #rows = {
    token: new Map<string, AccessEntry>(),
    link: new Map<string, AccessEntry>(),
    ucan: new Map<string, SignedUcan>(),
  };
  #ended = new Map<string, AccessRevocation>();
  #bySecret = new Map<string, AccessEntry>();
  readonly #used = new Map<string, number>();
  /** Removals under way; none of them rejects. */
  #removals: Promise<unknown> = Promise.resolve();
  /** Uses of this instance that are not written yet. */
  #unwritten = new Map<string, number>();
  #usesReadAt = 0;
  #looks: number[] = [];

  constructor(parts: TokenParts) {
    this.#parts = parts;
  }

  tokens = (): ReadonlyMap<string, AccessEntry> => this.#rows.token;
  links = (): ReadonlyMap<string, AccessEntry> => this.#rows.link;
  revocations = (): ReadonlyMap<string, AccessRevocation> => this.#ended;
  ucans = (): readonly SignedUcan[] => [...this.#rows.ucan.values()];

  bySecret(kind: "token" | "link", sha256: string): AccessEntry | undefined {
    return this.#bySecret.get(`${kind} ${sha256}`);
  }

  async lookUp(): Promise<void> {
    const now = performance.now();
    this.#looks = this.#looks.filter((at) => at > now - SECOND_MS);
    if (this.#looks.length >= MOST_LOOKS) throw new Overloaded("Too many unknown tokens", SECOND_MS);
    this.#looks.push(now);
    await this.#parts.refresh();
  }

  async put(kind: "token" | "link", entry: AccessEntry): Promise<boolean> {
    return this.#put(kind, entry, entry.sha256);
  }

  async revoke(id: string, mark: AccessRevocation): Promise<void> {
    await this.#parts.query(END, [[{ id, ...mark }]]);
    this.#mark(id, mark);
  }

  lastUsed({ id, created }: AccessEntry): number | undefined {
    const used = this.#used.get(id) ?? 0;
    return used > created ? used : undefined;
  }

  noteUse({ id }: AccessEntry, atMs: number): void {
    this.mark(id, atMs);
  }

  markedAt(id: string): number | undefined {
    return this.#used.get(id);
  }

  mark(id: string, atMs: number): void {
    this.#used.set(id, atMs);
    this.#unwritten.set(id, atMs);
  }

  remove(kind: Kind, id: string): void {
    const entry = this.#rows[kind].get(id);
    if (entry !== undefined && "sha256" in entry) this.#bySecret.delete(`${kind} ${entry.sha256}`);
    this.#rows[kind].delete(id);
    if (kind === "token") this.#used.delete(id);
    const removed = this.#parts.query(REMOVE, [kind, id]).catch((err: unknown) => {
      this.#parts.log.debug({ err }, "an ended token was not removed");
      // It is there still, so what ended it has to stay.
      if (entry !== undefined) this.#add(kind, entry);
    });
    this.#removals = Promise.all([this.#removals, removed]);
  }

  removeRevocation(id: string): void {
    void this.#removals.then(() => {
      if (this.#isNeeded(id)) return;
      this.#ended.delete(id);
      this.#parts.query("DELETE FROM ended WHERE id = $1", [id]).catch(() => {});
    });
  }

  async putUcan(entry: SignedUcan): Promise<void> {
    const lost = (err: unknown) => this.#parts.log.warn({ err }, "a signed token is in no list");
    await this.#put("ucan", entry, null).catch(lost);
  }

  removeUcan(id: string): void {
    this.remove("ucan", id);
  }

  /** Takes in rows, all where it is given what was known before; puts back what ended. @returns whether the engine has lost some */
  async read({ tokens, ended }: TokenRows, query: SharedQuery, known?: readonly AccessEntry[]): Promise<boolean> {
    const isWhole = known !== undefined;
    const before = this.#ended;
    if (isWhole) {
      this.#rows = { token: new Map(), link: new Map(), ucan: new Map() };
      this.#bySecret = new Map();
      this.#ended = new Map();
    }
    for (const row of tokens) this.#take(row);
    for (const { id, at, keep } of ended) this.#mark(id, { at, keep });
    const lost = isWhole ? [...before].filter(([id, mark]) => this.#isLost(id, mark)) : [];
    for (const [id, mark] of lost) this.#mark(id, mark);
    if (lost.length > 0) await query(END, [lost.map(([id, mark]) => ({ id, ...mark }))]);
    // Others remove those alone that have ended.
    const isGone = ({ id, via, expires }: AccessEntry) =>
      !this.#rows.token.has(id) && expires > Date.now() && ![id, ...via].some((one) => before.has(one));
    return lost.length > 0 || known?.some(isGone) === true;
  }

  /** Ends all links. */
  async endLinks(query: SharedQuery): Promise<void> {
    await query(END_LINKS);
  }

  /** Writes last uses, and reads those of others: once a minute. */
  async exchangeUses(query: SharedQuery): Promise<void> {
    const uses = [...this.#unwritten].map(([id, at]) => ({ id, at }));
    const begun = Date.now();
    const rows = await query<{ id: string; at: number }>(USES, [uses, this.#usesReadAt - OVERLAP_MS]);
    this.#usesReadAt = begun;
    for (const { id, at } of uses) if (this.#unwritten.get(id) === at) this.#unwritten.delete(id);
    for (const { id, at } of rows) this.#used.set(id, Math.max(at, this.#used.get(id) ?? 0));
  }

  async #put(kind: Kind, entry: AccessEntry | SignedUcan, sha256: string | null): Promise<boolean> {
    const sealed = this.#parts.seal.seal(`${kind} ${entry.id}`, Buffer.from(JSON.stringify(entry)));
    const rows = await this.#parts.query(PUT, [kind, entry.id, sha256, sealed, entry.expires]);
    if (rows.length > 0) this.#add(kind, entry);
    return rows.length > 0;
  }

  /** A row that this venue did not seal for its place gives nobody anything. */
  #take({ kind, id, sealed }: Row): void {
    const plain = this.#parts.seal.open(`${kind} ${id}`, Buffer.from(sealed, "base64"));
    if (plain === undefined)
      this.#parts.log.error({ kind, id }, "a shared access token is not what this venue wrote; it is ignored");
    else this.#add(kind, JSON.parse(plain.toString()) as AccessEntry);
  }

  #add(kind: Kind, entry: AccessEntry | SignedUcan): void {
    if (kind === "ucan") this.#rows.ucan.set(entry.id, entry as SignedUcan);
    else {
      this.#rows[kind].set(entry.id, entry as AccessEntry);
      this.#bySecret.set(`${kind} ${(entry as AccessEntry).sha256}`, entry as AccessEntry);
    }
  }

  #mark(id: string, mark: AccessRevocation): void {
    if (this.#ended.get(id)?.keep !== false || !mark.keep) this.#ended.set(id, mark);
  }

  /** Marks go a day after they were made, once no token needs them. */
  #isLost(id: string, mark: AccessRevocation): boolean {
    const now = this.#ended.get(id);
    if (now !== undefined && (now.keep === mark.keep || !now.keep)) return false;
    return this.#isNeeded(id) || mark.at > Date.now() - DAY_MS;
  }

  #isNeeded(id: string): boolean {
    return [...this.#rows.token.values()].some((one) => one.id === id || one.via.includes(id));
  }
}
