import type { CapabilityRules } from "../../authz/capability-rules.js";
import type { VenueConfig } from "../../config/types.js";
import type { Access } from "./access.js";
import { publicCapsOf } from "./public-caps.js";

/** Who may do what in a venue, as far as that does not stand with its roots. */
export const capabilityRulesOf = (config: VenueConfig, access: Access): CapabilityRules => ({
  venueDid: access.did,
  operator: access.operator,
  canonicalDid: access.canonicalDid,
  publicCaps: publicCapsOf(config),
  grants: config.auth.grants,
  verifier: access.verifier,
});
