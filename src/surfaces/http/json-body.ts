import { isUtf8 } from "node:buffer";
import { invalidJson } from "./http-error.js";

/** Largest body that is also tried as JSON5: its parser is slow. */
const MOST_JSON5_BYTES = 65_536;

/**
 * Parses a request body as strict JSON, and where that fails and the body is small, as JSON5.
 *
 * @param options.json5 whether JSON5 is accepted at all
 * @throws HttpError 400
 */
export async function parseJson(body: unknown, options: { json5: boolean }): Promise<unknown> {
  if (!Buffer.isBuffer(body) || body.length === 0) throw invalidJson("the body is empty");
  // Decoding would replace bad bytes silently, and the replacement would end up in a file.
  if (!isUtf8(body)) throw invalidJson("not valid UTF-8");
  const text = body.toString("utf8");
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!options.json5 || body.length > MOST_JSON5_BYTES) throw invalidJson(reasonOf(error));
  }
  const { default: JSON5 } = await import("json5");
  try {
    return JSON5.parse(text);
  } catch (error) {
    throw invalidJson(reasonOf(error));
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message.replace(/^JSON5: /, "") : "");
