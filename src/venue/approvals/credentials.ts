// Finds the credential of a call and those that it was made by, so that no caller approves its own call.

import type { SurfaceContext } from "../../core/ports/adapter.js";
import type { Access } from "../identity/access.js";
import type { AccessEntry, TokenMaker } from "../identity/access-entry.js";

/** The credential of a call, then those that it was made by. */
export type CredentialChain = readonly [string, ...(readonly string[])];

/** The operator by the local token, or by being the process. */
export const OPERATORS_OWN = "operator";

type ChainAccess = Pick<Access, "accessTokens" | "verifier" | "canonicalDid">;

export function chainOf(context: SurfaceContext, access: ChainAccess): CredentialChain {
  const { callerDID, credential, identityTokens = [], narrowedTo } = context;
  if (credential?.kind === "access-token") {
    const entry = access.accessTokens?.find(credential.id)?.entry;
    return [credential.id, ...(entry === undefined ? [] : [...entry.via, makerName(entry.maker, access)])];
  }
  if (credential?.kind === "static-token") return [`static:${credential.sha256}`];
  // Clients of one person, who must not decide for each other, and have each its own scopes to see by.
  if (credential?.kind === "issuer" && narrowedTo !== undefined) return [credential.id, narrowedTo];
  if (identityTokens.length > 0) return chainOfUcans(identityTokens, access);
  // An identity is its key: it can sign itself another token at any time.
  if (callerDID !== undefined && context.authentication !== "local-token") return [access.canonicalDid(callerDID)];
  return [OPERATORS_OWN];
}

function makerName(maker: TokenMaker, { canonicalDid }: ChainAccess): string {
  if (maker.kind === "operator") return OPERATORS_OWN;
  return maker.kind === "static-token" ? `static:${maker.sha256}` : canonicalDid(maker.did);
}

function chainOfUcans(texts: readonly string[], { verifier, canonicalDid }: ChainAccess): CredentialChain {
  const names: string[] = [];
  const seen = new Set<object>();
  const visit = (token: ReturnType<ChainAccess["verifier"]["read"]>[number]): void => {
    if (seen.has(token)) return;
    seen.add(token);
    if (token.decoded !== undefined) names.push(canonicalDid(token.decoded.issuer));
    if (token.id !== undefined) names.push(token.id);
    for (const proof of token.proofs) if (typeof proof !== "string") visit(proof);
  };
  for (const token of verifier.read(texts)) visit(token);
  return [names[0] ?? "unknown", ...names.slice(1)];
}

/** Whether `entry` is a session of the operator that began with a link. */
export const isOperatorsLogin = (entry: AccessEntry | undefined): boolean =>
  entry?.maker.kind === "operator" && entry.caps === undefined && entry.login === true;

/**
 * Whether the credential `by` must not decide what the credential `of` asked for: the same one, one made by it, or one
 * that made it.
 */
export function isTooClose(by: CredentialChain, of: CredentialChain): "same" | "made by it" | "made it" | undefined {
  if (by[0] === of[0]) return "same";
  if (by.includes(of[0])) return "made by it";
  return of.includes(by[0]) ? "made it" : undefined;
}
