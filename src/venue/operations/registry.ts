// The registry of the venue's own operations.

import { authWhoami } from "./auth-whoami.js";
import type { AnyVenueOperation } from "./operation.js";
import { ucanIssue } from "./ucan-issue.js";
import { ucanRevoke } from "./ucan-revoke.js";
import { ucanVerify } from "./ucan-verify.js";

/** All operations of the venue itself, in the order clients see them. */
export const VENUE_OPERATIONS: readonly AnyVenueOperation[] = [ucanIssue, ucanVerify, ucanRevoke, authWhoami];

/** Descriptions of their adapters, by the part of the operation name before the colon. */
export const VENUE_ADAPTERS: Readonly<Record<string, string>> = {
  ucan: "Capability tokens: issue, verify, revoke.",
  auth: "Who calls, and what they may do.",
};
