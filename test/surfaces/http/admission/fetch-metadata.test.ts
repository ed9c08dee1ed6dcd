import { once } from "node:events";
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Answer, closeAll, rawRequest, type Served, sendRaw, serve } from "../fixture.js";

const APP = "https://app.example";
let served: Served;
let open: Served;
beforeAll(async () => {
  const mcp = async () => ({ serve: async () => ({ status: 200, message: {} }) });
  served = await serve({ read: () => 1 }, { http: { corsOrigins: [APP] }, mcp });
  open = await serve({ read: () => 1 }, { http: { corsOrigins: "*" } });
});
afterAll(closeAll);

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
    const asking = request({ port: served.port, path: "/api/v1/status", method: "HEAD", headers: NAVIGATION });
    const [answer] = await once(asking.end(), "response");
    expect(answer.resume().statusCode).toBe(200);
  });

  test("a preflight of a page that may call", async () => {
    const headers = { ...fetched("empty", "cross-site", "cors"), Origin: APP, "Access-Control-Request-Method": "POST" };
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
