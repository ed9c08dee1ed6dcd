// Access tokens, sessions and links: what the venue keeps of each (never the secret itself), and what is done with them.

import type { Credential } from "../../core/call/caller.js";
import type { Capability } from "../../core/call/capability.js";
import type { Awaitable } from "../../core/io.js";

/**
 * The caller that an access token acts for: the operator, or the holder of this DID or static token. Sessions are
 * resolved when the token is made, so a maker never is one.
 */
export type TokenMaker =
  | { readonly kind: "operator" }
  | { readonly kind: "identity"; readonly did: string; readonly credential?: Credential }
  | { readonly kind: "static-token"; readonly did: string; readonly sha256: string };

/** A token or session; or, as a link, what its code will be exchanged for. Times are milliseconds since the epoch. */
export interface AccessEntry {
  /** 128 random bits, hex. A link and the token that it becomes have the same id. */
  readonly id: string;
  /** DID of the venue that made it: another one with the same state directory does not accept it. */
  readonly venue: string;
  readonly label: string;
  /** Hex SHA-256 of the token, or of a link's code. */
  readonly sha256: string;
  /** Absent: a session, which acts as its maker. */
  readonly caps?: readonly Capability[];
  readonly maker: TokenMaker;
  /** Ids of the sessions it was made through, the nearest first. Revoking any of them revokes it. */
  readonly via: readonly string[];
  readonly created: number;
  readonly expires: number;
  /** The session began with a link that a person opened. */
  readonly login?: true;
  /** For a link: lifetime and latest end of the token that its code is exchanged for. */
  readonly lifetimeMs?: number;
  readonly latest?: number;
}

/** A UCAN that the venue signed: what it says, for lists. */
export interface SignedUcan extends Pick<AccessEntry, "id" | "venue" | "via" | "created" | "expires"> {
  /** Its audience. */
  readonly did: string;
  readonly grants: readonly Capability[];
  /** Canonical DID of the caller that asked for it. */
  readonly by: string;
}

/** A token was revoked. `keep`: itself alone, not what was made through it. */
export interface AccessRevocation {
  readonly at: number;
  readonly keep: boolean;
}

/** Request for an access token, session or link. */
export interface AccessRequest {
  readonly label: string;
  /** Absent: a session. */
  readonly caps?: readonly Capability[] | undefined;
  readonly lifetimeMs: number;
  readonly maker: TokenMaker;
  /** The session it is made through, if any. */
  readonly through?: AccessEntry | undefined;
}

/** A secret, told once, and the entry that is kept. */
export interface MadeAccess {
  /** The token, or the code of a link. */
  readonly secret: string;
  readonly entry: AccessEntry;
}

export type LoginFault = { readonly fault: "wrong" } | { readonly fault: "too many"; readonly retryMs: number };

/** Whether an entry is in force, and why not. `ended`: by its time. */
export type AccessState = "live" | "ended" | "revoked";

/** Where access tokens are kept: files that processes with one state directory share, or what instances share. */
export interface TokenStore {
  tokens(): ReadonlyMap<string, AccessEntry>;
  links(): ReadonlyMap<string, AccessEntry>;
  revocations(): ReadonlyMap<string, AccessRevocation>;
  /** The entry whose token or code has this hex SHA-256. */
  bySecret(kind: "token" | "link", sha256: string): AccessEntry | undefined;
  /** Looks once more for an entry that is not known here. Absent: all are. @throws Overloaded, SHARED_STATE_UNAVAILABLE */
  lookUp?(): Promise<void>;
  /** Writes an entry, unless one of its kind and id is there. @returns whether this call wrote it */
  put(kind: "token" | "link", entry: AccessEntry): Awaitable<boolean>;
  /** @throws where it could not be kept */
  revoke(id: string, mark: AccessRevocation): Awaitable<void>;
  /** When it was last used, as far as any process noted it; `undefined`: never. */
  lastUsed(entry: AccessEntry): number | undefined;
  noteUse(entry: AccessEntry, atMs: number): void;
  /** When a token that has no entry was last used. */
  markedAt(id: string): number | undefined;
  mark(id: string, atMs: number): void;
  remove(kind: "token" | "link", id: string): void;
  /** Takes a revocation away, with the token that it is of. */
  removeRevocation(id: string): void;
  /** Keeps what was signed. Losing it loses a line of a list and nothing else. */
  putUcan(entry: SignedUcan): Awaitable<void>;
  ucans(): readonly SignedUcan[];
  removeUcan(id: string): void;
}

export interface ListedAccess {
  readonly entry: AccessEntry;
  readonly isLink: boolean;
  readonly state: AccessState;
  readonly lastUsed?: number | undefined;
  readonly revoked?: number | undefined;
}

/** The DID of an access token's bearer. Revoking it revokes the token, and what was made through it. */
export const accessDid = ({ did }: { readonly did: string }, id: string): string => `${did}:access:${id}`;

/**
 * `token`: in force. `link`: a code not yet exchanged. `revoked-<ms>`: one of them, revoked then with all that was made
 * through it, `alone-<ms>` without. `revoked`: a mark of earlier versions beside the token.
 */
type FileKind = "token" | "link" | "revoked" | "alone";
const FILE = /^([0-9a-f]{32})\.(?:(token|link|revoked)|(revoked|alone)-(\d{1,16}))$/;

/** A file of the store by its name. */
export interface TokenFile {
  readonly name: string;
  readonly id: string;
  readonly kind: FileKind;
  /** When it was revoked, where its name tells. */
  readonly at?: number;
}

export function tokenFile(name: string): TokenFile | undefined {
  const [, id, plain, kind = plain, at] = FILE.exec(name) ?? [];
  if (id === undefined) return undefined;
  return { name, id, kind: kind as FileKind, ...(at === undefined ? {} : { at: Number(at) }) };
}
