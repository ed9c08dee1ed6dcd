// `venue-files mcp` within the process of the test: it costs a tenth of what a process of its own costs.

import { startHere } from "../../cli/in-process.js";
import type { Streams } from "../../cli/process.js";
import { type RawClient, type RawOptions, rawOf } from "./raw.js";

export type RawHere = RawClient<Streams>;

/** As `startRaw`, but for the process. */
export const rawHere = (args: readonly string[], options: RawOptions = {}): Promise<RawHere> =>
  rawOf(startHere(["mcp", ...args], options), options);
