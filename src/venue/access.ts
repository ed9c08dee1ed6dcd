import type { VenueConfig } from "../config/types.js";
import type { JsonObject } from "../core/adapter.js";
import type { Authenticate } from "../core/caller.js";
import type { StaticToken } from "./static-tokens.js";

/** Who a venue is, and whom it knows. */
export interface Access {
  readonly did: string;
  /** DID with authority over every root. */
  readonly operator: string;
  /** Present where a token acts as the operator. */
  readonly localToken?: string;
  readonly staticTokens: readonly StaticToken[];
  /** Follows changes of the tokens. */
  readonly authenticate: Authenticate;
  didDocument(baseUrl: string): JsonObject;
  /** Looks changed tokens up, and whether no changed root holds a secret. @returns what puts them into force @throws ConfigError */
  prepareReload(config: VenueConfig): () => void;
}

/** Who calls where nobody else can: on stdio and in `call` no DID is shown to anyone. */
const OPERATOR = "operator";

/** The access of a venue that does not listen: nobody but its operator is there, so nothing is read or made for it. */
export const closedAccess: Access = {
  did: OPERATOR,
  operator: OPERATOR,
  staticTokens: [],
  authenticate: () => ({ refused: "invalid_token" }),
  didDocument: () => ({}),
  prepareReload: () => () => {},
};
