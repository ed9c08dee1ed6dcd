// Access tokens, sessions and links: made, exchanged, found, listed and revoked while the venue runs.

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "../../core/clock.js";
import { type Awaitable, after } from "../../core/io.js";
import type {
  AccessEntry,
  AccessRequest,
  AccessState,
  ListedAccess,
  LoginFault,
  MadeAccess,
  SignedUcan,
  TokenMaker,
  TokenStore,
} from "./access-entry.js";

/** Prefix of access tokens. */
const PREFIX = "vft_";
const TOKEN = /^vft_[A-Za-z0-9_-]{43}$/;
const CODE = /^[A-Za-z0-9_-]{43}$/;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** A session ends when it was not used for this long, and after {@link SESSION_MS} in any case. */
const IDLE_MS = 12 * HOUR_MS;
export const SESSION_MS = 7 * DAY_MS;
const LINK_MS = 15 * MINUTE_MS;
/** How long ended entries are kept, for lists. */
const KEPT_MS = 7 * DAY_MS;
const SWEEP_MS = HOUR_MS;
const MOST = 10_000;
const MAX_PER_MAKER = 1_000;
/** Failed logins a minute, of all callers together. */
const MAX_FAILURES = 10;

const hashOf = (secret: string): string => createHash("sha256").update(secret).digest("hex");
const isSameHash = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
/** Names the mark of a static token; the hash of the token is never disclosed. */
const staticId = (sha256: string): string => hashOf(`static token ${sha256}`).slice(0, 32);
const newSecret = (): string => randomBytes(32).toString("base64url");

export const isAccessToken = (text: string): boolean => text.startsWith(PREFIX);

interface AccessTokensOptions {
  /** DID of the venue. Entries of other venues are neither accepted nor shown. */
  readonly venue: string;
  readonly clock: Clock;
  /** Tokens made up to this time are revoked; seconds since the epoch. */
  readonly notBefore?: () => number | undefined;
}

/** The access tokens of a venue on their store. */
export class AccessTokens {
  readonly #store: TokenStore;
  readonly #venue: string;
  readonly #clock: Clock;
  readonly #notBefore: () => number | undefined;
  /** When this process last used a token, and last wrote that down. */
  readonly #used = new Map<string, { at: number; notedAt: number }>();
  #failures: number[] = [];
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor(store: TokenStore, { venue, clock, notBefore = () => undefined }: AccessTokensOptions) {
    this.#store = store;
    this.#venue = venue;
    this.#clock = clock;
    this.#notBefore = notBefore;
  }

  /** @returns `undefined` when there are too many */
  issue(request: AccessRequest): Awaitable<MadeAccess | undefined> {
    const { lifetimeMs, ...common } = this.#prepare(request);
    const latest = common.latest ?? Number.POSITIVE_INFINITY;
    return this.#make("token", { ...common, expires: Math.min(common.created + lifetimeMs, latest) });
  }

  /** A link: a code that {@link login} exchanges, once. @returns `undefined` when there are too many */
  link(request: AccessRequest): Awaitable<MadeAccess | undefined> {
    const common = this.#prepare(request);
    return this.#make("link", { ...common, expires: Math.min(common.created + LINK_MS, common.latest ?? Infinity) });
  }

  login(code: string): Awaitable<MadeAccess | LoginFault> {
    if (!CODE.test(code)) return this.#refuse(this.#clock.nowMs());
    return after(this.#ofSecret("link", code), (link) => {
      const now = this.#clock.nowMs();
      if (link === undefined || this.#stateOf(link) !== "live" || link.expires <= now) return this.#refuse(now);
      return this.#exchange(link, now);
    });
  }

  #exchange(link: AccessEntry, now: number): Awaitable<MadeAccess | LoginFault> {
    const { lifetimeMs = SESSION_MS, latest = Number.POSITIVE_INFINITY, ...kept } = link;
    const secret = PREFIX + newSecret();
    const expires = Math.min(now + lifetimeMs, latest);
    const entry = { ...kept, sha256: hashOf(secret), created: now, expires, login: true } as const;
    // The first process to write the token has used the link.
    return after(this.#store.put("token", entry), (isFirst) => {
      this.#store.remove("link", link.id);
      return isFirst ? { secret, entry } : this.#refuse(now);
    });
  }

  /** The entry of a token in force, noting its use. `undefined`: it is not one, or has ended. */
  use(token: string): Awaitable<AccessEntry | undefined> {
    if (!TOKEN.test(token)) return undefined;
    return after(this.#ofSecret("token", token), (entry) => {
      if (entry === undefined || this.#stateOf(entry) !== "live") return undefined;
      this.#note(entry.id, (at) => this.#store.noteUse(entry, at));
      return entry;
    });
  }

  /** The entry with this id, if it is a token in force. Not a use. */
  inForce(id: string): AccessEntry | undefined {
    const entry = this.#own(this.#store.tokens().get(id));
    return entry !== undefined && this.#stateOf(entry) === "live" ? entry : undefined;
  }

  /** An entry, in force or not. */
  find(id: string): { readonly entry: AccessEntry; readonly isLink: boolean } | undefined {
    const token = this.#own(this.#store.tokens().get(id));
    if (token !== undefined) return { entry: token, isLink: false };
    const link = this.#own(this.#store.links().get(id));
    return link && { entry: link, isLink: true };
  }

  list(): readonly ListedAccess[] {
    const listed = (entry: AccessEntry, isLink: boolean): ListedAccess => ({
      ...{ entry, isLink, state: this.#stateOf(entry) },
      lastUsed: isLink ? undefined : this.#lastUsed(entry),
      revoked: this.#revocationOf(entry)?.at,
    });
    const tokens = this.#store.tokens();
    const links = [...this.#store.links().values()].filter(({ id }) => !tokens.has(id));
    const all = [...[...tokens.values()].map((one) => listed(one, false)), ...links.map((one) => listed(one, true))];
    return all.filter(({ entry }) => entry.venue === this.#venue);
  }

  /**
   * Takes effect at once, in every process with this state directory.
   * @param keep what was made through it goes on
   * @throws the system's error when it could not be written: it then holds in this process
   */
  revoke(id: string, keep: boolean): Awaitable<void> {
    return this.#store.revoke(id, { at: this.#clock.nowMs(), keep });
  }

  /** Keeps what a UCAN says that the venue signed. */
  noteUcan(signed: Omit<SignedUcan, "venue">): Awaitable<void> {
    this.#sweep();
    const entry = { ...signed, venue: this.#venue };
    const ucans = this.#store.ucans();
    const [oldest] = [...ucans].sort((one, other) => one.created - other.created);
    if (ucans.length >= MAX_PER_MAKER && oldest !== undefined) this.#store.removeUcan(oldest.id);
    return this.#store.putUcan(entry);
  }

  ucans(): readonly SignedUcan[] {
    const now = this.#clock.nowMs();
    return this.#store.ucans().filter(({ venue, expires }) => venue === this.#venue && expires > now);
  }

  #prepare({ label, caps, maker, lifetimeMs, through }: AccessRequest) {
    const own = through?.expires;
    return {
      id: randomBytes(16).toString("hex"),
      venue: this.#venue,
      label,
      ...(caps === undefined ? {} : { caps }),
      maker,
      via: through === undefined ? [] : [through.id, ...through.via],
      created: this.#clock.nowMs(),
      lifetimeMs,
      // A session made by a session ends with it at the latest.
      ...(caps === undefined && own !== undefined ? { latest: own } : {}),
    };
  }

  #make(kind: "token" | "link", entry: Omit<AccessEntry, "sha256">): Awaitable<MadeAccess | undefined> {
    this.#sweep();
    const others = [...this.#store.tokens().values(), ...this.#store.links().values()];
    if (others.length >= MOST) return undefined;
    const ofMaker = others.filter((one) => isSameMaker(one.maker, entry.maker) && this.#stateOf(one) === "live");
    if (entry.maker.kind !== "operator" && ofMaker.length >= MAX_PER_MAKER) return undefined;
    const secret = (kind === "token" ? PREFIX : "") + newSecret();
    const whole = { ...entry, sha256: hashOf(secret) };
    return after(this.#store.put(kind, whole), () => ({ secret, entry: whole }));
  }

  /** Finds an entry by the hash of its secret. A caller cannot choose the hash, so timing tells nothing. */
  #ofSecret(kind: "token" | "link", secret: string): Awaitable<AccessEntry | undefined> {
    const sha256 = hashOf(secret);
    const find = () => {
      const entry = this.#own(this.#store.bySecret(kind, sha256));
      return entry !== undefined && isSameHash(entry.sha256, sha256) ? entry : undefined;
    };
    return find() ?? after(this.#store.lookUp?.(), find);
  }

  #own(entry: AccessEntry | undefined): AccessEntry | undefined {
    return entry?.venue === this.#venue ? entry : undefined;
  }

  /** Counts a failed login. Only failures are limited: the right code always works. */
  #refuse(now: number): LoginFault {
    this.#failures = this.#failures.filter((at) => at > now - MINUTE_MS);
    const [oldest = now] = this.#failures;
    if (this.#failures.length >= MAX_FAILURES) return { fault: "too many", retryMs: oldest + MINUTE_MS - now };
    this.#failures.push(now);
    return { fault: "wrong" };
  }

  #stateOf(entry: AccessEntry): AccessState {
    const notBefore = this.#notBefore();
    if (notBefore !== undefined && entry.created <= notBefore * 1000) return "revoked";
    if (this.#revocationOf(entry) !== undefined) return "revoked";
    const now = this.#clock.nowMs();
    if (entry.expires <= now) return "ended";
    const isSession = entry.caps === undefined && entry.lifetimeMs === undefined;
    return isSession && this.#isIdle(entry, now) ? "ended" : "live";
  }

  #revocationOf({ id, via }: AccessEntry) {
    const revoked = this.#store.revocations();
    if (revoked.size === 0) return undefined;
    return revoked.get(id) ?? via.map((one) => revoked.get(one)).find((mark) => mark?.keep === false);
  }

  #isIdle(entry: AccessEntry, now: number): boolean {
    const since = this.#used.get(entry.id)?.at ?? entry.created;
    // Another process may have used it.
    return now - since > IDLE_MS && now - (this.#lastUsed(entry) ?? entry.created) > IDLE_MS;
  }

  #lastUsed(entry: AccessEntry): number | undefined {
    const noted = this.#store.lastUsed(entry);
    const own = this.#used.get(entry.id)?.at;
    return noted === undefined ? own : Math.max(noted, own ?? 0);
  }

  /** Notes the use of a static token. @param sha256 hex */
  noteStatic(sha256: string): void {
    const id = staticId(sha256);
    this.#note(id, (at) => this.#store.mark(id, at));
  }

  /** When a static token was last used, as far as is known. */
  staticUsed(sha256: string): number | undefined {
    const id = staticId(sha256);
    const [noted, own] = [this.#store.markedAt(id), this.#used.get(id)?.at];
    return noted === undefined ? own : Math.max(noted, own ?? 0);
  }

  /** Remembers the use; written down once a minute at most. */
  #note(id: string, write: (atMs: number) => void): void {
    const at = this.#clock.nowMs();
    const known = this.#used.get(id);
    const isDue = known === undefined || at - known.notedAt >= MINUTE_MS;
    if (isDue) write(at);
    this.#used.set(id, { at, notedAt: isDue ? at : known.notedAt });
  }

  /** Takes away what ended long ago. A mark stays as long as something was made through what it revokes. */
  #sweep(): void {
    const now = this.#clock.nowMs();
    if (now - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = now;
    const endOf = (entry: AccessEntry) => this.#revocationOf(entry)?.at ?? entry.expires;
    const isOld = (entry: AccessEntry) => this.#stateOf(entry) !== "live" && endOf(entry) < now - KEPT_MS;
    const all = [...this.#store.tokens().values()];
    const rest = all.filter((entry) => !isOld(entry));
    for (const { id } of all.filter(isOld)) {
      this.#store.remove("token", id);
      this.#used.delete(id);
    }
    for (const { id, expires } of [...this.#store.links().values()]) {
      if (expires < now) this.#store.remove("link", id);
    }
    const isNeeded = (id: string) => rest.some((entry) => entry.id === id || entry.via.includes(id));
    for (const [id, { at }] of [...this.#store.revocations()]) {
      if (at < now - DAY_MS && !isNeeded(id)) this.#store.removeRevocation(id);
    }
    for (const { id, expires } of this.#store.ucans()) if (expires <= now) this.#store.removeUcan(id);
  }
}

function isSameMaker(one: TokenMaker, other: TokenMaker): boolean {
  const nameOf = (maker: TokenMaker) => (maker.kind === "operator" ? "" : maker.did);
  return one.kind === other.kind && nameOf(one) === nameOf(other);
}
