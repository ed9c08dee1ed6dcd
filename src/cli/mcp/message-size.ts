// Limits on the size of MCP messages, derived from the limits of the venue.

import type { VenueConfig } from "../../config/types.js";

/** A byte of content takes up to six characters in JSON (`\u0000`); EXTRA_BYTES covers the rest of the message. */
const FACTOR = 6;
const EXTRA_BYTES = 1_048_576;

/** Maximum bytes of a message on standard input: room for the largest write. */
export const maxMessageBytes = ({ file }: Pick<VenueConfig, "file">): number =>
  file.limits.maxWriteBytes * FACTOR + EXTRA_BYTES;

/** Default: the share of one caller in a venue with default limits. */
const HELD_BYTES = 67_108_864;

/** Maximum bytes of answers held for the single client: the share one caller has over HTTP. */
export const maxHeldBytes = ({ maxInFlightBytes }: Pick<VenueConfig, "maxInFlightBytes">): number =>
  maxInFlightBytes === undefined ? HELD_BYTES : maxInFlightBytes / 4;
