// The keys of one issuer: found, read within limits, and kept.

import type { JWTVerifyGetKey } from "jose";
import { bareHost, isSafeUrl } from "../../../config/loopback.js";
import type { Clock } from "../../../core/clock.js";
import type { Log } from "../../../core/ports/log.js";
import { codeOf, fieldsOf } from "../../../core/unknown.js";
import { NotRead, readJson } from "./read-json.js";

const READ_MS = 5_000;
const KEPT_MS = 10 * 60_000;
/** How old keys may become while their issuer is gone. */
const MOST_MS = 60 * 60_000;
/** Between two reads, whatever asks for the second. */
const PAUSE_MS = 30_000;
const MAX_KEYS = 100;
/** Calls with tokens not verified yet that wait for one read; more would take the connections of others. */
const MAX_WAITING = 64;

/** Keys or code that verify a token are not at hand, and cannot be had now. */
export class KeysGone extends Error {
  override readonly name = "KeysGone";
  readonly retryAfterMs: number;

  constructor(retryAfterMs: number) {
    super("Tokens of an issuer cannot be verified now");
    this.retryAfterMs = retryAfterMs;
  }
}

/** One key of an issuer. */
export interface IssuerKey {
  readonly kid: unknown;
  /** Its members as text, the same after each read. */
  readonly text: string;
  /** Gives the key for a header that it fits, by its type, `kid`, `alg`, `use` and `key_ops`. */
  readonly find: JWTVerifyGetKey;
}

export interface IssuerKeysOptions {
  readonly issuer: string;
  /** URL of its keys. Absent: its metadata name that. */
  readonly jwks?: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  /** Hosts that the configuration names: they alone may have private addresses. */
  readonly #named: ReadonlySet<string>;
  #known: { readonly keys: readonly IssuerKey[]; readonly readAt: number } | undefined;
  #triedAt = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  #waiting = 0;

  constructor(options: IssuerKeysOptions) {
    const { issuer, jwks = issuer } = options;
    this.#options = options;
    this.#named = new Set([issuer, jwks].map((url) => bareHost(new URL(url).hostname)));
  }

  /** Reads the keys where that is due. @returns `undefined`: they are as they are */
  refresh(): Promise<void> | undefined {
    return this.#age < KEPT_MS ? undefined : this.#read();
  }

  /** Whether a key is one of the issuer's, as far as is known. */
  holds(text: string): boolean {
    return this.#age < MOST_MS && this.#known?.keys.some((key) => key.text === text) === true;
  }

  /** The keys that a token may be signed by. @param kid of its header @throws KeysGone */
  async findFor(kid: unknown): Promise<readonly IssuerKey[]> {
    if (this.#age >= KEPT_MS) await this.#wait();
    const found = this.#fitting(kid);
    if (found.length > 0) return found;
    await this.#wait();
    return this.#fitting(kid);
  }

  #fitting(kid: unknown): readonly IssuerKey[] {
    const { keys = [] } = this.#known ?? {};
    if (this.#age >= MOST_MS) throw new KeysGone(Math.max(1000, this.#triedAt + PAUSE_MS - this.#nowMs));
    return kid === undefined ? keys : keys.filter((key) => key.kid === kid);
  }

  get #nowMs(): number {
    return this.#options.clock.monotonicMs();
  }

  get #age(): number {
    return this.#nowMs - (this.#known?.readAt ?? Number.NEGATIVE_INFINITY);
  }

  #read(): Promise<void> | undefined {
    if (this.#reading === undefined) {
      if (this.#nowMs - this.#triedAt < PAUSE_MS) return undefined;
      this.#triedAt = this.#nowMs;
      this.#waiting = 0;
      this.#reading = this.#load().finally(() => {
        this.#reading = undefined;
      });
    }
    return this.#reading;
  }

  /** Whoever sends a token that is not verified makes the venue wait. @throws KeysGone where too many do */
  #wait(): Promise<void> | undefined {
    const reading = this.#read();
    if (reading !== undefined && ++this.#waiting > MAX_WAITING) throw new KeysGone(1000);
    return reading;
  }

  async #load(): Promise<void> {
    const { issuer, jwks, log } = this.#options;
    const signal = AbortSignal.timeout(READ_MS);
    try {
      const set = await this.#get(jwks ?? (await this.#discover(signal)), signal);
      this.#known = { keys: await keysOf(set), readAt: this.#nowMs };
    } catch (error) {
      const reason = signal.aborted ? "no answer within 5 s" : reasonOf(error);
      log.warn({ issuer, reason }, "The keys of an issuer were not read: those of before hold for an hour");
    }
  }

  /** The URL of the keys, from the issuer's metadata. @throws NotRead; the system's error when the time is up */
  async #discover(signal: AbortSignal): Promise<string> {
    const { issuer } = this.#options;
    const reasons: string[] = [];
    for (const address of metadataUrls(issuer)) {
      try {
        const { issuer: named, jwks_uri: uri } = fieldsOf(await this.#get(address, signal));
        // Metadata of another issuer would put its keys in the place of this one's.
        if (named !== issuer) throw new NotRead("its metadata name another issuer");
        if (typeof uri !== "string" || !isSafeUrl(uri)) throw new NotRead("its metadata name no URL of keys by HTTPS");
        return uri;
      } catch (error) {
        if (signal.aborted) throw error;
        reasons.push(reasonOf(error));
      }
    }
    throw new NotRead(reasons.join("; "));
  }

  #get(address: string, signal: AbortSignal): Promise<unknown> {
    return readJson(address, { named: this.#named, signal });
  }
}

/** Fit for a log: no text of the answer. */
const reasonOf = (error: unknown): string =>
  error instanceof NotRead ? error.message : (codeOf(error) ?? "it cannot be read");

/** Where an issuer has its metadata: as of RFC 8414, then as of OpenID Connect Discovery. */
function metadataUrls(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  return [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
}

/** The keys of a set, each by itself: one that is malformed spoils no other. @throws NotRead */
async function keysOf(set: unknown): Promise<readonly IssuerKey[]> {
  const { createLocalJWKSet } = await import("jose");
  const { keys } = fieldsOf(set);
  if (!Array.isArray(keys)) throw new NotRead("it is no set of keys");
  return keys.slice(0, MAX_KEYS).flatMap((jwk: unknown) => {
    const fields = fieldsOf(jwk);
    try {
      const text = JSON.stringify(jwk, Object.keys(fields).sort());
      return [
        { kid: fields["kid"], text, find: createLocalJWKSet({ keys: [{ ...fields, kty: String(fields["kty"]) }] }) },
      ];
    } catch {
      return [];
    }
  });
}
