import { decodeToken } from "./decode.js";
import { isJsonObject } from "./strict-json.js";

/**
 * Whether a token is, or claims to be, about capabilities: a request with such a token is judged by its proofs alone. One
 * that cannot be read counts, because nobody can tell what its sender relied on; only a token that is plainly without
 * capabilities, such as one that says who somebody is, does not.
 */
export function carriesCapabilities(token: string): boolean {
  const decoded = decodeToken(token);
  if ("fault" in decoded) return true;
  const { att, cap } = decoded.payload;
  return (Array.isArray(att) && att.length > 0) || (isJsonObject(cap) && Object.keys(cap).length > 0);
}
