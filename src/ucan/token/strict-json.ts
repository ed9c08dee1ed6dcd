// Parses the JSON of tokens, refusing duplicate names and deep nesting.

import type { JsonObject } from "../../core/ports/adapter.js";
import { isObject } from "../../core/unknown.js";

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
