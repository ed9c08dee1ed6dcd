import { authWhoami } from "./auth-whoami.js";
import type { AnyVenueOperation } from "./operation.js";
import { ucanIssue } from "./ucan-issue.js";
import { ucanRevoke } from "./ucan-revoke.js";
import { ucanVerify } from "./ucan-verify.js";

/** Every operation of the venue itself, in the order clients see. */
export const VENUE_OPERATIONS: readonly AnyVenueOperation[] = [ucanIssue, ucanVerify, ucanRevoke, authWhoami];

/** The adapters they belong to, by the part of their names before the colon. */
export const VENUE_ADAPTERS: Readonly<Record<string, string>> = {
  ucan: "Capability tokens: issue, verify, revoke.",
  auth: "Who calls, and what they may do.",
};
