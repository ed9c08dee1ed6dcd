import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Ask, type DavVenue, serveDav } from "./fixture.js";

let venue: DavVenue;
beforeAll(async () => {
  venue = await serveDav({ file: { roots: { denied: { path: "denied", deny: ["**/secret*"] } } } }, (base) => {
    mkdirSync(join(base, "denied/tree"), { recursive: true });
    for (const name of ["secret.txt", "tree/secret.txt", "open.txt"])
      writeFileSync(join(base, "denied", name), "SECRET");
  });
  writeFileSync(join(venue.base, "outside.txt"), "OUTSIDE");
  writeFileSync(join(venue.docs, "a.txt"), "alpha");
});
afterAll(() => venue.close());

const METHODS = ["GET", "PROPFIND", "PUT", "DELETE", "MKCOL", "LOCK", "PROPPATCH", "COPY", "MOVE"];

const MAKING = ["PUT", "MKCOL"];

describe("no spelling of a path leads out of its root", () => {
  const spellings = [
    "../outside.txt",
    "..%2foutside.txt",
    "%2e%2e/outside.txt",
    "%2e%2e%2foutside.txt",
    ".%2e/outside.txt",
    "x/../../outside.txt",
    "..%5coutside.txt",
    "..\\outside.txt",
    "%252e%252e/outside.txt",
    "..%c0%afoutside.txt",
    "%c0%ae%c0%ae/outside.txt",
    "..%00/outside.txt",
    "./../outside.txt",
    "%2e/outside.txt",
    "..;/outside.txt",
    "/../outside.txt",
    "a.txt%00.jpg",
    ".venue-files/x",
    ".venue-files",
  ];

  test.each(spellings)("%s", async (spelling) => {
    for (const method of METHODS) {
      const answer = await venue.dav(method, `/dav/docs/${spelling}`, {
        headers: { depth: "0", destination: "/dav/docs/stolen" },
      });
      // Some spellings are plain names, which can be made.
      if (!MAKING.includes(method)) expect([method, answer.status >= 400]).toEqual([method, true]);
      expect(answer.text).not.toContain("OUTSIDE");
    }
    const headers = { destination: `/dav/docs/${spelling}`, overwrite: "T" };
    const copied = await venue.dav("COPY", "/dav/docs/a.txt", { headers });
    if (copied.status < 300) expect(spelling).toMatch(/^(?:%252e%252e|\.\.;)/);
    expect((await venue.dav("GET", "/dav/docs/stolen")).text).not.toContain("OUTSIDE");
  });
});

describe("no link leads out of its root", () => {
  test.each([
    ["absolute", () => venue.base],
    ["relative", () => ".."],
    ["the top of the system", () => `/../..${venue.base}`],
    ["a chain", () => "link-absolute"],
    ["a loop", () => "link-a loop"],
    ["out and back in", () => "../docs/.."],
    ["magic", () => `/proc/self/root${venue.base}`],
  ])("%s", async (name, leads) => {
    symlinkSync(leads(), join(venue.docs, `link-${name}`));
    const before = readdirSync(venue.base);
    const at = `/dav/docs/${encodeURIComponent(`link-${name}`)}`;
    for (const url of [`${at}/outside.txt`, `${at}/`, `${at}/made`, `${at}/denied/open.txt`]) {
      for (const method of METHODS) {
        const headers = { depth: method === "PROPFIND" ? "1" : "infinity", destination: "/dav/docs/stolen" };
        const body = method === "LOCK" ? { body: LOCK } : method === "PUT" ? { body: "x" } : {};
        const answer = await venue.dav(method, url, { headers, ...body });
        expect([method, url, answer.status >= 400]).toEqual([method, url, true]);
        expect(answer.text).not.toMatch(/OUTSIDE|SECRET/);
      }
      for (const method of ["COPY", "MOVE"]) {
        const headers = { destination: url };
        // With a slash it is the link itself, which may be replaced.
        if (url.endsWith("/")) continue;
        expect([method, (await venue.status(method, "/dav/docs/a.txt", { headers })) >= 400]).toEqual([method, true]);
      }
    }
    expect([readdirSync(venue.base), readFileSync(join(venue.base, "outside.txt"), "utf8")]).toEqual([
      before,
      "OUTSIDE",
    ]);
    expect(readdirSync(venue.docs)).not.toContain("stolen");
  });
});

test("a folder that is swapped for a link while it is used leads nowhere", async () => {
  const [folder, link, spare] = ["race", "race-link", "race-spare"].map((name) => join(venue.docs, name));
  if (folder === undefined || link === undefined || spare === undefined) throw new Error("no names");
  mkdirSync(folder);
  writeFileSync(join(folder, "outside.txt"), "inside");
  symlinkSync(venue.base, link);
  let isOver = false;
  const swap = async () => {
    while (!isOver) {
      renameSync(folder, spare);
      renameSync(link, folder);
      await new Promise((resolve) => setImmediate(resolve));
      renameSync(folder, link);
      renameSync(spare, folder);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const swapping = swap();
  const ask = async () => {
    for (let index = 0; index < 30; index++) {
      expect((await venue.dav("GET", "/dav/docs/race/outside.txt")).text).not.toContain("OUTSIDE");
      const headers = { destination: "/dav/docs/taken", depth: "infinity" };
      await venue.dav("COPY", "/dav/docs/race/outside.txt", { headers });
      expect((await venue.dav("GET", "/dav/docs/taken")).text).not.toContain("OUTSIDE");
      await venue.dav("PUT", "/dav/docs/race/written.txt", { body: "x" });
    }
  };
  await Promise.all([ask(), ask()]).finally(() => {
    isOver = true;
  });
  await swapping;
  expect(() => rmSync(join(venue.base, "written.txt"))).toThrow("ENOENT");
});

describe("what is denied", () => {
  test.each<[string, string, Ask, number]>([
    ["GET", "secret.txt", {}, 403],
    ["PROPFIND", "secret.txt", { headers: { depth: "0" } }, 403],
    ["PUT", "secret-new", { body: "x" }, 403],
    ["LOCK", "secret-new", {}, 403],
    ["COPY", "open.txt", { headers: { destination: "/dav/denied/secret-copy" } }, 403],
    ["MOVE", "tree", { headers: { destination: "/dav/denied/elsewhere" } }, 403],
    ["DELETE", "tree", {}, 403],
    ["COPY", "open.txt", { headers: { destination: "/dav/denied/tree" } }, 403],
  ])("%s %s stays so", async (method, path, ask, status) => {
    const body = method === "LOCK" ? LOCK : ask.body;
    const answer = await venue.dav(method, `/dav/denied/${path}`, { ...ask, ...(body === undefined ? {} : { body }) });
    expect(answer.status).toBe(status);
    expect(answer.text).not.toContain("SECRET");
  });

  test("is not listed, and not told from what is missing", async () => {
    const listed = await venue.dav("PROPFIND", "/dav/denied/", { headers: { depth: "1" } });
    expect(listed.text).not.toContain("secret");
    const [there, missing] = [
      await venue.dav("GET", "/dav/denied/secret.txt"),
      await venue.dav("GET", "/dav/denied/secret.none"),
    ];
    expect([missing.status, missing.text.replace("secret.none", "secret.txt")]).toEqual([there.status, there.text]);
  });
});

const LOCK = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>';

describe("XML", () => {
  const bomb = `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]><propfind xmlns="DAV:"><prop><x>&a;</x></prop></propfind>`;
  test.each<[string, string | Buffer, number]>([
    ["a document type", bomb, 400],
    ["an entity of a file", '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>', 400],
    ["an unknown entity", '<propfind xmlns="DAV:"><prop>&x;</prop></propfind>', 400],
    ["an undeclared prefix", "<D:propfind/>", 400],
    ["an emptied prefix", '<D:propfind xmlns:D="DAV:"><D:prop xmlns:x=""/></D:propfind>', 400],
    ["no XML", "propfind", 400],
    ["an open element", '<propfind xmlns="DAV:">', 400],
    ["invalid UTF-8", Buffer.from([0x3c, 0xff, 0x3e]), 400],
    ["too many levels", `${"<a>".repeat(101)}${"</a>".repeat(101)}`, 413],
    ["too many elements", `<a>${"<b/>".repeat(1000)}</a>`, 413],
    ["too many attributes", `<a ${Array.from({ length: 101 }, (_, index) => `a${index}=""`).join(" ")}/>`, 413],
    ["too many bytes", `<a>${" ".repeat(1_048_576)}</a>`, 413],
    ["another document", "<x/>", 400],
    ["two questions", '<propfind xmlns="DAV:"><prop/><allprop/></propfind>', 400],
    ["UTF-16 by its mark", Buffer.from('\ufeff<propfind xmlns="DAV:"><allprop/></propfind>', "utf16le"), 207],
    ["an unknown element beside the question", '<propfind xmlns="DAV:"><allprop/><x xmlns="y"/></propfind>', 207],
  ])("with %s", async (_, body, status) => {
    for (const type of ["application/xml", "text/nonsense"]) {
      const headers = { depth: "0", "content-type": type };
      expect(await venue.status("PROPFIND", "/dav/docs/", { headers, body })).toBe(status);
    }
  });

  test("names and properties cannot break out of an answer or its headers", async () => {
    const name = "a<b>&\"'\u00e9%0d%0aX: y";
    const path = `/dav/docs/${encodeURIComponent(name)}`;
    expect(await venue.status("PUT", path, { body: "x" })).toBe(201);
    const body = `<propertyupdate xmlns="DAV:"><set><prop><x xmlns="urn:&quot;&gt;&lt;evil/&gt;">&lt;/D:prop&gt;&#13;&#10;Set-Cookie: a</x></prop></set></propertyupdate>`;
    const patched = await venue.dav("PROPPATCH", path, { body });
    expect(patched.status).toBe(207);
    const listed = await venue.dav("PROPFIND", "/dav/docs/", { headers: { depth: "1" } });
    expect(listed.text).toContain("<D:displayname>a&lt;b&gt;&amp;&quot;'\u00e9%0d%0aX: y</D:displayname>");
    expect(listed.text).not.toContain("<evil/>");
    expect(listed.text).not.toContain("<b>");
    expect(listed.headers["set-cookie"]).toBeUndefined();
    const page = await venue.dav("GET", "/dav/docs/");
    expect(page.text).not.toContain("<b>");
  });
});

test("what is told of an error holds no host path", async () => {
  for (const [method, path] of [
    ["GET", "/dav/docs/none"],
    ["PUT", "/dav/docs/none/x"],
    ["PUT", "/dav/docs/a.txt/x"],
    ["MKCOL", "/dav/docs/a.txt"],
    ["DELETE", "/dav/docs/none"],
  ] as const) {
    const { text } = await venue.dav(method, path, { body: method === "PUT" ? "x" : "" });
    expect(text).not.toContain(venue.base);
    expect(text).toContain("<v:message>");
  }
});

test("a drive of another caller is neither seen nor locked", async () => {
  await venue.dav("PUT", "/dav/home/mine", { body: "mine" });
  await venue.dav("LOCK", "/dav/home/mine", { body: LOCK });
  const seen = await venue.dav("PROPFIND", "/dav/home/", { as: "alice", headers: { depth: "1" } });
  expect(seen.text).not.toContain("mine");
  expect(await venue.status("PUT", "/dav/home/mine", { as: "alice", body: "hers" })).toBe(201);
  expect((await venue.dav("GET", "/dav/home/mine")).text).toBe("mine");
});
