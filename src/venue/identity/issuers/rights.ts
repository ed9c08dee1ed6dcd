// Rights of a verified token: capabilities the configuration maps its claims to, as far as its scopes go.

import { hash } from "node:crypto";
import { combineCaps, readCaps } from "../../../authz/caps-list.js";
import { capsOfScopes, isOfFiles } from "../../../authz/scopes.js";
import type { IssuerConfig } from "../../../config/types.js";
import type { AccessRights } from "../../../core/call/caller.js";
import type { VerifiedToken } from "./verify.js";

type Claims = Readonly<Record<string, unknown>>;

/** DID of the caller that an issuer calls `sub`. Revoking it revokes all of the caller's tokens. */
const issuerCallerDid = (venueDid: string, iss: string, sub: string): string =>
  `${venueDid}:sub:${hash("sha256", `${iss}\0${sub}`, "hex").slice(0, 32)}`;

export const isIssuerCaller = (venueDid: string, did: string): boolean =>
  did.startsWith(`${venueDid}:sub:`) && /:[0-9a-f]{32}$/.test(did);

/** The caller that an issuer vouches for. `grants`: the intersection of the lists of `access`. */
export function rightsOf(venueDid: string, { issuer, map }: IssuerConfig, claims: VerifiedToken["claims"]) {
  const did = issuerCallerDid(venueDid, issuer, claims.sub);
  const mapped = map.filter(({ when }) => Object.entries(when).every(([claim, text]) => fits(claims, claim, text)));
  const caps = mapped.flatMap((entry) => entry.caps);
  const scopes = capsOfScopes(scopesIn(claims));
  const [given, bounds] = [caps, scopes].map((list) => readCaps(list)?.grants ?? []);
  const common = (given ?? []).flatMap((grant) => [...combineCaps([bounds ?? []], grant)]);
  // The list bounds what `auth.grants` gives to the DID too: nothing but the map gives rights.
  const access: AccessRights = { maker: did, tokenCaps: caps, caps: [caps], scopes };
  return { did, access, grants: common.map(({ written }) => written) };
}

/** The scopes that a token has about files. */
const scopesIn = ({ scope, scp }: Claims): readonly string[] => {
  const given = scope ?? scp;
  const all: readonly unknown[] = Array.isArray(given) ? given : typeof given === "string" ? given.split(" ") : [];
  return [...new Set(all.filter((one) => typeof one === "string").filter(isOfFiles))];
};

/** Anybody may claim an address that the issuer has not verified. */
function fits(claims: Claims, claim: string, text: string): boolean {
  if (claim === "email" && claims["email_verified"] !== true) return false;
  const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  return Array.isArray(value) ? value.includes(text) : value === text;
}
