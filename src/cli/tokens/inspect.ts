// The `token inspect` command.

import { createFileVerifier } from "../../authz/file-verifier.js";
import type { Grant } from "../../authz/grant.js";
import { inspectToken } from "../../authz/inspect-token.js";
import type { LinkReport, TokenReport } from "../../authz/token-report.js";
import { parseConfig } from "../../config/load.js";
import { isLoopbackListener } from "../../config/loopback.js";
import type { VenueConfig } from "../../config/types.js";
import type { Capability } from "../../core/call/capability.js";
import { systemClock } from "../../core/clock.js";
import { silentLog } from "../../core/ports/log.js";
import { type DecodedToken, decodeToken } from "../../ucan/token/decode.js";
import type { TokenFault } from "../../ucan/token/fault.js";
import { tokenId } from "../../ucan/token/id.js";
import { verifyIdentityToken } from "../../ucan/token/identity-token.js";
import type { UcanToken, UcanVerifier } from "../../ucan/verify/proof.js";
import { createPublicKeys } from "../../ucan/verify/public-keys.js";
import type { Access } from "../../venue/identity/access.js";
import { openOwnAccess } from "../../venue/identity/own-access.js";
import { type CommandContext, EXIT, print } from "../context.js";
import { loadOptionalConfig } from "../load-config.js";
import { describeIdentity, describeToken, type RootRights } from "../output/describe-token.js";
import { jsonText } from "../output/json.js";
import { verbsIn } from "../output/rights.js";
import { keyPlace, openSigningKey } from "./signing-key.js";
import { readTokensOrStdin } from "./token-files.js";

/** `venue-files token inspect`: reports what tokens grant. Exit status 1 unless all are valid. */
export async function tokenInspect(
  command: {
    /** A path, `env:NAME`, or `-`. */
    readonly token: string;
    readonly config: string | undefined;
    readonly key: string | undefined;
    /** Capability to check the token for. */
    readonly wanted: Capability | undefined;
    readonly json: boolean;
  },
  context: CommandContext,
): Promise<number> {
  const config = loadOptionalConfig(command.config, context.cwd);
  const view = config === undefined ? undefined : viewVenue(config, context);
  const key = command.key === undefined ? undefined : openSigningKey(command.key, keyPlace(config, context));
  const tokens = await readTokensOrStdin(command.token, context);
  const inspection: Inspection = {
    wanted: command.wanted,
    view,
    verifier: view?.verifier ?? createFileVerifier(),
    caller: key?.did,
  };
  const inspected = tokens.map((token) => inspectOne(token, inspection));
  const texts = inspected.map(({ report, text }, index) => {
    if (command.json) return `${jsonText(report)}\n`;
    return tokens.length === 1 ? text : `${index === 0 ? "" : "\n"}Token ${index + 1}: ${text}`;
  });
  await print(context, texts.join(""));
  if (command.json && view === undefined) {
    context.stderr.write("Who owns what was not checked. For that, name the configuration: --config FILE\n");
  }
  return inspected.every(({ report }) => report.valid) ? EXIT.ok : EXIT.failed;
}

function inspectOne(token: string, inspection: Inspection): Inspected {
  const decoded = decodeToken(token);
  const isIdentity = !("fault" in decoded) && decoded.kind === "identity";
  return isIdentity ? inspectIdentity(token, decoded, inspection) : inspectUcan(token, inspection);
}

function inspectUcan(text: string, { view, verifier, wanted, caller }: Inspection): Inspected {
  const [token] = verifier.read([text]);
  const assumed = token === undefined ? [] : [...unprovenTokens(token)];
  const isInvocation = view?.did !== undefined && isSameDid(view, token?.decoded?.audience, view.did);
  // The sender of an invocation acts as its issuer.
  const aud = isInvocation && isSameDid(view, token?.decoded?.issuer, caller) ? undefined : caller;
  const question = { token: text, ...wanted, ...(aud === undefined ? {} : { aud }) };
  const ownerOf = view?.ownerOf ?? ((root: string | undefined) => likelyOwner(assumed, root));
  const report = inspectToken(question, {
    verifier,
    ownerOf,
    canonicalDid: view?.canonicalDid,
    ...(view === undefined ? {} : { owners: view.owners }),
  });
  const allowed = view && token ? rootRights(token, view) : undefined;
  const isUsed = (resource: string) => allowed?.some(({ on }) => on.includes(resource)) ?? true;
  const idle = report.chain[0]?.grants.filter((grant) => !isUsed(grant.with)) ?? [];
  const signers = [...new Set(assumed.map(({ decoded }) => decoded?.issuer ?? ""))];
  const nowSeconds = Math.floor(systemClock.nowMs() / 1000);
  return { report, text: describeToken({ report, nowSeconds, wanted, allowed, idle, signers, isInvocation }) };
}

/** Rights a token gives in each root, given the root's owner. */
function rootRights(token: UcanToken<Grant>, view: VenueView): readonly RootRights[] {
  return Object.entries(view.config.file.roots).map(([name, { readOnly }]) => {
    const held = token.verdict(view.ownerOf(name) ?? "").grants.map(({ grant }) => grant);
    const grants = held.filter(({ segments: [root] }) => root === undefined || root === name);
    const on = [...new Set(grants.map(({ written }) => written.with))];
    return { root: name, verbs: verbsIn({ name, readOnly }, grants), on };
  });
}

const isSameDid = (view: VenueView | undefined, one: string | undefined, other: string | undefined): boolean =>
  view !== undefined && one !== undefined && other !== undefined && view.canonicalDid(one) === view.canonicalDid(other);

/** The tokens of a chain without proofs: they delegate their issuers' own authority. */
function* unprovenTokens(token: UcanToken<Grant>, seen = new Set<UcanToken<Grant>>()): Generator<UcanToken<Grant>> {
  if (seen.has(token)) return;
  seen.add(token);
  if (token.proofs.length === 0 && token.decoded !== undefined) yield token;
  for (const proof of token.proofs) if (typeof proof !== "string") yield* unprovenTokens(proof, seen);
}

/** Presumed owner of a root without a configuration: the issuer that grants something in it without proof. */
function likelyOwner(unproven: readonly UcanToken<Grant>[], root: string | undefined): string | undefined {
  const found = unproven.find(({ own }) => own.some(({ segments }) => segments[0] === root || segments.length === 0));
  return (found ?? unproven[0])?.decoded?.issuer;
}

/** Context of an inspection. */
interface Inspection {
  readonly wanted: Capability | undefined;
  /** Absent: owners are unknown. */
  readonly view: VenueView | undefined;
  readonly verifier: UcanVerifier<Grant>;
  /** DID of the intended user of the tokens. Absent: not checked. */
  readonly caller: string | undefined;
}

/** An inspected token. */
interface Inspected {
  readonly report: TokenReport;
  readonly text: string;
}

/** Inspects an identity token: it grants nothing, but can be valid or invalid. */
function inspectIdentity(text: string, token: DecodedToken, inspection: Inspection): Inspected {
  const fault = faultOf(text, token, inspection);
  const { issuer, audience, expiresAt, notBefore } = token;
  const link: LinkReport = {
    id: tokenId(token.signedText),
    issuer,
    ...(audience === undefined ? {} : { audience }),
    ...(expiresAt === undefined ? {} : { expires: expiresAt }),
    ...(notBefore === undefined ? {} : { notBefore }),
    grants: [],
    depth: 0,
    reasons: fault === undefined ? [] : [fault],
  };
  const reasons = [...link.reasons];
  // An identity token covers no capability, and no other caller can use it.
  if (inspection.wanted !== undefined) reasons.push("not_covered");
  if (inspection.caller !== undefined && inspection.caller !== issuer) reasons.push("wrong_audience");
  const valid = reasons.length === 0;
  const report: TokenReport = { valid, reasons, grants: [], chain: [link], expires: expiresAt ?? null };
  const nowSeconds = Math.floor(systemClock.nowMs() / 1000);
  return { report, text: describeIdentity(report, { nowSeconds, venueIsKnown: inspection.view?.did !== undefined }) };
}

/** Verifies it as the configured venue would, or without one, as the venue named by its audience. */
function faultOf(text: string, { audience }: DecodedToken, { view, verifier }: Inspection): TokenFault | undefined {
  const config = view?.config ?? parseConfig({}, { baseDir: "/" });
  const { auth } = config;
  const verdict = verifyIdentityToken(text, {
    venueDid: view?.did ?? audience ?? "",
    clock: systemClock,
    clockSkewSeconds: auth.clockSkew,
    maxLifetimeSeconds: auth.maxIdentityLifetime,
    acceptUnbound: auth.acceptUnboundIdentity ?? isLoopbackListener(config),
    keys: createPublicKeys(),
    revocations: view?.revocations ?? { has: () => false },
    verifier,
  });
  return "refused" in verdict ? verdict.refused : undefined;
}

/** The token rules of a configuration, without opening a venue: creates nothing and accesses no root. */
export interface VenueView extends Pick<Access, "key" | "verifier" | "revocations" | "canonicalDid"> {
  readonly config: VenueConfig;
  /** The venue's own DID; absent if it depends on a key that does not exist yet or changes at each start. */
  readonly did: string | undefined;
  /**
   * Canonical DID of a root's owner, if known.
   * @param root absent: the default owner, of roots without an owner of their own
   */
  ownerOf(root: string | undefined): string | undefined;
  /** Canonical DIDs of configured root owners. */
  readonly owners: readonly string[];
}

/** Builds the view of a configuration. @throws ConfigError if its key or its revocation list cannot be read */
export function viewVenue(config: VenueConfig, { env, stderr }: Pick<CommandContext, "env" | "stderr">): VenueView {
  const log = { ...silentLog, warn: (_: unknown, text: string) => void stderr.write(`Warning: ${text}\n`) };
  const { key, verifier, revocations, canonicalDid, did, operator } = openOwnAccess(config, { env, log });
  const known = (text: string) => (text.startsWith("did:") ? canonicalDid(text) : undefined);
  return {
    ...{ config, verifier, revocations, canonicalDid },
    ...(key === undefined ? {} : { key }),
    did: known(did),
    owners: Object.values(config.file.roots).flatMap(({ owner }) => (owner === undefined ? [] : [canonicalDid(owner)])),
    ownerOf(root) {
      const found = root === undefined ? undefined : config.file.roots[root];
      // Each caller owns its own drive and cannot delegate it.
      return found?.kind === "dlfs" ? undefined : known(found?.owner ?? operator);
    },
  };
}
