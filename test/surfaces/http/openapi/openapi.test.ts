import { afterAll, describe, expect, test } from "@jest/globals";
import { Validator } from "@seriousme/openapi-schema-validator";
import { FILE_ENDPOINTS } from "../../../../src/surfaces/http/endpoints/files.js";
import { fakeAdapter } from "../../../venue/catalogue/fake-adapter.js";
import { serve } from "../fixture.js";
import { checkerOf } from "./checker.js";
import { closeVenues, documentOf, fullVenue, STATISTICS } from "./fixture.js";

afterAll(closeVenues);

/** An answer with the record of a job. */
function recordOf(operation: string, output: unknown): Response {
  const record = {
    ...{ id: `0x${"0".repeat(32)}`, op: "0".repeat(64), name: "A name", operation: `v/ops/${operation}` },
    ...{ status: "COMPLETE", created: 1, updated: 1, caller: "did:key:z", input: {}, output },
  };
  return new Response(JSON.stringify(record), { headers: { "content-type": "application/json" } });
}

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
    for (const path of ["/mcp", "/.well-known/mcp", "/metrics"]) expect(paths).not.toContain(path);
    const all = Object.keys(Object((await documentOf(await fullVenue()))["paths"]));
    expect(all).toEqual(expect.arrayContaining(["/mcp", "/.well-known/mcp", "/metrics", ...paths]));
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

  test("says of bytes what generators of clients send as they are, and of lists what is in them", async () => {
    const document = await documentOf(await fullVenue());
    const bodies = Object.values(Object(document["paths"])).flatMap((item) =>
      Object.values(Object(item)).flatMap((operation) => Object.keys(Object(operation).requestBody?.content ?? {})),
    );
    expect([...new Set(bodies)].sort()).toEqual(["application/json", "application/octet-stream"]);
    const bytes = { "application/octet-stream": { schema: { type: "string", format: "binary" } } };
    const body = { requestBody: { content: bytes } };
    expect(document).toMatchObject({ paths: { "/api/v1/assets/{ref}/content": { put: body } } });
    const get = { responses: { 200: { content: bytes }, 206: { content: bytes } } };
    const described = FILE_ENDPOINTS.map((endpoint) => endpoint.described);
    expect(described).toMatchObject([get, {}, body, body]);
    const without: string[] = [];
    JSON.stringify(document, (key, value) => {
      const { type, items, title } = Object(value);
      const isList = type === "array" || (Array.isArray(type) && type.includes("array"));
      if ((isList && items === undefined) || (typeof title === "string" && title.includes("/"))) without.push(key);
      return value;
    });
    expect(without).toEqual([]);
  });

  test("shows an adapter that comes later, with its schemas, whatever they refer to", async () => {
    const served = await fullVenue();
    const before = await documentOf(served);
    expect(await documentOf(served)).toEqual(before);
    const late = fakeAdapter({ "send-it": () => ({}) }, "mail");
    const schema = { type: "object", properties: { to: { $ref: "#/$defs/to" } }, $defs: { to: { type: "string" } } };
    const operations = late.operations.map((operation) => ({ ...operation, input: schema, output: schema }));
    served.venue.catalogue.add({ ...late, operations });
    const document = await documentOf(served);
    expect(await new Validator().validate(document)).toEqual({ valid: true });
    const { faultsOf, requestFaults } = checkerOf(document);
    expect(requestFaults("POST", "/api/v1/invoke", { operation: "v/ops/mail/send-it", input: { to: "me" } })).toEqual(
      [],
    );
    expect(await faultsOf("GET", "/api/v1/jobs/{id}", recordOf("mail/send-it", { to: "me" }))).toEqual([]);
    expect(await faultsOf("GET", "/api/v1/jobs/{id}", recordOf("mail/send-it", { to: 1 }))).not.toEqual([]);
  });

  test("promises the output of each operation in the record of its job", async () => {
    const { faultsOf } = checkerOf(await documentOf(await fullVenue()));
    expect(await faultsOf("GET", "/api/v1/jobs/{id}", recordOf("file/stat", STATISTICS))).toEqual([]);
    expect(await faultsOf("GET", "/api/v1/jobs/{id}", recordOf("file/stat", { exists: 1 }))).not.toEqual([]);
  });

  const requests: readonly [string, unknown, boolean][] = [
    ["an operation with its input", { operation: "v/ops/file/stat", input: { root: "r", path: "a" } }, true],
    ["one by another name", { operation: "file:stat", input: { root: "r", path: "a" } }, true],
    ["everything else", { operation: "x", input: null, ucans: ["a.b.c"], caps: [], wait: "true", private: true }, true],
    ["no operation", { input: {} }, false],
    ["an input that is a text", { operation: "v/ops/file/stat", input: "x" }, false],
    ["tokens that are none", { operation: "x", ucans: [1] }, false],
  ];
  test.each(requests)("says of a call with %s what the venue says", async (_, body, right) => {
    const served = await fullVenue();
    const { requestFaults } = checkerOf(await documentOf(served));
    expect(requestFaults("POST", "/api/v1/invoke", body).length === 0).toBe(right);
  });
});
