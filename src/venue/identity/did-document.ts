import type { JsonObject } from "../../core/ports/adapter.js";
import type { Identity } from "./identity.js";

/**
 * The DID document of a venue, where clients find its key and its endpoint.
 *
 * @param baseUrl without a trailing slash
 * @see https://www.w3.org/TR/did-core/
 */
export function didDocument({ did, multikey }: Pick<Identity, "did" | "multikey">, baseUrl: string): JsonObject {
  const method = { id: `${did}#${multikey}`, type: "Multikey", controller: did, publicKeyMultibase: multikey };
  return {
    "@context": "https://www.w3.org/ns/did/v1",
    id: did,
    verificationMethod: [method],
    authentication: [method.id],
    assertionMethod: [method.id],
    capabilityDelegation: [method.id],
    capabilityInvocation: [method.id],
    service: [{ type: "Covia.API.v1", serviceEndpoint: `${baseUrl}/api/v1` }],
  };
}
