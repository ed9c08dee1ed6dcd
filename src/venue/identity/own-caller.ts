// A caller other than the operator, for a process that starts a venue for itself.

import type { SurfaceContext } from "../../core/ports/adapter.js";
import type { SigningKey } from "../../ucan/mint/signing-key.js";
import type { Access } from "./access.js";

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
