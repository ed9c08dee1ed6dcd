import type { VenueConfig } from "../config/types.js";

/** JSON text may need up to six characters for one of content, and a message has some more around it. */
const FACTOR = 6;
const EXTRA_BYTES = 1_048_576;

/** Most bytes of a message that a client sends on standard input: the largest write there can be. */
export const maxMessageBytes = ({ file }: Pick<VenueConfig, "file">): number =>
  file.limits.maxWriteBytes * FACTOR + EXTRA_BYTES;

/** Without a key for it, what one caller of a venue with the default limits gets. */
const HELD_BYTES = 67_108_864;

/** Most bytes of answers that are held for the one client there is: as much as one caller gets over HTTP. */
export const maxHeldBytes = ({ maxInFlightBytes }: Pick<VenueConfig, "maxInFlightBytes">): number =>
  maxInFlightBytes === undefined ? HELD_BYTES : maxInFlightBytes / 4;
