import type { JsonObject } from "../core/adapter.js";

/** Deep enough for every claim there is. */
const MAX_DEPTH = 32;
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:]/g;

/**
 * Parses a JSON object in which no name stands twice: of two equal names, readers differ in which they believe.
 *
 * @param bytes strict UTF-8; the caller bounds their number
 * @returns `undefined` for anything else, also for what is nested deeper than 32 levels
 */
export function parseJsonObject(bytes: Uint8Array): JsonObject | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) && isUnambiguous(text) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a value is a JSON object, so neither `null` nor an array. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** @param text known to be JSON, so a colon outside strings follows a name */
function isUnambiguous(text: string): boolean {
  const open: Set<string>[] = [];
  let string = "";
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === "}" || token === "]") open.pop();
    else if (token === "{" || token === "[") {
      if (open.push(new Set()) > MAX_DEPTH) return false;
    } else if (token === ":") {
      // Decoded, since a name can be written in several ways.
      const name = String(JSON.parse(string));
      const names = open.at(-1);
      if (names?.has(name)) return false;
      names?.add(name);
    } else string = token;
  }
  return true;
}
