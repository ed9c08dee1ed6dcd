import { createHash } from "node:crypto";
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { DeadProperties } from "../../../../src/surfaces/http/dav/properties/dead.js";
import { zipOf } from "../../../backend/archive/zip-bytes.js";
import { basic, bearer, run as runOverHttp } from "../client.js";
import { type Answer, type DavVenue, hrefs, serveDav, textIn } from "./fixture.js";

describe("reading", () => {
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
      const ask = (method: string, path: string) =>
        open.status(method, path, { as: "nobody", headers: { depth: "1" } });
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
      const caps = [{ with: "file://docs/mine/", can: "crud" }];
      const { token, id } = await run("auth:issue", { label: "laptop", caps });
      await venue.status("MKCOL", "/dav/docs/mine");
      const headers = basic(token, "laptop");
      expect(await venue.status("PUT", "/dav/docs/mine/f", { headers, body: "x" })).toBe(201);
      expect(await venue.status("GET", "/dav/docs/mine/f", { headers })).toBe(200);
      expect(await venue.status("PUT", "/dav/docs/f", { headers, body: "x" })).toBe(403);
      const move = { headers: { ...headers, destination: "/dav/docs/f" } };
      expect(await venue.status("MOVE", "/dav/docs/mine/f", move)).toBe(403);
      const session = await run("auth:issue", { label: "page" });
      expect(await venue.status("GET", "/dav/docs/mine/f", { headers: basic(session.token, "laptop") })).toBe(401);
      await run("auth:revoke", { id });
      expect(await venue.status("GET", "/dav/docs/mine/f", { headers })).toBe(401);
      await venue.status("DELETE", "/dav/docs/mine");
    });

    test("with a wrong password is nobody, and Basic is for WebDAV alone", async () => {
      expect(await venue.status("PROPFIND", "/dav/ro/", { headers: basic("wrong", "x") })).toBe(401);
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
});

describe("properties", () => {
  let venue: DavVenue;
  beforeAll(async () => {
    venue = await serveDav();
  });
  afterAll(() => venue.close());

  const patch = (path: string, content: string) =>
    venue.dav("PROPPATCH", path, {
      body: `<?xml version="1.0"?><D:propertyupdate xmlns:D="DAV:" xmlns:Z="urn:z">${content}</D:propertyupdate>`,
    });
  const set = (path: string, content: string) => patch(path, `<D:set><D:prop>${content}</D:prop></D:set>`);
  const ask = (path: string, content: string) =>
    venue.dav("PROPFIND", path, {
      headers: { depth: "0" },
      body: `<D:propfind xmlns:D="DAV:" xmlns:Z="urn:z"><D:prop>${content}</D:prop></D:propfind>`,
    });

  describe.each(["docs", "home"])("in %s, a property of the client's own", (root) => {
    const at = `/dav/${root}/file`;
    const put = () => venue.dav("PUT", at, { body: "x" });

    test("keeps its markup, namespaces and language", async () => {
      await put();
      const value = '<Z:a xml:lang="de" b="1 &amp; 2"><c xmlns="urn:c">t&lt;</c> x<Z:d/></Z:a>';
      expect((await set(at, value)).text).toContain("HTTP/1.1 200 OK");
      const { text } = await ask(at, "<Z:a/>");
      expect(text).toContain(
        '<Z:a xmlns:Z="urn:z" xml:lang="de" b="1 &amp; 2"><c xmlns="urn:c">t&lt;</c> x<Z:d/></Z:a>',
      );
    });

    test("goes with COPY and MOVE, and ends with DELETE and with a new file of the name", async () => {
      await put();
      await set(at, "<Z:a>kept</Z:a>");
      const [copied, moved] = [`${at}-copy`, `${at}-moved`];
      await venue.dav("COPY", at, { headers: { destination: copied } });
      await venue.dav("MOVE", copied, { headers: { destination: moved } });
      expect(textIn(await ask(moved, "<Z:a/>"), "Z:a")).toBe("kept");
      expect(textIn(await ask(at, "<Z:a/>"), "Z:a")).toBe("kept");
      await venue.dav("DELETE", at);
      await put();
      expect((await ask(at, "<Z:a/>")).text).toContain("404 Not Found");
      await venue.dav("PUT", at, { body: "over" });
      await set(at, "<Z:a>again</Z:a>");
      await venue.dav("PUT", at, { body: "the same file, new content" });
      expect(textIn(await ask(at, "<Z:a/>"), "Z:a")).toBe("again");
    });

    test("is removed, and comes with all properties and with their names", async () => {
      await put();
      await set(at, "<Z:a>1</Z:a><Z:b>2</Z:b>");
      await patch(at, "<D:remove><D:prop><Z:b/><Z:none/></D:prop></D:remove>");
      const all = await venue.dav("PROPFIND", at, { headers: { depth: "0" } });
      expect(all.text).toContain('<Z:a xmlns:Z="urn:z">1</Z:a>');
      expect(all.text).not.toContain("Z:b");
      const body = '<propfind xmlns="DAV:"><propname/></propfind>';
      const names = await venue.dav("PROPFIND", at, { headers: { depth: "0" }, body });
      expect(names.text).toContain('<x:a xmlns:x="urn:z"/>');
    });
  });

  test("all of a PROPPATCH is done, or none", async () => {
    await venue.dav("PUT", "/dav/docs/p", { body: "x" });
    const { status, text } = await set("/dav/docs/p", "<Z:a>1</Z:a><D:getetag>x</D:getetag>");
    expect(status).toBe(207);
    expect(text).toMatch(/<x:a xmlns:x="urn:z"\/><\/D:prop><D:status>HTTP\/1.1 424/);
    expect(text).toMatch(/<D:getetag\/><\/D:prop><D:status>HTTP\/1.1 403.*cannot-modify-protected-property/);
    expect((await ask("/dav/docs/p", "<Z:a/>")).text).toContain("404 Not Found");
  });

  test.each([
    ["<D:getlastmodified>Sun, 09 Sep 2001 01:46:40 GMT</D:getlastmodified>", "200", "200"],
    ["<D:lastmodified>1000000000</D:lastmodified>", "200", "200"],
    ["<D:lastmodified>once</D:lastmodified>", "409", "409"],
    [
      '<W:Win32LastModifiedTime xmlns:W="urn:schemas-microsoft-com:">Sun, 09 Sep 2001 01:46:40 GMT</W:Win32LastModifiedTime>',
      "200",
      "200",
    ],
    ['<W:Win32FileAttributes xmlns:W="urn:schemas-microsoft-com:">00000020</W:Win32FileAttributes>', "200", "200"],
  ])("setting %s is %s on a host root, %s on a drive", async (content, onHost, onDrive) => {
    for (const [root, status] of [
      ["docs", onHost],
      ["home", onDrive],
    ] as const) {
      const at = `/dav/${root}/timed`;
      await venue.dav("PUT", at, { body: "x" });
      expect((await set(at, content)).text).toContain(`HTTP/1.1 ${status} `);
      const found = await venue.dav("PROPFIND", at, { headers: { depth: "0" } });
      const isTime = content.includes("odified") && status === "200";
      expect(textIn(found, "D:getlastmodified") === "Sun, 09 Sep 2001 01:46:40 GMT").toBe(isTime);
    }
  });

  test("a damaged file of properties is set aside, not written over", async () => {
    const damaged = '{"version":1,"trees":{"docs":{"k":';
    const other = await serveDav({}, (base) => {
      mkdirSync(join(base, "state"), { mode: 0o700 });
      writeFileSync(join(base, "state/webdav-properties.json"), damaged, { mode: 0o600 });
    });
    try {
      await other.dav("PUT", "/dav/docs/k", { body: "x" });
      const body = '<propertyupdate xmlns="DAV:"><set><prop><a xmlns="urn:a">new</a></prop></set></propertyupdate>';
      expect((await other.dav("PROPPATCH", "/dav/docs/k", { body })).status).toBe(207);
      const path = join(other.base, "state/webdav-properties.json");
      expect(readFileSync(path, "utf8")).toContain("new");
      expect(readFileSync(`${path}.damaged`, "utf8")).toBe(damaged);
    } finally {
      await other.close();
    }
  });

  test("a property for which the disk has no room is refused as one that is too large", async () => {
    const at = "/dav/docs/no-room";
    await venue.dav("PUT", at, { body: "x" });
    const writing = jest.spyOn(DeadProperties.prototype, "change").mockResolvedValue(false);
    try {
      const small = await set(at, "<Z:a>small</Z:a>");
      const large = await set(at, `<Z:a>${"x".repeat(10_000)}</Z:a>`);
      expect(small).toMatchObject({ status: 207, text: expect.stringContaining("HTTP/1.1 507 ") });
      expect(small.text).toBe(large.text);
    } finally {
      writing.mockRestore();
    }
  });

  test("properties lie in the state directory, for its owner alone, and not in the root", async () => {
    await venue.dav("PUT", "/dav/docs/k", { body: "x" });
    await set("/dav/docs/k", "<Z:a>in the file</Z:a>");
    const path = join(venue.base, "state/webdav-properties.json");
    expect(readFileSync(path, "utf8")).toContain("in the file");
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  describe("the store of properties", () => {
    const spot = (path: string) => ({ tree: "t", segments: path.split("/") });
    const of = (xml: string, name = "{a}b") => new Map([[name, xml]]);

    test("has limits for a property, a resource, and all", async () => {
      const store = new DeadProperties(undefined);
      expect(store.fits(spot("a"), false, of("x".repeat(8193)))).toBe(false);
      expect(store.fits(spot("a"), false, of("x".repeat(8192)))).toBe(true);
      const many = new Map(Array.from({ length: 101 }, (_, index) => [`{a}p${index}`, "x"]));
      expect(store.fits(spot("a"), false, many)).toBe(false);
      const large = new Map(Array.from({ length: 8 }, (_, index) => [`{a}p${index}`, "x".repeat(8000)]));
      for (let index = 0; index < 262; index++) await store.change(spot(`f${index}`), false, large);
      expect(store.fits(spot("more"), false, large)).toBe(false);
      expect(store.hasRoomForCopy(spot("f1"))).toBe(false);
      store.drop(spot("f2"));
      store.drop(spot("f3"));
      expect(store.fits(spot("more"), false, large)).toBe(true);
    });

    test("survives a restart, and a file that is none of its own", async () => {
      let text: string | undefined;
      const aside: unknown[] = [];
      const file = {
        read: async () => text,
        async write(written: string) {
          text = written;
        },
        async setAside() {
          aside.push(text);
        },
      };
      const first = new DeadProperties(file);
      await first.ready();
      await Promise.all(["a", "b", "c/d"].map((path) => first.change(spot(path), false, of(path))));
      first.relocate(spot("c"), spot("e"), { isCopied: false, isDeep: true });
      await first.change(spot("z"), true, of("z"));
      const second = new DeadProperties(file);
      await second.ready();
      expect([...second.of(spot("e/d"), false).values()]).toEqual(["c/d"]);
      expect(second.of(spot("c/d"), false).size).toBe(0);
      // What was a file is a folder now.
      expect(second.of(spot("a"), true).size).toBe(0);
      expect(second.of(spot("a"), false).size).toBe(0);
      // What it has dropped is saved by now.
      await second.change(spot("q"), false, of("q"));
      expect(aside).toEqual([]);
      const foreign = [
        "",
        "null",
        "[1]",
        '{"trees":{"t":{"a":{"properties":{"x":1}}}}}',
        "no JSON",
        text?.slice(0, 40),
      ];
      for (const content of foreign) {
        text = content;
        const broken = new DeadProperties(file);
        await broken.ready();
        expect(broken.of(spot("a"), false).size).toBe(0);
      }
      expect(aside).toEqual(foreign);
    });

    test("what can be read of a damaged file is in the next one", async () => {
      const whole = '{"version":1,"trees":{"t":{"a":{"isCollection":false,"properties":{"{a}b":"kept"}}}}}';
      let text = whole.replace("false", '0,"x":1');
      const file = {
        read: async () => text,
        setAside: async () => {},
        async write(written: string) {
          text = written;
        },
      };
      expect(text).not.toBe(whole);
      await new DeadProperties(file).ready();
      await setImmediate();
      const next = new DeadProperties(file);
      await next.ready();
      expect([...next.of(spot("a"), false).values()]).toEqual(["kept"]);
      expect(text).toBe(whole);
    });

    test.each([
      ["ENOSPC", false],
      ["EDQUOT", false],
      ["EIO", false],
    ])("takes back what could not be written: %s", async (code, answer) => {
      let isFailing = false;
      const file = {
        read: async () => undefined,
        async write() {
          if (isFailing) throw Object.assign(new Error("failed"), { code });
        },
        setAside: async () => {},
      };
      const store = new DeadProperties(file);
      await store.ready();
      await store.change(spot("a"), false, of("before"));
      isFailing = true;
      const changed = (path: string) => store.change(spot(path), false, of("after"));
      expect(await Promise.all([changed("a"), changed("new")])).toEqual([answer, answer]);
      expect([...store.of(spot("a"), false).values()]).toEqual(["before"]);
      expect(store.of(spot("new"), false).size).toBe(0);
      isFailing = false;
      expect(await changed("a")).toBe(true);
      expect([...store.of(spot("a"), false).values()]).toEqual(["after"]);
    });
  });
});

// Validators: files of every size have a strong ETag and a time, and conditions take them.
describe("validators", () => {
  const LARGE = 9_000_000;
  /** Old enough for a stamp; its time of change is that of its making, so tests wait for that. */
  const settled = () => new Promise((resolve) => setTimeout(resolve, 2100));
  /** Has what comes happen as soon as a file has changed, however long it takes. */
  const atOnce = (name: string) => {
    jest.spyOn(Date, "now").mockReturnValue(Math.ceil(statSync(join(served.docs, name)).ctimeMs));
  };
  /** Has the rest of a test happen so much later. */
  const later = () => {
    jest.restoreAllMocks();
    const now = Date.now;
    jest.spyOn(Date, "now").mockImplementation(() => now() + 2100);
  };
  const STAMP = /^"stamp-[\w-]{32}"$/;

  let served: DavVenue;
  beforeAll(async () => {
    served = await serveDav({ webdav: true });
    for (const name of ["large", "other", "rewritten"]) writeFileSync(join(served.docs, name), name);
    for (const name of ["large", "other"]) truncateSync(join(served.docs, name), LARGE);
    writeFileSync(join(served.docs, "small"), "small");
    await settled();
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });
  afterAll(() => served.close());

  const tag = ({ headers }: Answer) => String(headers["etag"]);
  const api = (method: string, path: string, headers: Record<string, string> = {}, body?: string) =>
    served.dav(method, `/api/v1/files/${path}`, {
      headers: { ...bearer(served.password("operator")), ...headers },
      ...(body === undefined ? {} : { body }),
    });
  const dav = (method: string, path: string, headers: Record<string, string> = {}, body?: string) =>
    served.dav(method, `/dav/${path}`, { headers, ...(body === undefined ? {} : { body }) });
  const etagIn = (answer: Answer) => textIn(answer, "D:getetag")?.replaceAll("&quot;", '"');
  const found = async (path: string) => etagIn(await dav("PROPFIND", path, { depth: "0" }));
  /** From a listing of the folder. */
  async function listed(path: string): Promise<string | undefined> {
    const [folder, name] = [path.slice(0, path.lastIndexOf("/") + 1), path.slice(path.lastIndexOf("/") + 1)];
    const { text, ...answer } = await dav("PROPFIND", folder, { depth: "1" });
    const row = text.split("<D:response>").find((one) => one.includes(`/${name}</D:href>`)) ?? "";
    return etagIn({ ...answer, text: row });
  }
  const sha256 = (name: string) =>
    `"sha256:${createHash("sha256")
      .update(readFileSync(join(served.docs, name)))
      .digest("hex")}"`;

  describe("over WebDAV", () => {
    test.each(["docs/large", "docs/small"])("%s has one stamp in every answer", async (path) => {
      const stamp = tag(await dav("GET", path, { range: "bytes=0-0" }));
      expect(stamp).toMatch(STAMP);
      expect([tag(await dav("HEAD", path)), await found(path), await listed(path)]).toEqual([stamp, stamp, stamp]);
    });

    test.each(["docs", "tmp", "home"])("a PUT into %s gives it at once, and it stays", async (root) => {
      const path = `${root}/put`;
      const stamps: string[] = [];
      for (const content of ["one", "two", "six"]) {
        const put = tag(await dav("PUT", path, {}, content));
        expect(put).toMatch(STAMP);
        expect([tag(await dav("GET", path)), await found(path), await listed(path)]).toEqual([put, put, put]);
        stamps.push(put);
      }
      expect(new Set(stamps).size).toBe(3);
      later();
      expect([await found(path), await listed(path)]).toEqual([stamps[2], stamps[2]]);
      // With a time of its own it has another one.
      const dated = tag(await dav("PUT", path, { "x-oc-mtime": "1600000000.5" }, "six"));
      expect([await found(path), await listed(path)]).toEqual([dated, dated]);
    });

    test("what others write has none until it is settled, also right after a PUT", async () => {
      const path = "docs/shared";
      const put = tag(await dav("PUT", path, {}, "mine"));
      const { mtimeMs } = statSync(join(served.docs, "shared"));
      writeFileSync(join(served.docs, "shared"), "them");
      atOnce("shared");
      expect(await listed(path)).toBeUndefined();
      // Alone it has its hash, which names it until then.
      const young = tag(await dav("GET", path));
      expect(young).toMatch(/^"sha256-[\w-]{43}"$/);
      expect(await found(path)).toBe(young);
      expect(await served.status("PUT", `/dav/${path}`, { headers: { "if-match": put }, body: "again" })).toBe(412);
      // Also where the time of the content is set back.
      utimesSync(join(served.docs, "shared"), mtimeMs / 1000, mtimeMs / 1000);
      expect(await found(path)).not.toBe(put);
      later();
      expect(await found(path)).toMatch(STAMP);
      expect(await found(path)).not.toBe(put);
    });

    test("changing methods take it, and refuse that of another version", async () => {
      const stamp = async (path: string) => tag(await dav("PUT", path, {}, path));
      const first = await stamp("docs/c");
      const second = await stamp("docs/c");
      expect(first).not.toBe(second);
      const on = (method: string, headers: Record<string, string>) =>
        served.status(method, "/dav/docs/c", { headers, ...(method === "PUT" ? { body: "new" } : {}) });
      for (const method of ["PUT", "DELETE"]) expect(await on(method, { "if-match": first })).toBe(412);
      for (const method of ["MOVE", "COPY"]) {
        expect(await on(method, { "if-match": first, destination: "/dav/docs/d" })).toBe(412);
        expect(await on(method, { if: `([${first}])`, destination: "/dav/docs/d" })).toBe(412);
      }
      expect(await on("COPY", { "if-match": `${first}, ${second}`, destination: "/dav/docs/d" })).toBe(201);
      expect(await on("PUT", { "if-match": second })).toBe(204);
      const third = tag(await dav("HEAD", "docs/c"));
      expect(await on("PUT", { if: `([${third}])`, "if-none-match": second })).toBe(204);
      expect(await on("MOVE", { if: `(Not [${third}])`, destination: "/dav/docs/e" })).toBe(201);
      expect(await on("DELETE", { "if-match": "*" })).toBe(404);
      expect(await served.status("DELETE", "/dav/docs/e", { headers: { "if-match": sha256("e") } })).toBe(204);
    });
  });

  describe("/api/v1/files", () => {
    test("gives the hash of small files and after a PUT, else the stamp", async () => {
      expect(tag(await api("GET", "docs/small"))).toBe(sha256("small"));
      expect(tag(await api("HEAD", "docs/large"))).toBe(tag(await dav("HEAD", "docs/large")));
      const put = await api("PUT", "docs/big", {}, "b".repeat(LARGE));
      expect(tag(put)).toBe(sha256("big"));
      expect(tag(await api("HEAD", "docs/big"))).toBe(tag(put));
      expect(tag(await dav("HEAD", "docs/big"))).toMatch(STAMP);
    });

    test("every file has a time, and If-Modified-Since counts", async () => {
      for (const path of ["docs/small", "docs/large"]) {
        const { headers } = await api("HEAD", path);
        const time = String(headers["last-modified"]);
        expect(Date.parse(time)).toBe(Math.floor(statSync(join(served.docs, path.slice(5))).mtimeMs / 1000) * 1000);
        expect((await api("GET", path, { "if-modified-since": time })).status).toBe(304);
        expect((await api("GET", path, { "if-unmodified-since": time, range: "bytes=0-1" })).status).toBe(206);
        expect((await api("GET", path, { "if-unmodified-since": "Sat, 01 Jan 2000 00:00:00 GMT" })).status).toBe(412);
      }
    });
  });

  describe.each([
    ["WebDAV", dav],
    ["/api/v1/files", api],
  ] as const)("reading conditions over %s", (_, ask) => {
    const range = { range: "bytes=1-3" };
    test.each(["large", "small"])("take the stamp and the hash of %s alike", async (name) => {
      const path = `docs/${name}`;
      const stamp = tag(await dav("HEAD", path));
      const other = tag(await dav("HEAD", "docs/other"));
      const hash = sha256(name);
      const short = `"sha256-${Buffer.from(hash.slice(8, -1), "hex").toString("base64url")}"`;
      for (const tagged of [stamp, hash, short]) {
        const status = async (headers: Record<string, string>) => [
          tagged,
          (await ask("GET", path, { ...headers, ...range })).status,
        ];
        expect(await status({ "if-match": tagged })).toEqual([tagged, 206]);
        expect(await status({ "if-match": `${other}, ${tagged}` })).toEqual([tagged, 206]);
        expect(await status({ "if-none-match": tagged })).toEqual([tagged, 304]);
        expect(await status({ "if-none-match": `W/${tagged}` })).toEqual([tagged, 304]);
        expect(await status({ "if-range": tagged })).toEqual([tagged, 206]);
      }
      for (const wrong of [other, `"sha256:${"0".repeat(64)}"`, '"x"', `W/${stamp}`]) {
        expect([wrong, (await ask("GET", path, { "if-match": wrong })).status]).toEqual([wrong, 412]);
        expect([wrong, (await ask("HEAD", path, { "if-match": wrong })).status]).toEqual([wrong, 412]);
        expect([wrong, (await ask("GET", path, { "if-range": wrong, ...range })).status]).toEqual([wrong, 200]);
      }
      expect((await ask("GET", path, { "if-match": "*", ...range })).status).toBe(206);
      expect((await ask("GET", path, { "if-none-match": other, ...range })).status).toBe(206);
    });

    test("If-Range by time goes on with the same version only", async () => {
      const time = String((await ask("HEAD", "docs/large")).headers["last-modified"]);
      expect((await ask("GET", "docs/large", { "if-range": time, ...range })).status).toBe(206);
      const later = new Date(Date.parse(time) + 1000).toUTCString();
      expect((await ask("GET", "docs/large", { "if-range": later, ...range })).status).toBe(200);
      // Within its second there may be another version.
      appendFileSync(join(served.docs, "rewritten"), "more");
      atOnce("rewritten");
      const young = String((await ask("HEAD", "docs/rewritten")).headers["last-modified"]);
      expect((await ask("GET", "docs/rewritten", { "if-range": young, ...range })).status).toBe(200);
    });
  });

  test("PUT of /api/v1/files takes the stamp as If-Match", async () => {
    const stamp = tag(await dav("PUT", "docs/p", {}, "one"));
    expect((await api("PUT", "docs/p", { "if-match": tag(await dav("HEAD", "docs/other")) }, "two")).status).toBe(412);
    expect((await api("PUT", "docs/p", { "if-match": stamp }, "two")).status).toBe(204);
    expect((await api("PUT", "docs/p", { "if-match": stamp }, "three")).status).toBe(412);
    const next = tag(await dav("HEAD", "docs/p"));
    const part = { "if-match": next, "upload-offset": "3", "content-type": "application/offset+octet-stream" };
    expect((await api("PATCH", "docs/p", part, " more")).status).toBe(204);
    expect((await api("PATCH", "docs/p", { ...part, "upload-offset": "8" }, "!")).status).toBe(412);
    expect((await dav("GET", "docs/p")).text).toBe("two more");
  });

  test("a stamp outlives the venue, tells nothing of the file, and is another one with another key", async () => {
    const first = tag(await dav("HEAD", "docs/large"));
    const { dev, ino, size } = statSync(join(served.docs, "large"));
    // Two digits may be there by chance.
    const numbers = [dev, ino, size].map(String).filter((number) => number.length > 5);
    for (const number of numbers) expect(first).not.toContain(number);
    const again = await serveDav({ webdav: true, file: { roots: { docs: { path: served.docs } } } });
    const other = await serveDav({
      webdav: true,
      seed: "0a".repeat(32),
      file: { roots: { docs: { path: served.docs } } },
    });
    try {
      expect(tag(await again.dav("HEAD", "/dav/docs/large"))).toBe(first);
      expect(tag(await other.dav("HEAD", "/dav/docs/large"))).toMatch(STAMP);
      expect(tag(await other.dav("HEAD", "/dav/docs/large"))).not.toBe(first);
    } finally {
      await Promise.all([again.close(), other.close()]);
    }
  });

  test("answers of operations hold no stamp", async () => {
    for (const [operation, input] of [
      ["file:list", { root: "docs", path: "" }],
      ["file:stat", { root: "docs", path: "large" }],
    ] as const) {
      const text = await (await runOverHttp(served.url, operation, input, served.password("operator"))).text();
      expect(text).toContain(`${LARGE}`);
      expect(text).not.toMatch(/stamp|"tag"/);
    }
  });
});
