import { expect, test } from "@jest/globals";
import { openIdentity } from "../../../src/venue/identity/identity.js";
import { didDocument } from "../../../src/venue/identity/open-access.js";

const SEED = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
const MULTIKEY = "z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw";

test.each([`did:key:${MULTIKEY}`, "did:web:example.org"])(
  "the document of %s names its key and its endpoint",
  (did) => {
    const method = `${did}#${MULTIKEY}`;
    expect(didDocument(openIdentity({ seed: SEED, did }), "https://example.org/base")).toEqual({
      "@context": "https://www.w3.org/ns/did/v1",
      id: did,
      verificationMethod: [{ id: method, type: "Multikey", controller: did, publicKeyMultibase: MULTIKEY }],
      authentication: [method],
      assertionMethod: [method],
      capabilityDelegation: [method],
      capabilityInvocation: [method],
      service: [{ type: "Covia.API.v1", serviceEndpoint: "https://example.org/base/api/v1" }],
    });
  },
);
