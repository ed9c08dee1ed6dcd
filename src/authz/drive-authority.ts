// The authority of a caller over its own drives.

import type { HeldGrant } from "../ucan/verify/proof.js";
import type { Authority, ProofFaults, Winner } from "./authority.js";
import type { DenialReason } from "./denial.js";
import { covers, EVERY_DRIVE, type Grant, type Need } from "./grant.js";

export interface DriveAuthorityFacts {
  readonly fault: DenialReason | undefined;
  readonly bearsProofs: boolean;
  /** Capability lists of the caller's identity tokens: bounds in its own drives. Absent: unbounded. */
  readonly self: readonly Grant[] | undefined;
}

/**
 * The authority of a caller over its own drives: everything, within the bounds of its identity tokens. Drives of
 * other callers cannot be addressed, so proofs give nothing, and denials name nobody to ask.
 */
export class DriveAuthority implements Authority {
  readonly fault?: DenialReason;
  readonly isEverything: boolean;
  readonly bearsProofs: boolean;
  readonly audience = undefined;
  readonly #grants: readonly Grant[];

  constructor({ fault, bearsProofs, self }: DriveAuthorityFacts) {
    if (fault !== undefined) this.fault = fault;
    this.isEverything = fault === undefined && self === undefined;
    this.bearsProofs = bearsProofs;
    this.#grants = fault === undefined ? (self ?? [EVERY_DRIVE]) : [];
  }

  ownerOf(): undefined {
    return undefined;
  }

  isOwned(): boolean {
    return false;
  }

  covering(need: Need): Winner | undefined {
    return this.#grants.some((grant) => covers(grant, need)) ? {} : undefined;
  }

  grantsIn(drive: string): readonly Grant[] {
    return this.#grants.filter(({ segments }) => segments.length === 0 || segments[0] === drive);
  }

  grants(): readonly Grant[] {
    return this.#grants;
  }

  proofFaults(): ProofFaults {
    return { reasons: [] };
  }

  delegable(): HeldGrant<Grant> | undefined {
    return undefined;
  }
}
