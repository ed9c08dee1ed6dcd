import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { gate } from "../../../venue/catalogue/fake-adapter.js";
import { outcome, send } from "../client.js";
import { ALICE, as, closeAll, DID, postInvoke, rawRequest, type Served, sendRaw, serve } from "../fixture.js";

const NOW = 1_790_000_000_000;
let served: Served;
beforeAll(async () => {
  served = await serve(
    { read: (input) => input, write: () => ({ written: 1 }) },
    { clock: { nowMs: () => NOW, monotonicMs: () => 0 } },
  );
});
afterAll(closeAll);

const get = (path: string) => outcome(fetch(served.url + path));

test("status tells who the venue is and what it can do", async () => {
  expect(await get("/api/v1/status")).toEqual({
    status: 200,
    body: {
      status: "OK",
      ts: NOW,
      did: DID,
      name: "test venue",
      version: "0.9.0",
      url: served.url,
      ucanProfile: "0.10.0",
      stats: { assets: 2, ops: 2 },
    },
  });
});

test("status tells anonymous callers no numbers of users and jobs, and others all of them", async () => {
  const statsFor = async (headers: Record<string, string>) =>
    Object(await (await fetch(`${served.url}/api/v1/status`, { headers })).json()).stats;
  await send(`${served.url}/api/v1/invoke`, { json: { operation: "file:read", input: {} }, headers: as("alice") });
  expect(await statsFor({})).toEqual({ assets: 2, ops: 2 });
  for (const who of ["alice", "bob", "operator"] as const) {
    expect(await statsFor(as(who))).toEqual({ assets: 2, ops: 2, users: 1, jobs: 1 });
  }
  expect((await fetch(`${served.url}/api/v1/status`, { headers: { authorization: "Bearer x" } })).status).toBe(401);
});

test("status tells the operator, and nobody else, how it is", async () => {
  const statusFor = async (who: "operator" | "alice") =>
    (await (await fetch(`${served.url}/api/v1/status`, { headers: as(who) })).json()) as { operator?: object };
  expect((await statusFor("operator")).operator).toEqual({
    uptimeMs: 0,
    roots: [],
    jobs: { kept: expect.any(Number), running: 0 },
    streams: 0,
    tokens: { access: 0, sessions: 0 },
    versions: { venue: expect.any(String), node: process.versions.node },
  });
  expect(await statusFor("alice")).not.toHaveProperty("operator");
});

describe("operations", () => {
  const read = {
    name: "v/ops/file/read",
    asset: expect.stringMatching(/^[0-9a-f]{64}$/),
    description: "Does read",
    input: { type: "object", title: "read" },
    output: { type: "object" },
  };

  test("are listed in the order of registration", async () => {
    const { status, body } = await get("/api/v1/operations");
    expect(status).toBe(200);
    expect(body).toEqual([read, expect.objectContaining({ name: "v/ops/file/write" })]);
  });

  test.each(["v/ops/file/read", "file:read", `${DID}/v/ops/file/read`])("are found one by one: %s", async (name) => {
    expect(await get(`/api/v1/operations/${name}`)).toEqual({ status: 200, body: read });
  });

  test("unknown are 404, in words of their own", async () => {
    expect(await get("/api/v1/operations/v/ops/file/nope")).toEqual({
      status: 404,
      body: { error: "Operation not found: v/ops/file/nope" },
    });
  });
});

describe("what everybody may know", () => {
  test("is the DID document, in its own type", async () => {
    const response = await fetch(`${served.url}/.well-known/did.json`);
    expect(response.headers.get("content-type")).toBe("application/did+json");
    expect(await outcome(response)).toEqual({
      status: 200,
      body: { id: DID, service: [{ type: "Covia.API.v1", serviceEndpoint: `${served.url}/api/v1` }] },
    });
  });

  test("is where MCP is", async () => {
    const { url } = await serve(
      { read: () => 1 },
      { mcp: async () => ({ serve: async () => ({ status: 200, message: {} }) }) },
    );
    expect(await outcome(fetch(`${url}/.well-known/mcp`))).toEqual({
      status: 200,
      body: {
        mcp_version: "1.0",
        server_url: `${url}/mcp`,
        description: expect.stringContaining("test venue"),
        endpoint: { path: "/mcp", transport: "streamable-http" },
      },
    });
  });

  test("is told under the base URL where the request came by it", async () => {
    const baseUrl = "https://files.example/venue";
    const known = await serve(
      { read: () => 1 },
      { http: { baseUrl }, mcp: async () => ({ serve: async () => ({ status: 200, message: {} }) }) },
    );
    const json = { "content-type": "application/json" };
    const call = JSON.stringify({ operation: "file:read", input: {} });
    // The proxy in front may pass the path on or take it away.
    for (const path of ["", "/venue"]) {
      const ask = (line: string, headers: Record<string, string> = {}, body = "") =>
        sendRaw(known.port, rawRequest(line.replace(" ", ` ${path}`), { Host: "files.example", ...headers }, body));
      const read = async (target: string): Promise<unknown> => JSON.parse((await ask(`GET ${target}`)).body);
      expect(await read("/api/v1/status")).toMatchObject({ url: baseUrl });
      expect(await read("/openapi.json")).toMatchObject({ servers: [{ url: baseUrl }] });
      expect(await read("/.well-known/mcp")).toMatchObject({
        ...{ server_url: `${baseUrl}/mcp`, endpoint: { path: "/venue/mcp" } },
      });
      expect(await read("/.well-known/did.json")).toMatchObject({
        service: [{ serviceEndpoint: `${baseUrl}/api/v1` }],
      });
      const made = await ask("POST /api/v1/assets", json, "{}");
      const ran = await ask("POST /api/v1/invoke", json, call);
      expect(made.headers.get("location")).toMatch(/^\/venue\/api\/v1\/assets\/[0-9a-f]{64}$/);
      expect(ran.headers.get("location")).toMatch(/^\/venue\/api\/v1\/jobs\/[0-9a-f]{32}$/);
    }
    // At the port itself there is another entrance.
    expect(await outcome(fetch(`${known.url}/api/v1/status`))).toMatchObject({ body: { url: known.url } });
    expect(await outcome(fetch(`${known.url}/openapi.json`))).toMatchObject({
      body: { servers: [{ url: known.url }] },
    });
    expect((await postInvoke(known, JSON.parse(call))).headers.get("location")).toMatch(/^\/api\/v1\/jobs\//);
  });
});

describe("a job", () => {
  async function finished(): Promise<{ id: string; record: unknown }> {
    const response = await postInvoke(served, { operation: "file:read", input: { root: "docs" } });
    const record: unknown = await response.json();
    return { id: response.headers.get("location")?.slice("/api/v1/jobs/".length) ?? "", record };
  }

  test("is found by its bare id and with 0x, in any case", async () => {
    const { id, record } = await finished();
    for (const form of [id, `0x${id}`, id.toUpperCase(), `0X${id.toUpperCase()}`, `0x${id.toUpperCase()}`]) {
      expect(await get(`/api/v1/jobs/${form}`)).toEqual({ status: 200, body: record });
    }
  });

  test.each(["xyz", "0x", "0xg", "00 00", "a/b", "-1", "00%2F00", "0x0x00"])("id %j is 400", async (id) => {
    const shown = decodeURIComponent(id);
    expect(await get(`/api/v1/jobs/${encodeURI(shown)}`)).toEqual({
      status: 400,
      body: { error: `Invalid job ID: ${shown}` },
    });
  });

  test.each(["0123456789abcdef0123456789abcdef", "0x0123456789ABCDEF0123456789ABCDEF", "00"])(
    "unknown is 404: %s",
    async (id) => {
      const hex = id.replace(/^0x/, "").toLowerCase();
      expect(await get(`/api/v1/jobs/${id}`)).toEqual({ status: 404, body: { error: `Job not found: ${hex}` } });
    },
  );

  test("of somebody else is 403, and stays known to its owner", async () => {
    const job = served.venue.submit({ operation: "file:read", input: {}, caller: ALICE, context: {}, private: true });
    await job.result;
    const path = `/api/v1/jobs/0x${job.id.toUpperCase()}`;
    expect(await get(path)).toEqual({ status: 403, body: { error: `Access denied to job: ${job.id}` } });
    expect(await outcome(fetch(served.url + path, { headers: as("bob") }))).toMatchObject({ status: 403 });
    expect(await outcome(fetch(served.url + path, { headers: as("alice") }))).toMatchObject({
      status: 200,
      body: { status: "COMPLETE" },
    });
  });

  test("that is private is forgotten once its owner has read its end", async () => {
    const slow = gate();
    const quick = await serve({ slow: () => slow.promise }, { jobs: { inlineWaitMs: 1 } });
    const reply = await postInvoke(quick, { operation: "file:slow", private: true });
    const path = quick.url + reply.headers.get("location");
    expect(await outcome(fetch(path))).toMatchObject({ status: 200, body: { status: "STARTED" } });
    slow.open("secret");
    await slow.promise;
    expect(await outcome(fetch(path))).toMatchObject({ status: 200, body: { status: "COMPLETE", output: "secret" } });
    expect((await fetch(path)).status).toBe(404);
  });
});
