import type { TokenFault } from "../token/fault.js";
import type { FormOfProof, TokenForm, UnreadableToken } from "../token/form.js";
import { JudgedToken, type JudgingRules, type Witness } from "./judge-chain.js";
import type { UcanToken } from "./proof.js";

const MAX_TOKENS = 8;
const MAX_TOTAL_BYTES = 32_768;
/** Tokens one above the other, the first included. */
const MAX_DEPTH = 5;
/** Distinct tokens in the chains of one token, itself included, and of all tokens of a request. */
const MAX_NODES = 16;
const MAX_NODES_OF_REQUEST = 32;

interface ReadingParts<G> {
  /** Reads one token, or knows it from before. */
  read(text: string): TokenForm<G> | UnreadableToken;
  readonly rules: JudgingRules<G>;
  readonly witness: Witness<G>;
}

/**
 * Puts the tokens of one request together: finds the proofs named by CID among them, and holds the limits before anybody
 * pays for cryptography. A token whose chain breaks one is refused as a whole, and uses up nothing of what the request
 * may have.
 */
export function readRequest<G>(tokens: readonly string[], parts: ReadingParts<G>): readonly UcanToken<G>[] {
  if (isTooMuch(tokens)) return tokens.map((text) => refused(text, { fault: "too_large", carriesCapabilities: true }));
  const forms = tokens.map(parts.read);
  const bind = createBinder(forms, parts);
  const counted = new Set<JudgedToken<G>>();
  return forms.map((form, index) => {
    if ("fault" in form) return refused(tokens[index] ?? "", form);
    const token = bind(form);
    const fault = countNodes(token, counted);
    return fault === undefined ? token : refused(form.text, { ...form, fault });
  });
}

function isTooMuch(tokens: readonly string[]): boolean {
  if (tokens.length > MAX_TOKENS) return true;
  return tokens.reduce((sum, text) => sum + Buffer.byteLength(text), 0) > MAX_TOTAL_BYTES;
}

const refused = <G>(text: string, why: UnreadableToken & { readonly id?: string }): UcanToken<G> => ({
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

/** Makes one token of each text, whoever it is a proof of, so that none is judged twice. */
function createBinder<G>(forms: readonly (TokenForm<G> | UnreadableToken)[], { rules, witness }: ReadingParts<G>) {
  const bound = new Map<string, JudgedToken<G>>();
  const bind = (form: TokenForm<G>): JudgedToken<G> => {
    const known = bound.get(form.text);
    if (known !== undefined) return known;
    // Ends, because a text cannot hold its own hash.
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
 * Walks a chain level by level, so that proofs that share proofs cost no more than their number.
 *
 * @param counted what the request has used so far; added to unless there is a fault
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
