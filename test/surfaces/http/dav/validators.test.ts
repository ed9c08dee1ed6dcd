// Validators: files of every size have a strong ETag and a time, and conditions take them.

import { createHash } from "node:crypto";
import { appendFileSync, readFileSync, statSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Answer, type DavVenue, serveDav, textIn } from "./fixture.js";

const LARGE = 9_000_000;
/** Old enough for a stamp; its time of change is that of its making, so tests wait for that. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 2100));
const STAMP = /^"stamp-[\w-]{32}"$/;

let served: DavVenue;
beforeAll(async () => {
  served = await serveDav({ webdav: true });
  for (const name of ["large", "other", "rewritten"]) writeFileSync(join(served.docs, name), name);
  for (const name of ["large", "other"]) truncateSync(join(served.docs, name), LARGE);
  writeFileSync(join(served.docs, "small"), "small");
  await settled();
});
afterAll(() => served.close());

const tag = ({ headers }: Answer) => String(headers["etag"]);
const api = (method: string, path: string, headers: Record<string, string> = {}, body?: string) =>
  served.dav(method, `/api/v1/files/${path}`, {
    headers: { authorization: `Bearer ${served.password("operator")}`, ...headers },
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
    await settled();
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
    expect(await listed(path)).toBeUndefined();
    // Alone it has its hash, which names it until then.
    const young = tag(await dav("GET", path));
    expect(young).toMatch(/^"sha256-[\w-]{43}"$/);
    expect(await found(path)).toBe(young);
    expect(await served.status("PUT", `/dav/${path}`, { headers: { "if-match": put }, body: "again" })).toBe(412);
    // Also where the time of the content is set back.
    utimesSync(join(served.docs, "shared"), mtimeMs / 1000, mtimeMs / 1000);
    expect(await found(path)).not.toBe(put);
    await settled();
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
  for (const number of [dev, ino, size]) expect(first).not.toContain(`${number}`);
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
    const { text } = await served.dav("POST", "/api/v1/run", {
      headers: { authorization: `Bearer ${served.password("operator")}`, "content-type": "application/json" },
      body: JSON.stringify({ operation, input }),
    });
    expect(text).toContain(`${LARGE}`);
    expect(text).not.toMatch(/stamp|"tag"/);
  }
});
