import { ARCHIVE_OPERATIONS, DRIVE_OPERATIONS, OPERATIONS, TRANSFER_OPERATIONS } from "../src/ops/registry.js";
import { VENUE_OPERATIONS } from "../src/venue/operations/venue-adapters.js";

/** How many operations a venue has of its own. */
export const OURS = [OPERATIONS, ARCHIVE_OPERATIONS, DRIVE_OPERATIONS, TRANSFER_OPERATIONS, VENUE_OPERATIONS].flat()
  .length;
