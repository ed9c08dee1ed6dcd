import { createServer, type Server } from "node:http";
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, jest, test } from "@jest/globals";
import { aborted } from "../../src/core/errors/texts.js";
import type { McpEndpoint } from "../../src/surfaces/mcp/http.js";
import { createVenueHost, type VenueHost, type VenueHostOptions } from "../../src/venue/venue.js";
import { invoke, send } from "../surfaces/http/client.js";
import { DID, memoryAssets } from "../surfaces/http/fixture.js";
import { type FakeOperation, fakeAdapter, gate } from "./catalogue/fake-adapter.js";

const open: VenueHost[] = [];
afterEach(() => Promise.all(open.splice(0).map((venue) => venue.close())));
const assets = await memoryAssets();

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
