import { createHash } from "node:crypto";
import { notFound } from "../../../../src/core/errors/texts.js";
import type { Adapter, JsonObject } from "../../../../src/core/ports/adapter.js";
import { loadOperationSchema } from "../../../../src/schema/load.js";
import type { HttpMetrics } from "../../../../src/surfaces/http/host.js";
import { createMcpEndpoint } from "../../../../src/surfaces/mcp/http.js";
import type { VenueHost } from "../../../../src/venue/venue.js";
import { type FakeOperation, fakeAdapter, gate } from "../../../venue/catalogue/fake-adapter.js";
import { closeAll, type Served, serve } from "../fixture.js";

/** Content of an asset, and its hash. */
export const CONTENT = "some content";
export const SHA256 = createHash("sha256").update(CONTENT).digest("hex");
/** What the fake of `file:stat` answers. */
export const STATISTICS = { exists: true, type: "file", size: 1, modified: 2, readOnly: false, mime: "text/plain" };

/** Fakes under the schemas of the file operations, whose outputs the document promises. */
function fileAdapter(operations: Record<string, FakeOperation>): Adapter {
  const fake = fakeAdapter(operations);
  const described = fake.operations.map((operation) => {
    const { input, output } = loadOperationSchema(operation.name.slice("file:".length));
    return { ...operation, input, output };
  });
  return { ...fake, operations: described };
}

const metricsOf = (readers: HttpMetrics["readers"]): HttpMetrics => ({
  readers,
  text: async () => ({ contentType: "text/plain; version=0.0.4; charset=utf-8", body: "calls_total 1\n" }),
});

async function mcp(venue: VenueHost) {
  const tools = venue.catalogue.list().map(({ metadata }) => metadata);
  return createMcpEndpoint(
    ({ did }) => ({
      serverInfo: { name: "test", version: "1" },
      instructions: "",
      tools,
      maxWaitMs: undefined,
      submit: ({ operation, input }) => venue.submit({ operation, input, caller: did, context: { callerDID: did } }),
      logInternal: () => {},
    }),
    { onError: () => {}, onRefusal: () => {} },
  );
}

const running = gate();

/** A venue with every endpoint; its `file:mkdir` never ends. */
export const fullVenue = (http: Parameters<typeof serve>[1] = {}): Promise<Served> =>
  serve(
    {},
    {
      adapters: [
        fileAdapter({
          stat: () => STATISTICS,
          read: () => {
            throw notFound({ root: "r", path: "a" });
          },
          mkdir: () => running.promise,
        }),
      ],
      metrics: metricsOf("operator"),
      mcp,
      ...http,
    },
  );

/** The document that a venue serves. */
export const documentOf = async (served: Served): Promise<JsonObject> =>
  Object(await (await fetch(`${served.url}/openapi.json`)).json());

/** Closes what {@link fullVenue} opened. */
export async function closeVenues(): Promise<void> {
  running.open(undefined);
  await closeAll();
}
