import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { aborted } from "../../src/core/errors/texts.js";
import { EventLog } from "../../src/feed/event-log.js";
import type { McpEndpoint } from "../../src/surfaces/mcp/http.js";
import { createVenueEvents } from "../../src/venue/events/venue-events.js";
import { createVenueHost, type VenueHost, type VenueHostOptions } from "../../src/venue/venue.js";
import { basic, bearer, invoke, type Sent, send } from "../surfaces/http/client.js";
import { DID, memoryAssets } from "../surfaces/http/fixture.js";
import { httpRequestOf, toolCall } from "../surfaces/mcp/raw.js";
import { type FakeOperation, fakeAdapter, gate } from "./catalogue/fake-adapter.js";
import { ALL_DOCS, accessOf, type Issued } from "./operations/access-calls.js";
import { approvalsOf, asked } from "./operations/approval/approval-calls.js";
import { useGround } from "./operations/fixture.js";

afterEach(() => {
  jest.restoreAllMocks();
});

const assets = await memoryAssets();

describe("the host of a venue", () => {
  const open: VenueHost[] = [];
  afterEach(() => Promise.all(open.splice(0).map((venue) => venue.close())));

  type Overrides = Partial<Omit<VenueHostOptions, "http">> & { http?: Partial<VenueHostOptions["http"]> };

  function venueOf(operations: Record<string, FakeOperation>, overrides: Overrides = {}): VenueHost {
    const venue = createVenueHost({
      name: "test venue",
      did: DID,
      assets,
      authenticate: () => ({ refused: "invalid_token" }),
      didDocument: () => ({}),
      adapters: [fakeAdapter(operations)],
      jobs: {
        ...{ inlineWaitMs: 1000, maxWaitMs: 5000, max: 100, maxBytes: 1_000_000, ttlMs: 60_000 },
        ...{ listsAnonymous: true, graceMs: 2000 },
      },
      logInternal: () => {},
      ...overrides,
      http: {
        listen: { hostname: "127.0.0.1", port: 0 },
        publicAccess: true,
        ...{ maxRequestBytes: 1_000_000, maxContentSize: 1_000_000 },
        ...overrides.http,
      },
    });
    open.push(venue);
    return venue;
  }

  const statusOf = async (url: string): Promise<number> => (await fetch(`${url}/api/v1/status`)).status;

  function listening(port: number, host: string): Promise<Server> {
    return new Promise((resolve, reject) => {
      const server = createServer().once("error", reject);
      server.listen(port, host, () => resolve(server));
    });
  }

  const portOf = (server: Server): number => {
    const address = server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  };

  describe("listening", () => {
    test("on port 0 takes a free port, and tells it", async () => {
      const { port, url } = await venueOf({}).listen();
      expect(port).toBeGreaterThan(0);
      expect(url).toBe(`http://127.0.0.1:${port}`);
      expect(await statusOf(url)).toBe(200);
    });

    test("on localhost serves both loopback addresses on one port", async () => {
      const { port = 0, url } = await venueOf({}, { http: { listen: { hostname: "localhost", port: 0 } } }).listen();
      expect(url).toBe(`http://localhost:${port}`);
      expect(await statusOf(`http://127.0.0.1:${port}`)).toBe(200);
      expect(await statusOf(`http://[::1]:${port}`)).toBe(200);
    });

    test("on an IPv6 address puts it in brackets", async () => {
      const { url } = await venueOf({}, { http: { listen: { hostname: "::1", port: 0 } } }).listen();
      expect(url).toMatch(/^http:\/\/\[::1\]:\d+$/);
      expect(await statusOf(url)).toBe(200);
    });

    test.each([
      ["127.0.0.1", "127.0.0.1"],
      ["localhost", "127.0.0.1"],
      ["localhost", "::1"],
    ])("on %s with a port in use on %s fails with EADDRINUSE", async (hostname, taken) => {
      const other = await listening(0, taken);
      try {
        const venue = venueOf({}, { http: { listen: { hostname, port: portOf(other) } } });
        await expect(venue.listen()).rejects.toMatchObject({ code: "EADDRINUSE" });
        await venue.close();
      } finally {
        other.close();
      }
    });

    test("a second time, or after closing, is refused", async () => {
      const venue = venueOf({});
      const { url } = await venue.listen();
      await expect(venue.listen()).rejects.toThrow("Cannot listen");
      expect(await statusOf(url)).toBe(200);
      await venue.close();
      await expect(venue.listen()).rejects.toThrow("Cannot listen");
    });
  });

  describe("closing", () => {
    test("without having listened is nothing special", async () => {
      await expect(venueOf({}).close()).resolves.toBeUndefined();
    });

    test("frees the port, also of idle connections", async () => {
      const venue = venueOf({}, { http: { listen: { hostname: "localhost", port: 0 } } });
      const { port = 0, url } = await venue.listen();
      expect(await statusOf(url)).toBe(200);
      await venue.close();
      for (const host of ["127.0.0.1", "::1"]) (await listening(port, host)).close();
    });

    test("lets an open request end", async () => {
      const started = gate();
      const slow = gate();
      const venue = venueOf({
        slow: () => {
          started.open(1);
          return slow.promise;
        },
      });
      const { url } = await venue.listen();
      const reply = invoke(url, { operation: "file:slow" });
      await started.promise;
      const closing = venue.close();
      slow.open("done");
      expect(await (await reply).json()).toMatchObject({ status: "COMPLETE", output: "done" });
      await closing;
    });

    test("cuts off what does not end", async () => {
      const started = gate();
      const mcp = async () => ({
        serve: async () => {
          started.open(1);
          return { status: 200, message: new Promise<never>(() => {}) };
        },
      });
      const venue = venueOf({}, { mcp, http: { timeouts: { closeMs: 20 } } });
      const { port = 0 } = await venue.listen();
      const socket: Socket = connect(port, "127.0.0.1");
      socket.on("error", () => {});
      socket.write("GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n");
      await started.promise;
      await venue.close();
      socket.destroy();
    });

    test("gives what is open no more time than is left by the jobs that ran", async () => {
      const started = gate();
      const venue = venueOf(
        {
          stuck: (_input, { signal }) =>
            new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(aborted()))),
        },
        {
          mcp: async () => ({
            serve: async () => {
              started.open(1);
              return { status: 200, message: new Promise<never>(() => {}) };
            },
          }),
          http: { timeouts: { closeMs: 321 } },
          jobs: {
            ...{ inlineWaitMs: 4000, maxWaitMs: 5000, max: 100, maxBytes: 1_000_000, ttlMs: 60_000 },
            ...{ listsAnonymous: true, graceMs: 20 },
          },
        },
      );
      const { port = 0 } = await venue.listen();
      const socket: Socket = connect(port, "127.0.0.1");
      socket.on("error", () => {});
      socket.write("GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n");
      await started.promise;
      venue.submit({ operation: "file:stuck", input: {}, caller: "did:x", context: {} });
      const timers = jest.spyOn(globalThis, "setTimeout");
      await venue.close();
      const delays = timers.mock.calls.map(([, ms]) => ms ?? 0);
      timers.mockRestore();
      socket.destroy();
      expect(delays).not.toContain(321);
      expect(delays.some((ms) => ms >= 32 && ms < 321 - 15)).toBe(true);
    });

    test("cancels what does not end by itself, and answers its callers", async () => {
      const started = gate();
      const venue = venueOf(
        {
          stuck: (_input, { signal }) =>
            new Promise((_resolve, reject) => {
              signal?.addEventListener("abort", () => reject(aborted()));
              started.open(1);
            }),
        },
        {
          jobs: {
            ...{ inlineWaitMs: 4000, maxWaitMs: 5000, max: 100, maxBytes: 1_000_000, ttlMs: 60_000 },
            ...{ listsAnonymous: true, graceMs: 20 },
          },
        },
      );
      const { url } = await venue.listen();
      const reply = invoke(url, { operation: "file:stuck" });
      await started.promise;
      await venue.close();
      expect(await (await reply).json()).toMatchObject({ status: "CANCELLED", errorCode: "ABORTED" });
    });

    test("answers calls that come meanwhile 503, as it does readers of events", async () => {
      const [started, slow, log] = [gate(), gate(), new EventLog()];
      const begin = () => {
        started.open(1);
        return slow.promise;
      };
      const operations = { slow: begin, read: () => 1 };
      const files = { watchPlace: () => undefined };
      const events = createVenueEvents(log, { servesAnonymous: true, files, rejudge: (context) => context });
      const venue = venueOf(operations, { events });
      const { url } = await venue.listen();
      const reply = invoke(url, { operation: "file:slow" });
      await started.promise;
      log.end();
      const closing = venue.close();
      const refused = [await invoke(url, { operation: "file:read" }), await fetch(`${url}/api/v1/events?topic=job`)];
      const told = refused.map(async (one) => [one.status, one.headers.get("retry-after"), await one.json()]);
      const error = "The venue is closing. Retry after 1 s";
      expect(await Promise.all(told)).toEqual([
        [503, "1", { error }],
        [503, "1", { error }],
      ]);
      slow.open("done");
      await reply;
      await closing;
    });

    test("forgets all jobs", async () => {
      const venue = venueOf({ read: () => 1 });
      const caller = { did: "did:x", authentication: "identity", isOperator: false } as const;
      const job = venue.submit({ operation: "file:read", input: {}, caller: caller.did, context: {} });
      await job.result;
      expect(venue.jobs.get(job.id, caller)).toMatchObject({ found: { status: "COMPLETE" } });
      await venue.close();
      expect(venue.jobs.get(job.id, caller)).toEqual({ refused: "unknown" });
    });
  });

  describe("the MCP endpoint", () => {
    const post = (url: string) => send(`${url}/mcp`, { json: {} });

    test("is made at its first request, once, and given the venue", async () => {
      const made: VenueHost[] = [];
      const venue = venueOf(
        {},
        {
          mcp: async (host) => {
            made.push(host);
            return { serve: async () => ({ status: 200, message: {} }) };
          },
        },
      );
      const { url } = await venue.listen();
      expect(await statusOf(url)).toBe(200);
      expect(made).toEqual([]);
      await Promise.all([post(url), post(url)]);
      expect(await (await post(url)).text()).toBe("{}");
      expect(made).toEqual([venue]);
    });

    test("that could not be made is made again", async () => {
      const attempts: Promise<McpEndpoint>[] = [
        Promise.reject(new Error("no")),
        Promise.resolve({ serve: async () => ({ status: 200, message: {} }) }),
      ];
      attempts[0]?.catch(() => {});
      const venue = venueOf({}, { mcp: () => attempts.shift() ?? Promise.reject(new Error("again")) });
      const { url } = await venue.listen();
      expect((await post(url)).status).toBe(500);
      expect((await post(url)).status).toBe(200);
    });
  });
});

// Access tokens on every surface that takes a bearer: good, run out by the clock, revoked, and stolen from where they lie.
describe("access by every surface", () => {
  const ground = useGround();
  const { issue } = accessOf(ground);
  const HOUR = 3_600_000;

  const realNow = Date.now.bind(Date);
  let ahead = 0;
  beforeEach(() => {
    ahead = 0;
    jest.spyOn(Date, "now").mockImplementation(() => realNow() + ahead);
  });

  const end = new AbortController();
  const FILE = { root: "docs", path: "sub/a.txt" };
  const run = { json: { operation: "file:read", input: FILE } };
  const mcp = httpRequestOf("legacy", { id: 1, ...toolCall("file_read", FILE) });

  /** A request on each surface, without its bearer. */
  const SURFACES: Readonly<Record<string, readonly [path: string, sent: Sent]>> = {
    "POST /api/v1/run": ["/api/v1/run", run],
    "POST /api/v1/invoke": ["/api/v1/invoke", run],
    "GET /api/v1/jobs": ["/api/v1/jobs", {}],
    "GET of a file": ["/api/v1/files/docs/sub/a.txt", {}],
    "PUT of a file": ["/api/v1/files/docs/sub/a.txt", { method: "PUT", body: "docs" }],
    "the events": ["/api/v1/events?topic=files:docs", { signal: end.signal }],
    MCP: ["/mcp", mcp],
    "GET over WebDAV": ["/dav/docs/sub/a.txt", {}],
    "PROPFIND over WebDAV": ["/dav/docs/", { method: "PROPFIND", headers: { depth: "1" } }],
    "PUT over WebDAV": ["/dav/docs/sub/a.txt", { method: "PUT", body: "docs" }],
    assets: ["/api/v1/assets", {}],
  };

  async function statusOf(surface: string, credentials: Sent["headers"]): Promise<number> {
    const [path, sent] = SURFACES[surface] ?? ["", {}];
    const response = await send(ground.venue.url + path, { ...sent, headers: { ...sent.headers, ...credentials } });
    if (!path.includes("/events")) await response.arrayBuffer();
    else await response.body?.cancel();
    return response.status;
  }

  const isDav = (surface: string) => surface.includes("WebDAV");

  describe.each(Object.keys(SURFACES))("an access token at %s", (surface) => {
    let made: Issued;
    beforeEach(async () => {
      await ground.open({ auth: { public: { enabled: true, caps: [ALL_DOCS] } } });
      made = await issue({ label: "agent", caps: [ALL_DOCS], lifetimeSeconds: 3600 });
    });
    const ways = (token: string) => [bearer(token), ...(isDav(surface) ? [basic(token, "agent")] : [])];
    const statuses = async (token: string) => Promise.all(ways(token).map((way) => statusOf(surface, way)));
    const all = (status: number) => ways("").map(() => status);

    test("serves until it runs out, then never, though anybody may do the same without", async () => {
      for (const status of await statuses(made.token)) expect(status).toBeLessThan(300);
      ahead = HOUR - 60_000;
      for (const status of await statuses(made.token)) expect(status).toBeLessThan(300);
      ahead = HOUR + 1000;
      expect(await statuses(made.token)).toEqual(all(401));
    });

    test("ends with its revocation", async () => {
      await ground.byOperator("auth:revoke", { id: made.id });
      expect(await statuses(made.token)).toEqual(all(401));
    });

    test("is nothing that can be read in the state directory, nor its id or DID", async () => {
      const folder = join(ground.base, "state/access");
      const kept = readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"))
        .join("\n");
      const [hash = ""] = /[0-9a-f]{64}/.exec(kept) ?? [];
      expect(hash).not.toBe("");
      for (const stolen of [hash, `vft_${hash}`, `vft_${hash.slice(0, 43)}`, made.id, made.did]) {
        expect(await statuses(stolen)).toEqual(all(401));
      }
    });
  });

  describe("what was opened with a token", () => {
    beforeEach(() => ground.open());
    const ticketOf = async (bearer: string): Promise<string> => {
      const input = { root: "docs", path: "sub/a.txt", direction: "download", ttlSeconds: 3600 };
      return String((await ground.call("file:transfer", input, { bearer })).output["href"]);
    };

    test.each(["runs out", "is revoked"])("a ticket and a stream end when it %s", async (way) => {
      const { id, token } = await issue({ label: "agent", caps: [ALL_DOCS], lifetimeSeconds: 600 });
      const href = await ticketOf(token);
      expect((await fetch(href)).status).toBe(200);
      const stream = await send(`${ground.venue.url}/api/v1/events?topic=files:docs`, { token });
      const rest = (async () => {
        let text = "";
        for await (const chunk of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) text += chunk;
        return text;
      })();
      if (way === "runs out") ahead = 601_000;
      else await ground.byOperator("auth:revoke", { id });
      expect(await rest).toContain("event: end\n");
      expect((await fetch(href)).status).toBe(401);
      writeFileSync(join(ground.base, "docs/sub/a.txt"), "later");
    });

    test("a token in the address is none", async () => {
      const { token } = await issue({ label: "agent", caps: [ALL_DOCS] });
      for (const name of ["token", "access_token", "authorization"]) {
        const url = `${ground.venue.url}/api/v1/files/docs/sub/a.txt?${name}=${token}`;
        expect((await fetch(url)).status).not.toBe(200);
      }
      expect(
        (await fetch(`${ground.venue.url}/api/v1/files/docs/sub/a.txt`, { headers: { cookie: `token=${token}` } }))
          .status,
      ).not.toBe(200);
    });
  });
});

describe("references", () => {
  const ground = useGround();
  const { issue, decide, mcp } = approvalsOf(ground);

  /** An agent of Alice's, with the rights of her own. */
  async function agentOfAlice(): Promise<{ readonly bearer: string }> {
    const caps = [
      { with: "file://", can: "crud" },
      { with: "dlfs://notes/", can: "crud" },
    ];
    return { bearer: (await issue({ label: "agent", caps }, { as: ground.alice })).token };
  }

  describe("over MCP", () => {
    test("with one root, only dlfs:// and the full name of a drive are references", async () => {
      const hers = { path: "hers", owner: ground.alice.did };
      await ground.open({ file: { roots: { hers } }, drives: { store: { path: "drives" } } });
      const { bearer } = await agentOfAlice();
      await mcp(bearer, "file_write", { path: "dlfs/notes/a", content: "in the root", parents: true });
      expect((await ground.call("file:read", { root: "hers", path: "dlfs/notes/a" }, { bearer })).output).toMatchObject(
        {
          content: "in the root",
        },
      );
      await mcp(bearer, "file_create", { path: "dlfs://notes/a", content: { inline: "in the drive" } });
      for (const path of ["dlfs://notes/a", `${ground.alice.did}/dlfs/notes/a`]) {
        expect(await mcp(bearer, "file_read", { path })).toContain("in the drive");
        expect((await ground.call("file:read", { path }, { bearer })).output).toMatchObject({
          content: "in the drive",
        });
      }
      expect(await mcp(bearer, "file_read", { path: "dlfs/notes/a" })).toContain("in the root");
      expect(await mcp(bearer, "file_move", { from: "dlfs://notes/a", to: "b" })).toContain(
        `${ground.alice.did}/dlfs/notes/b`,
      );
      expect(await mcp(bearer, "file_move", { from: "dlfs/notes/a", to: "b" })).toContain("file://hers/b");
    });

    test("with several roots, all are", async () => {
      await ground.open({
        file: { roots: { hers: { path: "hers", owner: ground.alice.did }, tmp: { temp: true } } },
        drives: { store: { path: "drives" } },
      });
      const { bearer } = await agentOfAlice();
      for (const path of ["dlfs/notes/a", "file://hers/b", "file:/hers/c"]) {
        await mcp(bearer, "file_write", { path, content: "of a reference" });
        expect(await mcp(bearer, "file_read", { path })).toContain("of a reference");
        expect((await ground.call("file:read", { path }, { bearer })).output).toMatchObject({
          content: "of a reference",
        });
      }
      expect(await mcp(bearer, "file_read", { path: "b" })).toContain("'root' is required");
    });
  });

  test.each([
    ["file://mine/a", { root: "mine", path: "a" }],
    ["dlfs/notes/a", { path: "dlfs://notes/a" }],
  ])("a person who is asked about %s is told its place, and allows that alone", async (path, same) => {
    const mine = { dlfs: "notes", approve: { for: ["all" as const] } };
    await ground.open({ file: { roots: { mine } }, drives: { store: { path: "drives" } } });
    await ground.call("file:write", { root: "mine", path: "a", content: "one" }, { as: ground.alice });
    const agent = await agentOfAlice();
    const own = { bearer: (await issue({ label: "page" }, { as: ground.alice })).token };
    const { approvalId, effect } = asked(await ground.call("file:write", { path, content: "two" }, agent));
    expect(effect).toMatchObject([{ path: "a", action: "overwrite" }]);
    const shown = (await ground.call("approval:get", { id: approvalId }, own)).output;
    expect(shown).toMatchObject({ effect: [{ root: "mine", path: "a", action: "overwrite" }] });
    expect((await decide(approvalId, own)).output).toMatchObject({ state: "once" });
    const brings = { content: "two", approval: approvalId };
    for (const elsewhere of [path.replace(/a$/, "b"), "dlfs/other/a"])
      expect((await ground.call("file:write", { path: elsewhere, ...brings }, agent)).errorCode).toMatch(
        /^(?:APPROVAL|CAPABILITY)_DENIED$/,
      );
    expect(await ground.call("file:write", { ...same, ...brings }, agent)).toMatchObject({
      output: { created: false },
    });
    const again = await ground.call("file:write", { path, ...brings }, agent);
    expect(again).toMatchObject({ errorCode: "APPROVAL_DENIED" });
  });

  test.each([["dlfs/notes/x"], ["dlfs/notes/deep/part/a"]])(
    "where a person is asked about a directory of a drive alone, %s is asked about by its place in the drive",
    async (path) => {
      const part = { dlfs: "notes", subpath: "deep/part", approve: { for: ["all" as const] } };
      await ground.open({ file: { roots: { part } }, drives: { store: { path: "drives" } } });
      await ground.call("file:mkdir", { root: "part", path: "", parents: true }, { as: ground.alice });
      const drive = `${ground.alice.did}/dlfs/notes`;
      const agent = await agentOfAlice();
      const ofPart = [{ with: "file://part/", can: "approve" }];
      const narrow = { bearer: (await issue({ label: "of a part", caps: ofPart }, { as: ground.alice })).token };
      const own = { bearer: (await issue({ label: "page" }, { as: ground.alice })).token };
      for (const [operation, place] of [
        ["file:write", { path }],
        ["dlfs:write", { drive: "notes", path: path.replace("dlfs/notes/", "") }],
      ] as const) {
        const call = { ...place, content: operation, parents: true };
        const { approvalId } = asked(await ground.call(operation, call, agent));
        const { output } = await ground.call("approval:get", { id: approvalId }, own);
        expect(output).toMatchObject({ effect: [{ root: drive, path: path.replace("dlfs/notes/", "") }] });
        for (const by of [{ as: ground.bob }, agent, ...(path.endsWith("x") ? [narrow] : [])])
          expect((await decide(approvalId, by)).errorCode).toBe("CAPABILITY_DENIED");
        expect((await decide(approvalId, own)).output).toMatchObject({ state: "once" });
        const made = await ground.call(operation, { ...call, approval: approvalId }, agent);
        expect(made.errorCode).toBeUndefined();
      }
      // Whoever may decide is not asked, by any name.
      const direct = await ground.call("file:write", { path, content: "by Alice" }, { as: ground.alice });
      expect(direct).toMatchObject({ output: { created: false } });
    },
  );

  test("where all of a drive asks too, it is what a person is asked about", async () => {
    const approve = { for: ["all" as const] };
    const roots = { part: { dlfs: "notes", subpath: "deep", approve }, mine: { dlfs: "notes", approve } };
    await ground.open({ file: { roots }, drives: { store: { path: "drives" } } });
    const agent = await agentOfAlice();
    const { approvalId } = asked(await ground.call("file:write", { path: "dlfs/notes/a", content: "" }, agent));
    const own = { bearer: (await issue({ label: "page" }, { as: ground.alice })).token };
    expect((await ground.call("approval:get", { id: approvalId }, own)).output).toMatchObject({
      effect: [{ root: "mine", path: "a" }],
    });
  });

  test("bytes in a drive of another come with the answer, since WebDAV has no such place", async () => {
    await ground.open({ webdav: true, drives: { store: { path: "drives" } } });
    const drive = `${ground.alice.did}/dlfs/notes`;
    await ground.call("file:write", { path: `${drive}/a`, bytes: "AP8B" }, { as: ground.alice });
    const { token } = await ground.alice.grant(ground.bob, [{ with: drive, can: "crud/read" }]);
    const { output } = await ground.call("file:read", { path: `${drive}/a` }, { as: ground.bob, ucans: [token] });
    expect(output).toMatchObject({ encoding: "base64", content: "AP8B" });
    expect(output).not.toHaveProperty("url");
  });

  test("a ticket is for a file of a drive too, by the rights of who asked for it", async () => {
    await ground.open({ drives: { store: { path: "drives" } } });
    const drive = `${ground.alice.did}/dlfs/my notes`;
    const place = { path: `${drive}/a b` };
    const { token } = await ground.alice.grant(ground.bob, [{ with: drive, can: "crud" }]);
    for (const [by, path] of [
      [{ as: ground.alice }, "dlfs/my notes/a b"],
      [{ as: ground.bob, ucans: [token] }, place.path],
    ] as const) {
      const upload = (await ground.call("file:transfer", { path, direction: "upload" }, by)).output;
      const sent = await fetch(String(upload["href"]), { method: "PUT", body: path });
      expect(sent.status).toBeLessThan(300);
      const { href } = (await ground.call("file:transfer", { path, direction: "download" }, by)).output;
      expect(await (await fetch(String(href))).text()).toBe(path);
      expect((await fetch(String(href).replace("a%20b", "a%20c"))).status).toBe(403);
      expect((await fetch(String(href).replace(/\?.*$/, ""))).status).toBeGreaterThanOrEqual(400);
    }
    expect(
      (await ground.call("file:transfer", { ...place, direction: "download" }, { as: ground.bob })).errorCode,
    ).toBe("CAPABILITY_DENIED");
  });

  describe("changes are watched", () => {
    test.each([
      ["by a reference to a drive", { path: "dlfs/notes/deep" }, "deep/part/a"],
      ["by the full name of a drive", { path: "OWN/deep" }, "deep/part/a"],
      ["in a directory of a drive that is a root", { root: "part" }, "a"],
    ])("%s", async (_how, place, path) => {
      const roots = { mine: { dlfs: "notes" }, part: { dlfs: "notes", subpath: "deep/part" } };
      await ground.open({ file: { roots }, drives: { store: { path: "drives" } } });
      const by = { as: ground.alice };
      await ground.call("file:mkdir", { root: "mine", path: "deep/part", parents: true }, by);
      const own = `${ground.alice.did}/dlfs/notes`;
      const at = "path" in place ? { path: place.path.replace("OWN", own) } : place;
      const { output: first } = await ground.call("file:watch", at, by);
      expect(first).toMatchObject({ events: [] });
      await ground.call("file:write", { root: "mine", path: "outside", content: "x" }, by);
      await ground.call("file:write", { path: "file://mine/deep/part/a", content: "x" }, by);
      await ground.call("file:write", { root: "mine", path: "deep/part/a", content: "x" }, { as: ground.bob });
      const { output } = await ground.call("file:watch", { ...at, cursor: first["cursor"], waitMs: 2000 }, by);
      expect(output).toMatchObject({ events: [{ path, type: "created" }], overflow: false });
      await ground.call("file:create", { path: "file://part/b" }, by);
      const { output: next } = await ground.call("file:watch", { ...at, cursor: output["cursor"], waitMs: 2000 }, by);
      expect(next).toMatchObject({ events: [{ path: path.replace(/a$/, "b"), type: "created" }] });
    });
  });
});
