// auth:list: who holds what in this venue, by ownership, configuration and tokens.

import type { Capability } from "../../../core/call/capability.js";
import { invalidInput } from "../../../core/errors/texts.js";
import { LOOKS } from "../../../core/ports/operation.js";
import { accessDid, type ListedAccess } from "../../identity/access-entry.js";
import { actsInFull, callerOf, isOperator } from "../caller.js";
import type { OperationCall, OperationParts, VenueOperation } from "../operation.js";
import { didOfMaker } from "../tokens/issue-rights.js";

const KINDS = ["owner", "config", "static", "public", "access", "session", "ucan", "issuer"] as const;
type Kind = (typeof KINDS)[number];

interface ListInput {
  readonly kind?: Kind;
  readonly cursor?: string;
  readonly limit?: number;
}

/** A holder of rights. Times are milliseconds since the epoch. */
export interface HolderEntry {
  readonly kind: Kind;
  readonly id?: string;
  readonly label?: string;
  readonly did?: string;
  /** DID of its maker. */
  readonly by?: string;
  /** Empty for a session, which has what its `did` has. */
  readonly grants: readonly Capability[];
  readonly created?: number;
  readonly expires?: number;
  readonly lastUsed?: number | undefined;
  readonly revoked?: number | undefined;
  /** A link that was not used yet. */
  readonly pending?: true;
}

/** An entry, its place in the list, and whose it is. */
interface Placed {
  readonly entry: HolderEntry;
  readonly key: string;
  readonly visibleTo: readonly string[];
}

const NAME = "auth:list";
const DEFAULT_LIMIT = 100;
/** A time in a key: later ones first. */
const END_OF_TIME = 1e15;

/** Lists who holds what, newest tokens first. The operator sees all; others what is theirs or was made by them. */
export const authList: VenueOperation<ListInput> = {
  name: NAME,
  annotations: LOOKS,
  run({ kind, cursor, limit = DEFAULT_LIMIT }, { context, venue }) {
    const after = cursor === undefined ? "" : parseCursor(cursor);
    const isSeen = sight({ context, venue });
    const all = [...configuredHolders(venue), ...issuedTokens(venue), ...signedUcans(venue), ...callersOfIssuers(venue)]
      .filter((one) => (kind === undefined || one.entry.kind === kind) && isSeen(one))
      .sort((one, other) => (one.key < other.key ? -1 : 1))
      .filter(({ key }) => key > after);
    const page = all.slice(0, limit);
    const last = page.at(-1);
    const isComplete = page.length === all.length;
    return {
      entries: page.map(({ entry }) => entry),
      complete: isComplete,
      ...(isComplete || last === undefined
        ? {}
        : { reason: "limit", nextCursor: Buffer.from(last.key).toString("base64url") }),
    };
  },
};

function sight({ context, venue }: Pick<OperationCall, "context" | "venue">): (one: Placed) => boolean {
  const caller = callerOf(context, venue);
  // A narrowed caller sees its own access token, and nothing else that its DID has.
  if (!actsInFull(context, venue)) {
    return ({ entry }) => ["access", "issuer"].includes(entry.kind) && entry.did === caller;
  }
  if (isOperator(context, venue)) return () => true;
  return ({ entry, visibleTo }) => entry.kind === "public" || visibleTo.includes(caller);
}

const keyOf = (kind: Kind, rest: string): string => `${KINDS.indexOf(kind)} ${rest}`;
const timeKey = (kind: Kind, created: number, id: string): string =>
  keyOf(kind, `${String(END_OF_TIME - created).padStart(16, "0")} ${id}`);

function configuredHolders({ access, auth, files, publicCaps }: OperationParts): Placed[] {
  const { canonicalDid, operator, staticTokens } = access;
  const everything = { with: "file://", can: "*" };
  const placed = (entry: HolderEntry, rest: string | number): Placed => ({
    entry,
    key: keyOf(entry.kind, String(rest).padStart(6, "0")),
    visibleTo: entry.did === undefined ? [] : [entry.did],
  });
  const owners = files.roots.flatMap(({ name, owner }) =>
    owner === undefined ? [] : [{ did: canonicalDid(owner), grants: [{ with: `file://${name}/`, can: "*" }] }],
  );
  return [
    placed({ kind: "owner", label: "operator", did: operator, grants: [everything] }, 0),
    ...owners.map((owner, index) => placed({ kind: "owner", ...owner }, index + 1)),
    ...auth().grants.map(({ did, ...grant }, index) =>
      placed({ kind: "config", id: `auth.grants[${index}]`, did: canonicalDid(did), grants: [grant] }, index),
    ),
    ...staticTokens.map(({ name, sha256, did, caps }, index) => {
      const lastUsed = access.accessTokens?.staticUsed(sha256.toString("hex"));
      return placed({ kind: "static", id: `auth.tokens[${index}]`, label: name, did, grants: caps, lastUsed }, index);
    }),
    placed({ kind: "public", id: "auth.public", did: `${access.did}:public`, grants: publicCaps() }, 0),
  ];
}

function issuedTokens(venue: OperationParts): Placed[] {
  const { accessTokens } = venue.access;
  return (accessTokens?.list() ?? []).filter(({ state }) => state !== "ended").map((one) => placedToken(one, venue));
}

/** Tells those who may see a token that it was made or revoked. */
export function publishToken(change: "issued" | "revoked", listed: ListedAccess, venue: OperationParts): void {
  if (venue.events?.wants("auth") !== true) return;
  const { entry, visibleTo } = placedToken(listed, venue);
  venue.events.publish("auth", { data: { ...entry, change }, audience: visibleTo });
}

function placedToken({ entry, isLink, lastUsed, revoked }: ListedAccess, venue: OperationParts): Placed {
  const { id, label, caps, created, expires } = entry;
  const by = didOfMaker(entry.maker, venue);
  const kind = caps === undefined ? "session" : "access";
  const did = caps === undefined ? by : accessDid(venue.access, id);
  return {
    entry: {
      ...{ kind, id, label, did, by, grants: caps ?? [], created, expires, lastUsed, revoked },
      ...(isLink ? { pending: true } : {}),
    },
    key: timeKey(kind, created, id),
    visibleTo: [did, by],
  };
}

function signedUcans({ access }: OperationParts): Placed[] {
  return (access.accessTokens?.ucans() ?? []).map(({ id, did, by, grants, created, expires, via }) => ({
    entry: {
      ...{ kind: "ucan", id, did, by, grants, created, expires },
      ...([id, by, ...via.map((one) => accessDid(access, one))].some((name) => access.revocations.has(name))
        ? { revoked: created }
        : {}),
    },
    key: timeKey("ucan", created, id),
    visibleTo: [did, by],
  }));
}

/** Callers since the start. Nobody else is known, and nothing here comes from the text of a token. */
function callersOfIssuers({ access }: OperationParts): Placed[] {
  return (access.issuers?.callers() ?? []).map(({ did, issuer, grants, lastUsed }) => ({
    entry: {
      // Without an end: with another token the caller comes back.
      ...{ kind: "issuer", id: did, label: `${new URL(issuer).host} ${did.slice(-32, -24)}`, did, grants, lastUsed },
      ...(access.revocations.has(did) ? { revoked: lastUsed } : {}),
    },
    key: keyOf("issuer", did),
    visibleTo: [did],
  }));
}

/** @throws INVALID_INPUT */
function parseCursor(cursor: string): string {
  const key = Buffer.from(cursor, "base64url").toString();
  if (/^(?:[0-6] [0-9]|7 did:)/.test(key)) return key;
  const expected = "the nextCursor of an earlier answer";
  throw invalidInput(`'cursor' must be ${expected}`, "/cursor", expected);
}
