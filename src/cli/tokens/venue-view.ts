// The token rules of a configuration, without opening the venue.

import type { VenueConfig } from "../../config/types.js";
import { silentLog } from "../../core/ports/log.js";
import type { Access } from "../../venue/identity/access.js";
import { openOwnAccess } from "../../venue/identity/own-access.js";
import type { CommandContext } from "../context.js";

/** The token rules of a configuration, without opening a venue: creates nothing and accesses no root. */
export interface VenueView extends Pick<Access, "key" | "verifier" | "revocations" | "canonicalDid"> {
  readonly config: VenueConfig;
  /** The venue's own DID; absent if it depends on a key that does not exist yet or changes at each start. */
  readonly did: string | undefined;
  /**
   * Canonical DID of a root's owner, if known.
   * @param root absent: the default owner, of roots without an owner of their own
   */
  ownerOf(root: string | undefined): string | undefined;
  /** Canonical DIDs of configured root owners. */
  readonly owners: readonly string[];
}

/** Builds the view of a configuration. @throws ConfigError if its key or its revocation list cannot be read */
export function viewVenue(config: VenueConfig, { env, stderr }: Pick<CommandContext, "env" | "stderr">): VenueView {
  const log = { ...silentLog, warn: (_: unknown, text: string) => void stderr.write(`Warning: ${text}\n`) };
  const { key, verifier, revocations, canonicalDid, did, operator } = openOwnAccess(config, { env, log });
  const known = (text: string) => (text.startsWith("did:") ? canonicalDid(text) : undefined);
  return {
    ...{ config, verifier, revocations, canonicalDid },
    ...(key === undefined ? {} : { key }),
    did: known(did),
    owners: Object.values(config.file.roots).flatMap(({ owner }) => (owner === undefined ? [] : [canonicalDid(owner)])),
    ownerOf(root) {
      const found = root === undefined ? undefined : config.file.roots[root];
      // Each caller owns its own drive and cannot delegate it.
      return found?.kind === "dlfs" ? undefined : known(found?.owner ?? operator);
    },
  };
}
