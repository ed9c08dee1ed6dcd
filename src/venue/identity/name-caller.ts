import type { Grant } from "../../authz/grant.js";
import type { Caller, NameCaller } from "../../core/call/caller.js";
import { readUcans } from "../../core/call/ucans.js";
import { readEntries } from "../../ucan/token/capability-entries.js";
import { checkInvocation, type InvocationRules } from "../../ucan/token/identity-token.js";
import { isJsonObject } from "../../ucan/token/strict-json.js";
import type { UcanToken, UcanVerifier } from "../../ucan/verify/proof.js";

/** Says that a venue may pass a call on, and so that its sender need not be its issuer. */
const RELAY = "venue/relay";

export interface NamingRules extends InvocationRules {
  readonly verifier: UcanVerifier<Grant>;
  /** The caller a token's issuer is. */
  callerOf(issuer: string, tokens: readonly UcanToken<Grant>[]): Caller;
}

/**
 * Finds out who sends a call without credentials, by the UCANs for this venue that come with it. Tokens that say nothing
 * of that, for whatever reason, are left to whoever judges the call.
 */
export function createNameCaller(rules: NamingRules): NameCaller {
  const names = (token: UcanToken<Grant>): boolean => !isRelayed(token) && checkInvocation(token, rules) === undefined;
  return (caller, ucans) => {
    if (caller.authentication !== "public") return caller;
    const tokens = readUcans(ucans ?? []);
    // Whoever judges the call refuses such a list.
    if ("fault" in tokens || tokens.length === 0) return caller;
    const naming = rules.verifier.read(tokens).filter(names);
    const [issuer, ...others] = new Set(naming.map(({ decoded }) => decoded?.issuer));
    if (issuer === undefined) return caller;
    return others.length > 0 ? "ambiguous" : rules.callerOf(issuer, naming);
  };
}

const isRelayed = ({ decoded }: UcanToken<Grant>): boolean =>
  (readEntries(decoded?.payload ?? {}) ?? []).some((entry) => isJsonObject(entry) && entry["can"] === RELAY);
