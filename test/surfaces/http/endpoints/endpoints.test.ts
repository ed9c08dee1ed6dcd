import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Caller, NameCaller } from "../../../../src/core/call/caller.js";
import { aborted } from "../../../../src/core/errors/texts.js";
import type { SurfaceContext } from "../../../../src/core/ports/adapter.js";
import type { Submission } from "../../../../src/core/ports/job.js";
import type { HttpMetrics } from "../../../../src/surfaces/http/host.js";
import { assetIdOf } from "../../../../src/venue/assets/id.js";
import { VenueMetrics } from "../../../../src/venue/telemetry/metrics.js";
import { gate } from "../../../venue/catalogue/fake-adapter.js";
import { OPERATOR } from "../../../venue/jobs/job-store.js";
import { useGround } from "../../../venue/operations/fixture.js";
import { outcome, send } from "../client.js";
import {
  ALICE,
  as,
  BOB,
  closeAll,
  DID,
  emptyMcp,
  postInvoke,
  postText,
  rawRequest,
  type Served,
  sendRaw,
  serve,
  type TOKENS,
} from "../fixture.js";

afterAll(closeAll);

describe("endpoints", () => {
  const NOW = 1_790_000_000_000;
  let served: Served;
  beforeAll(async () => {
    served = await serve(
      { read: (input) => input, write: () => ({ written: 1 }) },
      { clock: { nowMs: () => NOW, monotonicMs: () => 0 } },
    );
  });

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
    expect((await send(`${served.url}/api/v1/status`, { token: "x" })).status).toBe(401);
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
      const { url } = await serve({ read: () => 1 }, { mcp: emptyMcp });
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
      const known = await serve({ read: () => 1 }, { http: { baseUrl }, mcp: emptyMcp });
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
});

describe("health", () => {
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
    const counted = new VenueMetrics();
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
});

const SUB = { with: "file://docs/sub/", can: "crud/read" };

describe("POST /api/v1/login", () => {
  const ground = useGround();

  const link = async (input: object = {}): Promise<{ id: string; code: string; url: string }> => {
    const { output } = await ground.byOperator("auth:issue", { label: "link", link: true, ...input });
    expect(output["token"]).toBeUndefined();
    const url = String(output["url"]);
    return { id: String(output["id"]), code: url.slice(url.indexOf("#login=") + 7), url };
  };
  const login = (body: unknown) => send(`${ground.venue.url}/api/v1/login`, { json: body });
  const logIn = async (
    code: string,
  ): Promise<{ status: number; body: Record<string, unknown>; retry: string | null }> => {
    const response = await login({ code });
    const body = (await response.json()) as Record<string, unknown>;
    return { status: response.status, body, retry: response.headers.get("retry-after") };
  };

  beforeEach(() => ground.open({ auth: { public: { enabled: false } } }));

  test("exchanges the code of a link for a session, once, without credentials", async () => {
    const { code, id, url } = await link();
    expect(url).toMatch(new RegExp(`^${ground.venue.url}/workspace/#login=[A-Za-z0-9_-]{43}$`));
    const { status, body } = await logIn(code);
    expect({ status, id: body["id"], did: body["did"] }).toEqual({ status: 201, id, did: ground.venue.did });
    const bearer = String(body["token"]);
    expect((await ground.call("auth:whoami", {}, { bearer })).output).toMatchObject({ operator: true, via: id });
    const again = await logIn(code);
    expect(again).toMatchObject({
      status: 401,
      body: { error: "Link is used or expired. Get a new one: venue-files link" },
    });
  });

  test("gives the caps of the link, and the code is no token", async () => {
    const { code } = await link({ caps: [SUB], lifetimeSeconds: 60 });
    for (const bearer of [code, `vft_${code}`]) {
      expect((await send(`${ground.venue.url}/api/v1/jobs`, { token: bearer })).status).toBe(401);
    }
    const { body } = await logIn(code);
    expect(Number(body["expires"]) - Date.now()).toBeLessThanOrEqual(60_000);
    const { output } = await ground.call("auth:whoami", {}, { bearer: String(body["token"]) });
    expect(output).toMatchObject({ authentication: "access-token", grants: [SUB] });
  });

  test("has one winner when a code is raced", async () => {
    const { code } = await link();
    const answers = await Promise.all(Array.from({ length: 8 }, () => logIn(code)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(7);
  });

  test("refuses the eleventh guess in a minute, and never the right code", async () => {
    const { code } = await link();
    const statuses: number[] = [];
    for (let guess = 0; guess < 10; guess += 1) statuses.push((await logIn("x".repeat(43))).status);
    expect(new Set(statuses)).toEqual(new Set([401]));
    const { status, retry } = await logIn("y".repeat(43));
    expect(status).toBe(429);
    expect(Number(retry)).toBeGreaterThan(0);
    expect((await logIn(code)).status).toBe(201);
  });

  test("takes the right code from an address that has called too often", async () => {
    await ground.venue.close();
    await ground.open({ rateLimit: { perSecond: 1, burst: 60 } });
    const { code } = await link();
    const call = async () => (await fetch(`${ground.venue.url}/api/v1/status`)).status;
    const statuses = await Promise.all(Array.from({ length: 61 }, call));
    expect(statuses).toContain(429);
    expect(await call()).toBe(429);
    expect((await logIn("x".repeat(43))).status).toBe(401);
    expect((await logIn(code)).status).toBe(201);
  });

  test.each([[{}], [{ code: 7 }], [[]], ["code"]])("refuses %j", async (body) => {
    expect((await login(body)).status).toBe(400);
  });

  test("a link that was revoked, or whose maker was, gives nothing", async () => {
    const { code, id } = await link();
    await ground.byOperator("auth:revoke", { id });
    expect((await logIn(code)).status).toBe(401);
    const { output } = await ground.call("auth:issue", { label: "by bob", link: true }, { as: ground.bob });
    await ground.byOperator("ucan:revoke", { id: ground.bob.did });
    expect((await logIn(String(output["url"]).split("=")[1] ?? "")).status).toBe(401);
  });

  test("a pending link is listed, and ends after 15 minutes", async () => {
    const { id } = await link();
    const { output } = await ground.byOperator("auth:list", { kind: "session" });
    expect(output["entries"]).toMatchObject([{ id, pending: true }]);
    const [entry] = output["entries"] as { expires: number; created: number }[];
    expect((entry?.expires ?? 0) - (entry?.created ?? 0)).toBe(900_000);
  });
});

describe("tokens of a call", () => {
  const PUBLIC = `${DID}:public`;
  const ANONYMOUS = { did: PUBLIC, authentication: "public", isOperator: false };
  const alices: Caller = { did: ALICE, authentication: "ucan", isOperator: false, identityTokens: ["alice"] };

  /** What the venue was asked, in order. */
  let asked: Parameters<NameCaller>[] = [];
  const nameCaller: NameCaller = (caller, ucans) => {
    asked.push([caller, ucans]);
    if (!Array.isArray(ucans)) return caller;
    if (ucans.includes("alice")) return ucans.includes("bob") ? "ambiguous" : alices;
    return caller;
  };

  let served: Served;
  beforeAll(async () => {
    served = await serve({ read: () => "done" }, { nameCaller });
  });
  beforeEach(() => {
    asked = [];
  });

  const call = (fields: object) => ({ operation: "file:read", ...fields });
  const lastContext = () => served.adapter.calls.at(-1)?.context;
  const runs = [
    ["invoke", 201],
    ["run", 200],
  ] as const;

  describe.each(runs)("a call without credentials, to %s", (endpoint, status) => {
    const send = (fields: object) => postText(served, `/api/v1/${endpoint}`, JSON.stringify(call(fields)));

    test("is made by whom its tokens name, who is told of with those tokens", async () => {
      expect((await send({ ucans: ["alice", "other"] })).status).toBe(status);
      expect(lastContext()).toMatchObject({
        callerDID: ALICE,
        authentication: "ucan",
        identityTokens: ["alice"],
        ucans: ["alice", "other"],
      });
      expect(lastContext()?.ambiguousCaller).toBeUndefined();
    });

    test("is made by nobody when its tokens name several, and its adapter is told", async () => {
      await send({ ucans: ["alice", "bob"] });
      expect(lastContext()).toMatchObject({ callerDID: PUBLIC, authentication: "public", ambiguousCaller: true });
      expect(lastContext()?.identityTokens).toBeUndefined();
    });

    test("is made by nobody when its tokens name nobody", async () => {
      for (const fields of [{ ucans: ["other"] }, { ucans: null }, {}]) {
        await send(fields);
        expect(lastContext()).toMatchObject({ callerDID: PUBLIC, authentication: "public" });
        expect(lastContext()?.identityTokens).toBeUndefined();
      }
      expect(asked).toEqual([
        [ANONYMOUS, ["other"]],
        [ANONYMOUS, undefined],
        [ANONYMOUS, undefined],
      ]);
    });

    test("that cannot be understood asks for nobody's name", async () => {
      await postText(served, `/api/v1/${endpoint}`, '{"ucans":["alice"]}');
      await send({ operation: "file:none", ucans: ["alice"] });
      expect(asked).toEqual([]);
    });
  });

  describe("a job that tokens named the owner of", () => {
    test("is theirs", async () => {
      const { body } = await outcome(postInvoke(served, call({ ucans: ["alice"] })));
      expect(body).toMatchObject({ status: "COMPLETE", caller: ALICE });
      const { id } = body as { id: string };
      const read = async (headers: Record<string, string>) =>
        (await fetch(`${served.url}/api/v1/jobs/${id}`, { headers })).status;
      expect([await read({}), await read(as("bob")), await read(as("alice"))]).toEqual([403, 403, 200]);
    });

    test("of several is the anonymous caller's", async () => {
      const { body } = await outcome(postInvoke(served, call({ ucans: ["alice", "bob"] })));
      expect(body).toMatchObject({ caller: PUBLIC });
    });
  });

  test("a caller with credentials is who they say, whatever tokens come along", async () => {
    const answer = await send(`${served.url}/api/v1/invoke`, { json: call({ ucans: ["none"] }), headers: as("bob") });
    expect(await answer.json()).toMatchObject({ caller: BOB });
    expect(asked).toEqual([[{ did: BOB, authentication: "identity", isOperator: false }, ["none"]]]);
  });

  test("where callers without credentials are not served, tokens in a call are none", async () => {
    const closed = await serve({ read: () => "done" }, { nameCaller, http: { publicAccess: false } });
    const answer = await postInvoke(closed, call({ ucans: ["alice"] }));
    expect([answer.status, await answer.json()]).toEqual([401, { error: "Authentication required" }]);
    expect(closed.adapter.calls).toEqual([]);
    expect(asked).toEqual([]);
  });

  test("neither the answer nor the record of a call shows its tokens", async () => {
    const answer = await postInvoke(served, call({ ucans: ["alice"] }));
    expect(await answer.text()).not.toMatch(/ucans|identityTokens|"alice"/);
  });
});

describe("assets", () => {
  const UNKNOWN = "0".repeat(64);

  let served: Served;
  beforeAll(async () => {
    served = await serve({ read: () => ({}), write: () => ({}) }, { http: { maxRequestBytes: 3_000_000 } });
  });

  const get = (path: string, headers = {}): Promise<{ status: number; body: unknown }> =>
    outcome(fetch(served.url + path, { headers }));
  const register = (metadata: unknown, headers = {}): Promise<Response> =>
    send(`${served.url}/api/v1/assets`, { json: metadata, headers });

  describe("registering an asset", () => {
    test("is 201 with the id as a JSON string, and where it is", async () => {
      const metadata = { name: "Data", b: [1], a: { c: null } };
      const id = assetIdOf(JSON.stringify(metadata));
      for (let again = 0; again < 2; again += 1) {
        const response = await register(metadata);
        expect(response.status).toBe(201);
        expect(response.headers.get("content-type")).toBe("application/json");
        expect(response.headers.get("location")).toBe(`/api/v1/assets/${id}`);
        expect(response.headers.get("cache-control")).toBe("no-store");
        expect(await response.text()).toBe(`"${id}"`);
      }
      const found = await fetch(`${served.url}/api/v1/assets/${id}`);
      expect(await found.text()).toBe(JSON.stringify(metadata));
    });

    test("keeps and serves it byte for byte", async () => {
      const texts = ['{"n":9007199254740993}', '{"n":9007199254740992}', '{ "b": 1.0, "a": "\\u00e9" }\n'];
      const ids: unknown[] = [];
      for (const text of texts) ids.push((await outcome(postText(served, "/api/v1/assets", text))).body);
      expect(ids).toEqual(texts.map((text) => assetIdOf(text)));
      const found = ids.map(async (id) => (await fetch(`${served.url}/api/v1/assets/${id}`)).text());
      expect(await Promise.all(found)).toEqual(texts);
      const list = await (await fetch(`${served.url}/api/v1/assets?expand=metadata&limit=3`)).text();
      for (const text of texts) expect(list).toContain(`"metadata":${text}`);
      expect(JSON.parse(list)).toMatchObject({ total: expect.any(Number), offset: 0, limit: 3 });
    });

    test("takes JSON5 like every small body", async () => {
      const answer = await outcome(postText(served, "/api/v1/assets", "{name: 'Data', /* twice */}"));
      expect(answer).toEqual({ status: 201, body: assetIdOf('{"name":"Data"}') });
    });

    test.each(["[]", "null", '"text"', "1"])("%s is 400: it is no object", async (text) => {
      const answer = await outcome(postText(served, "/api/v1/assets", text));
      expect(answer).toEqual({ status: 400, body: { error: "Asset metadata must be a JSON object" } });
    });

    test.each([
      ["half a surrogate pair", '{"a":"\\ud800"}', "not valid Unicode"],
      ["too many levels", `{"a":${"[".repeat(300)}${"]".repeat(300)}}`, "nested deeper than 256 levels"],
    ])("with %s is 400: it has no canonical JSON", async (_name, text, reason) => {
      const answer = await outcome(postText(served, "/api/v1/assets", text));
      expect(answer).toEqual({ status: 400, body: { error: `Invalid asset metadata: ${reason}` } });
    });

    test("with NaN is 400: it is no JSON", async () => {
      const answer = await outcome(postText(served, "/api/v1/assets", "{a: NaN}"));
      expect(answer).toEqual({
        status: 400,
        body: { error: expect.stringMatching(/^Invalid JSON: Infinity and NaN/) },
      });
    });

    test("over 1 MiB is 413", async () => {
      const frame = JSON.stringify({ a: "" }).length;
      expect((await register({ a: "x".repeat(1_048_576 - frame) })).status).toBe(201);
      expect(await outcome(register({ a: "x".repeat(1_048_577 - frame) }))).toEqual({
        status: 413,
        body: { error: "Asset metadata too large: 1048577 bytes, limit 1048576" },
      });
    });

    test("is 403 where only the operator may, and reading stays open", async () => {
      const closed = await serve({}, { assetRules: { write: "operator" } });
      const post = (headers: Record<string, string>) => send(`${closed.url}/api/v1/assets`, { json: {}, headers });
      for (const headers of [{}, as("alice")]) {
        expect(await outcome(post(headers))).toEqual({
          status: 403,
          body: { error: "Only the operator may register assets and upload content" },
        });
      }
      const { status, body: id } = await outcome(post(as("operator")));
      expect(status).toBe(201);
      expect((await fetch(`${closed.url}/api/v1/assets/${id}`)).status).toBe(200);
    });

    test("is 507 when there is no room", async () => {
      const small = await serve({}, { assetRules: { maxTotalBytes: 100 } });
      expect(await outcome(postText(small, "/api/v1/assets", "{}"))).toEqual({
        status: 507,
        body: { error: "Asset storage is full" },
      });
    });
  });

  describe("a list of assets", () => {
    let mine: Served;
    const ids: string[] = [];
    beforeAll(async () => {
      mine = await serve({ read: () => ({}) });
      for (const name of ["a", "b", "c"]) {
        const { body: id } = await outcome(
          send(`${mine.url}/api/v1/assets`, {
            json: { name, type: "t", description: "d", other: 1 },
            headers: as(name === "b" ? "bob" : "alice"),
          }),
        );
        ids.push(String(id));
      }
    });
    const list = (query: string, headers = {}) => outcome(fetch(`${mine.url}/api/v1/assets${query}`, { headers }));

    test("is an envelope of ids, newest first, operations last", async () => {
      const { status, body } = await list("");
      expect(status).toBe(200);
      const operation = expect.stringMatching(/^[0-9a-f]{64}$/);
      expect(body).toEqual({
        items: [...ids].reverse().concat([operation as never]),
        total: 4,
        offset: 0,
        limit: 1000,
      });
    });

    test("has pages", async () => {
      expect((await list("?offset=1&limit=1")).body).toEqual({ items: [ids[1]], total: 4, offset: 1, limit: 1 });
      expect((await list("?offset=9")).body).toEqual({ items: [], total: 4, offset: 9, limit: 1000 });
    });

    test.each(["limit=1001", "limit=-1", "limit=x", "offset=1.5", "offset=", "limit=1&limit=2", "scope=own&scope=own"])(
      "refuses %s with 400",
      async (query) => {
        expect((await list(`?${query}`)).status).toBe(400);
      },
    );

    test("of one's own has name, type and description", async () => {
      const item = (id: string | undefined, name: string) => ({ id, name, type: "t", description: "d" });
      expect((await list("?scope=own", as("alice"))).body).toEqual({
        items: [item(ids[2], "c"), item(ids[0], "a")],
        total: 2,
        offset: 0,
        limit: 1000,
      });
      expect((await list("?scope=own&limit=1&offset=1", as("alice"))).body).toMatchObject({
        items: [{ name: "a" }],
        total: 2,
      });
      expect((await list("?scope=own")).body).toEqual({ items: [], total: 0, offset: 0, limit: 1000 });
    });
  });

  describe("the metadata of an asset", () => {
    test("is found by every form of a reference, with slashes raw or encoded", async () => {
      const id = String((await outcome(register({ name: "found" }))).body);
      const references = [id, `0x${id}`, id.toUpperCase(), `a/${id}`, `/a/${id}`, `${DID}/a/${id}`, `/${DID}/a/${id}`];
      for (const reference of references) {
        for (const path of [reference, encodeURIComponent(reference)]) {
          const answer = await get(`/api/v1/assets/${path}`);
          expect([path, answer]).toEqual([path, { status: 200, body: { name: "found" } }]);
        }
      }
    });

    test.each(["nonsense", UNKNOWN.slice(1), `b/${UNKNOWN}`, `did:key:zOther/${UNKNOWN}`, "v/ops/file/read"])(
      "is 400 for %s",
      async (reference) => {
        const answer = await get(`/api/v1/assets/${reference}`);
        expect(answer).toEqual({ status: 400, body: { error: `Invalid asset ID: ${reference}` } });
      },
    );

    test.each([UNKNOWN, `0x${UNKNOWN}`, `a/${UNKNOWN}`, `did:key:zOther/a/${UNKNOWN}`])(
      "is 404 for %s",
      async (reference) => {
        const answer = await get(`/api/v1/assets/${reference}`);
        expect(answer).toEqual({ status: 404, body: { error: `Asset not found: ${reference}` } });
      },
    );

    test("that cannot be found repeats the reference on one line and cut", async () => {
      const { body } = await get(`/api/v1/assets/${encodeURIComponent(`x\n${"y".repeat(2000)}`)}`);
      const { error } = body as { error: string };
      expect(error).toMatch(/^Invalid asset ID: x\\u\{a\}y+…$/);
      expect(error.length).toBeLessThan(600);
    });

    test("of an operation has an operation key", async () => {
      const operations = (await get("/api/v1/operations")).body as { name: string; asset: string }[];
      const read = operations.find(({ name }) => name === "v/ops/file/read");
      expect((await get(`/api/v1/assets/${read?.asset}`)).body).toEqual({
        name: "Fake read",
        description: "Does read",
        operation: {
          adapter: "file:read",
          toolName: "file_read",
          input: { type: "object", title: "read" },
          output: { type: "object" },
        },
      });
    });

    test("is only read: other methods are 405", async () => {
      for (const method of ["PUT", "DELETE"]) {
        const answer = await sendRaw(served.port, rawRequest(`${method} /api/v1/assets/${UNKNOWN}`));
        expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
      }
    });
  });
});

describe("jobs", () => {
  type Who = keyof typeof TOKENS | undefined;

  const stoppable = (_input: unknown, { signal }: SurfaceContext): Promise<unknown> =>
    new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(aborted())));

  let served: Served;
  beforeAll(async () => {
    served = await serve({ read: (input) => input, slow: stoppable });
  });

  const JOBS = "/api/v1/jobs";
  const send = (method: string, path: string, who?: Who, on = served) =>
    outcome(fetch(on.url + JOBS + path, { method, headers: who === undefined ? {} : as(who) }));
  const get = (path: string, who?: Who) => send("GET", path, who);

  const submission = (operation: string, more: Partial<Submission> = {}): Submission => ({
    operation,
    input: { root: "docs" },
    caller: ALICE,
    context: { callerDID: ALICE },
    ...more,
  });

  /** The record of a job, without showing it to its caller. */
  function recordOf(id: string) {
    const lookup = served.venue.jobs.find(id, OPERATOR);
    return "found" in lookup ? lookup.found : undefined;
  }

  /** A job of Alice that has ended. */
  async function finished(more: Partial<Submission> = {}): Promise<string> {
    const job = served.venue.submit(submission("file:read", more));
    await job.result;
    return job.id;
  }

  /** A job of Alice that runs until it is stopped. */
  const running = (): string => served.venue.submit(submission("file:slow")).id;

  describe("the list of jobs", () => {
    test("is an envelope of bare ids, newest first, of the caller alone", async () => {
      const own = await serve({ read: () => 1 });
      const ids = [1, 2, 3].map(() => own.venue.submit(submission("file:read")).id).reverse();
      const rows: [string, Who, object][] = [
        ["", "alice", { items: ids, total: 3, offset: 0, limit: 1000 }],
        ["?offset=1&limit=1", "alice", { items: [ids[1]], total: 3, offset: 1, limit: 1 }],
        ["?offset=7&limit=0&other=1", "alice", { items: [], total: 3, offset: 7, limit: 0 }],
        ["", "bob", { items: [], total: 0, offset: 0, limit: 1000 }],
        ["", "operator", { items: [], total: 0, offset: 0, limit: 1000 }],
        ["", undefined, { items: [], total: 0, offset: 0, limit: 1000 }],
      ];
      for (const [query, who, body] of rows) expect(await send("GET", query, who, own)).toEqual({ status: 200, body });
    });

    test.each([
      [true, 1],
      [false, 0],
    ])("of callers without credentials, where that is allowed: %s", async (listsAnonymous, total) => {
      const open = await serve({ read: () => 1 }, { jobs: { listsAnonymous } });
      const { id } = open.venue.submit(submission("file:read", { caller: `${DID}:public` }));
      expect(await send("GET", "", undefined, open)).toMatchObject({ status: 200, body: { total } });
      expect(await send("GET", `/${id}`, undefined, open)).toMatchObject({ status: 200 });
    });

    const limit = "'limit' must be an integer between 0 and 1000";
    const offset = `'offset' must be an integer between 0 and ${Number.MAX_SAFE_INTEGER}`;
    test.each([
      ["limit=1001", limit],
      ["limit=-1", limit],
      ["limit=1.5", limit],
      ["limit=1e2", limit],
      ["limit=0x10", limit],
      ["limit=%2B5", limit],
      ["limit=%205", limit],
      ["limit=05", limit],
      ["limit=", limit],
      ["limit", limit],
      ["limit=all", limit],
      ["limit=NaN", limit],
      ["limit=1&limit=2", "'limit' must be given once"],
      ["offset=-1", offset],
      ["offset=9007199254740992", offset],
      ["offset=99999999999999999999", offset],
      ["offset=1.0", offset],
      ["offset=0&offset=0", "'offset' must be given once"],
    ])("is refused for ?%s", async (query, error) => {
      expect(await get(`?${query}`, "alice")).toEqual({ status: 400, body: { error } });
    });
  });

  describe("a job", () => {
    test("is found by its id in every form", async () => {
      const id = await finished();
      const record = { status: 200, body: JSON.parse(JSON.stringify(recordOf(id))) as unknown };
      expect(record.body).toMatchObject({ id: `0x${id}`, op: expect.stringMatching(/^[0-9a-f]{64}$/) });
      for (const form of [id, id.toUpperCase(), `0x${id}`, `0X${id.toUpperCase()}`]) {
        expect(await get(`/${form}`, "alice")).toEqual(record);
      }
    });

    const endpoints: [string, string][] = [
      ["GET", ""],
      ["GET", "/sse"],
      ["PUT", "/cancel"],
      ["PUT", "/pause"],
      ["PUT", "/resume"],
      ["PUT", "/delete"],
      ["POST", ""],
    ];
    describe.each(endpoints)("by %s <id>%s", (method, suffix) => {
      test.each(["nope", "0x", "0x0x12", "12g4", "%C3%A9", `${"f".repeat(32)}%2F1`])("is no id: %s", async (id) => {
        const error = `Invalid job ID: ${decodeURIComponent(id)}`;
        expect(await send(method, `/${id}${suffix}`, "operator")).toEqual({ status: 400, body: { error } });
      });

      test("is unknown", async () => {
        const id = "ab".repeat(16);
        const error = `Job not found: ${id}`;
        expect(await send(method, `/0x${id.toUpperCase()}${suffix}`, "alice")).toEqual({
          status: 404,
          body: { error },
        });
        const long = await send(method, `/${"1".repeat(90)}${suffix}`, "alice");
        expect(long).toEqual({ status: 404, body: { error: `Job not found: ${"1".repeat(90)}` } });
      });

      test("is not for others, who change nothing", async () => {
        const id = running();
        const error = `Access denied to job: ${id}`;
        for (const who of ["bob", undefined] as const) {
          expect(await send(method, `/${id}${suffix}`, who)).toEqual({ status: 403, body: { error } });
        }
        expect(recordOf(id)?.status).toBe("STARTED");
      });
    });

    test.each(["alice", "operator"] as const)("is for its caller and the operator: %s", async (who) => {
      const id = running();
      expect(await get(`/${id}`, who)).toMatchObject({ status: 200, body: { status: "STARTED", caller: ALICE } });
      expect(await send("PUT", `/${id}/cancel`, who)).toMatchObject({ status: 200, body: { status: "CANCELLED" } });
      expect(await send("PUT", `/${id}/delete`, who)).toEqual({ status: 200, body: { deleted: true } });
      expect(await get(`/${id}`, who)).toMatchObject({ status: 404 });
    });

    test("that is cancelled shows how it ended, and again when it is cancelled again", async () => {
      const id = running();
      const first = await send("PUT", `/${id}/cancel`, "alice");
      expect(first).toMatchObject({
        status: 200,
        body: { id: `0x${id}`, status: "CANCELLED", error: `Job cancelled: ${id}`, errorCode: "ABORTED" },
      });
      expect(await send("PUT", `/${id}/cancel`, "alice")).toEqual(first);
      expect(await get(`/${id}`, "alice")).toEqual(first);
    });

    test("that is cancelled for a reason says that", async () => {
      const id = running();
      const headers = { ...as("alice"), "content-type": "application/json" };
      const body = JSON.stringify({ reason: "no longer needed" });
      const answer = await outcome(fetch(`${served.url}${JOBS}/${id}/cancel`, { method: "PUT", headers, body }));
      const cancelled = { status: "CANCELLED", error: "no longer needed", errorCode: "ABORTED" };
      expect(answer).toMatchObject({ status: 200, body: cancelled });
      expect(await get(`/${id}`, "alice")).toMatchObject({ body: cancelled });
    });

    test.each<[string, RequestInit]>([
      ["an empty text", { body: "" }],
      ["an empty body of JSON", { body: "", headers: { "content-type": "application/json" } }],
      ["an empty object", { body: "{}", headers: { "content-type": "application/json" } }],
      ["what is no JSON", { body: "}", headers: { "content-type": "application/json" } }],
      ["a form", { body: "a=b", headers: { "content-type": "application/x-www-form-urlencoded" } }],
    ])("is cancelled whatever body is sent: %s", async (_name, init) => {
      const headers = { ...init.headers, ...as("alice") };
      const answer = fetch(`${served.url}${JOBS}/${running()}/cancel`, { ...init, method: "PUT", headers });
      expect(await outcome(answer)).toMatchObject({ status: 200, body: { status: "CANCELLED" } });
    });

    test("that does not stop is shown as it stands after a while", async () => {
      const write = gate();
      const slow = await serve({ slow: () => write.promise }, { jobs: { inlineWaitMs: 5 } });
      const { id } = slow.venue.submit(submission("file:slow"));
      const cancelled = await send("PUT", `/${id}/cancel`, "alice", slow);
      expect(cancelled).toMatchObject({ status: 200, body: { status: "STARTED" } });
      write.open(1);
    });

    test.each(["pause", "resume"])("cannot be asked to %s, ended or not", async (verb) => {
      for (const id of [running(), await finished()]) {
        const error = `Job cannot be paused or resumed: ${id}`;
        expect(await send("PUT", `/${id}/${verb}`, "alice")).toEqual({ status: 409, body: { error } });
        expect(recordOf(id)).toBeDefined();
      }
    });

    test("takes no messages, ended or not", async () => {
      for (const id of [running(), await finished()]) {
        const headers = { ...as("alice"), "content-type": "application/json" };
        const init = { method: "POST", headers, body: '{"hello":1}' };
        const answer = await outcome(fetch(`${served.url}${JOBS}/${id}`, init));
        expect(answer).toEqual({ status: 409, body: { error: `Job takes no messages: ${id}` } });
      }
    });

    test("that is private is not forgotten by a request that does not show it", async () => {
      const id = await finished({ private: true });
      await send("PUT", `/${id}/pause`, "alice");
      await send("POST", `/${id}`, "alice");
      await get(`/${id}`, "operator");
      expect(await get(`/${id}`, "alice")).toMatchObject({ status: 200, body: { status: "COMPLETE" } });
      expect(await get(`/${id}`, "alice")).toMatchObject({ status: 404 });
    });
  });
});
