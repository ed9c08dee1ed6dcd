// Parses JSON request bodies without losing integers or accepting invalid UTF-8.

import { isUtf8 } from "node:buffer";
import { type Awaitable, after } from "../../../core/io.js";
import { parseInput } from "../../../schema/exact-json.js";
import { invalidJson } from "../plumbing/http-error.js";

/** Maximum bytes of a body that is also tried as JSON5, whose parser is slow. */
const MAX_JSON5_BYTES = 65_536;

/**
 * Parses a request body as strict JSON or, if that fails and the body is small, as JSON5. Integers that a double cannot
 * represent become `bigint`.
 *
 * @param options.json5 whether JSON5 is accepted
 * @returns a promise for JSON5 only
 * @throws HttpError 400
 */
export function parseJson(body: unknown, options: { json5: boolean }): Awaitable<unknown> {
  return after(parseJsonText(body, options), ({ value }) => value);
}

interface ParsedJson {
  readonly value: unknown;
  readonly text: string;
}

/**
 * Parses like {@link parseJson}, and keeps the text.
 *
 * @returns the value, and its text: as sent if that is strict JSON, else compact JSON. A promise for JSON5 only
 */
export function parseJsonText(body: unknown, options: { json5: boolean }): Awaitable<ParsedJson> {
  if (!Buffer.isBuffer(body) || body.length === 0) throw invalidJson("the body is empty");
  // Decoding would silently replace invalid bytes, and the replacement would end up in a file.
  if (!isUtf8(body)) throw invalidJson("not valid UTF-8");
  const text = body.toString("utf8");
  try {
    return { value: parseInput(text), text };
  } catch (error) {
    if (!(error instanceof SyntaxError) || !options.json5 || body.length > MAX_JSON5_BYTES)
      throw invalidJson(reasonOf(error));
  }
  return parseJson5(text);
}

async function parseJson5(text: string): Promise<ParsedJson> {
  const { default: JSON5 } = await import("json5");
  let isUnsafe = false;
  let isInfinite = false;
  let value: unknown;
  try {
    value = JSON5.parse(text, (_key, part: unknown) => {
      if (typeof part === "number" && !Number.isFinite(part)) isInfinite = true;
      else if (typeof part === "number" && Math.abs(part) > Number.MAX_SAFE_INTEGER) isUnsafe = true;
      return part;
    });
  } catch (error) {
    throw invalidJson(reasonOf(error));
  }
  // JSON has neither, and would write null in their place.
  if (isInfinite) throw invalidJson("Infinity and NaN are no JSON, nor are numbers that large. Send a string");
  if (isUnsafe) throw invalidJson("numbers beyond 2^53 are kept in strict JSON only, which this is not");
  return { value, text: JSON.stringify(value) };
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message.replace(/^JSON5: /, "") : "");
