import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { outcome } from "../client.js";
import { type Answer, closeAll, postText, rawRequest, readAnswer, type Served, sendRaw, serve } from "../fixture.js";

const LIMIT = 200_000;
let served: Served;
beforeAll(async () => {
  served = await serve(
    { read: (input) => input },
    {
      http: { maxRequestBytes: LIMIT },
      mcp: async () => ({ serve: async ({ body }) => ({ status: 200, message: Object(body) }) }),
    },
  );
});
afterAll(closeAll);

const raw = (line: string, headers: Record<string, string> = {}, body = ""): Promise<Answer> =>
  sendRaw(served.port, rawRequest(line, headers, body));

describe("a request body", () => {
  const body = '{"operation":"file:read"}';

  test.each(["application/json", "application/json; charset=utf-8", "APPLICATION/JSON", 'application/json;a="b"'])(
    "of %s is read",
    async (type) => {
      expect((await raw("POST /api/v1/invoke", { "Content-Type": type }, body)).status).toBe(201);
    },
  );

  test.each(["text/plain", "application/x-www-form-urlencoded", "application/json5", "application/jsonx", "json", ""])(
    "of %j is 415",
    async (type) => {
      for (const path of ["/api/v1/invoke", "/mcp"]) {
        const answer = await raw(`POST ${path}`, { "Content-Type": type }, body);
        expect([answer.status, answer.body]).toEqual([415, '{"error":"Content-Type must be application/json"}']);
      }
    },
  );

  test("of no type is 415", async () => {
    expect((await raw("POST /api/v1/invoke", {}, body)).status).toBe(415);
  });

  test.each(["gzip", "br", "identity, gzip", "GZIP", "a\tb"])(
    "coded as %j is 415, named, and not read",
    async (coding) => {
      const headers = { "Content-Type": "application/json", "Content-Encoding": coding, "Content-Length": "1000" };
      for (const line of ["POST /api/v1/invoke", "POST /mcp", "PUT /api/v1/assets/00/content"]) {
        const answer = await raw(line, headers);
        expect(answer.status).toBe(415);
        expect(JSON.parse(answer.body)).toEqual({
          error: `Content-Encoding '${coding.replace("\t", "\\u{9}")}' is not supported. Send the body without Content-Encoding`,
        });
        expect(answer.headers.get("accept-encoding")).toBe("identity");
      }
    },
  );

  test.each(["identity", "Identity", "identity, identity"])("coded as %j is read", async (coding) => {
    const headers = { "Content-Type": "application/json", "Content-Encoding": coding };
    expect((await raw("POST /api/v1/invoke", headers, body)).status).toBe(201);
  });

  test.each([
    ["JSON", body],
    ["JSON with white space", `\n ${body} \n`],
    ["JSON5", "{operation: 'file:read', /* why */ input: {hex: 0x10,},}"],
  ])("may be %s", async (_name, text) => {
    expect((await postText(served, "/api/v1/invoke", text)).status).toBe(201);
  });

  test.each([
    ["cut off", '{"operation":', "JSON5: invalid end of input"],
    ["no JSON", "hello", "invalid character 'h' at 1:1"],
    ["two values", "{} {}", "invalid character '{' at 1:4"],
    ["empty", "", "the body is empty"],
    ["white space", "   ", "invalid end of input at 1:4"],
  ])("that is %s is 400 with the reason", async (_name, text, reason) => {
    const answer = await outcome(postText(served, "/api/v1/invoke", text));
    expect(answer.status).toBe(400);
    const { error } = answer.body as { error: string };
    expect(error).toMatch(/^Invalid JSON: \S/);
    expect(error).toContain(reason.replace("JSON5: ", ""));
  });

  test.each(["Infinity", "-Infinity", "NaN", "1e400"])("of JSON5 with %s is 400, and no null", async (number) => {
    const text = `{operation:'file:read', input:{value:[${number}]}}`;
    expect(await outcome(postText(served, "/api/v1/invoke", text))).toEqual({
      status: 400,
      body: { error: "Invalid JSON: Infinity and NaN are no JSON, nor are numbers that large. Send a string" },
    });
  });

  test("is not repaired when it is not UTF-8", async () => {
    const head = rawRequest("POST /api/v1/invoke", { "Content-Type": "application/json", "Content-Length": "4" });
    const answer = await sendRaw(
      served.port,
      Buffer.concat([Buffer.from(head), Buffer.from([0x22, 0xff, 0xfe, 0x22])]),
    );
    expect([answer.status, answer.body]).toEqual([400, '{"error":"Invalid JSON: not valid UTF-8"}']);
  });

  test("over 64 KB is strict JSON only", async () => {
    const padded = (bytes: number) => `{operation: 'file:read'}${" ".repeat(bytes - 24)}`;
    expect((await postText(served, "/api/v1/invoke", padded(65_536))).status).toBe(201);
    expect((await postText(served, "/api/v1/invoke", padded(65_537))).status).toBe(400);
  });

  test("of /mcp is strict JSON only", async () => {
    expect(await outcome(postText(served, "/mcp", '{"a":1}'))).toEqual({ status: 200, body: { a: 1 } });
    const answer = await outcome(postText(served, "/mcp", "{a:1}"));
    expect(answer).toEqual({
      status: 400,
      body: {
        jsonrpc: "2.0",
        id: null,
        error: { code: -32700, message: expect.stringMatching(/^Invalid JSON: \S/) },
      },
    });
    expect(await outcome(postText(served, "/mcp", ""))).toMatchObject({
      status: 400,
      body: { error: { code: -32700 } },
    });
  });

  test("of exactly the limit is read, and one byte more is 413", async () => {
    const padded = (bytes: number) => body + " ".repeat(bytes - body.length);
    expect((await postText(served, "/api/v1/invoke", padded(LIMIT))).status).toBe(201);
    const over = await raw("POST /api/v1/invoke", { "Content-Type": "application/json" }, padded(LIMIT + 1));
    expect([over.status, over.body]).toEqual([413, `{"error":"Request too large: limit ${LIMIT} bytes"}`]);
  });

  test("announced too long is 413 before it is sent", async () => {
    const headers = { "Content-Type": "application/json", "Content-Length": `${LIMIT + 1}` };
    for (const path of ["/api/v1/invoke", "/mcp"]) expect((await raw(`POST ${path}`, headers)).status).toBe(413);
  });

  test("that grows too long is 413 while it is being sent", async () => {
    const socket = connect(served.port, "127.0.0.1");
    const headers = { "Content-Type": "application/json", "Transfer-Encoding": "chunked" };
    socket.write(rawRequest("POST /api/v1/invoke", headers));
    const chunk = `${(50_000).toString(16)}\r\n${" ".repeat(50_000)}\r\n`;
    // No last chunk ever: the answer cannot wait for the end.
    for (let i = 0; i < 5; i += 1) socket.write(chunk);
    const answer = await readAnswer(socket);
    expect(answer.status).toBe(413);
    expect(answer.headers.get("connection")).toBe("close");
    socket.destroy();
  });

  test("shorter than announced never becomes a job", async () => {
    const before = served.adapter.calls.length;
    const socket = connect(served.port, "127.0.0.1");
    socket.end(rawRequest("POST /api/v1/invoke", { "Content-Type": "application/json", "Content-Length": "99" }, body));
    socket.resume();
    await once(socket, "close");
    expect((await fetch(`${served.url}/api/v1/status`)).status).toBe(200);
    expect(served.adapter.calls.length).toBe(before);
    expect(served.logged).toEqual([]);
  });
});
