// ucan:issue: the venue signs a token that delegates grants of the caller.

import { driveKey, referenceTo } from "../../../authz/drive-key.js";
import { type Grant, parseGrant, printResource } from "../../../authz/grant.js";
import type { CallerRights } from "../../../authz/rights.js";
import { accessIdOf } from "../../../core/call/caller.js";
import { APPROVE, type Capability } from "../../../core/call/capability.js";
import { parseUcans } from "../../../core/call/ucans.js";
import type { FileAdapterError } from "../../../core/errors/errors.js";
import { invalidInput, notSupportedHere } from "../../../core/errors/texts.js";
import { later } from "../../../core/later.js";
import type { JsonObject, SurfaceContext } from "../../../core/ports/adapter.js";
import { putLatest } from "../../../core/put-latest.js";
import { mayActAsApprover } from "../../../dispatch/approvals/asking-root.js";
import { MintError, type MintFault } from "../../../ucan/mint/error.js";
import type { SigningKey } from "../../../ucan/mint/signing-key.js";
import { namesInFacts } from "../../../ucan/token/facts.js";
import type { ChainLink, UcanToken } from "../../../ucan/verify/proof.js";
import { accessDid } from "../../identity/access-entry.js";
import { callerOf, isAnonymous, isOperator } from "../caller.js";
import type { OperationCall, OperationParts, VenueOperation } from "../operation.js";
import { refusedOperation } from "../refusal.js";
import { KEY_ENDS } from "../tokens/issue-rights.js";
import { endOfToken, type WantedLifetime } from "../tokens/lifetime.js";

interface IssueInput extends WantedLifetime {
  readonly aud: string;
  readonly att: readonly unknown[];
  readonly prf?: readonly string[];
  readonly profile?: "covia" | "ucan-0.8";
}

const NAME = "ucan:issue";
const MAX_GRANTS = 32;
const MAX_REMEMBERED = 10_000;

/**
 * Delegates grants that the caller holds in roots of the venue to another DID, signed with the venue's key. The token
 * needs no proofs, since the owner signs it. The token expires with the authority it rests on, and its facts name that
 * authority, so that revoking the authority revokes the token.
 */
export const ucanIssue: VenueOperation<IssueInput> = {
  name: NAME,
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  hidden: ["prf"],
  async run(input, { context, venue, trail }) {
    const grants = parseGrants(input.att, callerOf(context, venue), venue);
    checkAudience(input.aud, venue);
    if (isAnonymous(context)) {
      throw refusedOperation({ operation: NAME, requires: "an authenticated caller" });
    }
    if (context.access !== undefined) {
      // The UCAN would outlive the access token, and its revocation.
      throw refusedOperation({
        operation: NAME,
        requires: "a caller other than an access token",
      });
    }
    if (!mayActAsApprover(context) && grants.some(({ words }) => words[0] === APPROVE)) {
      const requires = "over MCP, ACP and profiles capabilities other than 'approve'";
      throw refusedOperation({ operation: NAME, requires });
    }
    const { key } = venue.access;
    if (key === undefined) throw notSupportedHere("signing, since it has no key. Set 'seedFile'");
    const proving = withProofs(context, input.prf);
    const base = baseOf(grants, venue.files.rights(NAME, proving));
    if (base.via.length > 0) trail.chain = base.via;
    const now = Math.floor(venue.clock.nowMs() / 1000);
    const { maxLifetime } = venue.auth().ucan;
    const expiresAt = endOfToken(input, { now, maxLifetime, restsUntil: base.expiresAt });
    if (expiresAt === undefined) throw outlivesError(base);
    const basis = basisOf(proving, base.via, venue);
    // In a drive the token counts as its owner's, whom its facts name first.
    const isOnDrives = grants.some(({ owner }) => owner !== undefined);
    const names = isOnDrives ? [...new Set([callerOf(context, venue), ...basis])] : basis;
    const { token, id } = await sign({ input, key, grants, expiresAt, names }, venue);
    trail.resource = `ucan:${id}`;
    putLatest(venue.issued, id, names, MAX_REMEMBERED);
    await note({ id, input, grants, expiresAt }, { context, venue });
    return { token, id, expires: expiresAt, ...(venue.keyLasts ? {} : { note: KEY_ENDS }) };
  },
};

interface Signed {
  readonly id: string;
  readonly input: IssueInput;
  readonly grants: readonly Grant[];
  /** Seconds since the epoch. */
  readonly expiresAt: number;
}

/** Keeps the signed token for auth:list. The token stands without it, so a full disk is no failure. */
async function note(
  { id, input, grants, expiresAt }: Signed,
  { context, venue }: Pick<OperationCall, "context" | "venue">,
): Promise<void> {
  const via = accessIdOf(context);
  const through = via === undefined ? undefined : venue.access.accessTokens?.inForce(via);
  await venue.access.accessTokens?.noteUcan({
    ...{ id, did: input.aud, grants: grants.map(({ written }) => written), by: callerOf(context, venue) },
    via: through === undefined ? [] : [through.id, ...through.via],
    created: venue.clock.nowMs(),
    expires: expiresAt * 1000,
  });
}

/** @throws INVALID_INPUT naming the first invalid capability */
function parseGrants(att: readonly unknown[], giver: string, { access }: OperationParts): readonly Grant[] {
  if (att.length === 0 || att.length > MAX_GRANTS) {
    const expected = `1 to ${MAX_GRANTS} capabilities`;
    throw invalidInput(`'att' must hold ${expected}`, "/att", expected);
  }
  return att.map((entry, index) => {
    const grant = parseGrant(entry, { giver, canonicalDid: access.canonicalDid });
    if (grant !== undefined) return canonical(grant);
    const expected = "{ with: 'file://<root>/<path>', can: 'crud/read' } and nothing else";
    throw invalidInput(`'att[${index}]' grants nothing here: expected ${expected}`, `/att/${index}`, expected);
  });
}

/** In a token of the venue a drive without an owner would be the venue's. */
function canonical(grant: Grant): Grant {
  const { owner, segments, written } = grant;
  if (owner === undefined) return grant;
  const [drive, ...path] = segments;
  const resource = drive === undefined ? driveKey(owner, "") : referenceTo(driveKey(owner, drive), path);
  return { ...grant, written: { with: resource, can: written.can } };
}

/** @throws INVALID_INPUT */
function checkAudience(aud: string, { access }: OperationParts): void {
  // A token from the venue to the venue would let its bearer act as the venue itself.
  if (access.canonicalDid(aud) === access.did) {
    throw invalidInput("'aud' must not be this venue. Name whoever is to use the token", "/aud", "another DID");
  }
  if (aud === `${access.did}:public`) {
    throw invalidInput("'aud' must be somebody who can prove it: callers without credentials cannot", "/aud", "DID");
  }
}

/** Adds the proofs to the tokens sent with the call. @throws INVALID_INPUT */
function withProofs(context: SurfaceContext, prf: readonly string[] | undefined): SurfaceContext {
  if (prf === undefined) return context;
  const proofs = parseProofs(prf);
  return { ...context, ucans: [...parseUcans(context.ucans ?? []), ...proofs] };
}

function parseProofs(prf: readonly string[]): readonly string[] {
  try {
    return parseUcans(prf);
  } catch {
    const expected = "at most 8 tokens, 8192 bytes each and 32768 together";
    throw invalidInput(`'prf' is too_large: ${expected}`, "/prf", expected);
  }
}

/** The authority that all grants of a token rest on together. */
interface Base {
  /** Earliest expiry in seconds since the epoch; `null` if none. */
  readonly expiresAt: number | null;
  readonly via: readonly ChainLink[];
  /** The grant that expires first. */
  readonly first: Grant | undefined;
}

/** @throws CAPABILITY_DENIED, UNKNOWN_ROOT */
function baseOf(grants: readonly Grant[], rights: CallerRights): Base {
  let expiresAt: number | null = null;
  let first: Grant | undefined;
  const via = new Map<string, ChainLink>();
  for (const grant of grants) {
    const rest = rights.delegable(grant);
    for (const link of rest.via) via.set(link.id, link);
    if (rest.expiresAt === null || (expiresAt !== null && expiresAt <= rest.expiresAt)) continue;
    expiresAt = rest.expiresAt;
    first = grant;
  }
  return { expiresAt, via: [...via.values()], first };
}

const outlivesError = ({ expiresAt, first }: Base): FileAdapterError =>
  refusedOperation({
    operation: NAME,
    requires: `an end of at most ${expiresAt}, when what it rests on ends`,
    reasons: ["bad_exp"],
    deniedBy: "proofs",
    more: { ...(first === undefined ? {} : { required: toCapability(first) }), latest: expiresAt },
  });

const toCapability = ({ owner, segments, written }: Grant): Capability => ({
  with: owner === undefined ? printResource(segments) : written.with,
  can: written.can,
});

const factsOf = ([caller, ...via]: readonly string[]): readonly JsonObject[] =>
  caller === undefined ? [] : [{ "venue-files": { for: caller, via } }];

interface Signing {
  readonly input: IssueInput;
  readonly key: SigningKey;
  readonly grants: readonly Grant[];
  readonly expiresAt: number;
  readonly names: readonly string[];
}

const loadMint = later(() => import("../../../authz/mint-ucan.js"));

/** @throws INVALID_INPUT for input that the token format cannot represent */
async function sign(signing: Signing, venue: OperationParts): Promise<{ readonly token: string; readonly id: string }> {
  const { mintUcan } = await loadMint();
  const { input, key, grants, expiresAt, names } = signing;
  const { clockSkew, ucan } = venue.auth();
  try {
    return await mintUcan(
      {
        key,
        audience: input.aud,
        capabilities: grants.map(({ written }) => written),
        expiresAt,
        profile: input.profile ?? "covia",
        facts: factsOf(names),
      },
      { clock: venue.clock, clockSkew, maxLifetime: ucan.maxLifetime },
    );
  } catch (error) {
    throw error instanceof MintError ? toFieldError(error) : error;
  }
}

const FIELDS: Readonly<Partial<Record<MintFault, string>>> = { bad_did: "/aud", bad_exp: "/exp", too_large: "/att" };

const toFieldError = ({ code, message }: MintError): FileAdapterError =>
  invalidInput(message, FIELDS[code] ?? "", `what a token can say (${code})`);

/**
 * Names on whose authority the venue signs a token: the caller, the tokens that carry its grants or authenticate it,
 * the issuers of these, and the names recorded in these tokens. Revoking any of them must revoke the new token, however
 * many venue-signed tokens lie between them.
 *
 * @param via the tokens that carry the grants
 * @returns DIDs and token ids, the caller first; empty for the operator acting without tokens
 */
function basisOf(context: SurfaceContext, via: readonly ChainLink[], venue: OperationParts): readonly string[] {
  const { did, canonicalDid, verifier } = venue.access;
  const { identityTokens = [] } = context;
  const known = new Set(identityTokens);
  const tokens = verifier.read([...new Set([...identityTokens, ...parseUcans(context.ucans ?? [])])]);
  const ids = new Set(via.map(({ id }) => id));
  const names = new Set<string>(sessionsOf(context, venue));
  for (const token of everyTokenIn(tokens)) {
    const { id, text, decoded } = token;
    if (id === undefined || decoded === undefined || !(ids.has(id) || known.has(text))) continue;
    names.add(id);
    if (canonicalDid(decoded.issuer) !== did) names.add(decoded.issuer);
    for (const name of namesInFacts(decoded.payload["fct"])) names.add(name);
  }
  if (names.size === 0 && isOperator(context, venue)) return [];
  return [...new Set([callerOf(context, venue), ...names])];
}

/** DIDs of the session the caller acts through, and of those that was made through. */
function sessionsOf(context: SurfaceContext, { access }: OperationParts): readonly string[] {
  const via = accessIdOf(context);
  if (via === undefined) return [];
  return [via, ...(access.accessTokens?.inForce(via)?.via ?? [])].map((id) => accessDid(access, id));
}

/** The tokens and all their proofs, without duplicates. */
function everyTokenIn(tokens: readonly UcanToken<Grant>[]): ReadonlySet<UcanToken<Grant>> {
  const found = new Set<UcanToken<Grant>>();
  const visit = (token: UcanToken<Grant>): void => {
    if (found.has(token)) return;
    found.add(token);
    for (const proof of token.proofs) if (typeof proof !== "string") visit(proof);
  };
  for (const token of tokens) visit(token);
  return found;
}
