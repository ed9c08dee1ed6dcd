// Names the caller of a call that has no credentials but UCANs.

import type { Grant } from "../../authz/grant.js";
import type { Caller, NameCaller } from "../../core/call/caller.js";
import { readUcans } from "../../core/call/ucans.js";
import { isObject } from "../../core/unknown.js";
import { readEntries } from "../../ucan/token/capability-entries.js";
import { checkInvocation, type InvocationRules } from "../../ucan/token/identity-token.js";
import type { UcanToken, UcanVerifier } from "../../ucan/verify/proof.js";

/** A capability saying that a venue relays the call, so its sender need not be the issuer. */
const RELAY = "venue/relay";

export interface NamingRules extends InvocationRules {
  readonly verifier: UcanVerifier<Grant>;
  /** The caller identified by a token's issuer. */
  callerOf(issuer: string, tokens: readonly UcanToken<Grant>[]): Caller;
}

/**
 * Names the caller of an anonymous call by the UCANs sent with it that invoke this venue. Tokens that do not name a
 * caller, for whatever reason, are left to the authorization of the call.
 */
export function createNameCaller(rules: NamingRules): NameCaller {
  const names = (token: UcanToken<Grant>): boolean => !isRelayed(token) && checkInvocation(token, rules) === undefined;
  return (caller, ucans) => {
    if (caller.authentication !== "public") return caller;
    const tokens = readUcans(ucans ?? []);
    // A malformed list is refused by the authorization of the call.
    if ("fault" in tokens || tokens.length === 0) return caller;
    const naming = rules.verifier.read(tokens).filter(names);
    const [issuer, ...others] = new Set(naming.map(({ decoded }) => decoded?.issuer));
    if (issuer === undefined) return caller;
    return others.length > 0 ? "ambiguous" : rules.callerOf(issuer, naming);
  };
}

const isRelayed = ({ decoded }: UcanToken<Grant>): boolean =>
  (readEntries(decoded?.payload ?? {}) ?? []).some((entry) => isObject(entry) && entry["can"] === RELAY);
