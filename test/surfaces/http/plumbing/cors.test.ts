import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Answer, as, closeAll, rawRequest, type Served, sendRaw, serve } from "../fixture.js";

const APP = "https://app.example";
let served: Served;
let open: Served;
beforeAll(async () => {
  const mcp = async () => ({ serve: async () => ({ status: 200, message: {} }) });
  served = await serve({ read: () => 1 }, { http: { corsOrigins: [APP] }, mcp });
  open = await serve({ read: () => 1 }, { http: { corsOrigins: "*" } });
});
afterAll(closeAll);

const send = ({ port }: Served, line: string, headers: Record<string, string> = {}): Promise<Answer> =>
  sendRaw(port, rawRequest(line, headers));

const preflight = (headers: Record<string, string> = {}) => ({
  Origin: APP,
  "Access-Control-Request-Method": "POST",
  ...headers,
});

describe("a page of an allowed origin", () => {
  test.each(["GET /api/v1/status", "GET /api/v1/operations", "GET /nope", "POST /mcp"])(
    "may read the answer to %s",
    async (line) => {
      const { headers } = await send(served, line, { Origin: APP });
      expect(headers.get("access-control-allow-origin")).toBe(APP);
      expect(headers.get("vary")).toBe("Origin");
    },
  );

  test("may read the answer of MCP", async () => {
    const { status, headers } = await send(served, "GET /mcp", { Origin: APP });
    expect([status, headers.get("access-control-allow-origin")]).toEqual([200, APP]);
  });

  test("may read why its token is refused", async () => {
    const { status, headers } = await send(served, "GET /api/v1/operations", {
      Origin: APP,
      Authorization: "Bearer x",
    });
    expect([status, headers.get("access-control-allow-origin")]).toEqual([401, APP]);
  });

  test("may read the headers that are part of an answer", async () => {
    const { headers } = await send(served, "GET /api/v1/status", { Origin: APP });
    expect(headers.get("access-control-expose-headers")).toContain("location");
  });
});

describe("a preflight", () => {
  test("is answered with what may be sent, and nothing is run", async () => {
    const answer = await send(served, "OPTIONS /api/v1/invoke", preflight());
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
    const { headers } = await send(served, `OPTIONS ${path}`, preflight());
    const allowed = headers.get("access-control-allow-headers")?.split(", ");
    const revision = ["mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id", "last-event-id"];
    expect(allowed?.sort()).toEqual(["accept", "authorization", "content-type", ...revision].sort());
  });

  test("is answered without credentials where callers need them", async () => {
    const closed = await serve({ read: () => 1 }, { http: { corsOrigins: [APP], publicAccess: false } });
    expect((await send(closed, "OPTIONS /api/v1/invoke", preflight())).status).toBe(204);
    expect((await send(closed, "POST /api/v1/invoke", { Origin: APP })).status).toBe(401);
  });

  test("for an unmapped route is 404", async () => {
    expect((await send(served, "OPTIONS /nope", preflight())).status).toBe(404);
  });

  test("of another origin is refused, without a word on what is allowed", async () => {
    const answer = await send(served, "OPTIONS /api/v1/invoke", preflight({ Origin: "https://evil.example" }));
    expect([answer.status, answer.body]).toEqual([
      403,
      `{"error":"Origin not allowed. Add it to 'corsOrigins', or set 'baseUrl' if it is the venue's own"}`,
    ]);
    expect([...answer.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
  });

  test("gets into a private network from an origin that is named, never from any origin", async () => {
    const asks = preflight({ "Access-Control-Request-Private-Network": "true" });
    const named = await send(served, "OPTIONS /api/v1/invoke", asks);
    expect(named.headers.get("access-control-allow-private-network")).toBe("true");
    const any = await send(open, "OPTIONS /api/v1/invoke", asks);
    expect(any.status).toBe(204);
    expect(any.headers.get("access-control-allow-private-network")).toBeUndefined();
  });
});

test("with any origin allowed, the one that asks is echoed", async () => {
  const { headers } = await send(open, "GET /api/v1/status", { Origin: "https://x.example" });
  expect([headers.get("access-control-allow-origin"), headers.get("vary")]).toEqual(["https://x.example", "Origin"]);
});

test("without allowed origins nothing is said of them", async () => {
  const plain = await serve({ read: () => 1 });
  const { headers } = await send(plain, "GET /api/v1/status", as("alice"));
  expect([...headers.keys()].filter((name) => name.startsWith("access-control") || name === "vary")).toEqual([]);
});
