// Decodes tokens (JWT) strictly; nothing is verified here.

import type { JsonObject } from "../../core/ports/adapter.js";
import { isObject } from "../../core/unknown.js";
import { multikeyOfDid } from "./did-key.js";
import type { TokenFault } from "./fault.js";
import { otherDidKey } from "./key-types.js";
import { parseTime } from "./time.js";

/** Maximum bytes of a token. */
export const MAX_TOKEN_BYTES = 8192;
const SIGNATURE_BYTES = 64;

/** A well-formed token. Nothing is verified yet. */
export interface DecodedToken {
  /** `ucan` if it has a capability list, whatever its contents. */
  readonly kind: "identity" | "ucan";
  readonly header: JsonObject;
  /** All claims, including unknown ones. */
  readonly payload: JsonObject;
  /** `iss`: DID of the key that must have signed it; not yet validated. */
  readonly issuer: string;
  /** `aud`; starts with `did:`. */
  readonly audience?: string | undefined;
  /** `exp`, seconds since the epoch; `null` for an explicit `null`. */
  readonly expiresAt?: number | null | undefined;
  /** `nbf`, seconds since the epoch. */
  readonly notBefore?: number | undefined;
  /** Encoded header and payload, the signing input. */
  readonly signedText: string;
  readonly signature: Uint8Array;
}

/**
 * Decodes a token, checking every rule that needs neither a key nor the time. Only one encoding of a token is accepted,
 * so that no two readers can interpret it differently.
 *
 * @param token JWT in compact form
 */
export function decodeToken(token: string): DecodedToken | { readonly fault: TokenFault } {
  if (token.length > MAX_TOKEN_BYTES) return { fault: "too_large" };
  const parts = token.split(".", 4).map(decodeBase64url);
  const [headerBytes, payloadBytes, signature] = parts;
  if (parts.length !== 3 || headerBytes === undefined || payloadBytes === undefined) return { fault: "malformed" };
  if (signature?.length !== SIGNATURE_BYTES) return { fault: "malformed" };
  const header = parseJsonObject(headerBytes);
  const payload = parseJsonObject(payloadBytes);
  if (header === undefined || payload === undefined) return { fault: "malformed" };
  if (!isPlainHeader(header)) return { fault: "bad_header" };
  const claims = parseClaims(payload, header["kid"]);
  if ("fault" in claims) return claims;
  const signedText = token.slice(0, token.lastIndexOf("."));
  // Copied, since tokens are cached, and a slice would retain its whole underlying buffer.
  return { ...claims, header, payload, signedText, signature: Uint8Array.from(signature) };
}

/** The issuer of a refused token in words, if it is a `did:key` of a type that is not taken. */
export function otherIssuer(token: string): string | undefined {
  if (token.length > MAX_TOKEN_BYTES) return undefined;
  const [, payload = ""] = token.split(".", 2);
  const { iss } = parseJsonObject(Buffer.from(payload, "base64url")) ?? {};
  return typeof iss === "string" ? otherDidKey(iss) : undefined;
}

/** Refuses any header that could change the meaning of the signature: other algorithms, `crit`, `b64`, other types. */
function isPlainHeader(header: JsonObject): boolean {
  if (header["alg"] !== "EdDSA" || "crit" in header || "b64" in header) return false;
  return !("typ" in header) || header["typ"] === "JWT";
}

type Claims = Omit<DecodedToken, "header" | "payload" | "signedText" | "signature">;

function parseClaims(payload: JsonObject, kid: unknown): Claims | { readonly fault: TokenFault } {
  const { iss: issuer, sub, aud: audience } = payload;
  if (typeof issuer !== "string") return { fault: "bad_did" };
  if (kid !== undefined && kid !== issuer && kid !== multikeyOfDid(issuer)) return { fault: "kid_mismatch" };
  if (sub !== undefined && sub !== issuer) return { fault: "malformed" };
  if (audience !== undefined && !isDidText(audience)) return { fault: "malformed" };
  if (!hasPlainLists(payload)) return { fault: "malformed" };
  const times = parseTimes(payload);
  if ("fault" in times) return times;
  const kind = "att" in payload || "cap" in payload ? "ucan" : "identity";
  return { kind, issuer, audience, ...times };
}

const isDidText = (value: unknown): value is string => typeof value === "string" && value.startsWith("did:");

function hasPlainLists({ att, cap, prf }: JsonObject): boolean {
  if (att !== undefined && (cap !== undefined || !Array.isArray(att))) return false;
  if (cap !== undefined && !isObject(cap)) return false;
  return prf === undefined || (Array.isArray(prf) && prf.every((proof) => typeof proof === "string"));
}

function parseTimes({
  exp,
  nbf,
}: JsonObject): Pick<DecodedToken, "expiresAt" | "notBefore"> | { readonly fault: TokenFault } {
  const expiresAt = exp === null ? null : parseTime(exp);
  const notBefore = parseTime(nbf);
  if (exp !== undefined && expiresAt === undefined) return { fault: "bad_exp" };
  if (nbf !== undefined && notBefore === undefined) return { fault: "bad_nbf" };
  return { expiresAt, notBefore };
}

/** Decodes unpadded base64url (RFC 4648, section 5), accepting only the canonical encoding. */
export function decodeBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : undefined;
}

/** Maximum nesting depth; sufficient for every claim. */
const MAX_DEPTH = 32;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

/**
 * Parses a JSON object without duplicate names, on which parsers differ in which one wins.
 *
 * @param bytes strict UTF-8; the caller bounds their number
 * @returns `undefined` for anything else, and for nesting deeper than 32 levels
 */
export function parseJsonObject(bytes: Uint8Array): JsonObject | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    const value: unknown = JSON.parse(text);
    // JSON.parse keeps one of several equal names, so with duplicates the value has fewer names than the text.
    return isObject(value) && countNames(value, 1) === countColons(text) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Number of names in all objects of a value; NaN if it is nested too deeply. */
function countNames(value: unknown, depth: number): number {
  if (typeof value !== "object" || value === null) return 0;
  if (depth > MAX_DEPTH) return Number.NaN;
  const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  let names = Array.isArray(value) ? 0 : members.length;
  for (const member of members) names += countNames(member, depth + 1);
  return names;
}

/** Counts names. @param text valid JSON, so every colon outside strings follows a name */
function countColons(text: string): number {
  let colons = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) inString = !inString;
    // Skips the escaped character, which may be a quote.
    else if (code === BACKSLASH) at++;
    else if (code === COLON && !inString) colons++;
  }
  return colons;
}
