// A venue's identity, and how it authenticates callers and judges tokens.

import type { CapabilityRules } from "../../authz/capability-rules.js";
import type { Grant } from "../../authz/grant.js";
import { isLoopbackListener } from "../../config/loopback.js";
import type { VenueConfig } from "../../config/types.js";
import type { Authenticate, NameCaller } from "../../core/call/caller.js";
import type { Capability } from "../../core/call/capability.js";
import type { JsonObject, SurfaceContext } from "../../core/ports/adapter.js";
import type { SigningKey } from "../../ucan/mint/signing-key.js";
import type { UcanVerifier } from "../../ucan/verify/proof.js";
import type { AccessTokens } from "./access-tokens.js";
import type { Authenticator } from "./authenticate.js";
import type { Identity } from "./identity.js";
import type { Issuers } from "./issuers/issuers.js";
import type { RevocationList } from "./revocations.js";
import type { StaticToken } from "./static-tokens.js";

/** The identity of a venue, and the credentials it accepts. */
export interface Access {
  readonly did: string;
  /** DID with authority over all roots. */
  readonly operator: string;
  /** Canonical form of a DID: the venue's `did:key` and its configured DID are one identity. */
  readonly canonicalDid: (did: string) => string;
  /** The venue's signing key. Absent where it has none; a key that is not configured is lost with the process. */
  readonly key?: SigningKey | undefined;
  /** Bearer token of the operator; absent where none is accepted. */
  readonly localToken?: string | undefined;
  readonly staticTokens: readonly StaticToken[];
  /** Authenticates a request. This and the functions below apply reloaded tokens and rules. */
  readonly authenticate: Authenticate;
  readonly nameCaller: NameCaller;
  readonly rejudge: Authenticator["rejudge"];
  readonly verifier: UcanVerifier<Grant>;
  readonly revocations: RevocationList;
  /** Absent where there is no state directory, or no key. */
  readonly accessTokens?: AccessTokens | undefined;
  /** Absent where no tokens of outside issuers can be taken: the venue does not listen. */
  readonly issuers?: Pick<Issuers, "urls" | "callers" | "expiresOf">;
  /** The caller that an access token, or session, is for now. @returns `undefined`: revoked */
  readonly bearerOf: Authenticator["bearerOf"];
  didDocument(baseUrl: string): JsonObject;
  /**
   * Prepares a reload: resolves the static tokens, checks that no root contains a secret, and prepares the rules for
   * UCANs.
   * @returns a function that applies them
   * @throws ConfigError
   */
  prepareReload(config: VenueConfig): () => void;
}

/** The venue's key in the form that signing needs. */
export const keyOf = ({ keyDid, multikey, publicKey, privateKey }: Identity): SigningKey => ({
  ...{ multikey, publicKey, privateKey },
  did: keyDid,
});

/** Placeholder for the operator's DID on stdio and in `call`, where there is no other caller and no DID is shown. */
export const OPERATOR = "operator";

/**
 * The access of a venue that does not listen and runs file operations only. Its only caller is the operator, who needs
 * no credentials, so nothing is read or created.
 */
export const closedAccess: Access = {
  did: OPERATOR,
  operator: OPERATOR,
  canonicalDid: (did) => did,
  staticTokens: [],
  authenticate: () => ({ refused: "invalid_token" }),
  nameCaller: (caller) => caller,
  rejudge: (context) => context,
  bearerOf: () => undefined,
  verifier: { read: () => [], issuersOf: () => undefined },
  revocations: {
    size: 0,
    entries: new Set(),
    has: () => false,
    add: async () => {
      throw new Error("Cannot revoke: no list was opened");
    },
  },
  didDocument: () => ({}),
  prepareReload: () => () => {},
};

/** Venue-wide grants and public capabilities (per-root ones live with the root). */
export const capabilityRulesOf = (config: VenueConfig, access: Access): CapabilityRules => ({
  venueDid: access.did,
  operator: access.operator,
  canonicalDid: access.canonicalDid,
  publicCaps: publicCapsOf(config),
  grants: config.auth.grants,
  verifier: access.verifier,
});

/** Whether callers without credentials are served. */
export const servesPublic = (config: VenueConfig): boolean => config.auth.public.enabled ?? isLoopbackListener(config);

/**
 * Capabilities of callers without credentials; none when they are not served. Default: on a loopback listener
 * everything in temp roots and reading elsewhere; on any other listener, reading.
 */
export function publicCapsOf(config: VenueConfig): readonly Capability[] {
  if (!servesPublic(config)) return [];
  if (config.auth.public.caps !== undefined) return config.auth.public.caps;
  const all: Capability = { with: "file://", can: "crud/read" };
  if (!isLoopbackListener(config)) return [all];
  const temp = Object.entries(config.file.roots).filter(([, root]) => root.kind === "temp");
  return [all, ...temp.map(([name]) => ({ with: `file://${name}/`, can: "crud" }))];
}

/** The caller to act as instead of the operator, where the process that started the venue is the only caller. */
export interface OwnCaller {
  readonly key: SigningKey;
  /** UCANs sent with every call. */
  readonly proofs: readonly string[];
}

/** The context shared by all calls of the process that started a venue. @param caller absent: the operator */
export function ownContext(caller: OwnCaller | undefined, { canonicalDid }: Access): SurfaceContext {
  if (caller === undefined) return {};
  const { key, proofs } = caller;
  return {
    callerDID: canonicalDid(key.did),
    authentication: "key",
    ...(proofs.length === 0 ? {} : { ucans: proofs }),
  };
}
