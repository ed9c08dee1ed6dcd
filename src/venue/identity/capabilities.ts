import type { CapabilityRules } from "../../authz/capability-rules.js";
import type { VenueConfig } from "../../config/types.js";
import type { Access } from "./access.js";
import { publicCapsOf } from "./public-caps.js";

/** Venue-wide grants and public capabilities (per-root ones live with the root). */
export const capabilityRulesOf = (config: VenueConfig, access: Access): CapabilityRules => ({
  venueDid: access.did,
  operator: access.operator,
  canonicalDid: access.canonicalDid,
  publicCaps: publicCapsOf(config),
  grants: config.auth.grants,
  verifier: access.verifier,
});
