import type { Grant } from "../../authz/grant.js";
import type { VenueConfig } from "../../config/types.js";
import type { Authenticate, NameCaller } from "../../core/call/caller.js";
import type { JsonObject } from "../../core/ports/adapter.js";
import type { SigningKey } from "../../ucan/mint/signing-key.js";
import type { UcanVerifier } from "../../ucan/verify/proof.js";
import type { Authenticator } from "./authenticate.js";
import type { Identity } from "./identity.js";
import type { RevocationList } from "./revocations.js";
import type { StaticToken } from "./static-tokens.js";

/** Who a venue is, and whom it knows. */
export interface Access {
  readonly did: string;
  /** DID with authority over every root. */
  readonly operator: string;
  /** The one DID of whoever has several: the venue, whose key has one of its own. */
  readonly canonicalDid: (did: string) => string;
  /** The venue's own key. Absent where it has none; unless it was configured, it is gone with the process. */
  readonly key?: SigningKey;
  /** Present where a token acts as the operator. */
  readonly localToken?: string;
  readonly staticTokens: readonly StaticToken[];
  /** Follows changes of the tokens and of the rules for them, as all that follows does. */
  readonly authenticate: Authenticate;
  readonly nameCaller: NameCaller;
  readonly judgeAgain: Authenticator["judgeAgain"];
  readonly verifier: UcanVerifier<Grant>;
  readonly revocations: RevocationList;
  didDocument(baseUrl: string): JsonObject;
  /**
   * Looks changed tokens up, and whether no changed root holds a secret, and makes changed rules for UCANs ready.
   * @returns what puts them into force
   * @throws ConfigError
   */
  prepareReload(config: VenueConfig): () => void;
}

/** The key of a venue as it signs with it. */
export const keyOf = ({ keyDid, multikey, publicKey, privateKey }: Identity): SigningKey => ({
  ...{ multikey, publicKey, privateKey },
  did: keyDid,
});

/** Who calls where nobody else can: on stdio and in `call` no DID is shown to anyone. */
export const OPERATOR = "operator";

/**
 * The access of a venue that does not listen and runs file operations only: nobody but its operator is there, who needs
 * no proof, so nothing is read or made for it.
 */
export const closedAccess: Access = {
  did: OPERATOR,
  operator: OPERATOR,
  canonicalDid: (did) => did,
  staticTokens: [],
  authenticate: () => ({ refused: "invalid_token" }),
  nameCaller: (caller) => caller,
  judgeAgain: (context) => context,
  verifier: { read: () => [], issuersOf: () => undefined },
  revocations: {
    size: 0,
    has: () => false,
    add: async () => {
      throw new Error("Cannot revoke: no list was opened");
    },
  },
  didDocument: () => ({}),
  prepareReload: () => () => {},
};
