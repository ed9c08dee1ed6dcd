// Reads the tokens of a request with their proofs, within limits on number, size and depth.

import type { TokenFault } from "../token/fault.js";
import type { FormOfProof, TokenForm, UnreadableToken } from "../token/form.js";
import { JudgedToken, type JudgingRules, type Witness } from "./judge-chain.js";
import type { UcanToken } from "./proof.js";

const MAX_TOKENS = 8;
const MAX_TOTAL_BYTES = 32_768;
/** Maximum length of a chain, including the first token. */
const MAX_DEPTH = 5;
/** Maximum distinct tokens in the chains of one token, including itself, and in all chains of a request. */
const MAX_NODES = 16;
const MAX_NODES_OF_REQUEST = 32;

interface ReadingParts<G> {
  /** Reads one token, or returns it from the cache. */
  read(text: string): TokenForm<G> | UnreadableToken;
  readonly rules: JudgingRules<G>;
  readonly witness: Witness<G>;
}

/**
 * Links the tokens of one request: resolves proofs by CID among them, and enforces limits before any cryptography. A
 * token whose chain exceeds a limit is refused as a whole, and does not count towards the limits of the request.
 */
export function readRequest<G>(tokens: readonly string[], parts: ReadingParts<G>): readonly UcanToken<G>[] {
  if (isTooMuch(tokens))
    return tokens.map((text) => refusedToken(text, { fault: "too_large", carriesCapabilities: true }));
  const forms = tokens.map(parts.read);
  const bind = createBinder(forms, parts);
  const counted = new Set<JudgedToken<G>>();
  return forms.map((form, index) => {
    if ("fault" in form) return refusedToken(tokens[index] ?? "", form);
    const token = bind(form);
    const fault = countNodes(token, counted);
    return fault === undefined ? token : refusedToken(form.text, { ...form, fault });
  });
}

function isTooMuch(tokens: readonly string[]): boolean {
  if (tokens.length > MAX_TOKENS) return true;
  return tokens.reduce((sum, text) => sum + Buffer.byteLength(text), 0) > MAX_TOTAL_BYTES;
}

const refusedToken = <G>(text: string, why: UnreadableToken & { readonly id?: string }): UcanToken<G> => ({
  text,
  fault: why.fault,
  ...(why.id === undefined ? {} : { id: why.id }),
  carriesCapabilities: why.carriesCapabilities,
  own: [],
  entries: [],
  proofs: [],
  check: () => why.fault,
  verdict: () => ({ grants: [], faults: [{ reason: why.fault, ...(why.id === undefined ? {} : { id: why.id }) }] }),
});

/** Creates one token per text, even if it is a proof of several, so that none is verified twice. */
function createBinder<G>(forms: readonly (TokenForm<G> | UnreadableToken)[], { rules, witness }: ReadingParts<G>) {
  const bound = new Map<string, JudgedToken<G>>();
  const bind = (form: TokenForm<G>): JudgedToken<G> => {
    const known = bound.get(form.text);
    if (known !== undefined) return known;
    // Terminates, since a text cannot contain its own hash.
    const token = new JudgedToken({ form, proofs: form.proofs.map(resolve), rules, witness });
    bound.set(form.text, token);
    return token;
  };
  const resolve = (proof: FormOfProof<G>): JudgedToken<G> | TokenFault => {
    if (typeof proof === "string") return proof;
    if (!("byCid" in proof)) return bind(proof);
    const form = forms.find((candidate) => "cid" in candidate && candidate.cid() === proof.byCid);
    return form === undefined || "fault" in form ? "proof_not_found" : bind(form);
  };
  return bind;
}

/**
 * Walks a chain breadth-first, so that shared proofs are visited once.
 *
 * @param counted tokens the request has used so far; extended unless there is a fault
 */
function countNodes<G>(top: JudgedToken<G>, counted: Set<JudgedToken<G>>): TokenFault | undefined {
  const nodes = new Set([top]);
  let level = nodes;
  for (let depth = 1; level.size > 0; depth++) {
    if (depth > MAX_DEPTH) return "too_deep";
    const below = new Set<JudgedToken<G>>();
    for (const { proofs } of level) for (const proof of proofs) if (typeof proof !== "string") below.add(proof);
    for (const node of below) nodes.add(node);
    if (nodes.size > MAX_NODES) return "too_many_proofs";
    level = below;
  }
  const added = [...nodes].filter((node) => !counted.has(node));
  if (counted.size + added.length > MAX_NODES_OF_REQUEST) return "too_many_proofs";
  for (const node of added) counted.add(node);
  return undefined;
}
