import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { JsonObject } from "../../../../src/core/ports/adapter.js";
import { httpRequestOf } from "../../mcp/raw.js";
import { send } from "../client.js";
import { as, type Served } from "../fixture.js";
import { checkerOf, type OpenApiChecker } from "./checker.js";
import { CONTENT, closeVenues, documentOf, fullVenue, SHA256 } from "./fixture.js";

afterAll(closeVenues);

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
      const answer = await send(`${served.url}/api/v1/invoke`, { json: call, headers });
      return String(Object(await answer.json()).id);
    };
    const register = async (metadata: JsonObject): Promise<string> =>
      String(await (await fetch(`${served.url}/api/v1/assets`, post(metadata))).json());
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
    const unseen = checker.described.filter((answer) => !seen.has(answer) && !/ (400|500)$/.test(answer));
    expect(unseen.sort()).toEqual(UNSEEN);
  });
});

/** Answers that a venue with the file operations alone has no occasion for. Those with 400 or 500 are not looked at. */
const UNSEEN: readonly string[] = [
  "DELETE /mcp 200",
  "GET /mcp 200",
  "POST /api/v1/jobs/{id} 202",
  "POST /api/v1/run 504",
  "PUT /api/v1/jobs/{id}/pause 200",
  "PUT /api/v1/jobs/{id}/resume 200",
];
