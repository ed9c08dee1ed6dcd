import type { SurfaceContext } from "../../core/ports/adapter.js";
import type { SigningKey } from "../../ucan/mint/signing-key.js";
import type { Access } from "./access.js";

/** Who calls in place of the operator, where nobody else can. */
export interface OwnCaller {
  readonly key: SigningKey;
  /** Tokens that go with every call. */
  readonly proofs: readonly string[];
}

/** What the calls of whoever started a venue have in common. @param caller absent: the operator */
export function ownContext(caller: OwnCaller | undefined, { canonicalDid }: Access): SurfaceContext {
  if (caller === undefined) return {};
  const { key, proofs } = caller;
  return {
    callerDID: canonicalDid(key.did),
    authentication: "key",
    ...(proofs.length === 0 ? {} : { ucans: proofs }),
  };
}
