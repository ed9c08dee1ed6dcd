// Outside issuers (OAuth 2.1, OpenID Connect): judges their tokens, remembers those it has verified, and who has called.

import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { IssuerConfig } from "../../../config/types.js";
import { contextOf } from "../../../core/call/attribute.js";
import type { AuthenticationResult, Caller } from "../../../core/call/caller.js";
import type { Capability } from "../../../core/call/capability.js";
import type { Clock } from "../../../core/clock.js";
import type { Awaitable } from "../../../core/io.js";
import type { SurfaceContext } from "../../../core/ports/adapter.js";
import type { Log } from "../../../core/ports/log.js";
import { putLatest } from "../../../core/put-latest.js";
import type { Revocations } from "../../../ucan/verify/proof.js";
import { revokeJti } from "../../../ucan/verify/revocation-list.js";
import { IssuerKeys, KeysGone } from "./keys.js";
import { rightsOf } from "./rights.js";
import { Refused, unverified, verifyToken } from "./verify.js";

/** Most tokens that are known, and most callers that are listed; those not used for longest go. */
const MOST = 4096;
/** Most known tokens of one caller: who gets many of them takes no place of others, whose streams and tickets end with theirs. */
const MOST_OF_CALLER = 256;

export interface IssuersOptions {
  readonly venueDid: string;
  /** Base URL of the venue. */
  url(): string;
  /** Seconds. */
  readonly clockSkew: number;
  readonly revocations: Revocations;
  readonly clock: Clock;
  readonly log: Log;
}

/** A caller that tokens of an issuer were for, since the venue started. */
export interface IssuerCaller {
  readonly did: string;
  /** URL of the issuer. */
  readonly issuer: string;
  /** By the token used last. */
  readonly grants: readonly Capability[];
  /** Milliseconds since the epoch. */
  readonly lastUsed: number;
}

interface Issuer {
  readonly config: IssuerConfig;
  readonly keys: IssuerKeys;
}

/** A token that was verified. Kept instead of it: its SHA-256. */
interface KnownToken {
  readonly issuer: Issuer;
  /** Text of the key that it was verified by. */
  readonly key: string;
  readonly jti: unknown;
  /** Seconds since the epoch. */
  readonly issuedAt: number | undefined;
  readonly expiresAt: number;
  readonly caller: Caller;
  readonly grants: readonly Capability[];
}

export class Issuers {
  readonly #options: IssuersOptions;
  #issuers: ReadonlyMap<string, Issuer> = new Map();
  /** By the SHA-256 of the token, that used last at the end. */
  readonly #known = new Map<string, KnownToken>();
  /** By DID, that seen last at the end. */
  readonly #callers = new Map<string, IssuerCaller>();

  constructor(configs: readonly IssuerConfig[], options: IssuersOptions) {
    this.#options = options;
    this.reload(configs);
  }

  /** URLs of the issuers. */
  get urls(): readonly string[] {
    return [...this.#issuers.keys()];
  }

  /** Keys and tokens of an issuer that has changed are forgotten: its tokens are verified anew. */
  reload(configs: readonly IssuerConfig[]): void {
    const { clock, log } = this.#options;
    this.#issuers = new Map(
      configs.map((config) => {
        const { issuer, jwks } = config;
        const before = this.#issuers.get(issuer);
        const isSame = before !== undefined && isDeepStrictEqual(before.config, config);
        return [issuer, isSame ? before : { config, keys: new IssuerKeys({ issuer, jwks, clock, log }) }];
      }),
    );
    for (const [id, { issuer }] of this.#known) if (!this.#isInForce(issuer)) this.#known.delete(id);
  }

  /** When a verified token ends, in seconds since the epoch. @param id its SHA-256 */
  expiresOf(id: string): number | undefined {
    return this.#known.get(id)?.expiresAt;
  }

  /** The callers of late, that seen last at the end. */
  callers(): readonly IssuerCaller[] {
    return [...this.#callers.values()];
  }

  /** @returns `undefined`: no issuer has made the token. A promise where there is a wait. */
  authenticate(token: string): Awaitable<AuthenticationResult> | undefined {
    if (this.#issuers.size === 0 || !token.includes(".")) return undefined;
    const id = hash("sha256", token, "hex");
    const known = this.#known.get(id);
    if (known !== undefined) {
      const { keys } = known.issuer;
      const due = keys.refresh();
      if (due !== undefined) return due.then(() => this.authenticate(token) ?? { refused: "invalid_token" });
      if (keys.holds(known.key)) return this.#use(id, known);
    }
    const iss = unverified(token, 1)["iss"];
    const issuer = typeof iss === "string" ? this.#issuers.get(iss) : undefined;
    return issuer && this.#verify(token, id, issuer);
  }

  /** The caller of an earlier request as it is now. @returns `undefined`: it would be refused */
  rejudge(context: SurfaceContext, id: string): SurfaceContext | undefined {
    const known = this.#known.get(id);
    if (known === undefined) return undefined;
    const { keys } = known.issuer;
    void keys.refresh();
    if (!keys.holds(known.key) || this.#faultOf(known) !== undefined) return undefined;
    putLatest(this.#known, id, known, MOST);
    return { ...context, ...contextOf(known.caller) };
  }

  async #verify(token: string, id: string, issuer: Issuer): Promise<AuthenticationResult> {
    const { venueDid, clockSkew, clock, url } = this.#options;
    const { config, keys } = issuer;
    const now = new Date(clock.nowMs());
    try {
      const { claims, key } = await verifyToken(token, { config, keys, resource: `${url()}/mcp`, clockSkew, now });
      const { did, access, grants } = rightsOf(venueDid, config, claims);
      const caller: Caller = {
        did,
        authentication: "issuer",
        isOperator: false,
        credential: { kind: "issuer", id: did, token: id },
        // Two clients of one person may have different scopes, and must not read each other's jobs.
        narrowedTo: `${did} ${hash("sha256", JSON.stringify(access), "hex").slice(0, 32)}`,
        access,
      };
      const { jti, iat: issuedAt, exp: expiresAt } = claims;
      // A reload meanwhile has other rules.
      if (!this.#isInForce(issuer)) throw new Refused("issuer");
      this.#makeRoom(did);
      return this.#use(id, { issuer, key: key.text, jti, issuedAt, expiresAt, caller, grants });
    } catch (error) {
      return this.#refusal(error);
    }
  }

  #use(id: string, known: KnownToken): AuthenticationResult {
    const fault = this.#faultOf(known);
    if (fault !== undefined) return this.#refusal(new Refused(fault));
    const { caller, grants, issuer } = known;
    putLatest(this.#known, id, known, MOST);
    const { did } = caller;
    const lastUsed = this.#options.clock.nowMs();
    putLatest(this.#callers, did, { did, issuer: issuer.config.issuer, grants, lastUsed }, MOST);
    return { caller };
  }

  #makeRoom(did: string): void {
    const own = [...this.#known].filter(([, { caller }]) => caller.did === did);
    for (const [id] of own.slice(0, Math.max(0, own.length + 1 - MOST_OF_CALLER))) this.#known.delete(id);
  }

  #isInForce = ({ config }: Issuer): boolean => this.#issuers.get(config.issuer)?.config === config;

  /** Reason that has ended a verified token since. */
  #faultOf({ caller, jti, issuedAt, expiresAt }: KnownToken): string | undefined {
    const { revocations, clock, clockSkew } = this.#options;
    const { notBefore } = revocations;
    if (expiresAt + clockSkew <= clock.nowMs() / 1000) return "exp";
    if (notBefore !== undefined && (issuedAt ?? 0) <= notBefore) return "revoked";
    const isRevoked = revocations.has(caller.did) || (typeof jti === "string" && revocations.has(revokeJti(jti)));
    return isRevoked ? "revoked" : undefined;
  }

  #refusal(error: unknown): AuthenticationResult {
    if (error instanceof KeysGone) return { refused: "unavailable", retryAfterMs: error.retryAfterMs };
    if (!(error instanceof Refused)) throw error;
    this.#options.log.debug({ reason: error.message }, "Bearer token refused");
    return { refused: "invalid_token" };
  }
}
