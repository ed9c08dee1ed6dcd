import type { Grant } from "../../src/authz/grant.js";
import type { Capability } from "../../src/core/call/capability.js";
import type { Verdict } from "../../src/ucan/verify/proof.js";
import { createPublicKeys, type PublicKeys } from "../../src/ucan/verify/public-keys.js";
import { type Changes, NOW, type Signer, signed, signer } from "./tokens.js";
import { verifierBy } from "./verify/judge.js";

/** Owner of what is delegated, and those who get it in turn. */
export const owner = signer(10);
export const lead = signer(11);
export const worker = signer(12);
export const helper = signer(13);
export const last = signer(14);
export const stranger = signer(15);

export const can = (resource: string, ability = "crud/read"): Capability => ({
  with: `file://${resource}`,
  can: ability,
});
export const DOCS = can("docs/", "crud");

export interface Given {
  readonly att?: readonly unknown[];
  readonly prf?: readonly string[];
  /** Seconds from now. */
  readonly for?: number;
  /** Makes two tokens of the same grant differ. */
  readonly nnc?: string | number;
}

/** A token of the Covia profile in which `by` gives `to` what `att` says; `docs` and an hour unless said. */
export function gives(
  by: Signer,
  to: Pick<Signer, "did">,
  given: Given = {},
  { header, claims }: Changes = {},
): string {
  const { att = [DOCS], prf = [], nnc } = given;
  return signed(
    {
      header: { alg: "EdDSA", typ: "JWT", kid: by.multikey, ...header },
      payload: { iss: by.did, aud: to.did, ucv: "0.10.0", att, prf, exp: NOW + (given.for ?? 3600), nnc, ...claims },
    },
    by.privateKey,
  );
}

/** A chain through all of them, each with the same grants, the first the owner. @returns from the top to the root */
export function chainOf(signers: readonly Signer[], att: readonly unknown[] = [DOCS]): string[] {
  const chain: string[] = [];
  for (let i = 0; i + 1 < signers.length; i++) {
    const [by = owner, to = owner] = signers.slice(i);
    chain.unshift(gives(by, to, { att, prf: chain.slice(0, 1) }));
  }
  return chain;
}

/** Keys that say how often a signature was checked: once for each time that a key is asked for. */
export function countingKeys(): PublicKeys & { checks: number } {
  const keys = createPublicKeys();
  return {
    checks: 0,
    of(did) {
      this.checks += 1;
      return keys.of(did);
    },
  };
}

/** What a verdict comes to, for people. */
export const summary = ({ grants, faults }: Verdict<Grant>) => ({
  grants: grants.map(({ grant: { written } }) => `${written.can} on ${written.with}`),
  reasons: faults.map(({ reason }) => reason),
});

/** The same token with another signature, well formed and wrong. */
export const badlySigned = (token: string): string =>
  `${token.slice(0, token.lastIndexOf("."))}.${Buffer.alloc(64, 1).toString("base64url")}`;

type Rules = Parameters<typeof verifierBy>[0];

/** What the first token of a request comes to when `owner` is at the root, or another. */
export const judge = (tokens: readonly string[], rules: Rules = {}, root: string = owner.did) =>
  summary(verifierBy(rules).read(tokens)[0]?.verdict(root) ?? { grants: [], faults: [] });
export const gave = (...grants: string[]) => ({ grants, reasons: [] });
export const refusedFor = (...reasons: string[]) => ({ grants: [], reasons });
/** What {@link DOCS} is in a summary. */
export const ALL = "crud on file://docs/";
