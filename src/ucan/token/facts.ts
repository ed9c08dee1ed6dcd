import { isJsonObject } from "./strict-json.js";

/** The name under which a venue writes down why it signed a token for somebody else. */
const OURS = "venue-files";

/**
 * Whom and what a token was signed on the strength of, if its facts say so: `[{"venue-files": {"for": DID, "via": [id, …]}}]`.
 * To revoke any of these is to revoke the token. Facts of others, and malformed ones, name nothing: they can give nothing.
 *
 * @param fct claim of a token; an array, or in version 0.10 a map
 * @returns DIDs and ids, as many as the token's size lets in
 */
export function namesInFacts(fct: unknown): readonly string[] {
  const facts = Array.isArray(fct) ? fct : [fct];
  return facts.flatMap((fact) => {
    const said = isJsonObject(fact) ? fact[OURS] : undefined;
    if (!isJsonObject(said)) return [];
    const { for: did, via } = said;
    return [did, ...(Array.isArray(via) ? via : [])].filter((name) => typeof name === "string");
  });
}
