import { afterEach, describe, expect, test } from "@jest/globals";
import type { HttpMetrics } from "../../../../src/surfaces/http/host.js";
import { createMetrics } from "../../../../src/venue/telemetry/metrics.js";
import { outcome } from "../client.js";
import { as, closeAll, type Served, serve } from "../fixture.js";

afterEach(closeAll);

const text: HttpMetrics["text"] = async () => ({ contentType: "text/plain; version=0.0.4", body: "calls_total 3\n" });
const venue = (readers: HttpMetrics["readers"], publicAccess = true): Promise<Served> =>
  serve({}, { metrics: { readers, text }, http: { publicAccess } });
const get = (served: Served, path: string, headers = {}): Promise<Response> => fetch(served.url + path, { headers });

test.each([
  ["nobody, where nobody is served otherwise", {}],
  ["somebody", as("alice")],
  ["the operator", as("operator")],
])("/healthz says one word to %s", async (_, headers) => {
  for (const served of [await venue("operator", false), await serve({}, { http: { publicAccess: false } })]) {
    const answer = await get(served, "/healthz", headers);
    expect([answer.status, await answer.text()]).toEqual([200, '{"status":"ok"}']);
  }
});

describe("/metrics", () => {
  const path = "/metrics";
  test.each([
    ["nobody", {}, 401, "Authentication required"],
    ["somebody", as("alice"), 403, "Only the operator may read this"],
    ["a bearer of nonsense", { authorization: "Bearer x" }, 401, "Invalid or expired token"],
  ])("for the operator alone refuses %s", async (_, headers, status, error) => {
    const served = await venue("operator");
    const answer = await get(served, path, headers);
    expect(answer.headers.get("www-authenticate")?.startsWith("Bearer") ?? false).toBe(status === 401);
    expect(await outcome(answer)).toEqual({ status, body: { error } });
  });

  test("for the operator alone refuses nobody in the same words where nobody is served at all", async () => {
    const served = await venue("operator", false);
    expect(await outcome(get(served, path))).toEqual({ status: 401, body: { error: "Authentication required" } });
  });

  test("answers the operator", async () => {
    expect((await get(await venue("operator"), path, as("operator"))).status).toBe(200);
  });

  test.each([
    ["nobody", {}],
    ["somebody", as("alice")],
  ])("for everybody answers %s", async (_, headers) => {
    expect((await get(await venue("public", false), path, headers)).status).toBe(200);
  });

  test("is not there where it is switched off", async () => {
    const served = await serve({});
    expect(await outcome(get(served, path, as("operator")))).toEqual({
      status: 404,
      body: { error: `Endpoint GET ${path} not found` },
    });
  });
});

test("metrics are the text as it was given", async () => {
  const served = await venue("public");
  const answer = await get(served, "/metrics");
  expect(await answer.text()).toBe("calls_total 3\n");
  expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4");
  expect(answer.headers.get("cache-control")).toBe("no-store");
  expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
});

test("metrics of a real venue show its jobs", async () => {
  const counted = createMetrics();
  const served = await serve({ read: () => ({}) }, { metrics: { readers: "public", text: () => counted.text() } });
  const { jobs, catalogue } = served.venue;
  counted.observe({ jobs, roots: () => [], operations: () => catalogue.list() });
  counted.write({ time: 1, caller: "x", operation: "file:read", resource: "", outcome: "OK", bytes: 0, ms: 1 });
  const body = await (await get(served, "/metrics")).text();
  expect(body).toMatch(/^venue_files_jobs_running 0$/m);
  expect(body).toMatch(/^venue_files_operations_total\{operation="file:read",outcome="OK"\} 1$/m);
  await counted.close();
});

test("a failure to count is an internal error, without its details", async () => {
  const broken: HttpMetrics = { readers: "public", text: () => Promise.reject(new Error("/srv/secret")) };
  const served = await serve({}, { metrics: broken });
  const { status, body } = await outcome(get(served, "/metrics"));
  expect(status).toBe(500);
  expect(JSON.stringify(body)).not.toContain("/srv");
  expect(served.logged).toHaveLength(1);
});
