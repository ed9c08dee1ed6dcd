/** @jest-environment ./test/platforms/macos/environment.mjs */
// WebDAV as Finder uses it: names composed otherwise, locks, and files of its own.
import "./as-macos.js";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { type Answer, type DavVenue, hrefs, serveDav, textIn } from "../../surfaces/http/dav/fixture.js";

let venue: DavVenue;
beforeAll(async () => {
  venue = await serveDav();
});
afterAll(() => venue.close());

const urlOf = (...names: string[]): string => `/dav/docs/${names.map(encodeURIComponent).join("/")}`;
const FOLDER = "Dossi\u00e9s";
const OTHER = "DOSSIE\u0301S";
const STORED = urlOf(FOLDER, "Cafe\u0301.md");
const SPELLINGS = [
  STORED,
  urlOf(FOLDER, "Caf\u00e9.md"),
  urlOf(OTHER, "CAF\u00c9.MD"),
  urlOf("dossie\u0301s", "cafe\u0301.MD"),
];
const names = (...path: string[]): string[] =>
  readdirSync(join(venue.docs, ...path)).filter((name) => name !== ".venue-files");

beforeEach(async () => {
  await venue.dav("MKCOL", urlOf(FOLDER));
  await venue.dav("PUT", STORED, { body: "one" });
});
afterEach(() => venue.dav("DELETE", urlOf(FOLDER)));

test.each(SPELLINGS)("one file is read, written and listed by %s", async (url) => {
  const found = await venue.dav("GET", url);
  expect([found.status, found.text]).toEqual([200, "one"]);
  const etag = String(found.headers["etag"]);
  expect(await venue.status("PUT", url, { body: "two", headers: { "if-match": etag } })).toBe(204);
  expect(await venue.status("PUT", url, { body: "three", headers: { "if-match": etag } })).toBe(412);
  expect(await venue.status("PUT", url, { body: "three", headers: { "if-none-match": "*" } })).toBe(412);
  expect(readFileSync(join(venue.docs, FOLDER, "Cafe\u0301.md"), "utf8")).toBe("two");
  expect(names(FOLDER)).toEqual(["Cafe\u0301.md"]);
  expect((await venue.dav("PROPFIND", url, { headers: { depth: "0" } })).status).toBe(207);
  const listed = await venue.dav("PROPFIND", url.slice(0, url.lastIndexOf("/")), { headers: { depth: "1" } });
  expect(hrefs(listed).map((href) => decodeURIComponent(href.slice(href.lastIndexOf("/") + 1)))).toContain(
    "Cafe\u0301.md",
  );
  expect(await venue.status("MKCOL", url)).toBe(405);
  expect(await venue.status("DELETE", url)).toBe(204);
  expect(names(FOLDER)).toEqual([]);
});

const lock = (url: string, as: "alice" | "bob" = "alice"): Promise<Answer> =>
  venue.dav("LOCK", url, {
    as,
    body: `<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>`,
  });

test.each(SPELLINGS)("a lock holds for every spelling, and is ended by %s", async (url) => {
  const held = await lock(STORED);
  const token = String(held.headers["lock-token"]);
  const headers = { if: `(${token})` };
  for (const as of ["alice", "bob"] as const) {
    expect(await venue.status("PUT", url, { as, body: "x" })).toBe(423);
    expect(await venue.status("DELETE", url, { as })).toBe(423);
    expect(await venue.status("DELETE", urlOf(OTHER), { as })).toBe(423);
    expect(await venue.status("MOVE", url, { as, headers: { destination: "/dav/docs/away" } })).toBe(423);
  }
  expect((await lock(url, "bob")).status).toBe(423);
  expect(textIn(await venue.dav("PROPFIND", url, { headers: { depth: "0" } }), "D:lockdiscovery")).toContain("write");
  expect(await venue.status("PUT", url, { as: "alice", body: "mine", headers })).toBe(204);
  expect(await venue.status("UNLOCK", url, { as: "alice", headers: { "lock-token": token } })).toBe(204);
  expect(await venue.status("PUT", url, { as: "bob", body: "x" })).toBe(204);
});

test("a lock of a folder holds below it by every spelling", async () => {
  const held = await lock(urlOf(OTHER));
  for (const url of [...SPELLINGS, urlOf(FOLDER.toLowerCase(), "new")])
    expect(await venue.status("PUT", url, { as: "bob", body: "x" })).toBe(423);
  const headers = { "lock-token": String(held.headers["lock-token"]) };
  expect(await venue.status("UNLOCK", urlOf(FOLDER), { as: "alice", headers })).toBe(204);
});

test("properties of a client belong to the file, and stay when it gets a new spelling", async () => {
  const body = `<propertyupdate xmlns="DAV:"><set><prop><note xmlns="x:">kept</note></prop></set></propertyupdate>`;
  expect(await venue.status("PROPPATCH", SPELLINGS[1] ?? "", { body })).toBe(207);
  const noteAt = async (url: string) => (await venue.dav("PROPFIND", url, { headers: { depth: "0" } })).text;
  for (const url of SPELLINGS) expect(await noteAt(url)).toContain("kept");
  for (const [name, overwrite] of [
    ["CAF\u00c9.md", "T"],
    ["caf\u00e9.md", "F"],
  ] as const) {
    const headers = { destination: urlOf(FOLDER, name), overwrite };
    expect(await venue.status("MOVE", STORED, { headers })).toBe(201);
    expect(names(FOLDER)).toEqual([name]);
    expect(await noteAt(STORED)).toContain("kept");
  }
});

test("what Finder leaves is stored, listed and taken away as any file", async () => {
  for (const name of [".DS_Store", "._Cafe\u0301.md", ".ds_store"])
    expect([200, 201, 204]).toContain(await venue.status("PUT", urlOf(FOLDER, name), { body: "\0finder" }));
  expect(names(FOLDER).sort()).toEqual([".DS_Store", "._Cafe\u0301.md", "Cafe\u0301.md"].sort());
  const listed = await venue.dav("PROPFIND", urlOf(FOLDER), { headers: { depth: "1" } });
  expect(hrefs(listed)).toHaveLength(4);
  for (const name of [".DS_STORE", "._CAF\u00c9.md"])
    expect(await venue.status("DELETE", urlOf(OTHER, name))).toBe(204);
  expect(names(FOLDER)).toEqual(["Cafe\u0301.md"]);
});
