import { EventEmitter, once } from "node:events";
import { get as httpGet, type IncomingMessage } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from "@jest/globals";
import type { FastifyReply } from "fastify";
import type { CallerJobs, JobListener, JobRecord, RecordedJob, Submission } from "../../../../src/core/ports/job.js";
import { Connections } from "../../../../src/surfaces/http/admission/connections.js";
import { getEvents } from "../../../../src/surfaces/http/endpoints/jobs.js";
import type { HttpHost } from "../../../../src/surfaces/http/host.js";
import type { Exchange } from "../../../../src/surfaces/http/plumbing/exchange.js";
import { createNodeServer, DEFAULT_TIMEOUTS } from "../../../../src/surfaces/http/plumbing/node-server.js";
import { type FakeOperation, gate } from "../../../venue/catalogue/fake-adapter.js";
import { ALICE as CALLER } from "../../../venue/jobs/job-store.js";
import { outcome } from "../client.js";
import {
  ALICE,
  type Answer,
  as,
  closeAll,
  emptyMcp,
  postInvoke,
  postText,
  rawRequest,
  readAnswer,
  type Served,
  sendRaw,
  serve,
} from "../fixture.js";

afterAll(closeAll);

let served: Served;
beforeAll(async () => {
  served = await serve({ read: (input) => input }, { mcp: emptyMcp });
});

const raw = (line: string, headers: Record<string, string> = {}, body = ""): Promise<Answer> =>
  sendRaw(served.port, rawRequest(line, headers, body));

describe("an unmapped route", () => {
  test.each([
    "GET /",
    "GET /nope",
    "POST /api/v1/nope",
    "GET /api/v1//status",
    "GET /API/v1/status",
    "GET /api/v1/status//",
    "GET /api/v1/jobs/00/content",
    "GET /api/v1/jobs/00%2Fcontent",
    "GET /api/v1/jobs//sse",
    "GET /api/v1/assets/00/sse",
    "GET /api/v1/assets//content",
    "GET /api/v1/values",
    "GET /api/v1/values/nope",
    "GET /.well-known/",
    "GET /.well-known/nope",
    "GET /api/v1/agents",
    "GET /api/v1/secrets",
    "GET /metrics",
    "GET /healthy",
    "PROPFIND /",
    "UNLINK /nope",
    "OPTIONS *",
  ])("%s is 404 with the method and the path as sent", async (line) => {
    const [method, path] = line.split(" ");
    const answer = await raw(`${line}${path === "*" ? "" : "?a=b"}`);
    expect([answer.status, answer.body]).toEqual([
      404,
      JSON.stringify({ error: `Endpoint ${method} ${path} not found` }),
    ]);
  });

  test("is answered without waiting for a body, of whatever type", async () => {
    expect((await raw("POST /nope", { "Content-Type": "a/b", "Content-Length": "1000" })).status).toBe(404);
    expect((await raw("POST /nope", { "Content-Type": "application/json", "Content-Length": "1000" })).status).toBe(
      404,
    );
  });

  test("HEAD is 404 without a body", async () => {
    const response = await fetch(`${served.url}/nope`, { method: "HEAD" });
    expect([response.status, await response.text()]).toEqual([404, ""]);
  });

  test("/mcp and its discovery are some when the venue has none", async () => {
    const without = await serve({ read: () => 1 });
    expect(await outcome(postText(without, "/mcp", "{}"))).toEqual({
      status: 404,
      body: { error: "Endpoint POST /mcp not found" },
    });
    expect(await outcome(fetch(`${without.url}/.well-known/mcp`))).toEqual({
      status: 404,
      body: { error: "Endpoint GET /.well-known/mcp not found" },
    });
  });
});

describe("a wrong method on a mapped route", () => {
  test.each([
    ["POST /api/v1/status", "GET, HEAD"],
    ["OPTIONS /api/v1/status", "GET, HEAD"],
    ["PROPFIND /api/v1/status", "GET, HEAD"],
    ["M-SEARCH /api/v1/status", "GET, HEAD"],
    ["GET /api/v1/invoke", "POST"],
    ["OPTIONS /api/v1/invoke", "POST"],
    ["PUT /api/v1/operations", "GET, HEAD"],
    ["DELETE /api/v1/operations/file/read", "GET, HEAD"],
    ["POST /api/v1/jobs", "GET, HEAD"],
    ["PUT /api/v1/jobs/00", "GET, HEAD, POST"],
    ["POST /api/v1/jobs/00/sse", "GET, HEAD"],
    ["GET /api/v1/jobs/00/cancel", "PUT"],
    ["POST /api/v1/jobs/00%2Fdelete", "PUT"],
    ["PUT /api/v1/assets", "GET, HEAD, POST"],
    ["DELETE /api/v1/assets/00", "GET, HEAD"],
    ["POST /api/v1/assets/00/content", "GET, HEAD, PUT"],
    ["POST /api/v1/values/read", "GET, HEAD"],
    ["POST /.well-known/did.json", "GET, HEAD"],
    ["POST /openapi.json", "GET, HEAD"],
    ["PUT /mcp", "POST, GET, HEAD, DELETE"],
    ["HEAD /api/v1/invoke", "POST"],
    ["HEAD /api/v1/jobs/00/cancel/", "PUT"],
  ])("%s is 405, allowing %s", async (line, allow) => {
    const [method, path] = line.split(" ");
    const socket = connect(served.port, "127.0.0.1");
    socket.end(rawRequest(line, { Connection: "close", "Content-Type": "a/b" }));
    const chunks = await socket.setEncoding("latin1").toArray();
    const answer = chunks.join("");
    expect(answer).toMatch(/^HTTP\/1\.1 405 /);
    expect(answer).toContain(`\r\nallow: ${allow}\r\n`);
    const body = answer.slice(answer.indexOf("\r\n\r\n") + 4);
    const text = JSON.stringify({ error: `Method ${method} not allowed on ${path}. Use ${allow}` });
    expect(body).toBe(method === "HEAD" ? "" : text);
  });
});

describe("a path parameter", () => {
  test.each([
    "/api/v1/operations/v/ops/file/read",
    "/api/v1/operations/v%2Fops%2Ffile%2Fread",
    "/api/v1/operations/v%2fops/file%2Fread",
    "/api/v1/operations/%2Fv/ops/file/read",
    "/api/v1/operations//v/ops/file/read",
    "/api/v1/operations/file%3Aread",
    "/api/v1/operations/file:rea%64",
    "/api/v1/operations/file:read?x=%zz",
    "/api/v1/%6Fperations/file:read",
  ])("reaches one handler as %s", async (path) => {
    const answer = await raw(`GET ${path}`);
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.body)).toMatchObject({ name: "v/ops/file/read" });
  });

  test.each([
    ["file%253Aread", "file%3Aread"],
    ["%252F", "%2F"],
    ["a+b", "a+b"],
    ["%C3%A4", "ä"],
    ["%25", "%"],
    ["a%3Fb%23c", "a?b#c"],
    ["a%00b", "a\\u{0}b"],
    ["a/../b", "a/../b"],
  ])("is decoded exactly once: %s", async (sent, name) => {
    const answer = await raw(`GET /api/v1/operations/${sent}`);
    expect([answer.status, Buffer.from(answer.body, "latin1").toString()]).toEqual([
      404,
      JSON.stringify({ error: `Operation not found: ${name}` }),
    ]);
  });

  test.each(["%", "%z", "%zz", "%2", "%C3", "%C3%28", "a%FF"])("with the malformed %s is 400", async (sent) => {
    for (const path of [`/api/v1/operations/${sent}`, `/api/v1/jobs/${sent}`, `/${sent}`]) {
      const answer = await raw(`GET ${path}`);
      expect([answer.status, answer.body]).toEqual([400, '{"error":"Malformed URL: invalid percent-encoding"}']);
      expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    }
  });
});

describe("every response", () => {
  const json = { "Content-Type": "application/json" };
  test.each<[string, number, () => Promise<Answer>]>([
    ["a success", 200, () => raw("GET /api/v1/status")],
    ["an invoke", 201, () => raw("POST /api/v1/invoke", json, '{"operation":"file:read"}')],
    ["malformed JSON", 400, () => raw("POST /api/v1/invoke", json, "{")],
    ["a malformed URL", 400, () => raw("GET /%zz")],
    ["no HTTP at all", 400, () => sendRaw(served.port, "HELLO\r\n\r\n")],
    ["a bad token", 401, () => raw("GET /api/v1/status", { Authorization: "Bearer x" })],
    ["a bad host", 403, () => raw("GET /api/v1/status", { Host: "evil.example" })],
    ["an unmapped route", 404, () => raw("GET /nope")],
    ["a wrong method", 405, () => raw("GET /api/v1/invoke")],
    ["too much", 413, () => raw("POST /api/v1/invoke", { ...json, "Content-Length": "999999999" })],
    ["a bad type", 415, () => raw("POST /api/v1/invoke", {}, "{}")],
    ["a bad expectation", 417, () => raw("GET /api/v1/status", { Expect: "cake" })],
    ["too long a header", 431, () => raw("GET /api/v1/status", { "X-Long": "x".repeat(20_000) })],
  ])("has the common headers and is JSON: %s", async (_name, status, send) => {
    const answer = await send();
    expect(answer.status).toBe(status);
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(typeof JSON.parse(answer.body)).toBe("object");
    if (status >= 400) expect(Object.keys(JSON.parse(answer.body))).toEqual(["error"]);
  });
});

describe("an internal error", () => {
  test("shows a request id and nothing else, and is logged under it", async () => {
    const broken = await serve({ read: () => 1 });
    const cause = new Error("/home/alice/secret");
    Object.assign(broken.venue.catalogue, {
      list: () => {
        throw cause;
      },
    });
    const answer = await outcome(fetch(`${broken.url}/api/v1/operations`));
    const [entry] = broken.logged;
    expect(entry?.error).toBe(cause);
    expect(answer).toEqual({ status: 500, body: { error: `Internal error (${entry?.requestId})` } });
    expect(entry?.requestId).toMatch(/^[0-9a-f-]{36}$/);
  });

  const circle: unknown[] = [];
  circle.push(circle);
  const unreadable = () => {
    throw new Error("/home/alice/secret");
  };
  test.each<[string, () => unknown]>([
    ["a getter that throws", () => Object.defineProperty({}, "size", { enumerable: true, get: unreadable })],
    ["a circle", () => Object.assign([1n], { 1: circle })],
  ])("an output that is or has %s makes a failed record of the reply, not a 500", async (_name, output) => {
    const broken = await serve({ read: output });
    const answer = await outcome(postInvoke(broken, { operation: "file:read" }));
    const requestId = broken.logged[0]?.requestId;
    expect(answer).toMatchObject({
      status: 201,
      body: { status: "FAILED", error: `Internal error (${requestId})`, errorCode: "INTERNAL" },
    });
  });
});

describe("a connection", () => {
  test("offering h2c is answered in HTTP/1.1, its body read", async () => {
    const headers = {
      Connection: "Upgrade, HTTP2-Settings",
      Upgrade: "h2c",
      "HTTP2-Settings": "AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA",
      "Content-Type": "application/json",
    };
    const answer = await raw("POST /api/v1/invoke", headers, '{"operation":"file:read","input":{"root":"r"}}');
    expect(answer.status).toBe(201);
    expect(JSON.parse(answer.body)).toMatchObject({ status: "COMPLETE", output: { root: "r" } });
    expect((await raw("GET /api/v1/status", headers)).status).toBe(200);
  });

  test("that starts in HTTP/2 is refused", async () => {
    expect((await sendRaw(served.port, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")).status).toBe(400);
  });

  test("serves several requests, one after the other", async () => {
    const socket = connect(served.port, "127.0.0.1");
    socket.write(rawRequest("GET /api/v1/status"));
    expect((await readAnswer(socket)).status).toBe(200);
    socket.removeAllListeners("data");
    socket.write(rawRequest("GET /nope"));
    expect((await readAnswer(socket)).status).toBe(404);
    socket.destroy();
  });

  test.each<[string, string]>([
    ["headers", "GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\n"],
    ["body", rawRequest("POST /api/v1/invoke", { "Content-Type": "application/json", "Content-Length": "10" }, "{")],
  ])("whose client is too slow with the %s is ended with 408", async (_name, start) => {
    const timeouts = { headersMs: 50, requestMs: 100, checkMs: 20 };
    const strict = await serve({ read: () => 1 }, { http: { timeouts } });
    const answer = await sendRaw(strict.port, start);
    expect([answer.status, answer.body]).toEqual([408, '{"error":"Request timed out"}']);
    expect(strict.adapter.calls).toEqual([]);
  });
});

describe("turns", () => {
  const closing: (() => void)[] = [];
  afterEach(() => {
    for (const close of closing.splice(0)) close();
  });

  interface Handling {
    /** How long each request keeps the server busy. */
    readonly busyMs?: () => number;
    /** Sees each request when it arrives. */
    readonly onArrival?: (request: IncomingMessage) => void;
  }

  /** A client connection: sends requests in one piece, and resolves with what the server noted once all are answered. */
  type Send = (names: readonly string[]) => Promise<string[]>;

  /** A server that notes when it begins and ends to work on each request, in two steps of a promise. @returns connects to it */
  async function serve({ busyMs = () => 0, onArrival = () => {} }: Handling): Promise<(credential?: string) => Send> {
    const notes: string[] = [];
    const server = createNodeServer(
      async (request, response) => {
        notes.push(`begin ${request.url}`);
        const until = performance.now() + busyMs();
        while (performance.now() < until);
        await undefined;
        notes.push(`end ${request.url}`);
        response.end("done");
      },
      { timeouts: DEFAULT_TIMEOUTS, connections: new Connections() },
    );
    server.prependListener("request", onArrival);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closing.push(() => server.close());
    return (credential) => {
      const head = `HTTP/1.1\r\nHost: x\r\n${credential === undefined ? "" : `Authorization: ${credential}\r\n`}\r\n`;
      const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
      closing.push(() => socket.destroy());
      return async (names) => {
        notes.length = 0;
        socket.write(names.map((name) => `GET /${name} ${head}`).join(""));
        let text = "";
        while (text.split("done").length <= names.length) {
          text += await new Promise<string>((resolve) =>
            socket.once("data", (data) => resolve(data.toString("latin1"))),
          );
        }
        return [...notes];
      };
    };
  }

  test("of many, the first is answered before the last begins", async () => {
    const names = Array.from({ length: 100 }, (_, index) => `n${index}`);
    const notes = await (await serve({}))()(names);
    expect(notes.filter((note) => note.startsWith("end"))).toEqual(names.map((name) => `end /${name}`));
    expect(notes.indexOf("end /n0")).toBeLessThanOrEqual(32);
  });

  test.each([
    ["with its own credential waits for one of each", "Bearer b", [0, 1, 2]],
    ["with the same credential waits for all that came before", "Bearer a", [40]],
  ])("beside many requests of a client, another's %s", async (_name, credential, places) => {
    const open = await serve({ busyMs: () => 3 });
    const [many, other] = [open("Bearer a"), open(credential)];
    // The connections are open.
    await many(["a"]);
    await other(["b"]);
    const names = Array.from({ length: 40 }, (_, index) => `n${index}`);
    const flood = many(names);
    const beginning = (notes: readonly string[]) =>
      notes.filter((note) => note.startsWith("begin")).indexOf("begin /b");
    expect(places).toContain(beginning(await other(["b"])));
    await flood;
  });

  test("a request whose client has gone before it is handled harms no other one", async () => {
    const onArrival = ({ url, socket }: IncomingMessage) => void (url === "/gone" && socket.destroy());
    const open = await serve({ onArrival });
    const [gone, other] = [open(), open()];
    void gone(["gone"]);
    for (const name of ["b", "c"]) expect(await other([name])).toContain(`end /${name}`);
  });
});

const ORIGIN = "https://app.example";

/** Serves an operation, and starts a job of Alice with it. */
async function serveJob(slow: FakeOperation, more: Partial<Submission> = {}): Promise<Served & { job: RecordedJob }> {
  const limits = { maxBytes: 100_000_000 };
  const served = await serve({ slow }, { http: { corsOrigins: [ORIGIN] }, jobs: limits });
  const submission = { operation: "file:slow", input: { root: "docs" }, caller: ALICE, context: {}, ...more };
  return { ...served, job: served.venue.submit(submission) };
}

const pathOf = ({ url, job }: { url: string; job: RecordedJob }): string => `${url}/api/v1/jobs/${job.id}/sse`;

/** Opens a stream of a job. */
async function openStream(served: { url: string; job: RecordedJob }): Promise<IncomingMessage> {
  const request = httpGet(pathOf(served), { headers: { ...as("alice"), origin: ORIGIN } });
  request.on("error", () => {});
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return response.setEncoding("utf8");
}

/** Reads until a text has come. */
async function readUntil(stream: IncomingMessage, text: string): Promise<string> {
  let read = "";
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    read += chunk;
    if (read.includes(text)) return read;
  }
  throw new Error(`Ended without '${text}': ${read}`);
}

async function readAll(stream: IncomingMessage): Promise<string> {
  let read = "";
  for await (const chunk of stream) read += chunk;
  return read;
}

const eventOf = (record: JobRecord | undefined): string => `event: job-update\ndata: ${JSON.stringify(record)}\n\n`;

const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "x-accel-buffering": "no",
  "access-control-allow-origin": ORIGIN,
  vary: "Origin",
};

describe("a stream of a job", () => {
  test("that runs begins with its state, and ends right after its end", async () => {
    const slow = gate();
    const served = await serveJob(() => slow.promise);
    const { job } = served;
    const stream = await openStream(served);
    expect(stream.statusCode).toBe(200);
    expect(stream.headers).toMatchObject({ ...HEADERS, connection: "close" });
    const started = await readUntil(stream, "\n\n");
    expect(started).toBe(eventOf(job.record()));
    expect(started).toContain('"status":"STARTED"');
    slow.open({ text: "line 1\r\nline 2\n" });
    const rest = await readAll(stream);
    expect(rest).toBe(eventOf(job.record()));
    expect(rest).toContain('"status":"COMPLETE"');
    expect(rest).not.toContain("\r");
  });

  test("that has ended is one event", async () => {
    const served = await serveJob(() => "text");
    await served.job.result;
    const stream = await openStream(served);
    expect(stream.statusCode).toBe(200);
    expect(stream.headers).toMatchObject(HEADERS);
    expect(await readAll(stream)).toBe(eventOf(served.job.record()));
  });

  test.each([
    ["had ended", true],
    ["ends", false],
  ])("that is private delivers it when it %s", async (_when, before) => {
    const slow = gate();
    const served = await serveJob(() => slow.promise, { private: true });
    if (before) {
      slow.open(1);
      await served.job.result;
    }
    const stream = await openStream(served);
    slow.open(1);
    expect(await readAll(stream)).toContain('"status":"COMPLETE"');
    expect(served.venue.jobs.size).toBe(0);
  });

  test("reaches a client that reads late, whole", async () => {
    const slow = gate();
    const served = await serveJob(() => slow.promise, { input: { note: "é".repeat(3_000_000) } });
    const { job } = served;
    const stream = await openStream(served);
    const started = eventOf(job.record());
    slow.open("x".repeat(3_000_000));
    await job.result;
    expect((await readAll(stream)) === started + eventOf(job.record())).toBe(true);
  });

  test("beyond 32 is refused with the time to wait, until another hangs up", async () => {
    const served = await serveJob(() => gate().promise);
    const streams = await Promise.all(Array.from({ length: 32 }, () => openStream(served)));
    expect(streams.map(({ statusCode }) => statusCode)).toEqual(streams.map(() => 200));
    const refused = await fetch(pathOf(served), { headers: as("alice") });
    expect(refused.headers.get("retry-after")).toBe("1");
    expect(await outcome(refused)).toEqual({ status: 429, body: { error: expect.any(String) } });
    streams[0]?.destroy();
    let status: number | undefined = 429;
    // Its end takes a moment to get there.
    for (let tries = 0; status === 429 && tries < 1000; tries += 1) {
      const stream = await openStream(served);
      status = stream.statusCode;
      stream.resume();
    }
    expect(status).toBe(200);
    for (const stream of streams) stream.destroy();
  });

  test("ends when the venue closes, and does not keep it from closing", async () => {
    const served = await serveJob(() => gate().promise);
    const stream = await openStream(served);
    const reading = readAll(stream);
    await served.venue.close();
    expect(await reading).toBe(eventOf(served.job.record()));
  });
});

describe("a stream", () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  /** A response that says of itself how full it is. */
  class FakeResponse extends EventEmitter {
    readonly sent: string[] = [];
    writableNeedDrain = false;
    writableEnded = false;
    destroyed = false;
    setHeader(): void {}
    writeHead(): void {}
    flushHeaders(): void {}
    write(text: string): void {
      this.sent.push(text);
    }
    end(text = "end"): void {
      this.writableEnded = true;
      this.sent.push(text);
    }
  }

  const record = (status: JobRecord["status"], updated: number) => ({ status, updated }) as JobRecord;

  /** A stream of a job whose states the test makes up. */
  function stream() {
    const raw = new FakeResponse();
    const stop = jest.fn();
    let update: JobListener = () => {};
    const watch: CallerJobs["watch"] = (_id, _caller, listener) => {
      update = listener;
      return { found: record("STARTED", 0), stop };
    };
    const host = { jobs: { watch }, streams: { open: 0 }, stillHolds: () => true } as unknown as HttpHost;
    const reply = { raw, hijack: () => {}, getHeaders: () => ({}) } as unknown as FastifyReply;
    getEvents(host, { request: { method: "GET" }, reply, caller: CALLER, target: "ab" } as Exchange);
    return { raw, stop, update: (next: JobRecord | undefined) => update(next) };
  }
  const started = eventOf(record("STARTED", 0));

  test("is never silent for 15 seconds, and then says nothing of meaning", () => {
    jest.useFakeTimers();
    const { raw } = stream();
    for (let beats = 1; beats < 5; beats += 1) {
      jest.advanceTimersByTime(14_500);
      expect(raw.sent).toEqual([started, ...Array(beats).fill(":\n")]);
    }
    raw.emit("close");
    expect(jest.getTimerCount()).toBe(0);
  });

  test("writes nothing to a client that does not read, which gets the last of the states it missed", () => {
    jest.useFakeTimers();
    const { raw, update } = stream();
    raw.writableNeedDrain = true;
    jest.advanceTimersByTime(100_000);
    for (let i = 1; i < 100; i += 1) update(record("STARTED", i));
    expect(raw.sent).toEqual([started]);
    raw.writableNeedDrain = false;
    raw.emit("drain");
    expect(raw.sent).toEqual([started, eventOf(record("STARTED", 99))]);
    jest.advanceTimersByTime(28_000);
    expect(raw.sent.slice(2)).toEqual([":\n", ":\n"]);
    raw.emit("close");
  });

  test("writes the end once its client reads again, and then nothing more", () => {
    jest.useFakeTimers();
    const { raw, update, stop } = stream();
    raw.writableNeedDrain = true;
    update(record("COMPLETE", 5));
    expect(raw.sent).toEqual([started]);
    raw.writableNeedDrain = false;
    raw.emit("drain");
    expect(raw.sent).toEqual([started, eventOf(record("COMPLETE", 5))]);
    expect(raw.writableEnded).toBe(true);
    jest.advanceTimersByTime(100_000);
    expect(raw.sent).toHaveLength(2);
    expect(stop).not.toHaveBeenCalled();
    raw.emit("close");
    expect(stop).toHaveBeenCalledTimes(1);
    expect(jest.getTimerCount()).toBe(0);
  });

  test("writes nothing to a client that has gone", () => {
    const { raw, update, stop } = stream();
    raw.destroyed = true;
    update(record("COMPLETE", 5));
    update(undefined);
    expect(raw.sent).toEqual([started]);
    raw.emit("close");
    expect(stop).toHaveBeenCalledTimes(1);
  });
});
