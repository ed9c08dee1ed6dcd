import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Validator } from "@seriousme/openapi-schema-validator";
import type { JsonObject } from "../../../../src/core/ports/adapter.js";
import { FILE_ENDPOINTS } from "../../../../src/surfaces/http/endpoints/files.js";
import { fakeAdapter } from "../../../venue/catalogue/fake-adapter.js";
import { httpRequestOf } from "../../mcp/raw.js";
import { bodyOf, send } from "../client.js";
import { as, type Served, serve } from "../fixture.js";
import { checkerOf, type OpenApiChecker } from "./checker.js";
import { CONTENT, closeVenues, documentOf, fullVenue, SHA256, STATISTICS } from "./fixture.js";

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

describe("every answer of a venue is as described", () => {
  let served: Served;
  let checker: OpenApiChecker;
  const seen = new Set<string>();
  /** Jobs and assets that the calls are about. */
  const ids: Record<string, string> = {};

  const json = { "content-type": "application/json" };
  const post = (body: unknown): RequestInit => ({ method: "POST", headers: json, body: JSON.stringify(body) });
  const put = (body?: string): RequestInit => ({ method: "PUT", ...(body === undefined ? {} : { body }) });
  const rpc = (method: string): RequestInit => httpRequestOf("legacy", { id: 1, method });

  beforeAll(async () => {
    served = await fullVenue({ assetRules: { maxTotalBytes: 100_000 } });
    checker = checkerOf(await documentOf(served));
    const start = async (operation: string, headers = {}): Promise<string> => {
      const call = { operation, input: { root: "r", path: "a" } };
      return String(Object(await bodyOf(send(`${served.url}/api/v1/invoke`, { json: call, headers }))).id);
    };
    const register = async (metadata: JsonObject): Promise<string> =>
      String(await bodyOf(send(`${served.url}/api/v1/assets`, { json: metadata })));
    Object.assign(ids, {
      done: await start("file:stat"),
      hers: await start("file:stat", as("alice")),
      asset: await register({ content: { sha256: SHA256, fileName: "a.txt", contentType: "text/plain" } }),
      empty: await register({ content: { sha256: "0".repeat(64) } }),
      plain: await register({ name: "plain", type: "x", description: "y" }),
    });
    await fetch(`${served.url}/api/v1/assets/${ids["asset"]}/content`, put(CONTENT));
  });

  type Call = readonly [path: string, status: number, sent: string | (() => string), init?: RequestInit];
  const invoke = "/api/v1/invoke";
  const job = "/api/v1/jobs/{id}";
  const jobs =
    (id: string, suffix = "") =>
    () =>
      `/api/v1/jobs/${ids[id] ?? id}${suffix}`;
  const assets = "/api/v1/assets";
  const asset = "/api/v1/assets/{ref}";
  const content = "/api/v1/assets/{ref}/content";
  const ref =
    (id: string, suffix = "") =>
    () =>
      `/api/v1/assets/${ids[id] ?? id}${suffix}`;
  const big = { name: "x".repeat(99_000) };
  const call = (operation: string, more: JsonObject = {}) =>
    post({ operation, input: { root: "r", path: "a" }, ...more });

  const calls: readonly Call[] = [
    ["/api/v1/status", 200, "/api/v1/status"],
    ["/api/v1/operations", 200, "/api/v1/operations"],
    ["/api/v1/operations/{name}", 200, "/api/v1/operations/v/ops/file/stat"],
    ["/api/v1/operations/{name}", 404, "/api/v1/operations/v/ops/file/none"],
    ["/api/v1/operations/{name}", 400, "/api/v1/operations/%zz"],
    [invoke, 201, invoke, call("v/ops/file/stat")],
    [invoke, 201, invoke, call("v/ops/file/read")],
    [invoke, 201, invoke, call("v/ops/file/mkdir")],
    [invoke, 201, invoke, call("v/ops/file/stat", { private: true, wait: true })],
    [invoke, 400, invoke, post({})],
    [invoke, 413, invoke, post({ operation: "x".repeat(1_100_000) })],
    ["/api/v1/run", 200, "/api/v1/run", call("v/ops/file/stat")],
    ["/api/v1/run", 404, "/api/v1/run", call("v/ops/file/read")],
    ["/api/v1/run", 413, "/api/v1/run", post({ operation: "x".repeat(1_100_000) })],
    ["/api/v1/jobs", 200, "/api/v1/jobs"],
    ["/api/v1/jobs", 400, "/api/v1/jobs?limit=x"],
    [job, 200, jobs("done")],
    [job, 400, jobs("xyz")],
    [job, 403, jobs("hers")],
    [job, 404, jobs("00")],
    [job, 409, jobs("done"), { method: "POST" }],
    [job, 403, jobs("hers"), { method: "POST" }],
    [job, 404, jobs("00"), { method: "POST" }],
    [`${job}/sse`, 200, jobs("done", "/sse")],
    [`${job}/sse`, 404, jobs("00", "/sse")],
    ...["pause", "resume"].flatMap((suffix): Call[] => [
      [`${job}/${suffix}`, 409, jobs("done", `/${suffix}`), put()],
      [`${job}/${suffix}`, 404, jobs("00", `/${suffix}`), put()],
    ]),
    [`${job}/cancel`, 200, jobs("done", "/cancel"), put()],
    [`${job}/cancel`, 404, jobs("00", "/cancel"), put()],
    [`${job}/delete`, 403, jobs("hers", "/delete"), put()],
    [`${job}/delete`, 404, jobs("00", "/delete"), put()],
    [`${job}/delete`, 200, jobs("done", "/delete"), put()],
    ...["read", "list", "slice", "count"].flatMap((name): Call[] => [
      [`/api/v1/values/${name}`, 200, `/api/v1/values/${name}?path=/v/info/adapters`],
      [`/api/v1/values/${name}`, 200, `/api/v1/values/${name}?path=v/info/protocols`],
      [`/api/v1/values/${name}`, 200, `/api/v1/values/${name}?path=v/info/name`],
      [`/api/v1/values/${name}`, 200, `/api/v1/values/${name}?path=nowhere`],
      [`/api/v1/values/${name}`, 400, `/api/v1/values/${name}`],
    ]),
    ["/api/v1/values/read", 200, "/api/v1/values/read?path=/&maxSize=5"],
    [assets, 201, assets, post({ name: "new" })],
    [assets, 400, assets, post([])],
    [assets, 413, assets, post({ name: "x".repeat(1_100_000) })],
    [assets, 507, assets, post(big)],
    [assets, 200, assets],
    [assets, 200, `${assets}?scope=own`, { headers: as("alice") }],
    [assets, 200, `${assets}?expand=metadata`],
    [assets, 400, `${assets}?offset=-1`],
    [asset, 200, ref("asset")],
    [asset, 400, ref("nonsense")],
    [asset, 404, ref("1".repeat(64))],
    [content, 200, ref("asset", "/content"), put(CONTENT)],
    [content, 400, ref("asset", "/content"), put("other content")],
    [content, 404, ref("plain", "/content"), put(CONTENT)],
    [content, 413, ref("asset", "/content"), put("x".repeat(1_100_000))],
    [content, 507, ref("empty", "/content"), put("x".repeat(200_000))],
    [content, 200, ref("asset", "/content")],
    [content, 206, ref("asset", "/content"), { headers: { range: "bytes=1-3" } }],
    [content, 304, ref("asset", "/content"), { headers: { "if-none-match": `"${SHA256}"` } }],
    [content, 400, ref("nonsense", "/content")],
    [content, 404, ref("empty", "/content")],
    [content, 416, ref("asset", "/content"), { headers: { range: "bytes=100-" } }],
    ...[200, 206, 304, 404, 416].map((status): Call => {
      const asked = {
        206: { range: "bytes=1-3" },
        304: { "if-none-match": `"${SHA256}"` },
        416: { range: "bytes=100-" },
      };
      const headers: Record<string, string> = Object.entries(asked).find(([one]) => one === `${status}`)?.[1] ?? {};
      const sent = () => `/api/v1/content/${ids[status === 404 ? "empty" : "asset"]}`;
      return ["/api/v1/content/{ref}", status, sent, { headers }];
    }),
    ["/.well-known/did.json", 200, "/.well-known/did.json"],
    ["/.well-known/mcp", 200, "/.well-known/mcp"],
    ["/mcp", 200, "/mcp", rpc("tools/list")],
    ["/mcp", 202, "/mcp", { ...rpc(""), body: '{"jsonrpc":"2.0","method":"notifications/initialized"}' }],
    ["/mcp", 400, "/mcp", { ...rpc("x"), body: "{" }],
    ["/mcp", 400, "/mcp", { ...rpc("x"), body: '{"no":"message"}' }],
    ["/mcp", 406, "/mcp", { ...rpc("tools/list"), headers: { ...json, accept: "text/html" } }],
    ["/mcp", 413, "/mcp", { ...rpc("x"), body: `"${"x".repeat(1_100_000)}"` }],
    ["/mcp", 405, "/mcp"],
    ["/mcp", 405, "/mcp", { method: "DELETE" }],
    ["/healthz", 200, "/healthz"],
    ["/metrics", 200, "/metrics", { headers: as("operator") }],
    ["/metrics", 403, "/metrics", { headers: as("bob") }],
    ["/openapi.json", 200, "/openapi.json"],
  ];

  test.each(calls)("%s %i", async (path, status, sent, init = {}) => {
    const { method = "GET" } = init;
    const response = await fetch(served.url + (typeof sent === "string" ? sent : sent()), init);
    expect(response.status).toBe(status);
    expect(await checker.faultsOf(method, path, response)).toEqual([]);
    seen.add(`${method} ${path} ${status}`);
  });

  /** Every endpoint in the document, with something for its parameter. */
  const endpoints = (): [method: string, path: string, sent: string][] =>
    [...new Set(checker.described.map((answer) => answer.replace(/ \d+$/, "")))].map((endpoint) => {
      const [method = "", path = ""] = endpoint.split(" ");
      const sent = path
        .replace("{id}", "00")
        .replace("{name}", "v/ops/file/stat")
        .replace("{ref}", ids["plain"] ?? "");
      return [method, path, sent];
    });

  const common: readonly [string, number, RequestInit][] = [
    ["a token that is none", 401, { headers: { authorization: "Bearer x" } }],
    ["another kind of credentials", 401, { headers: { authorization: "Basic eDp5" } }],
    ["a page of somebody else's", 403, { headers: { origin: "https://example.com" } }],
    ["a compressed body", 415, { headers: { "content-encoding": "gzip" } }],
  ];
  test.each(common)("%s: %i everywhere", async (_, status, init) => {
    for (const [method, path, sent] of endpoints()) {
      const operator = status === 415 ? as("operator") : {};
      const response = await fetch(served.url + sent, { method, ...init, headers: { ...operator, ...init.headers } });
      expect([method, path, response.status]).toEqual([method, path, status]);
      expect([method, path, await checker.faultsOf(method, path, response)]).toEqual([method, path, []]);
      seen.add(`${method} ${path} ${status}`);
    }
  });

  test("too many requests: 429 everywhere", async () => {
    const busy = await fullVenue({ http: { rateLimit: async () => 1500 } });
    for (const [method, path, sent] of endpoints()) {
      const response = await fetch(busy.url + sent, { method });
      expect(response.headers.get("retry-after")).toBe("2");
      expect([response.status, await checker.faultsOf(method, path, response)]).toEqual([429, []]);
      seen.add(`${method} ${path} 429`);
    }
  });

  test("a failure inside: 500", async () => {
    const broken = await fullVenue({ metrics: { readers: "public", text: () => Promise.reject(new Error("x")) } });
    const response = await fetch(`${broken.url}/metrics`);
    expect([response.status, await checker.faultsOf("GET", "/metrics", response)]).toEqual([500, []]);
  });

  test("and nothing is described that no call here was answered with, but for these", () => {
    const unseen = checker.described.filter((answer) => !seen.has(answer) && !/ (400|500|503)$/.test(answer));
    expect(unseen.sort()).toEqual(UNSEEN);
  });
});

/** Answers that a venue with the file operations alone has no occasion for. Those with 400, 500 or 503 are not looked at. */
const UNSEEN: readonly string[] = [
  "DELETE /mcp 200",
  "GET /mcp 200",
  "POST /api/v1/jobs/{id} 202",
  "POST /api/v1/run 504",
  "PUT /api/v1/jobs/{id}/pause 200",
  "PUT /api/v1/jobs/{id}/resume 200",
];
