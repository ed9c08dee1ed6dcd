import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { DeadProperties } from "../../../../src/surfaces/http/dav/properties/dead.js";
import { httpDate } from "../../../../src/surfaces/http/dav/properties/live.js";
import { type DavVenue, serveDav, textIn } from "./fixture.js";

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
    expect(text).toContain('<Z:a xmlns:Z="urn:z" xml:lang="de" b="1 &amp; 2"><c xmlns="urn:c">t&lt;</c> x<Z:d/></Z:a>');
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

test.each([0, -1, 999, 86_399_999, 86_400_000, -86_400_001, 951_782_400_123.5, Date.UTC(2026, 10, 23, 4, 5, 6)])(
  "the time %d is written as HTTP has it",
  (ms) => {
    expect(httpDate(ms)).toBe(new Date(Math.floor(ms)).toUTCString());
  },
);

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
    const foreign = ["", "null", "[1]", '{"trees":{"t":{"a":{"properties":{"x":1}}}}}', "no JSON", text?.slice(0, 40)];
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
