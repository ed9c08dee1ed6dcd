import { createHash } from "node:crypto";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { zipOf } from "../../../backend/archive/zip-bytes.js";
import { run as runOverHttp } from "../client.js";
import { type DavVenue, hrefs, serveDav, textIn } from "./fixture.js";

let venue: DavVenue;
beforeAll(async () => {
  venue = await serveDav({ file: { roots: { limited: { temp: true, quota: { bytes: 1000 } } } } });
  mkdirSync(join(venue.docs, "sub/deep"), { recursive: true });
  writeFileSync(join(venue.docs, "a.txt"), "alpha");
  writeFileSync(join(venue.docs, "sub/b & c.txt"), "beta");
  symlinkSync("a.txt", join(venue.docs, "to-file"));
  symlinkSync("sub", join(venue.docs, "to-folder"));
  symlinkSync("/etc/passwd", join(venue.docs, "out"));
});
afterAll(() => venue.close());

const propfind = (path: string, depth: string, names?: string) =>
  venue.dav("PROPFIND", path, {
    headers: { depth },
    ...(names === undefined ? {} : { body: `<propfind xmlns="DAV:"><prop>${names}</prop></propfind>` }),
  });

describe("PROPFIND", () => {
  test("lists the roots that the caller holds something in", async () => {
    expect(hrefs(await propfind("/dav/", "1"))).toEqual([
      ...["/dav/", "/dav/docs/", "/dav/tmp/", "/dav/ro/", "/dav/home/", "/dav/hidden/", "/dav/limited/"],
    ]);
    const seen = await venue.dav("PROPFIND", "/dav/", { as: "reader", headers: { depth: "1" } });
    expect(hrefs(seen)).toEqual(["/dav/", "/dav/docs/", "/dav/ro/", "/dav/home/"]);
  });

  test("lists members with links to files, without other links, percent-encoded", async () => {
    expect(hrefs(await propfind("/dav/docs", "1"))).toEqual([
      ...["/dav/docs/", "/dav/docs/a.txt", "/dav/docs/sub/", "/dav/docs/to-file"],
    ]);
    expect(hrefs(await propfind("/dav/docs/sub/", "1"))).toEqual([
      ...["/dav/docs/sub/", "/dav/docs/sub/b%20%26%20c.txt", "/dav/docs/sub/deep/"],
    ]);
  });

  test("lists a folder whatever its links lead to", async () => {
    mkdirSync(join(venue.docs, "links"));
    const links = {
      loop: "loop",
      dead: "nowhere",
      out: "/etc/passwd",
      through: "../a.txt/x",
      top: "..",
      good: "../a.txt",
    };
    for (const [name, leads] of Object.entries(links)) symlinkSync(leads, join(venue.docs, "links", name));
    expect(hrefs(await propfind("/dav/docs/links", "1"))).toEqual(["/dav/docs/links/", "/dav/docs/links/good"]);
    rmSync(join(venue.docs, "links"), { recursive: true });
  });

  test("tells the same type of a file in a listing as alone", async () => {
    const types = async (path: string, depth: string) =>
      [...(await propfind(path, depth)).text.matchAll(/<D:getcontenttype>([^<]*)/g)].map(([, type]) => type);
    expect(await types("/dav/docs/", "1")).toContain((await types("/dav/docs/a.txt", "0"))[0]);
  });

  test("tells what there is of a file, its hash too", async () => {
    const answer = await propfind("/dav/docs/a.txt", "0");
    expect(answer.status).toBe(207);
    expect(textIn(answer, "D:getcontentlength")).toBe("5");
    expect(textIn(answer, "D:getcontenttype")).toBe("text/plain");
    expect(textIn(answer, "D:getetag")).toMatch(/^&quot;(?:stamp-[\w-]{32}|sha256-[\w-]{43})&quot;$/);
    expect(textIn(answer, "D:getlastmodified")).toMatch(/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/);
    expect(textIn(answer, "D:creationdate")).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  });

  test("walks all pages of a large collection, each member once", async () => {
    const names = Array.from({ length: 5100 }, (_, index) => `${index}`.padStart(4, "0"));
    mkdirSync(join(venue.docs, "large"));
    for (const name of names) writeFileSync(join(venue.docs, "large", name), "");
    expect(hrefs(await propfind("/dav/docs/large", "1", "<getcontentlength/>"))).toEqual([
      "/dav/docs/large/",
      ...names.map((name) => `/dav/docs/large/${name}`),
    ]);
    rmSync(join(venue.docs, "large"), { recursive: true });
  });

  test("leaves out names that no URL can reach, and keeps those that only Windows forbids", async () => {
    mkdirSync(join(venue.docs, "odd"));
    const names = ["a\\b", "con", "x:y?", "~$z", "._z", "e\u0301", "\u00e9", "a;b#c"];
    for (const name of [...names, Buffer.from([0x66, 0xff])]) {
      writeFileSync(Buffer.concat([Buffer.from(join(venue.docs, "odd/")), Buffer.from(name)]), "odd");
    }
    const listed = hrefs(await propfind("/dav/docs/odd/", "1")).slice(1);
    const reached = names.slice(1).map((name) => `/dav/docs/odd/${encodeURIComponent(name)}`);
    expect(listed.toSorted()).toEqual(reached.toSorted());
    for (const url of listed) expect((await venue.dav("GET", url)).text).toBe("odd");
    rmSync(join(venue.docs, "odd"), { recursive: true });
  });

  test("tells the quota of a root, beside all properties too, and of the disk where there is none", async () => {
    const quota = "<quota-used-bytes/><quota-available-bytes/>";
    const named = await propfind("/dav/limited/", "0", quota);
    expect([textIn(named, "D:quota-used-bytes"), textIn(named, "D:quota-available-bytes")]).toEqual(["0", "1000"]);
    const body = `<propfind xmlns="DAV:"><allprop/><include>${quota}<getetag/><displayname/><no/></include></propfind>`;
    const all = await venue.dav("PROPFIND", "/dav/limited/", { headers: { depth: "0" }, body });
    expect(textIn(all, "D:quota-available-bytes")).toBe("1000");
    expect(all.text.match(/<D:displayname>/g)).toHaveLength(1);
    expect(all.text).toContain("<D:getetag/><D:no/></D:prop><D:status>HTTP/1.1 404 Not Found</D:status>");
    // Without one it is the disk.
    expect(Number(textIn(await propfind("/dav/docs/", "0", quota), "D:quota-available-bytes"))).toBeGreaterThan(1000);
  });

  test("tells of locks only where something can be changed", async () => {
    const locks = "<lockdiscovery/><supportedlock/>";
    expect((await propfind("/dav/ro/r.txt", "0", locks)).text).not.toContain("200 OK");
    expect((await propfind("/dav/docs/a.txt", "0", locks)).text).not.toContain("404 Not Found");
  });

  test("separates what is there from what is not", async () => {
    const answer = await propfind("/dav/docs/a.txt", "0", '<getetag/><no/><x:y xmlns:x="urn:&amp;"/>');
    const [found, missing] = answer.text.split("<D:status>HTTP/1.1 200 OK</D:status>");
    expect(found).toContain("<D:getetag>");
    expect(missing).toContain('<D:no/><x:y xmlns:x="urn:&amp;"/>');
    expect(missing).toContain("<D:status>HTTP/1.1 404 Not Found</D:status>");
  });

  test.each([
    ["infinity", 403],
    ["2", 400],
    [undefined, 403],
  ])("with Depth: %s is %i", async (depth, status) => {
    const headers: Record<string, string> = depth === undefined ? {} : { depth };
    const answer = await venue.dav("PROPFIND", "/dav/docs/", { headers });
    expect([answer.status, answer.text.includes("<D:propfind-finite-depth/>")]).toEqual([status, status === 403]);
  });

  test.each([
    ["/dav/nothing/", 404],
    ["/dav/docs/nothing", 404],
    ["/dav/docs/a.txt/", 404],
    ["/dav/docs/a.txt/b", 404],
    ["/dav/docs/out", 403],
    ["/dav/docs/../tmp", 400],
    ["/dav/docs/%2e%2e/tmp", 400],
    ["/dav/docs/a%2fb", 400],
    ["/dav/docs/a%5cb", 400],
    ["/dav/docs/a%00b", 400],
    ["/dav/docs/%ff", 400],
    ["/dav/docs/%zz", 400],
    ["/dav/docs/.venue-files/x", 400],
    ["/dav/docs/a.txt#b", 400],
    ["/dav//docs//a.txt", 207],
    ["/dav/docs/to-folder", 207],
    ["/dlfs/nothing", 404],
    ["/dav", 207],
    ["/", 207],
  ])("of %s is %i", async (path, status) => {
    expect((await propfind(path, "0")).status).toBe(status);
  });
});

describe("GET", () => {
  test("sends a file with its version and time, in ranges, and knows what the client has", async () => {
    const whole = await venue.dav("GET", "/dav/docs/a.txt");
    expect([whole.status, whole.text]).toEqual([200, "alpha"]);
    const { etag, "last-modified": modified } = whole.headers;
    expect(whole.headers).toMatchObject({ "x-content-type-options": "nosniff", "accept-ranges": "bytes" });
    const ask = (headers: Record<string, string>) => venue.dav("GET", "/dav/docs/a.txt", { headers });
    expect((await ask({ range: "bytes=1-2" })).text).toBe("lp");
    expect((await ask({ "if-none-match": `${String(etag)}` })).status).toBe(304);
    // The hash as the other endpoints write it.
    const hash = `"sha256:${createHash("sha256").update("alpha").digest("hex")}"`;
    expect((await ask({ "if-none-match": `"x", W/${hash}` })).status).toBe(304);
    expect((await ask({ "if-none-match": hash.replace("sha256:", "sha256:0") })).status).toBe(200);
    expect((await ask({ range: "bytes=1-2", "if-range": hash })).text).toBe("lp");
    expect((await ask({ range: "bytes=1-2", "if-range": '"sha256:0"' })).text).toBe("alpha");
    expect((await ask({ "if-modified-since": `${String(modified)}` })).status).toBe(304);
    expect((await ask({ "if-modified-since": "Mon, 01 Jan 1990 00:00:00 GMT" })).status).toBe(200);
  });

  test("of a collection is a page that runs no script", async () => {
    const answer = await venue.dav("GET", "/dav/docs/sub/");
    expect(answer.headers["content-security-policy"]).toBe("default-src 'none'; frame-ancestors 'none'");
    expect(answer.text).toContain('<a href="./b%20%26%20c.txt">b &amp; c.txt</a>');
    const unslashed = await venue.dav("GET", "/dav/docs/sub");
    expect(unslashed.text).toContain('<a href="./sub/deep/">deep/</a>');
  });

  test.each([
    ["/dav/docs/a.txt/", 404],
    ["/dav/docs/none", 404],
    ["/dav/", 200],
    ["/dlfs/", 200],
  ])("of %s is %i", async (path, status) => {
    expect(await venue.status("GET", path)).toBe(status);
  });
});

test("callers without credentials are served where that is wished, and else asked for some", async () => {
  const open = await serveDav({ webdav: { anonymous: true } });
  try {
    const ask = (method: string, path: string) => open.status(method, path, { as: "nobody", headers: { depth: "1" } });
    expect(await ask("GET", "/dav/ro/r.txt")).toBe(200);
    expect(await ask("PROPFIND", "/dav/")).toBe(207);
    for (const path of ["/dav/docs/", "/dav/none/", "/dav/home/", "/dlfs/"])
      expect(await ask("PROPFIND", path)).toBe(401);
    expect(await open.status("PUT", "/dav/ro/x", { as: "nobody", body: "x" })).toBe(401);
  } finally {
    await open.close();
  }
});

test("without webdav there is nothing", async () => {
  const closed = await serveDav({ webdav: false });
  try {
    for (const path of ["/dav/", "/dlfs/"]) expect(await closed.status("PROPFIND", path, { as: "nobody" })).toBe(404);
  } finally {
    await closed.close();
  }
});

describe("a caller", () => {
  test("without credentials is asked for some, whether or not the target exists", async () => {
    const answers = await Promise.all(
      ["/dav/docs/a.txt", "/dav/docs/none", "/dav/none"].map((path) => venue.dav("PROPFIND", path, { as: "nobody" })),
    );
    for (const { status, text, headers } of answers) {
      expect([status, text]).toEqual([401, answers[0]?.text]);
      expect(headers["www-authenticate"]).toBe('Basic realm="venue-files", charset="UTF-8", Bearer');
    }
  });

  test("without credentials may ask what is supported", async () => {
    const answer = await venue.dav("OPTIONS", "/dav/none/", { as: "nobody" });
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({ "ms-author-via": "DAV" });
  });

  test("has an access token for one folder as its password, until it is revoked, and no session", async () => {
    const run = async (operation: string, input: object) => {
      const answer = await runOverHttp(venue.url, operation, input, venue.password("operator"));
      return (await answer.json()) as { token: string; id: string };
    };
    const basic = (token: string) => ({ authorization: `Basic ${Buffer.from(`laptop:${token}`).toString("base64")}` });
    const caps = [{ with: "file://docs/mine/", can: "crud" }];
    const { token, id } = await run("auth:issue", { label: "laptop", caps });
    await venue.status("MKCOL", "/dav/docs/mine");
    const headers = basic(token);
    expect(await venue.status("PUT", "/dav/docs/mine/f", { headers, body: "x" })).toBe(201);
    expect(await venue.status("GET", "/dav/docs/mine/f", { headers })).toBe(200);
    expect(await venue.status("PUT", "/dav/docs/f", { headers, body: "x" })).toBe(403);
    const move = { headers: { ...headers, destination: "/dav/docs/f" } };
    expect(await venue.status("MOVE", "/dav/docs/mine/f", move)).toBe(403);
    const session = await run("auth:issue", { label: "page" });
    expect(await venue.status("GET", "/dav/docs/mine/f", { headers: basic(session.token) })).toBe(401);
    await run("auth:revoke", { id });
    expect(await venue.status("GET", "/dav/docs/mine/f", { headers })).toBe(401);
    await venue.status("DELETE", "/dav/docs/mine");
  });

  test("with a wrong password is nobody, and Basic is for WebDAV alone", async () => {
    const authorization = `Basic ${Buffer.from("x:wrong").toString("base64")}`;
    expect(await venue.status("PROPFIND", "/dav/ro/", { headers: { authorization } })).toBe(401);
    const elsewhere = await venue.dav("GET", "/api/v1/jobs");
    expect([elsewhere.status, elsewhere.headers["www-authenticate"]]).toEqual([401, "Bearer"]);
  });

  test.each([
    ["GET", "cross-site", "no-cors", 403],
    ["GET", "same-site", "cors", 403],
    ["PUT", "cross-site", "navigate", 403],
    ["GET", "cross-site", "navigate", 200],
    ["GET", "same-origin", "cors", 200],
  ])("whose browser sends %s from %s by %s gets %i", async (method, site, mode, status) => {
    const headers = { "sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": "document" };
    expect(await venue.status(method, "/dav/docs/a.txt", { headers })).toBe(status);
  });
});

test("archives are files, and nothing in them is there for clients of WebDAV", async () => {
  const zip = zipOf([{ name: "a", content: "1" }]);
  writeFileSync(join(venue.docs, "x.zip"), zip);
  expect((await venue.dav("GET", "/dav/docs/x.zip")).status).toBe(200);
  for (const method of ["GET", "HEAD", "PROPFIND", "PUT", "MKCOL", "DELETE", "LOCK"]) {
    for (const path of ["/dav/docs/x.zip!/a", "/dav/docs/x.zip!", "/dav/docs/none.zip!/a"])
      expect([method, await venue.status(method, path, { headers: { depth: "0" } })]).toEqual([method, 403]);
  }
  const headers = { destination: `${venue.url}/dav/docs/x.zip!/b` };
  expect(await venue.status("COPY", "/dav/docs/a.txt", { headers })).toBe(403);
  rmSync(join(venue.docs, "x.zip"));
});
