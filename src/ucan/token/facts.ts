// The fact in which a venue records on whose authority it signed a token.

import { isObject } from "../../core/unknown.js";

/** Key of the fact in which a venue records on whose behalf, and by which tokens, it signed a token. */
const OURS = "venue-files";

/**
 * The DIDs and token ids a venue signed a token on behalf of, from the fact
 * `[{"venue-files": {"for": DID, "via": [id, …]}}]`. Revoking any of them revokes the token. Other facts, and malformed
 * ones, are ignored. Facts of the venue alone add authority, over drives of the first one named: those of other issuers never do.
 *
 * @param fct claim of a token; an array, or in version 0.10 a map
 * @returns DIDs and ids, bounded only by the size of the token
 */
export function namesInFacts(fct: unknown): readonly string[] {
  const facts = Array.isArray(fct) ? fct : [fct];
  return facts.flatMap((fact) => {
    const said = isObject(fact) ? fact[OURS] : undefined;
    if (!isObject(said)) return [];
    const { for: did, via } = said;
    return [did, ...(Array.isArray(via) ? via : [])].filter((name) => typeof name === "string");
  });
}

/** The DID that a venue signed a token for. */
export function beneficiaryIn(fct: unknown): string | undefined {
  for (const fact of Array.isArray(fct) ? fct : [fct]) {
    const said = isObject(fact) ? fact[OURS] : undefined;
    if (isObject(said)) return typeof said["for"] === "string" ? said["for"] : undefined;
  }
  return undefined;
}
