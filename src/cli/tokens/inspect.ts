// The `token inspect` command.

import { createFileVerifier } from "../../authz/file-verifier.js";
import type { Grant } from "../../authz/grant.js";
import { inspectToken } from "../../authz/inspect-token.js";
import { systemClock } from "../../core/clock.js";
import { decodeToken } from "../../ucan/token/decode.js";
import type { UcanToken } from "../../ucan/verify/proof.js";
import type { Command } from "../arguments/arguments.js";
import { type CommandContext, EXIT, print } from "../context.js";
import { loadOptionalConfig } from "../load-config.js";
import { describeToken, type RootRights } from "../output/describe-token.js";
import { jsonText } from "../output/json.js";
import { verbsIn } from "../output/rights.js";
import { type Inspected, type Inspection, inspectIdentity } from "./inspect-identity.js";
import { keyPlace, openSigningKey } from "./signing-key.js";
import { readTokensOrStdin } from "./token-files.js";
import { type VenueView, viewVenue } from "./venue-view.js";

/** `venue-files token inspect`: reports what tokens grant. Exit status 1 unless all are valid. */
export async function tokenInspect(
  command: Extract<Command, { name: "token inspect" }>,
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
