// Verifies a chain of tokens: signatures, times, revocation, and the attenuation of each link.

import type { DecodedToken } from "../token/decode.js";
import { beneficiaryIn } from "../token/facts.js";
import type { TokenFault } from "../token/fault.js";
import type { TokenForm } from "../token/form.js";
import { checkValidity, nowSeconds, type TimeRules } from "../token/time.js";
import type { ChainFault, GrantSemantics, HeldGrant, Revocations, UcanToken, Verdict } from "./proof.js";

/** Rules for verifying tokens. The clock is fixed during a request. */
export interface JudgingRules<G> extends TimeRules {
  readonly semantics: GrantSemantics<G>;
  readonly revocations: Revocations;
  /** Maps the DIDs of a subject with several to its canonical one; returns other DIDs unchanged. */
  canonicalDid(did: string): string;
  /** Maximum remaining lifetime of a delegation, in seconds. */
  readonly maxLifetimeSeconds: number;
  /** Whether a chain without any end is accepted. */
  readonly allowNoExpiry: boolean;
  /** Canonical DID of the venue, which signs for owners of drives. Absent: it does not. */
  readonly venueDid?: string | undefined;
}

/** Receives verified facts. */
export interface Witness<G> {
  /** The signature of a token is valid. */
  signed(form: TokenForm<G>): void;
  /** The audience of a proof is this token's issuer. Its signature was reported if valid. */
  linked(form: TokenForm<G>, proof: TokenForm<G>): void;
}

interface JudgedParts<G> {
  readonly form: TokenForm<G>;
  readonly proofs: readonly (JudgedToken<G> | TokenFault)[];
  readonly rules: JudgingRules<G>;
  readonly witness: Witness<G>;
}

/**
 * A token in one request. Checks run lazily and once, cheap ones first, so that a signature is verified only where it
 * decides the result.
 */
export class JudgedToken<G> implements UcanToken<G> {
  readonly text: string;
  readonly decoded: DecodedToken;
  readonly id: string;
  readonly carriesCapabilities: boolean;
  readonly own: readonly G[];
  readonly entries: TokenForm<G>["entries"];
  readonly proofs: readonly (JudgedToken<G> | TokenFault)[];
  readonly #form: TokenForm<G>;
  readonly #rules: JudgingRules<G>;
  readonly #witness: Witness<G>;
  readonly #verdicts = new Map<string, Verdict<G>>();
  #checked: { readonly fault: TokenFault | undefined } | undefined;

  constructor({ form, proofs, rules, witness }: JudgedParts<G>) {
    this.#form = form;
    this.text = form.text;
    this.decoded = form.decoded;
    this.id = form.id;
    this.carriesCapabilities = form.carriesCapabilities;
    this.own = form.own;
    this.entries = form.entries;
    this.proofs = proofs;
    this.#rules = rules;
    this.#witness = witness;
  }

  check(): TokenFault | undefined {
    this.#checked ??= { fault: this.#findFault() };
    return this.#checked.fault;
  }

  /** A chain ends with its earliest end; one that never ends grants nothing unless that is allowed. */
  verdict(owner: string): Verdict<G> {
    const verdict = this.#judged(this.#rules.canonicalDid(owner));
    const ending = this.#rules.allowNoExpiry
      ? verdict.grants
      : verdict.grants.filter(({ expiresAt }) => expiresAt !== null);
    if (ending.length === verdict.grants.length) return verdict;
    return { grants: ending, faults: [...verdict.faults, { reason: "no_exp", id: this.id }] };
  }

  /** As a link of a chain, which others may end. */
  #judged(root: string): Verdict<G> {
    const known = this.#verdicts.get(root);
    if (known !== undefined) return known;
    const verdict = this.#judge(root);
    this.#verdicts.set(root, verdict);
    return verdict;
  }

  #findFault(): TokenFault | undefined {
    const { revocableBy } = this.#form;
    const { revocations } = this.#rules;
    if (revocableBy.some((name) => revocations.has(name))) return "revoked";
    const { notBefore } = revocations;
    if (notBefore !== undefined && (this.decoded.notBefore ?? 0) <= notBefore) return "revoked";
    const fault = this.#timeFault() ?? this.#form.signatureFault();
    if (fault === undefined) this.#witness.signed(this.#form);
    return fault;
  }

  #timeFault(): TokenFault | undefined {
    const { maxLifetimeSeconds, clockSkewSeconds } = this.#rules;
    const { expiresAt } = this.decoded;
    const fault = checkValidity(this.decoded, this.#rules);
    if (fault !== undefined || typeof expiresAt !== "number") return fault;
    return expiresAt - nowSeconds(this.#rules) > maxLifetimeSeconds + clockSkewSeconds ? "bad_exp" : undefined;
  }

  #judge(root: string): Verdict<G> {
    const fault = this.check();
    if (fault !== undefined) return noGrants(fault, this.id);
    if (this.own.length === 0) return { grants: [], faults: [] };
    const { issuer } = this.decoded;
    const signer = this.#rules.canonicalDid(issuer);
    if (signer === root) return { grants: this.own.map((grant) => this.#hold(grant)), faults: [] };
    const signed = signer === this.#rules.venueDid ? this.#signedFor(root) : [];
    if (signed.length > 0) return { grants: signed.map((grant) => this.#hold(grant)), faults: [] };
    return this.proofs.length === 0 ? noGrants("issuer_not_owner", this.id) : this.#judgeByProofs(root);
  }

  /** Tokens the venue has signed for an owner that holds no key. */
  #signedFor(owner: string): readonly G[] {
    const { canonicalDid, semantics } = this.#rules;
    const named = beneficiaryIn(this.decoded.payload["fct"]);
    if (named === undefined || canonicalDid(named) !== owner) return [];
    return this.own.filter((grant) => semantics.ownerOf?.(grant) === owner);
  }

  /** Proofs are checked in order until all grants are covered; the remaining ones are not checked. */
  #judgeByProofs(root: string): Verdict<G> {
    const held = new Map<G, HeldGrant<G>>();
    const faults: ChainFault[] = [];
    let someHeld = false;
    for (const proof of this.proofs) {
      const open = this.own.filter((grant) => !held.has(grant));
      if (open.length === 0) break;
      const given = this.#giftOf(proof, root);
      faults.push(...given.faults);
      someHeld ||= given.grants.length > 0;
      for (const grant of open) {
        const source = given.grants.find((wide) => this.#rules.semantics.covers(wide.grant, grant));
        if (source !== undefined) held.set(grant, this.#hold(grant, source));
      }
    }
    const grants = this.own.flatMap((grant) => held.get(grant) ?? []);
    if (grants.length === this.own.length) return { grants, faults: [] };
    if (someHeld || faults.length === 0) faults.push({ reason: "widened_or_unrooted", id: this.id });
    return { grants, faults: dropDuplicates(faults) };
  }

  /** The grants a proof passes to this token, or why none. Links are checked before the signature. */
  #giftOf(proof: JudgedToken<G> | TokenFault, root: string): Verdict<G> {
    if (typeof proof === "string") return { grants: [], faults: [{ reason: proof }] };
    const broken = this.#linkFault(proof);
    if (broken !== undefined) return noGrants(broken, proof.id);
    const verdict = proof.#judged(root);
    this.#witness.linked(this.#form, proof.#form);
    return verdict;
  }

  #linkFault(proof: JudgedToken<G>): TokenFault | undefined {
    const { canonicalDid } = this.#rules;
    return canonicalDid(proof.#form.audience) === canonicalDid(this.decoded.issuer) ? undefined : "broken_chain";
  }

  #hold(grant: G, source?: HeldGrant<G>): HeldGrant<G> {
    const { issuer, expiresAt = null } = this.decoded;
    const chain = [{ id: this.id, issuer }, ...(source?.chain ?? [])];
    const ends = [expiresAt, source?.expiresAt].filter((end) => typeof end === "number");
    return { grant, chain, expiresAt: ends.length === 0 ? null : Math.min(...ends) };
  }
}

const noGrants = <G>(reason: TokenFault, id: string): Verdict<G> => ({ grants: [], faults: [{ reason, id }] });

/** Removes duplicates, which occur when proofs share proofs. */
function dropDuplicates(faults: readonly ChainFault[]): readonly ChainFault[] {
  const known = new Map(faults.map((fault) => [`${fault.reason} ${fault.id}`, fault]));
  return [...known.values()];
}
