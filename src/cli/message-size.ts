import type { VenueConfig } from "../config/types.js";

/** JSON text may need up to six characters for one of content, and a message has some more around it. */
const FACTOR = 6;
const EXTRA_BYTES = 1_048_576;

/** Most bytes of a message that a client sends on standard input: the largest write there can be. */
export const maxMessageBytes = ({ file }: Pick<VenueConfig, "file">): number =>
  file.limits.maxWriteBytes * FACTOR + EXTRA_BYTES;
