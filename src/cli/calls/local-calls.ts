// Calls on a venue that is opened in this process.

import type { VenueConfig } from "../../config/types.js";
import type { ResolveAsset } from "../../core/ports/adapter.js";
import type { FileOutputs } from "../../schema/types.js";
import type { OpenVenueOptions } from "../../venue/start/open-venue.js";
import { openVenue } from "../../venue/start/open-venue.js";
import type { VenueCalls } from "./venue-calls.js";

/** Asset reference that stands for the content of an upload. */
const CONTENT = "content";

export interface LocalCallsOptions extends Omit<OpenVenueOptions, "listens"> {
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
  const narrowed = { ...own, surface: "cli", signal, ...(caps === undefined ? {} : { caps }) };
  const caller = own.callerDID ?? venue.host.did;
  const run = (reference: string, input: unknown, resolveAsset?: ResolveAsset): Promise<unknown> => {
    const operation = catalogue.resolve(reference)?.operation.metadata.name ?? reference;
    const context = resolveAsset === undefined ? narrowed : { ...narrowed, resolveAsset };
    return venue.host.run({ operation, input, caller, context }).result;
  };
  return {
    run: (operation, input) => run(operation, input),
    upload: async (input, content) =>
      parseWritten(await run("file:write", { ...input, asset: CONTENT }, async () => ({ content }))),
    operations: async () => catalogue.list().map(({ metadata: { name } }) => name),
    close: () => venue.close(),
  };
}

/** The output of a built-in operation conforms to its schema, so it is only cast. */
const parseWritten = (output: unknown): FileOutputs["file:write"] => output as FileOutputs["file:write"];
