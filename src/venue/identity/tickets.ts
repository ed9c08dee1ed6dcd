// Tickets: URLs that allow one upload or download for a limited time without further credentials.

import { createPublicKey, hash, randomBytes, sign, verify } from "node:crypto";
import type { Clock } from "../../core/clock.js";
import type { TagOf } from "../../core/etag.js";
import { type Awaitable, after } from "../../core/io.js";
import type { SurfaceContext } from "../../core/ports/adapter.js";
import type { TicketOffice, TicketRequest } from "../../core/ports/transfer.js";
import { parsePath } from "../../path/grammar.js";
import type { HttpFiles, Login } from "../../surfaces/http/host.js";
import type { SigningKey } from "../../ucan/mint/signing-key.js";
import type { Access } from "./access.js";

/** Domain separation: no token signed by this key begins with it. */
const PURPOSE = "venue-files ticket ";
/** An id begins with when its ticket ends, in milliseconds since the epoch. */
const TIME_BYTES = 6;
const RANDOM_BYTES = 10;
const TICKET = /^([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{86})$/;
/** Maximum tickets per caller; the oldest is dropped first. */
const MAX_PER_CALLER = 100;
const MOST = 4096;
/** Maximum size of the stored contexts as JSON, in characters: UCANs sent with a call can be long. */
const MAX_CHARS = 16_777_216;

/** Tickets of all instances of a venue. @throws SHARED_STATE_UNAVAILABLE from both */
export interface SharedTickets {
  put(id: string, ticket: KeptTicket): Promise<void>;
  /** @returns `undefined`: there is none, or it has expired */
  get(id: string): Promise<KeptTicket | undefined>;
}

interface TicketOptions {
  readonly key: SigningKey;
  readonly clock: Clock;
  /** Absent: the venue is one process. */
  readonly shared?: SharedTickets | undefined;
  /** Base URL of the venue; `undefined` if it does not listen. */
  url(): string | undefined;
  /** Re-evaluates who requested a ticket when it is used; `undefined`: they would be refused now. */
  rejudge(context: SurfaceContext): SurfaceContext | undefined;
  /** Waits for what {@link rejudge} needs to know. Absent: it always does. @throws SHARED_STATE_UNAVAILABLE */
  fresh?: (() => Awaitable<void>) | undefined;
}

export interface KeptTicket {
  /** Milliseconds since the epoch. */
  readonly expires: number;
  readonly context: SurfaceContext;
}

interface Issued extends KeptTicket {
  readonly chars: number;
}

/**
 * The tickets of a venue: in memory, and where several instances are one venue in their engine. The venue signs each, so none can
 * be forged; the caller's context never goes into the URL.
 */
export function createTickets(options: TicketOptions): TicketOffice & Pick<HttpFiles, "redeem"> {
  const { key, clock, shared, url, rejudge, fresh } = options;
  const issued = new Map<string, Issued>();
  let chars = 0;
  const publicKey = createPublicKey(key.privateKey);
  const end = (id: string) => {
    chars -= issued.get(id)?.chars ?? 0;
    issued.delete(id);
  };
  const endWhere = (isHit: (one: Issued) => boolean) => {
    for (const [id, one] of issued) if (isHit(one)) end(id);
  };
  const makeRoom = (context: SurfaceContext) => {
    const now = clock.nowMs();
    endWhere(({ expires }) => expires <= now);
    const own = [...issued].filter(([, one]) => one.context.callerDID === context.callerDID);
    for (const [id] of own.slice(0, Math.max(0, own.length - MAX_PER_CALLER + 1))) end(id);
    for (const id of issued.keys()) {
      if (issued.size < MOST && chars <= MAX_CHARS) return;
      end(id);
    }
  };
  return {
    async issue({ ttlSeconds, ...use }, context) {
      const own = url();
      if (own === undefined) return undefined;
      const kept = lastingPartOf(context);
      makeRoom(kept);
      const expires = clock.nowMs() + ttlSeconds * 1000;
      const time = Buffer.alloc(TIME_BYTES);
      time.writeUIntBE(expires, 0, TIME_BYTES);
      const id = Buffer.concat([time, randomBytes(RANDOM_BYTES)]).toString("base64url");
      const size = JSON.stringify(kept).length;
      issued.set(id, { expires, context: kept, chars: size });
      chars += size;
      if (canTravel(kept)) await shared?.put(id, { expires, context: kept });
      const signature = sign(null, signedText(id, use, expires), key.privateKey).toString("base64url");
      const path = [use.root, ...use.path.split("/")].map(encodeURIComponent).join("/");
      const href = `${context.entrance ?? own}/api/v1/files/${path}?ticket=${id}.${signature}`;
      return { href, method: use.direction === "upload" ? "PUT" : "GET", expires };
    },
    async redeem(ticket, { direction, root, path }) {
      const use = { direction, root, path: parsePath(root, path).text };
      const [, id, signature = ""] = TICKET.exec(ticket) ?? [];
      const expires = id === undefined ? 0 : Buffer.from(id, "base64url").readUIntBE(0, TIME_BYTES);
      if (id === undefined || expires <= clock.nowMs()) return undefined;
      // Verified over the requested use, so the signature fails for any other; and before anything is asked for it.
      const text = signedText(id, use, expires);
      if (!verify(null, text, publicKey, Buffer.from(signature, "base64url"))) return undefined;
      const one = issued.get(id) ?? (await shared?.get(id));
      if (one === undefined) return undefined;
      await fresh?.();
      return rejudge(one.context) ?? "taken back";
    },
  };
}

const signedText = (
  id: string,
  { direction, root, path }: Omit<TicketRequest, "ttlSeconds">,
  expires: number,
): Buffer => Buffer.from(PURPOSE + JSON.stringify([id, direction, root, path, expires]));

/** The context of the caller and its grants, without the parts that belong to a single call. */
function lastingPartOf(context: SurfaceContext): SurfaceContext {
  const { signal: _, resolveAsset: _r, cancellation: _c, jobId: _j, budget: _b, transfer: _t, ...others } = context;
  const { entrance: _e, storeAsset: _s, memory: _m, report: _p, onChange: _o, ...lasting } = others;
  return lasting;
}

/** Rules of a profile and questions to a client in this process are functions: such tickets are for this instance. */
const canTravel = ({ terms, pathRules, client }: SurfaceContext): boolean =>
  terms === undefined && pathRules === undefined && client === undefined;

// Tags of version stamps.

/** Signatures of Ed25519 are deterministic, and no other that the key makes begins so: tags outlive a restart. */
const TAGS = "venue-files stamp tags";

/** Writes stamps as tags, under a key derived from that of the venue. */
export function stampTagsOf({ privateKey }: Pick<SigningKey, "privateKey">): TagOf {
  const secret = hash("sha256", sign(null, Buffer.from(TAGS), privateKey), "hex");
  // No hash whose state could be continued (SHA-256), and without the time that an HMAC takes for each entry of a list.
  return (stamp) => `stamp-${hash("sha512-256", secret + stamp, "base64url").slice(0, STAMP_CHARS)}`;
}

const STAMP_CHARS = 32;

// Signing in by the code of a link.

/** The login of a venue. @returns `undefined` where it issues no access tokens */
export function createLogin({ accessTokens, bearerOf }: Pick<Access, "accessTokens" | "bearerOf">): Login | undefined {
  if (accessTokens === undefined) return undefined;
  return (code) =>
    after(accessTokens.login(code), (made) => {
      if ("fault" in made) return made.fault === "wrong" ? undefined : { retryMs: made.retryMs };
      const { entry, secret } = made;
      // The maker of the link may have been revoked since; then the token is worth nothing.
      const did = bearerOf(entry)?.did;
      return did === undefined ? undefined : { id: entry.id, did, expires: entry.expires, token: secret };
    });
}
