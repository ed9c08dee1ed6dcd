// The `Venue-Forward` header: proves to an instance that another one of the same venue has judged the caller of a request.

import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Authentication, Caller } from "../../../core/call/caller.js";
import { attempt } from "../../../core/io.js";
import { fieldsOf } from "../../../core/unknown.js";

export const FORWARD_HEADER = "venue-forward";

const LIFETIME_MS = 30_000;
const SHAPE = /^([A-Za-z0-9_-]{1,12000})\.([A-Za-z0-9_-]{43})$/;

/** A request as it is passed on. */
export interface Forward {
  readonly method: string;
  /** With the query, without the path of `baseUrl`. */
  readonly path: string;
  readonly body: Buffer;
  /** Number of the instance that has to answer. */
  readonly target: number;
  readonly caller: Caller;
  /** Of the request that the client sent. */
  readonly requestId: string;
}

/** A request that came with a valid header. */
export interface PassedOn {
  /** As the other instance has judged it. */
  readonly caller: Caller;
  /** Absent: a version before this one sent it. */
  readonly requestId: string | undefined;
  /** Whether this is the body that was passed on. */
  isBody(body: Buffer): boolean;
}

export interface ForwardSeal {
  seal(forward: Forward): string;
  /** @returns `undefined`: not of this venue, not for this instance or this request, expired, or used before */
  open(header: string, request: Pick<Forward, "method" | "path">): PassedOn | undefined;
}

export interface ForwardSealOptions {
  /** Only the instances of the venue have it. */
  readonly key: Buffer;
  /** Number of this instance now. */
  number(): number;
  nowMs(): number;
}

export function createForwardSeal({ key, number, nowMs }: ForwardSealOptions): ForwardSeal {
  const used = new UsedOnce(nowMs);
  const macOf = (claims: string, method: string, path: string): Buffer =>
    createHmac("sha256", key)
      .update(JSON.stringify([method, path, claims]))
      .digest();
  return {
    seal({ method, path, body, target, caller, requestId }) {
      const { did, authentication, isOperator, narrowedTo } = caller;
      const times = { until: nowMs() + LIFETIME_MS, nonce: randomBytes(12).toString("base64url") };
      const facts = { target, ...times, body: digestOf(body), requestId, did, authentication, isOperator, narrowedTo };
      const claims = Buffer.from(JSON.stringify(facts)).toString("base64url");
      return `${claims}.${macOf(claims, method, path).toString("base64url")}`;
    },
    open(header, { method, path }) {
      const [, claims, mac] = SHAPE.exec(header) ?? [];
      if (claims === undefined || mac === undefined) return undefined;
      if (!timingSafeEqual(Buffer.from(mac, "base64url"), macOf(claims, method, path))) return undefined;
      const facts = fieldsOf(attempt(() => JSON.parse(Buffer.from(claims, "base64url").toString())));
      const { target, until, nonce, body, requestId, did, authentication, isOperator, narrowedTo } = facts;
      // The clock of the sender may differ by as much as the header lasts.
      const leftMs = Number(until) - nowMs();
      if (target !== number() || !(leftMs > 0 && leftMs <= 2 * LIFETIME_MS) || !used.add(String(nonce)))
        return undefined;
      const caller: Caller = {
        did: String(did),
        authentication: authentication as Authentication,
        isOperator: isOperator === true,
        ...(typeof narrowedTo === "string" ? { narrowedTo } : {}),
      };
      return {
        caller,
        requestId: typeof requestId === "string" ? requestId : undefined,
        isBody: (sent) => digestOf(sent) === body,
      };
    },
  };
}

const digestOf = (body: Buffer): string => createHash("sha256").update(body).digest("base64url");

/** Nonces that were seen, at least as long as their header lasts by either clock. */
class UsedOnce {
  readonly #nowMs: () => number;
  #recent = new Set<string>();
  #older = new Set<string>();
  #since = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** @returns whether it is new */
  add(nonce: string): boolean {
    const now = this.#nowMs();
    if (Math.abs(now - this.#since) > 2 * LIFETIME_MS) {
      this.#older = this.#recent;
      this.#recent = new Set();
      this.#since = now;
    }
    if (this.#recent.has(nonce) || this.#older.has(nonce)) return false;
    this.#recent.add(nonce);
    return true;
  }
}
