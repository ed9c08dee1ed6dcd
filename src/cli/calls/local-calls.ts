// Calls on a venue that is opened in this process.

import type { VenueConfig } from "../../config/types.js";
import { type OpenVenueOptions, openVenue } from "../../venue/start/open-venue.js";
import type { VenueCalls } from "./venue-calls.js";

interface LocalCallsOptions extends Omit<OpenVenueOptions, "listens"> {
  /** Narrows every call. */
  readonly caps: readonly unknown[] | undefined;
  /** Cancels running calls. */
  readonly signal: AbortSignal;
}

/** Opens a venue in this process, which listens nowhere. @throws ConfigError */
export async function openLocalCalls(config: VenueConfig, options: LocalCallsOptions): Promise<VenueCalls> {
  const { caps, signal, ...opening } = options;
  const venue = await openVenue(config, { ...opening, listens: false });
  const { catalogue } = venue.host;
  const own = venue.ownContext();
  const context = { ...own, surface: "cli", signal, ...(caps === undefined ? {} : { caps }) };
  const caller = own.callerDID ?? venue.host.did;
  return {
    async run(reference, input) {
      const operation = catalogue.resolve(reference)?.operation.metadata.name ?? reference;
      return venue.host.run({ operation, input, caller, context }).result;
    },
    operations: async () => catalogue.list().map(({ metadata: { name } }) => name),
    close: () => venue.close(),
  };
}
