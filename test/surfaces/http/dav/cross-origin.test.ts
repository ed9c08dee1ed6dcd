// CORS at the URLs of WebDAV: what pages of an allowed origin may send, and what they may read of the answer.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Answer, type DavVenue, serveDav } from "./fixture.js";

const APP = "https://app.example";
const API_METHODS = "GET,POST,PUT,PATCH,DELETE,OPTIONS";
let venue: DavVenue;

beforeAll(async () => {
  venue = await serveDav({ corsOrigins: [APP] });
});
afterAll(() => venue.close());

/** A preflight carries no credentials. */
const preflight = (path: string, method: string, origin = APP): Promise<Answer> =>
  venue.dav("OPTIONS", path, { as: "nobody", headers: { origin, "access-control-request-method": method } });
const bearer = () => ({ origin: APP, authorization: `Bearer ${venue.password("operator")}` });
const listOf = (answer: Answer, header: string): string[] => `${answer.headers[header]}`.split(/, ?/);
const corsHeaders = ({ headers }: Answer): string[] =>
  Object.keys(headers).filter((name) => name.startsWith("access-control"));

test.each(["/dav", "/dav/", "/dav/docs/a%20b.txt", "/%64av/docs/", "/dlfs", "/dlfs/notes/x"])(
  "a preflight for %s names each method of WebDAV, and the headers that they take",
  async (path) => {
    const answer = await preflight(path, "PROPFIND");
    const served = listOf(await venue.dav("OPTIONS", "/dav/docs/"), "allow");
    expect(served).toContain("PROPPATCH");
    expect([answer.status, answer.text, answer.headers["access-control-allow-origin"]]).toEqual([204, "", APP]);
    expect(listOf(answer, "access-control-allow-methods").sort()).toEqual(served.sort());
    const headers = listOf(answer, "access-control-allow-headers");
    for (const name of ["authorization", "depth", "destination", "if", "lock-token", "overwrite", "timeout"])
      expect(headers).toContain(name);
    expect(answer.headers["access-control-allow-credentials"]).toBeUndefined();
  },
);

test.each(["/", "/api/v1/invoke", "/api/v1/files/docs/a.txt", "/workspace/"])(
  "a preflight for %s names none of them",
  async (path) => {
    const answer = await preflight(path, "PROPFIND");
    expect([answer.status, answer.headers["access-control-allow-methods"]]).toEqual([204, API_METHODS]);
    expect(listOf(answer, "access-control-allow-headers")).not.toContain("depth");
  },
);

test("a preflight of another origin is refused, and tells nothing", async () => {
  const answer = await preflight("/dav/docs/", "PROPFIND", "https://evil.example");
  expect([answer.status, corsHeaders(answer)]).toEqual([403, []]);
});

describe("a page of an allowed origin", () => {
  test("works with a bearer token, and may read what WebDAV answers in headers", async () => {
    const headers = bearer();
    const put = await venue.dav("PUT", "/dav/docs/page.txt", { as: "nobody", headers, body: "of a page" });
    expect([put.status, put.headers["access-control-allow-origin"]]).toEqual([201, APP]);
    const answer = await venue.dav("PROPFIND", "/dav/docs/page.txt", {
      as: "nobody",
      headers: { ...headers, depth: "0" },
    });
    expect(answer.status).toBe(207);
    const exposed = listOf(answer, "access-control-expose-headers");
    for (const name of ["etag", "dav", "allow", "lock-token", "x-request-id"]) expect(exposed).toContain(name);
    const status = await venue.dav("GET", "/api/v1/status", { as: "nobody", headers });
    expect(listOf(status, "access-control-expose-headers")).not.toContain("lock-token");
  });

  test("may not use a password that the browser keeps", async () => {
    for (const site of ["cross-site", "same-site"]) {
      const headers = { origin: APP, "sec-fetch-site": site, "sec-fetch-mode": "cors", depth: "0" };
      expect([site, await venue.status("PROPFIND", "/dav/docs/", { headers })]).toEqual([site, 403]);
    }
  });
});
