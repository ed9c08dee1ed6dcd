import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { isLoopbackAddress, isLoopbackHost } from "../../../../src/config/loopback.js";
import { outcome } from "../client.js";
import { closeAll, DID, rawRequest, type Served, sendRaw, serve } from "../fixture.js";

let served: Served;
beforeAll(async () => {
  served = await serve(
    { read: () => 1 },
    {
      http: { baseUrl: "https://files.example/venue" },
      mcp: async () => ({ serve: async () => ({ status: 200, message: {} }) }),
    },
  );
});
afterAll(closeAll);

const status = (headers: Record<string, string>) => sendRaw(served.port, rawRequest("GET /api/v1/status", headers));

describe("on a loopback listener, Host", () => {
  test.each([
    "localhost",
    "LOCALHOST",
    "localhost:1",
    "localhost:",
    "127.0.0.1",
    "127.0.0.1:65535",
    "127.9.9.9",
    "[::1]",
    "[::1]:8080",
    "files.example",
    "FILES.example:443",
  ])("%s is accepted", async (host) => {
    expect((await status({ Host: host })).status).toBe(200);
  });

  test.each([
    "example.com",
    "localhost.example.com",
    "localhost.",
    "127.0.0.1.example.com",
    "127.0.0.1.",
    "128.0.0.1",
    "0.0.0.0",
    "0177.0.0.1",
    "2130706433",
    "[::2]",
    "::1",
    "[::1",
    "localhost:80:80",
    "localhost@example.com",
    "user@localhost",
    "files.example.com",
    "",
  ])("%j is refused", async (host) => {
    const answer = await status({ Host: host });
    expect([answer.status, answer.body]).toEqual([
      403,
      `{"error":"Host not allowed. Where a proxy gives this venue another name, set 'baseUrl' or 'hosts'"}`,
    ]);
  });

  test("must be there", async () => {
    const answer = await sendRaw(served.port, "GET /api/v1/status HTTP/1.1\r\n\r\n");
    expect([answer.status, answer.body]).toEqual([
      403,
      `{"error":"Host not allowed. Where a proxy gives this venue another name, set 'baseUrl' or 'hosts'"}`,
    ]);
  });

  test("must be there once, whichever a proxy in front has read", async () => {
    const accepted = rawRequest("GET /api/v1/status", { Host: "localhost" });
    expect((await sendRaw(served.port, accepted)).status).toBe(200);
    for (const other of ["evil.example", "localhost"]) {
      for (const [first, second] of [
        ["localhost", other],
        [other, "localhost"],
      ]) {
        const answer = await sendRaw(
          served.port,
          rawRequest("GET /api/v1/status", { Host: `${first}\r\nhOST: ${second}` }),
        );
        expect([answer.status, answer.body]).toEqual([400, '{"error":"More than one Host header. Send one"}']);
      }
    }
  });

  test("is that of the request target, where that has one", async () => {
    const to = (target: string, host: string) => sendRaw(served.port, rawRequest(`GET ${target}`, { Host: host }));
    expect((await to("http://localhost/api/v1/status", "example.com")).status).toBe(200);
    expect((await to("http://example.com/api/v1/status", "localhost")).status).toBe(403);
  });

  test.each(["/nope", "/mcp", "/api/v1/%zz"])("is checked for %s too", async (path) => {
    expect((await sendRaw(served.port, rawRequest(`GET ${path}`, { Host: "evil.example" }))).status).toBe(403);
  });
});

describe("off loopback", () => {
  test("any Host is accepted, but there must be one", async () => {
    const open = await serve({ read: () => 1 }, { http: { listen: { hostname: "0.0.0.0", port: 0 } } });
    expect((await sendRaw(open.port, rawRequest("GET /api/v1/status", { Host: "files.example.com" }))).status).toBe(
      200,
    );
    const without = await sendRaw(open.port, "GET /api/v1/status HTTP/1.1\r\n\r\n");
    expect([without.status, without.body]).toEqual([400, '{"error":"Missing Host header"}']);
    expect((await sendRaw(open.port, "GET /api/v1/status HTTP/1.0\r\n\r\n")).status).toBe(200);
  });

  test("a page is not the venue's own because Host says so", async () => {
    const open = await serve({ read: () => 1 }, { http: { listen: { hostname: "0.0.0.0", port: 0 } } });
    const headers = { Host: "evil.example", Origin: "http://evil.example" };
    expect((await sendRaw(open.port, rawRequest("GET /api/v1/status", headers))).status).toBe(403);
    const own = { Host: "files.example.com", Origin: open.url };
    expect((await sendRaw(open.port, rawRequest("GET /api/v1/status", own))).status).toBe(200);
  });
});

describe("Origin", () => {
  test("of the venue's own URL is accepted", async () => {
    expect((await status({ Origin: "https://files.example" })).status).toBe(200);
    const plain = await serve({ read: () => 1 });
    expect((await sendRaw(plain.port, rawRequest("GET /api/v1/status", { Origin: plain.url }))).status).toBe(200);
  });

  test("of the loopback name the request was sent to is accepted", async () => {
    const host = `LocalHost:${served.port}`;
    expect((await status({ Host: host, Origin: `http://localhost:${served.port}` })).status).toBe(200);
  });

  test.each([
    "http://evil.example",
    "null",
    "",
    "http://localhost:1",
    "https://127.0.0.1",
    "http://127.0.0.1:1",
    "http://localhost/",
  ])("%j is refused", async (origin) => {
    const answer = await status({ Origin: origin });
    expect([answer.status, answer.body]).toEqual([
      403,
      `{"error":"Origin not allowed. Add it to 'corsOrigins', or set 'baseUrl' if it is the venue's own"}`,
    ]);
  });

  test.each(["POST /api/v1/invoke", "GET /nope", "OPTIONS /api/v1/invoke", "POST /mcp"])(
    "is checked for %s too",
    async (line) => {
      expect((await sendRaw(served.port, rawRequest(line, { Origin: "http://evil.example" }))).status).toBe(403);
    },
  );
});

describe("Authorization", () => {
  const paths = ["/api/v1/status", "/api/v1/operations", "/api/v1/jobs/00", "/mcp", "/nope", "/.well-known/did.json"];

  test.each(paths)("with any bearer is 401 on %s, never anonymous", async (path) => {
    for (const authorization of ["Bearer abc", "bearer x.y.z", "BEARER", "Bearer "]) {
      const response = await fetch(served.url + path, { headers: { authorization } });
      expect(response.headers.get("www-authenticate")).toBe('Bearer error="invalid_token"');
      expect(await outcome(response)).toEqual({ status: 401, body: { error: "Invalid or expired token" } });
    }
  });

  test.each(paths)("with another scheme is 401 on %s", async (path) => {
    for (const authorization of ["Basic YTpi", "Bearerx y", "DPoP a", ""]) {
      const response = await fetch(served.url + path, { headers: { authorization } });
      expect(await outcome(response)).toEqual({ status: 401, body: { error: "Unsupported authorization scheme" } });
    }
  });

  test("is judged before the body of an invoke is read", async () => {
    const promised = rawRequest("POST /api/v1/invoke", { Authorization: "Bearer x", "Content-Length": "100" });
    expect((await sendRaw(served.port, promised)).status).toBe(401);
    expect(served.adapter.calls).toEqual([]);
  });
});

describe("without public access", () => {
  let closed: Served;
  beforeAll(async () => {
    closed = await serve(
      { read: () => 1 },
      { http: { publicAccess: false }, mcp: async () => ({ serve: async () => ({ status: 200, message: {} }) }) },
    );
  });

  test.each([
    "GET /api/v1/operations",
    "GET /api/v1/operations/file:read",
    "GET /api/v1/jobs/00",
    "GET /api/v1/jobs/00/sse",
    "POST /api/v1/invoke",
    "GET /api/v1/invoke",
    "GET /api/v1/%69nvoke",
    "GET /api/v1/nope",
    "GET /api/v1/jobs/",
    "POST /mcp",
    "GET /mcp",
    "GET /mc%70",
    "GET /mcp/",
  ])("%s needs a caller", async (line) => {
    const answer = await sendRaw(closed.port, rawRequest(line));
    expect([answer.status, answer.body]).toEqual([401, '{"error":"Authentication required"}']);
    expect(answer.headers.get("www-authenticate")).toBe("Bearer");
  });

  test("status is answered", async () => {
    expect(await outcome(fetch(`${closed.url}/api/v1/status`))).toMatchObject({ status: 200, body: { did: DID } });
  });

  test.each(["/", "/nope", "/.well-known/nope"])("%s is not found", async (path) => {
    expect((await fetch(closed.url + path)).status).toBe(404);
  });

  test("a bad token is still called bad", async () => {
    const response = fetch(`${closed.url}/api/v1/operations`, { headers: { authorization: "Bearer x" } });
    expect(await outcome(response)).toEqual({ status: 401, body: { error: "Invalid or expired token" } });
  });
});

describe("loopback", () => {
  test.each<[string, boolean, boolean]>([
    ["127.0.0.1", true, true],
    ["127.255.255.254", true, true],
    ["::1", true, true],
    ["0:0:0:0:0:0:0:1", true, true],
    ["localhost", false, true],
    ["0.0.0.0", false, false],
    ["::", false, false],
    ["192.168.1.1", false, false],
    ["example.com", false, false],
    ["", false, false],
  ])("%s: as an address %s, as a name %s", (name, address, named) => {
    expect([isLoopbackAddress(name), isLoopbackHost(name)]).toEqual([address, named]);
  });
});
