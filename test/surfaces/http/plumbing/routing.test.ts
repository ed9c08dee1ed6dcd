import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { outcome } from "../client.js";
import { type Answer, closeAll, postText, rawRequest, type Served, sendRaw, serve } from "../fixture.js";

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
