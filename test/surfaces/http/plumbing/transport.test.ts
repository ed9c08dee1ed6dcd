import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { outcome } from "../client.js";
import { type Answer, closeAll, postInvoke, rawRequest, readAnswer, type Served, sendRaw, serve } from "../fixture.js";

let served: Served;
beforeAll(async () => {
  served = await serve(
    { read: (input) => input },
    { mcp: async () => ({ serve: async () => ({ status: 200, message: {} }) }) },
  );
});
afterAll(closeAll);

const raw = (line: string, headers: Record<string, string> = {}, body = ""): Promise<Answer> =>
  sendRaw(served.port, rawRequest(line, headers, body));

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
