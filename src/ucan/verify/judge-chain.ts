// Verifies a chain of tokens: signatures, times, revocation, and the attenuation of each link.

import type { DecodedToken } from "../token/decode.js";
import type { TokenFault } from "../token/fault.js";
import type { TokenForm } from "../token/form.js";
import { checkValidity, nowSeconds, type TimeRules } from "../token/time.js";
import type { ChainFault, ChainLink, GrantSemantics, HeldGrant, Revocations, UcanToken, Verdict } from "./proof.js";

/** Rules for verifying tokens. The clock is fixed during a request. */
export interface JudgingRules<G> extends TimeRules {
  readonly semantics: GrantSemantics<G>;
  readonly revocations: Revocations;
  /** Maps the DIDs of a subject with several to its canonical one; returns other DIDs unchanged. */
  canonicalDid(did: string): string;
  /** Maximum remaining lifetime of a delegation, in seconds. */
  readonly maxLifetimeSeconds: number;
  /** Whether `exp: null` is accepted. */
  readonly allowNoExpiry: boolean;
}

/** Receives verified facts. */
export interface Witness<G> {
  /** The signature of a token is valid. */
  signed(form: TokenForm<G>): void;
  /** The audience of a proof is this token's issuer, and it outlives the token. Its signature was reported if valid. */
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
  readonly proofs: readonly (JudgedToken<G> | TokenFault)[];
  readonly #form: TokenForm<G>;
  readonly #rules: JudgingRules<G>;
  readonly #witness: Witness<G>;
  readonly #verdicts = new Map<string, Verdict<G>>();
  #checked: { readonly fault: TokenFault | undefined } | undefined;

  constructor({ form, proofs, rules, witness }: JudgedParts<G>) {
    this.#form = form;
    this.proofs = proofs;
    this.#rules = rules;
    this.#witness = witness;
  }

  get text(): string {
    return this.#form.text;
  }

  get decoded(): DecodedToken {
    return this.#form.decoded;
  }

  get id(): string {
    return this.#form.id;
  }

  get carriesCapabilities(): boolean {
    return this.#form.carriesCapabilities;
  }

  get own(): readonly G[] {
    return this.#form.own;
  }

  get entries(): TokenForm<G>["entries"] {
    return this.#form.entries;
  }

  check(): TokenFault | undefined {
    this.#checked ??= { fault: this.#findFault() };
    return this.#checked.fault;
  }

  verdict(owner: string): Verdict<G> {
    const root = this.#rules.canonicalDid(owner);
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
    const { maxLifetimeSeconds, allowNoExpiry, clockSkewSeconds } = this.#rules;
    const { expiresAt } = this.decoded;
    if (expiresAt === null && !allowNoExpiry) return "no_exp";
    const fault = checkValidity(this.decoded, this.#rules);
    if (fault !== undefined || typeof expiresAt !== "number") return fault;
    return expiresAt - nowSeconds(this.#rules) > maxLifetimeSeconds + clockSkewSeconds ? "bad_exp" : undefined;
  }

  #judge(root: string): Verdict<G> {
    const fault = this.check();
    if (fault !== undefined) return noGrants(fault, this.id);
    if (this.own.length === 0) return { grants: [], faults: [] };
    const { issuer } = this.decoded;
    if (this.#rules.canonicalDid(issuer) === root) {
      return { grants: this.own.map((grant) => this.#hold(grant, [])), faults: [] };
    }
    return this.proofs.length === 0 ? noGrants("issuer_not_owner", this.id) : this.#judgeByProofs(root);
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
        if (source !== undefined) held.set(grant, this.#hold(grant, source.chain));
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
    const verdict = proof.verdict(root);
    this.#witness.linked(this.#form, proof.#form);
    return verdict;
  }

  #linkFault(proof: JudgedToken<G>): TokenFault | undefined {
    const rules = this.#rules;
    if (rules.canonicalDid(proof.#form.audience) !== rules.canonicalDid(this.decoded.issuer)) return "broken_chain";
    const end = proof.decoded.expiresAt;
    // A proof without expiry has a fault of its own.
    if (end === null || end === undefined) return undefined;
    return typeof this.decoded.expiresAt === "number" && this.decoded.expiresAt <= end ? undefined : "outlives_proof";
  }

  #hold(grant: G, above: readonly ChainLink[]): HeldGrant<G> {
    const { issuer, expiresAt = null } = this.decoded;
    return { grant, chain: [{ id: this.id, issuer }, ...above], expiresAt };
  }
}

const noGrants = <G>(reason: TokenFault, id: string): Verdict<G> => ({ grants: [], faults: [{ reason, id }] });

/** Removes duplicates, which occur when proofs share proofs. */
function dropDuplicates(faults: readonly ChainFault[]): readonly ChainFault[] {
  const known = new Map(faults.map((fault) => [`${fault.reason} ${fault.id}`, fault]));
  return [...known.values()];
}
