// Recognises the format of a token, and reads its capabilities and proofs.

import type { JsonObject } from "../../core/ports/adapter.js";
import type { GrantSemantics } from "../verify/proof.js";
import { checkSignature, type PublicKeys } from "../verify/public-keys.js";
import { hasCapabilities, readEntries, type WrittenEntry, writtenEntries } from "./capability-entries.js";
import { type DecodedToken, decodeToken } from "./decode.js";
import { namesInFacts } from "./facts.js";
import type { TokenFault } from "./fault.js";
import { tokenCid, tokenId } from "./id.js";

/** Known versions in a header and in a payload. */
const HEADER_VERSION = /^0\.[89]\.(?:0|[1-9][0-9]{0,3})$/;

const PAYLOAD_VERSION = /^0\.10\.(?:0|[1-9][0-9]{0,3})$/;

/** Maximum proofs of one token. */
export const MAX_PROOFS = 4;

/**
 * Everything about a token that depends only on its text, not on sender, time or other tokens. It never changes, so it
 * may be cached.
 */
export interface TokenForm<G> {
  readonly text: string;
  readonly decoded: DecodedToken;
  readonly audience: string;
  readonly id: string;
  readonly carriesCapabilities: boolean;
  /** Its parsed capabilities, without those that grant nothing. */
  readonly own: readonly G[];
  readonly entries: readonly WrittenEntry[];
  readonly proofs: readonly FormOfProof<G>[];
  /** Ids and DIDs whose revocation revokes the token, including canonical forms. */
  readonly revocableBy: readonly string[];
  /** The CID by which other tokens of a request refer to it. Computed lazily. */
  cid(): string;
  /** The fault of its signature, if any. Computed lazily. */
  signatureFault(): TokenFault | undefined;
}

/** A proof in a token: inline, by CID, or unreadable. */
export type FormOfProof<G> = TokenForm<G> | { readonly byCid: string } | TokenFault;

/** A token that cannot be part of any chain. */
export interface UnreadableToken {
  readonly fault: TokenFault;
  readonly carriesCapabilities: boolean;
}

/** Rules for reading a token. */
export interface FormRules<G> {
  readonly semantics: GrantSemantics<G>;
  readonly keys: PublicKeys;
  canonicalDid(did: string): string;
  readonly acceptUnversionedCovia: boolean;
}

/**
 * Reads a token and its inline proofs. No cryptography beyond hashing; the work is bounded by the size of the text,
 * which includes all inline proofs.
 */
export function readForm<G>(text: string, rules: FormRules<G>): TokenForm<G> | UnreadableToken {
  const decoded = decodeToken(text);
  if ("fault" in decoded) return { fault: decoded.fault, carriesCapabilities: true };
  const { payload, audience } = decoded;
  const carriesCapabilities = hasCapabilities(payload);
  const unreadable = (fault: TokenFault): UnreadableToken => ({ fault, carriesCapabilities });
  // A delegation needs an audience; identity tokens grant nothing.
  if (decoded.kind !== "ucan" || audience === undefined) return unreadable("malformed");
  if (!hasKnownVersion(decoded, rules.acceptUnversionedCovia)) return unreadable("bad_version");
  const entries = readEntries(payload);
  if (entries === undefined) return unreadable("too_large");
  const proofs = proofTexts(payload["prf"]);
  if (proofs.length > MAX_PROOFS) return unreadable("too_many_proofs");
  const id = tokenId(decoded.signedText);
  const { canonicalDid } = rules;
  const reading = { giver: canonicalDid(decoded.issuer), canonicalDid };
  return {
    text,
    decoded,
    audience,
    id,
    carriesCapabilities,
    own: entries.map((entry) => rules.semantics.parse(entry, reading)).filter((grant) => grant !== undefined),
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

/** Strings, checked during decoding, or absent. */
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

/**
 * Whether a UCAN states a known version, in the place its profile requires: 0.8 and 0.9 in the header, with an array;
 * 0.10 in the payload.
 *
 * @param token `header` and `payload`, with exactly one kind of list
 * @param acceptUnversionedCovia accept tokens of old Java venues, which have a `kid` but no version
 */
function hasKnownVersion(
  { header, payload }: { readonly header: JsonObject; readonly payload: JsonObject },
  acceptUnversionedCovia: boolean,
): boolean {
  const isArray = "att" in payload;
  const inHeader = "ucv" in header;
  const inPayload = "ucv" in payload;
  if (inHeader) return !inPayload && isArray && matches(HEADER_VERSION, header["ucv"]);
  if (inPayload) return matches(PAYLOAD_VERSION, payload["ucv"]);
  return acceptUnversionedCovia && isArray && "kid" in header;
}

const matches = (pattern: RegExp, version: unknown): boolean => typeof version === "string" && pattern.test(version);
