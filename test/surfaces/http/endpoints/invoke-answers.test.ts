import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { Overloaded } from "../../../../src/core/errors/errors.js";
import { notFound } from "../../../../src/core/errors/texts.js";
import { gate } from "../../../venue/catalogue/fake-adapter.js";
import { type Answer, as, closeAll, rawRequest, type Served, sendRaw, serve } from "../fixture.js";

const LARGE = "x".repeat(1_500_000);
const MIDDLE = "y".repeat(100_000);
const JSON_TYPE = { "Content-Type": "application/json" };
/** The same to the endpoint, but not what programs send. */
const OTHER_TYPE = { "Content-Type": "application/json; charset=utf-8" };

const operations = {
  read: (input: unknown) => input,
  large: () => ({ text: LARGE }),
  middle: () => ({ text: MIDDLE }),
  missing: () => {
    throw notFound({ root: "docs", path: "nope" });
  },
  broken: () => {
    throw new Error("secret detail");
  },
  cyclic: () => {
    const value: Record<string, unknown> = {};
    value["self"] = value;
    return value;
  },
};

let served: Served;
beforeAll(async () => {
  served = await serve(operations);
});
afterAll(closeAll);
afterEach(() => {
  jest.restoreAllMocks();
});

const post = ({ port }: Served, body: string, headers: Record<string, string> = {}): Promise<Answer> =>
  sendWhole(port, rawRequest("POST /api/v1/invoke", { ...JSON_TYPE, ...headers, Connection: "close" }, body));

/** Reads until the server closes: an answer in chunks has no length. */
async function sendWhole(port: number, request: string): Promise<Answer> {
  const socket = connect(port, "127.0.0.1");
  socket.write(request);
  socket.setEncoding("latin1");
  let received = "";
  for await (const chunk of socket) received += chunk;
  const end = received.indexOf("\r\n\r\n");
  const [first = "", ...lines] = received.slice(0, end).split("\r\n");
  const headers = new Map(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  return { status: Number(first.split(" ")[1]), headers, body: received.slice(end + 4) };
}

const call = (operation: string, more: object = {}) => JSON.stringify({ operation, ...more });

describe("a call answers", () => {
  test.each([
    ["an output", call("v/ops/file/read", { input: { root: "docs", path: "a" } }), 201],
    ["a call that is private", call("file:read", { private: true }), 201],
    ["a call that waits", call("file:read", { wait: true }), 201],
    ["a call with caps and tokens", call("file:read", { caps: [], ucans: ["x"] }), 201],
    ["a failure", call("file:missing"), 201],
    ["a fault of the venue", call("file:broken"), 201],
    ["an output that is no JSON", call("file:cyclic"), 201],
    ["an output larger than what is not counted", call("file:middle"), 201],
    ["an output that is sent in pieces", call("file:large"), 201],
    ["JSON5", "{operation: 'file:read', input: {path: 'ä'},}", 201],
    ["an operation that there is not", call("file:none"), 400],
    ["no operation", "{}", 400],
    ["an array", "[]", 400],
    ["what is no JSON", "{", 400],
    ["a number that JSON would not keep", '{"operation":"file:read","input":{"n":1e400}}', 400],
    ["input of the wrong kind", call("file:read", { input: 3 }), 400],
  ])("%s", async (_what, body, status) => {
    for (const type of [JSON_TYPE, OTHER_TYPE]) expect((await post(served, body, type)).status).toBe(status);
  });

  test("of a caller with a token", async () => {
    expect((await post(served, call("file:read"), as("alice"))).body).toContain("z6MkAlice");
  });

  test("with the size of a large output counted until it is sent", async () => {
    const small = await serve(operations, { http: { maxInFlightBytes: 200_000 } });
    for (const _ of [1, 2]) expect((await post(small, call("file:middle"))).status).toBe(201);
  });

  test("when the venue has too much to do, and where it fails, without details", async () => {
    const failing = await serve(operations);
    for (const [error, status] of [
      [new Overloaded("Too many jobs are running", 1000), 429],
      [new Error("secret detail"), 500],
    ] as const) {
      const { jobs } = failing.venue as unknown as { jobs: { submit(): unknown } };
      jest.spyOn(jobs, "submit").mockImplementation(() => {
        throw error;
      });
      const answer = await post(failing, call("file:read"));
      expect(answer.status).toBe(status);
      expect(answer.body).not.toContain("secret");
      jest.restoreAllMocks();
    }
    const [first] = failing.logged;
    expect(first?.error).toEqual(new Error("secret detail"));
  });
});

describe("a special request", () => {
  test.each([
    ["a wrong token", { Authorization: "Bearer wrong" }, 401],
    ["another scheme", { Authorization: "Digest x" }, 401],
    ["another host", { Host: "evil.example" }, 403],
    ["another origin", { Origin: "https://evil.example" }, 403],
    ["a page's request for a script", { "Sec-Fetch-Dest": "script", "Sec-Fetch-Site": "cross-site" }, 403],
    ["an encoded body", { "Content-Encoding": "gzip" }, 415],
    ["an expectation", { Expect: "something" }, 417],
  ])("%s", async (_what, headers, status) => {
    expect((await post(served, call("file:read"), headers)).status).toBe(status);
  });

  test.each([
    [
      "a body that is counted",
      { body: call("file:read", { input: { text: MIDDLE } }), path: "/api/v1/invoke", status: 201 },
    ],
    ["a query", { body: call("file:read"), path: "/api/v1/invoke?wait=true", status: 201 }],
    ["another spelling", { body: call("file:read"), path: "/api/v1/invoke/", status: 201 }],
    ["another endpoint", { body: call("file:read"), path: "/api/v1/run", status: 200 }],
    ["no body", { body: "", path: "/api/v1/invoke", status: 400 }],
  ])("%s", async (_what, { body, path, status }) => {
    expect((await sendRaw(served.port, rawRequest(`POST ${path}`, JSON_TYPE, body))).status).toBe(status);
  });

  test("two Host headers", async () => {
    const request = rawRequest("POST /api/v1/invoke", JSON_TYPE, call("file:read"));
    const { status } = await sendRaw(served.port, request.replace("\r\n", "\r\nHost: other\r\n"));
    expect(status).toBe(400);
  });

  test("callers without credentials, where they are not served", async () => {
    const closed = await serve(operations, { http: { publicAccess: false } });
    expect((await post(closed, call("file:read"))).status).toBe(401);
    expect((await post(closed, call("file:read"), as("bob"))).status).toBe(201);
  });

  test.each([
    ["a limit on the rate", { http: { rateLimit: async () => 0 } }],
    ["other origins that may call", { http: { corsOrigins: ["https://pages.example"] } }],
    ["a proxy in front", { http: { trustProxy: true } }],
    ["a log of every request", { log: { debugs: true, debug() {}, info() {}, warn() {}, error() {} } }],
    ["a path before those of the venue", { http: { baseUrl: "https://venue.example/files" } }],
  ] as const)("is answered, where there is %s", async (_what, overrides) => {
    const special = await serve(operations, overrides as Parameters<typeof serve>[1]);
    expect((await post(special, call("file:read"))).status).toBe(201);
  });
});

test("a private call ends its wait when the client is gone, and its job goes on", async () => {
  const slow = gate();
  const { port, venue } = await serve({ slow: () => slow.promise });
  const socket = connect(port, "127.0.0.1");
  socket.write(rawRequest("POST /api/v1/invoke", JSON_TYPE, call("file:slow", { private: true, wait: true })));
  const jobs = (venue as unknown as { jobs: { running: number; size: number } }).jobs;
  while (jobs.running === 0) await sleep(1);
  socket.destroy();
  await sleep(20);
  slow.open({ done: true });
  while (jobs.running > 0) await sleep(1);
  expect(jobs.size).toBe(1);
});

test("calls on one connection are answered in their order", async () => {
  const slow = gate();
  const { port } = await serve({ read: () => slow.open({ first: true }), slow: () => slow.promise });
  const request = (operation: string, more: object) =>
    rawRequest("POST /api/v1/invoke", { ...JSON_TYPE, ...more }, call(operation, { wait: true }));
  const { body } = await sendWhole(port, request("file:slow", {}) + request("file:read", { Connection: "close" }));
  expect(body.match(/"operation":"[^"]+"/g)).toEqual(
    ["file/slow", "file/read"].map((name) => `"operation":"v/ops/${name}"`),
  );
});

test("a host with a port that none can have is refused, and the venue lives on", async () => {
  const body = JSON.stringify({ operation: "file:read", input: {}, wait: true });
  for (const Host of ["localhost:65536", "127.0.0.1:99999", "[::1]:70000"]) {
    expect([Host, (await post(served, body, { Host })).status]).toEqual([Host, 403]);
  }
  expect((await post(served, body, { Host: "localhost:65535" })).status).toBe(201);
});
