import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { isLoopbackAddress, isLoopbackHost } from "../../../../src/config/loopback.js";
import type { RateLimit } from "../../../../src/surfaces/http/host.js";
import { outcome, send, sendAsIs } from "../client.js";
import {
  ALICE,
  type Answer,
  as,
  closeAll,
  DID,
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

describe("hosts, origins and credentials", () => {
  let served: Served;
  beforeAll(async () => {
    served = await serve(
      { read: () => 1 },
      {
        http: { baseUrl: "https://files.example/venue" },
        mcp: emptyMcp,
      },
    );
  });

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
      closed = await serve({ read: () => 1 }, { http: { publicAccess: false }, mcp: emptyMcp });
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
      const response = send(`${closed.url}/api/v1/operations`, { token: "x" });
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
});

describe("callers", () => {
  let served: Served;
  beforeAll(async () => {
    served = await serve({ read: () => 1 });
  });

  const invokeAs = (headers: Record<string, string>) =>
    outcome(send(`${served.url}/api/v1/invoke`, { json: { operation: "file:read" }, headers }));

  describe("a caller with a token", () => {
    test("is the caller of its jobs and of the operation", async () => {
      expect(await invokeAs(as("alice"))).toMatchObject({ status: 201, body: { caller: ALICE } });
      expect(served.adapter.calls.at(-1)?.context).toMatchObject({ callerDID: ALICE, authentication: "identity" });
    });

    test("is served where others are not", async () => {
      const closed = await serve({ read: () => 1 }, { http: { publicAccess: false } });
      const get = (headers: Record<string, string>) => fetch(`${closed.url}/api/v1/operations`, { headers });
      expect((await get({})).status).toBe(401);
      expect((await get(as("alice"))).status).toBe(200);
    });

    test("who is the operator acts as the venue", async () => {
      expect(await invokeAs(as("operator"))).toMatchObject({ status: 201, body: { caller: DID } });
    });
  });

  describe("a token that is wrong", () => {
    test("makes nobody anonymous", async () => {
      const before = served.adapter.calls.length;
      expect(await invokeAs({ authorization: "Bearer nonsense" })).toEqual({
        status: 401,
        body: { error: "Invalid or expired token" },
      });
      expect(served.adapter.calls).toHaveLength(before);
    });

    test("is not made right by a right one beside it", async () => {
      const line = "GET /api/v1/operations HTTP/1.1\r\nHost: localhost\r\n";
      const { authorization } = as("alice");
      for (const [first, second] of [
        [authorization, "Bearer x"],
        [authorization, authorization],
      ]) {
        const answer = await sendRaw(served.port, `${line}Authorization: ${first}\r\nAuthorization: ${second}\r\n\r\n`);
        expect([answer.status, answer.body]).toEqual([401, '{"error":"Invalid or expired token"}']);
      }
    });

    test("that is a delegation is told where it belongs", async () => {
      const told = await serve(
        {},
        { authenticate: () => ({ refused: "invalid_token", delegatedTo: "did:key:zBob\n" }) },
      );
      expect(await outcome(fetch(`${told.url}/api/v1/status`, { headers: as("bob") }))).toEqual({
        status: 401,
        body: {
          error:
            "Invalid or expired token: token is a delegation to did:key:zBob\\u{a}; send it in 'ucans' and authenticate as its audience",
        },
      });
    });
  });

  describe("too many requests", () => {
    /** Lets each sender through once. */
    function once(): { seen: string[]; rateLimit: RateLimit } {
      const seen: string[] = [];
      return {
        seen,
        rateLimit: async ({ did, address }) => {
          const sender = did ?? address;
          const known = seen.includes(sender);
          seen.push(sender);
          return known ? 1500 : 0;
        },
      };
    }

    test("are refused before anything is run, and told when to come back", async () => {
      const { rateLimit } = once();
      const slow = await serve({ read: () => 1 }, { http: { rateLimit } });
      const body = '{"operation":"file:read"}';
      expect((await postText(slow, "/api/v1/invoke", body)).status).toBe(201);
      const second = await postText(slow, "/api/v1/invoke", body);
      expect([second.status, second.headers.get("retry-after")]).toEqual([429, "2"]);
      expect(await second.json()).toEqual({ error: "Too many requests. Retry after 2 s" });
      expect(slow.adapter.calls).toHaveLength(1);
    });

    test("are counted by caller, and without one, or with a wrong token, by address", async () => {
      const { seen, rateLimit } = once();
      const slow = await serve({}, { http: { rateLimit } });
      const get = async (headers: Record<string, string>) =>
        (await fetch(`${slow.url}/api/v1/status`, { headers })).status;
      expect(await get(as("alice"))).toBe(200);
      expect(await get(as("bob"))).toBe(200);
      expect(await get({})).toBe(200);
      expect(await get(as("alice"))).toBe(429);
      expect(await get({ authorization: "Bearer wrong" })).toBe(429);
      expect(seen).toEqual([ALICE, expect.stringMatching(/Bob$/), ADDRESS, ALICE, ADDRESS]);
    });

    test.each([
      [true, "203.0.113.7"],
      [false, "127.0.0.1"],
    ])("are counted by the address a proxy tells only when it is trusted: %s", async (trustProxy, address) => {
      const { seen, rateLimit } = once();
      const slow = await serve({}, { http: { rateLimit, trustProxy } });
      await sendRaw(slow.port, rawRequest("GET /api/v1/status", { "X-Forwarded-For": "203.0.113.7" }));
      expect(seen).toEqual([expect.stringContaining(address)]);
    });
  });

  const ADDRESS = "127.0.0.1";

  test("every answer has an id of its own, by which its failure is found in the log", async () => {
    const broken = await serve(
      {},
      {
        didDocument: () => {
          throw new Error("broken");
        },
      },
    );
    const response = await fetch(`${broken.url}/.well-known/did.json`);
    const id = response.headers.get("x-request-id");
    expect(await response.json()).toEqual({ error: `Internal error (${id})` });
    expect(broken.logged).toEqual([{ error: expect.objectContaining({ message: "broken" }), requestId: id }]);
    const other = await fetch(`${broken.url}/api/v1/status`);
    expect(other.headers.get("x-request-id")).not.toBe(id);
  });
});

describe("requests of pages", () => {
  const APP = "https://app.example";
  let served: Served;
  let open: Served;
  beforeAll(async () => {
    served = await serve({ read: () => 1 }, { http: { corsOrigins: [APP] }, mcp: emptyMcp });
    open = await serve({ read: () => 1 }, { http: { corsOrigins: "*" } });
  });

  const send = (line: string, headers: Record<string, string> = {}, { port } = served): Promise<Answer> =>
    sendRaw(port, rawRequest(line, headers));
  const fetched = (dest: string, site: string, mode = "no-cors") => ({
    "Sec-Fetch-Dest": dest,
    "Sec-Fetch-Site": site,
    "Sec-Fetch-Mode": mode,
  });
  const NAVIGATION = fetched("document", "cross-site", "navigate");
  const asPart = (dest: string) => `{"error":"Nothing here is served as '${dest}' of a page. Read it with fetch()"}`;
  const FOREIGN = expect.stringContaining("Requests of other sites are refused");
  const lines = ["GET /api/v1/status", "GET /api/v1/operations", "GET /mcp", "GET /openapi.json", "GET /nope"];

  describe("content that a browser would run or embed is refused", () => {
    const dests = "script style worker sharedworker serviceworker object embed iframe frame manifest xslt".split(" ");
    test.each(dests.flatMap((dest) => ["same-origin", "cross-site", "none"].map((site) => [dest, site])))(
      "as %s, %s",
      async (dest, site) => {
        const answer = await send("GET /api/v1/status", fetched(dest, site));
        expect([answer.status, answer.body]).toEqual([403, asPart(dest)]);
      },
    );

    test.each([
      ["in capitals", { "Sec-Fetch-Dest": "SCRIPT" }],
      ["said alone", { "Sec-Fetch-Dest": "script" }],
      ["by a page that may call", { ...fetched("script", "cross-site", "cors"), Origin: APP }],
      ["by a navigation", fetched("iframe", "same-origin", "navigate")],
    ])("%s", async (_, headers) => {
      expect((await send("GET /api/v1/status", headers)).status).toBe(403);
    });

    test("where the header comes twice", async () => {
      const twice =
        "GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Dest: empty\r\nSec-Fetch-Dest: script\r\n\r\n";
      expect((await sendRaw(served.port, twice)).status).toBe(403);
    });

    test.each(lines)("whatever is asked for: %s", async (line) => {
      expect((await send(line, fetched("script", "same-origin"))).status).toBe(403);
    });

    test("before a token is looked at", async () => {
      const headers = { ...fetched("script", "same-origin"), Authorization: "Bearer wrong" };
      expect((await send("GET /api/v1/status", headers)).status).toBe(403);
    });
  });

  describe("requests of other sites are refused", () => {
    test.each(["cross-site", "same-site"])("%s", async (site) => {
      for (const dest of ["empty", "image", "video", "font", "document"]) {
        const answer = await send("GET /api/v1/status", fetched(dest, site));
        expect([answer.status, answer.body]).toEqual([403, FOREIGN]);
      }
    });

    test.each([
      ["a navigation of a frame", "GET", fetched("iframe", "cross-site", "navigate")],
      ["a navigation that is not to a document", "GET", fetched("empty", "cross-site", "navigate")],
      ["a document that is not navigated to", "GET", fetched("document", "cross-site", "no-cors")],
      ["a form", "POST", fetched("document", "cross-site", "navigate")],
    ])("%s", async (_, method, headers) => {
      expect((await send(`${method} /api/v1/invoke`, headers)).status).toBe(403);
    });

    test("of an origin that may not call, by its origin", async () => {
      const answer = await send("GET /api/v1/status", {
        ...fetched("empty", "cross-site"),
        Origin: "https://evil.example",
      });
      expect([answer.status, answer.body]).toEqual([403, expect.stringContaining("Origin not allowed")]);
    });
  });

  describe("what is left alone", () => {
    test.each<[string, Record<string, string>]>([
      ["a client without Sec-Fetch headers", {}],
      ["a page of the venue itself", fetched("empty", "same-origin", "cors")],
      ["an image on a page of the venue", fetched("image", "same-origin")],
      ["an address that was typed", fetched("document", "none", "navigate")],
      ["a link on another site", NAVIGATION],
      ["fetch of Node", { "Sec-Fetch-Mode": "cors" }],
      ["a page that may call", { ...fetched("empty", "cross-site", "cors"), Origin: APP }],
      ["its image", { ...fetched("image", "same-site", "cors"), Origin: APP }],
    ])("%s", async (_, headers) => {
      expect((await send("GET /api/v1/status", headers)).status).toBe(200);
    });

    test("a link that is asked for its headers only", async () => {
      const head = { path: "/api/v1/status", method: "HEAD", headers: NAVIGATION };
      expect((await sendAsIs(served.url, head)).status).toBe(200);
    });

    test("a preflight of a page that may call", async () => {
      const headers = {
        ...fetched("empty", "cross-site", "cors"),
        Origin: APP,
        "Access-Control-Request-Method": "POST",
      };
      expect((await send("OPTIONS /api/v1/invoke", headers)).status).toBe(204);
    });
  });

  describe("every answer says who may embed it", () => {
    const malformed = "GET /%zz";
    test.each([...lines, malformed, "DELETE /api/v1/status", "GET /api/v1/jobs/0x00"])("%s", async (line) => {
      const { headers } = await send(line);
      expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
      expect(headers.get("referrer-policy")).toBe("no-referrer");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      // They are for pages.
      for (const name of ["cross-origin-opener-policy", "x-frame-options", "permissions-policy"]) {
        expect(headers.get(name)).toBeUndefined();
      }
    });

    test("also one that no handler sees", async () => {
      const { status, headers } = await sendRaw(served.port, "nonsense\r\n\r\n");
      expect([status, headers.get("cross-origin-resource-policy")]).toEqual([400, "same-origin"]);
    });

    test.each<[string, Record<string, string>, string]>([
      ["an allowed origin", { Origin: APP }, "cross-origin"],
      ["no origin", {}, "same-origin"],
      ["an origin that may not call", { Origin: "https://evil.example" }, "same-origin"],
      ["the venue's own origin", { Origin: "http://localhost" }, "same-origin"],
      ["a refused destination", fetched("script", "same-origin"), "same-origin"],
    ])("to %s", async (_, headers, policy) => {
      for (const line of ["GET /api/v1/status", "GET /mcp", "GET /nope"]) {
        expect((await send(line, headers)).headers.get("cross-origin-resource-policy")).toBe(policy);
      }
    });

    test("to any origin where all may call", async () => {
      const { headers } = await send("GET /api/v1/status", { Origin: "https://other.example" }, open);
      expect(headers.get("cross-origin-resource-policy")).toBe("cross-origin");
    });
  });

  const preflight = (headers: Record<string, string> = {}) => ({
    Origin: APP,
    "Access-Control-Request-Method": "POST",
    ...headers,
  });

  describe("a page of an allowed origin", () => {
    test.each(["GET /api/v1/status", "GET /api/v1/operations", "GET /nope", "POST /mcp"])(
      "may read the answer to %s",
      async (line) => {
        const { headers } = await send(line, { Origin: APP });
        expect(headers.get("access-control-allow-origin")).toBe(APP);
        expect(headers.get("vary")).toBe("Origin");
      },
    );

    test("may read the answer of MCP", async () => {
      const { status, headers } = await send("GET /mcp", { Origin: APP });
      expect([status, headers.get("access-control-allow-origin")]).toEqual([200, APP]);
    });

    test("may read why its token is refused", async () => {
      const { status, headers } = await send("GET /api/v1/operations", {
        Origin: APP,
        Authorization: "Bearer x",
      });
      expect([status, headers.get("access-control-allow-origin")]).toEqual([401, APP]);
    });

    test("may read the headers that are part of an answer", async () => {
      const { headers } = await send("GET /api/v1/status", { Origin: APP });
      expect(headers.get("access-control-expose-headers")).toContain("location");
    });
  });

  describe("a preflight", () => {
    test("is answered with what may be sent, and nothing is run", async () => {
      const answer = await send("OPTIONS /api/v1/invoke", preflight());
      expect([answer.status, answer.body]).toEqual([204, ""]);
      expect(answer.headers.get("access-control-allow-origin")).toBe(APP);
      expect(answer.headers.get("access-control-allow-methods")).toBe("GET,POST,PUT,PATCH,DELETE,OPTIONS");
      expect(answer.headers.get("access-control-allow-headers")).toBe(
        "content-type, authorization, accept, last-event-id, mcp-session-id, mcp-protocol-version",
      );
      expect(answer.headers.get("access-control-allow-private-network")).toBeUndefined();
      expect(served.adapter.calls).toEqual([]);
    });

    test.each(["/mcp", "/mcp/", "/mcp?x=1"])("for %s names every header that the endpoint reads", async (path) => {
      const { headers } = await send(`OPTIONS ${path}`, preflight());
      const allowed = headers.get("access-control-allow-headers")?.split(", ");
      const revision = ["mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id", "last-event-id"];
      expect(allowed?.sort()).toEqual(["accept", "authorization", "content-type", ...revision].sort());
    });

    test("is answered without credentials where callers need them", async () => {
      const closed = await serve({ read: () => 1 }, { http: { corsOrigins: [APP], publicAccess: false } });
      expect((await send("OPTIONS /api/v1/invoke", preflight(), closed)).status).toBe(204);
      expect((await send("POST /api/v1/invoke", { Origin: APP }, closed)).status).toBe(401);
    });

    test("for an unmapped route is 404", async () => {
      expect((await send("OPTIONS /nope", preflight())).status).toBe(404);
    });

    test("of another origin is refused, without a word on what is allowed", async () => {
      const answer = await send("OPTIONS /api/v1/invoke", preflight({ Origin: "https://evil.example" }));
      expect([answer.status, answer.body]).toEqual([
        403,
        `{"error":"Origin not allowed. Add it to 'corsOrigins', or set 'baseUrl' if it is the venue's own"}`,
      ]);
      expect([...answer.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
    });

    test("gets into a private network from an origin that is named, never from any origin", async () => {
      const asks = preflight({ "Access-Control-Request-Private-Network": "true" });
      const named = await send("OPTIONS /api/v1/invoke", asks);
      expect(named.headers.get("access-control-allow-private-network")).toBe("true");
      const any = await send("OPTIONS /api/v1/invoke", asks, open);
      expect(any.status).toBe(204);
      expect(any.headers.get("access-control-allow-private-network")).toBeUndefined();
    });
  });

  test("with any origin allowed, the one that asks is echoed", async () => {
    const { headers } = await send("GET /api/v1/status", { Origin: "https://x.example" }, open);
    expect([headers.get("access-control-allow-origin"), headers.get("vary")]).toEqual(["https://x.example", "Origin"]);
  });

  test("without allowed origins nothing is said of them", async () => {
    const plain = await serve({ read: () => 1 });
    const { headers } = await send("GET /api/v1/status", as("alice"), plain);
    expect([...headers.keys()].filter((name) => name.startsWith("access-control") || name === "vary")).toEqual([]);
  });
});

describe("connections", () => {
  const MOST = 5;

  async function open(port: number): Promise<Socket> {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    return socket;
  }

  test("connections more than allowed are answered 503, also with a body, and there is room again when others end", async () => {
    const served = await serve({ read: () => 1 }, { http: { maxConnections: MOST } });
    const kept = await Promise.all(Array.from({ length: MOST }, () => open(served.port)));
    // Accepted for good: each has been answered.
    for (const socket of kept) {
      socket.write(rawRequest("GET /api/v1/status"));
      expect((await readAnswer(socket)).status).toBe(200);
    }
    const body = `{"operation":"file:read"}${" ".repeat(900_000)}`;
    const answers = await Promise.all(
      ["GET /api/v1/status", "POST /api/v1/invoke", "GET /nope"].map((line) =>
        line.startsWith("POST") ? postInvoke(served, body) : fetch(served.url + line.slice(4)),
      ),
    );
    for (const answer of answers) {
      expect([answer.status, answer.headers.get("retry-after"), answer.headers.get("connection")]).toEqual([
        503,
        "1",
        "close",
      ]);
      expect(await answer.json()).toEqual({ error: "Too many connections. Retry after 1 s" });
    }
    expect(served.adapter.calls).toEqual([]);
    for (const socket of kept) socket.destroy();
    let status = 503;
    while (status === 503) ({ status } = await fetch(`${served.url}/api/v1/status`));
    expect(status).toBe(200);
  });

  test("a flood of connections gets answers too, and leaves nothing behind", async () => {
    const served = await serve({ read: () => 1 }, { http: { maxConnections: 1 } });
    const kept = await open(served.port);
    kept.write(rawRequest("GET /api/v1/status"));
    await readAnswer(kept);
    const flood = await Promise.all(Array.from({ length: 400 }, () => open(served.port)));
    const answers = flood.map((socket) => readAnswer(socket));
    for (const socket of flood) socket.write(rawRequest("GET /api/v1/status"));
    const statuses = new Set((await Promise.all(answers)).map(({ status }) => status));
    expect([...statuses]).toEqual([503]);
    for (const socket of [kept, ...flood]) socket.destroy();
    while ((await fetch(`${served.url}/api/v1/status`)).status !== 200) await new Promise((go) => setImmediate(go));
  });

  test("a connection too many that asks nothing is ended", async () => {
    const served = await serve({}, { http: { maxConnections: 1 } });
    const kept = await open(served.port);
    kept.write(rawRequest("GET /api/v1/status"));
    await readAnswer(kept);
    const silent = await open(served.port);
    silent.resume();
    await once(silent, "close");
    expect(silent.bytesRead).toBe(0);
    kept.destroy();
  });
});
