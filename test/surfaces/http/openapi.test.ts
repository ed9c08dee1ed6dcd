import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Validator } from "@seriousme/openapi-schema-validator";
import type { Adapter, JsonObject } from "../../../src/core/adapter.js";
import { notFound } from "../../../src/core/texts.js";
import { loadOperationSchema } from "../../../src/schema/load.js";
import type { HttpMetrics } from "../../../src/surfaces/http/host.js";
import { createMcpEndpoint } from "../../../src/surfaces/mcp/http.js";
import type { VenueHost } from "../../../src/venue/venue.js";
import { type FakeOperation, fakeAdapter, gate } from "../../venue/fake-adapter.js";
import { as, closeAll, type Served, sendRaw, serve } from "./fixture.js";
import { checkerOf, type OpenApiChecker } from "./openapi-checker.js";

const CONTENT = "some content";
const SHA256 = createHash("sha256").update(CONTENT).digest("hex");
const STATISTICS = { exists: true, type: "file", size: 1, modified: 2, readOnly: false, mime: "text/plain" };

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
    () => {},
  );
}

const running = gate();

const fullVenue = (http: Parameters<typeof serve>[1] = {}): Promise<Served> =>
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

const documentOf = async (served: Served): Promise<JsonObject> =>
  Object(await (await fetch(`${served.url}/openapi.json`)).json());

afterAll(async () => {
  running.open(undefined);
  await closeAll();
});

describe("the document", () => {
  test.each([
    ["of a venue with everything", () => fullVenue()],
    ["of one with nothing", () => serve({})],
  ])("%s is valid OpenAPI 3.1", async (_, open) => {
    const document = await documentOf(await open());
    expect(await new Validator().validate(document)).toEqual({ valid: true });
    expect(document).toMatchObject({ openapi: "3.1.0" });
  });

  test("names where the venue is, and how to name oneself", async () => {
    const open = await fullVenue();
    expect(await documentOf(open)).toMatchObject({
      info: { title: "test venue", version: expect.stringMatching(/^\d+\./) },
      servers: [{ url: open.url }],
      security: [{}, { bearer: [] }],
    });
    const closed = await serve({}, { http: { publicAccess: false } });
    expect(await documentOf(closed)).toMatchObject({ security: [{ bearer: [] }] });
  });

  test("leaves out what is switched off", async () => {
    const paths = Object.keys(Object((await documentOf(await serve({})))["paths"]));
    for (const path of ["/mcp", "/.well-known/mcp", "/healthz", "/metrics"]) expect(paths).not.toContain(path);
    const all = Object.keys(Object((await documentOf(await fullVenue()))["paths"]));
    expect(all).toEqual(expect.arrayContaining(["/mcp", "/.well-known/mcp", "/healthz", "/metrics", ...paths]));
  });

  test("has each operation id once, and a tag that is explained", async () => {
    const document = await documentOf(await fullVenue());
    const tags = Object(document["tags"]).map(({ name }: { name: string }) => name);
    const operations = Object.values(Object(document["paths"])).flatMap((item) =>
      Object.entries(Object(item)).flatMap(([method, operation]) =>
        method === "parameters" ? [] : [Object(operation)],
      ),
    );
    const ids = operations.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { tags: own, summary } of operations) {
      expect(tags).toEqual(expect.arrayContaining(own));
      expect(summary).toEqual(expect.any(String));
    }
  });

  test("shows an adapter that comes later, with its schemas, whatever they refer to", async () => {
    const served = await fullVenue();
    const before = await documentOf(served);
    expect(await documentOf(served)).toEqual(before);
    const odd = fakeAdapter({ "send-it": () => ({}) }, "mail");
    const input = { type: "object", properties: { to: { $ref: "#/$defs/to" } }, $defs: { to: { type: "string" } } };
    served.venue.catalogue.add({ ...odd, operations: odd.operations.map((operation) => ({ ...operation, input })) });
    const document = await documentOf(served);
    expect(await new Validator().validate(document)).toEqual({ valid: true });
    const { requestFaults } = checkerOf(document);
    const request = (to: unknown) =>
      requestFaults("POST", "/api/v1/invoke", { operation: "v/ops/mail/send-it", input: { to } });
    expect(request("me")).toEqual([]);
    // Input that is wrong is one that no variant but the last takes; the schema itself is what tells.
    expect(Object(document["components"]).schemas["mail.send-it.input"].properties.to).toEqual({ $ref: "#/$defs/to" });
    expect(
      Object.keys(Object(Object(before["components"])["schemas"])).filter((name) => name.startsWith("mail")),
    ).toEqual([]);
  });

  test("promises the output of each operation in the record of its job", async () => {
    const document = await documentOf(await fullVenue());
    const { faultsOf } = checkerOf(document);
    const record = {
      ...{
        id: `0x${"0".repeat(32)}`,
        op: "0".repeat(64),
        name: "Stat",
        operation: "v/ops/file/stat",
        status: "COMPLETE",
      },
      ...{ created: 1, updated: 1, caller: "did:key:z", input: {} },
    };
    const answer = (output: unknown) =>
      new Response(JSON.stringify({ ...record, output }), { headers: { "content-type": "application/json" } });
    const path = "/api/v1/jobs/{id}";
    expect(await faultsOf("GET", path, answer(STATISTICS))).toEqual([]);
    expect(await faultsOf("GET", path, answer({ exists: 1 }))).not.toEqual([]);
  });
});
