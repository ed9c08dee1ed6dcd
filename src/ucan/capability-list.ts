import { hasCapabilities } from "./capability-entries.js";
import { decodeToken } from "./decode.js";

/**
 * Whether a token is, or claims to be, about capabilities: a request with such a token is judged by its proofs alone. One
 * that cannot be read counts, because nobody can tell what its sender relied on; only a token that is plainly without
 * capabilities, such as one that says who somebody is, does not.
 */
export function carriesCapabilities(token: string): boolean {
  const decoded = decodeToken(token);
  return "fault" in decoded || hasCapabilities(decoded.payload);
}
