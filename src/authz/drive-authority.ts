import type { HeldGrant } from "../ucan/verify/proof.js";
import type { Authority, ProofFaults, Winner } from "./authority.js";
import type { DenialReason } from "./denial.js";
import { covers, EVERY_DRIVE, type Grant, type Need } from "./grant.js";

export interface DriveAuthorityFacts {
  readonly fault: DenialReason | undefined;
  readonly bearsProofs: boolean;
  /** What bounds the caller in its own drives: the lists of the tokens it is known by. Absent: nothing. */
  readonly self: readonly Grant[] | undefined;
}

/**
 * What a caller may do in its own drives: everything, as far as the tokens let it by which it is known. Drives of others
 * are not even named, so no proof leads to them, and nobody can be asked for one.
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
