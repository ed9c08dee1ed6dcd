import type { GrantSemantics } from "../verify/proof.js";
import type { PublicKeys } from "../verify/public-keys.js";
import { checkSignature } from "../verify/signature.js";
import { hasCapabilities, readEntries, type WrittenEntry, writtenEntries } from "./capability-entries.js";
import { type DecodedToken, decodeToken } from "./decode.js";
import { namesInFacts } from "./facts.js";
import type { TokenFault } from "./fault.js";
import { tokenCid, tokenId } from "./id.js";
import { hasKnownVersion } from "./version.js";

/** Most proofs of one token. */
export const MAX_PROOFS = 4;

/**
 * Everything about a token that follows from its text alone, whoever sends it, when, and with what: nothing here ever
 * changes, so it may be kept.
 */
export interface TokenForm<G> {
  readonly text: string;
  readonly decoded: DecodedToken;
  readonly audience: string;
  readonly id: string;
  readonly carriesCapabilities: boolean;
  /** Its list, parsed; what grants nothing is left out. */
  readonly own: readonly G[];
  readonly entries: readonly WrittenEntry[];
  readonly proofs: readonly FormOfProof<G>[];
  /** Ids and DIDs any of which being revoked revokes it; canonical ones, too. */
  readonly revocableBy: readonly string[];
  /** How others of its request name it. Worked out when first asked for. */
  cid(): string;
  /** Whether its issuer signed it. Worked out when first asked for. */
  signatureFault(): TokenFault | undefined;
}

/** A proof as its token has it: inline, by CID, or unreadable. */
export type FormOfProof<G> = TokenForm<G> | { readonly byCid: string } | TokenFault;

/** A token that cannot be a link of any chain. */
export interface UnreadableToken {
  readonly fault: TokenFault;
  readonly carriesCapabilities: boolean;
}

/** What reading a token takes. */
export interface FormRules<G> {
  readonly semantics: GrantSemantics<G>;
  readonly keys: PublicKeys;
  canonicalDid(did: string): string;
  readonly acceptUnversionedCovia: boolean;
}

/**
 * Reads a token and the proofs inside it. No cryptography beyond hashing; the work is bounded by the size of the text, in
 * which everything inline takes part.
 */
export function readForm<G>(text: string, rules: FormRules<G>): TokenForm<G> | UnreadableToken {
  const decoded = decodeToken(text);
  if ("fault" in decoded) return { fault: decoded.fault, carriesCapabilities: true };
  const { payload, audience } = decoded;
  const carriesCapabilities = hasCapabilities(payload);
  const unreadable = (fault: TokenFault): UnreadableToken => ({ fault, carriesCapabilities });
  // Whoever it is for must be said; what says only who somebody is gives nothing.
  if (decoded.kind !== "ucan" || audience === undefined) return unreadable("malformed");
  if (!hasKnownVersion(decoded, rules.acceptUnversionedCovia)) return unreadable("bad_version");
  const entries = readEntries(payload);
  if (entries === undefined) return unreadable("too_large");
  const proofs = proofTexts(payload["prf"]);
  if (proofs.length > MAX_PROOFS) return unreadable("too_many_proofs");
  const id = tokenId(decoded.signedText);
  return {
    text,
    decoded,
    audience,
    id,
    carriesCapabilities,
    own: entries.map((entry) => rules.semantics.parse(entry)).filter((grant) => grant !== undefined),
    entries: writtenEntries(entries),
    proofs: proofs.map((proof) => readProof(proof, rules)),
    revocableBy: namesOf(decoded, id, rules),
    cid: onDemand(() => tokenCid(text)),
    signatureFault: onDemand(() => checkSignature(decoded, rules.keys)),
  };
}

function readProof<G>(proof: string, rules: FormRules<G>): FormOfProof<G> {
  if (!proof.includes(".")) return { byCid: proof };
  const form = readForm(proof, rules);
  return "fault" in form ? form.fault : form;
}

/** Known to be texts, or absent. */
const proofTexts = (prf: unknown): readonly string[] => (Array.isArray(prf) ? prf : []);

function namesOf<G>({ issuer, payload }: DecodedToken, id: string, rules: FormRules<G>): readonly string[] {
  const named = [issuer, ...namesInFacts(payload["fct"])];
  return [...new Set([id, ...named, ...named.map((did) => rules.canonicalDid(did))])];
}

function onDemand<T>(work: () => T): () => T {
  let done: { readonly result: T } | undefined;
  return () => {
    done ??= { result: work() };
    return done.result;
  };
}
