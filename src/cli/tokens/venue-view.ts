import type { VenueConfig } from "../../config/types.js";
import { silentLog } from "../../core/ports/log.js";
import type { Access } from "../../venue/identity/access.js";
import { openOwnAccess } from "../../venue/identity/own-access.js";
import type { CommandContext } from "../context.js";

/** What a configuration says about tokens, without a venue being opened: nothing is made, and no root is looked at. */
export interface VenueView extends Pick<Access, "key" | "verifier" | "revocations" | "canonicalDid"> {
  readonly config: VenueConfig;
  /** The venue's own DID; absent where it is that of a key which is not there, or another at each start. */
  readonly did: string | undefined;
  /**
   * Canonical DID of whoever owns a root, as far as that is known.
   * @param root absent: all roots, as far as they have no owner of their own
   */
  ownerOf(root: string | undefined): string | undefined;
  /** Owners of roots of their own, canonical. */
  readonly owners: readonly string[];
}

/** Looks at a configuration. @throws ConfigError when its key or its revocation list cannot be read */
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
      // Each caller owns its own drive, and nobody can give one away.
      return found?.kind === "dlfs" ? undefined : known(found?.owner ?? operator);
    },
  };
}
