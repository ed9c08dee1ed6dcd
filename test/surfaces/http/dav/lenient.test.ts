// What other servers take, and clients rely on.

import { createHash } from "node:crypto";
import { existsSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type DavVenue, hrefs, serveDav, textIn } from "./fixture.js";

let venue: DavVenue;
beforeAll(async () => {
  venue = await serveDav({ webdav: true });
  writeFileSync(join(venue.docs, "a.txt"), "alpha");
});
afterAll(() => venue.close());

const LOCK =
  '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>';

test.each([{}, { depth: "infinity" }])(
  "PROPFIND of a file with %j is of the file, of a folder refused",
  async (headers) => {
    const one = await venue.dav("PROPFIND", "/dav/docs/a.txt", { headers });
    expect([one.status, hrefs(one)]).toEqual([207, ["/dav/docs/a.txt"]]);
    expect(await venue.status("PROPFIND", "/dav/docs/none", { headers })).toBe(404);
    expect(await venue.status("PROPFIND", "/dav/docs/", { headers })).toBe(403);
  },
);

test("UNLOCK takes a token without brackets, and nothing half in them", async () => {
  const token = async () =>
    String((await venue.dav("LOCK", "/dav/docs/a.txt", { body: LOCK })).headers["lock-token"]).slice(1, -1);
  const bare = await token();
  for (const wrong of [`<${bare}`, `${bare}>`, `${bare} ${bare}`, ""]) {
    expect(await venue.status("UNLOCK", "/dav/docs/a.txt", { headers: { "lock-token": wrong } })).toBe(400);
  }
  expect(await venue.status("UNLOCK", "/dav/docs/a.txt", { as: "alice", headers: { "lock-token": bare } })).toBe(403);
  expect(await venue.status("UNLOCK", "/dav/docs/a.txt", { headers: { "lock-token": bare } })).toBe(204);
  expect(await venue.status("UNLOCK", "/dav/docs/a.txt", { headers: { "lock-token": `<${await token()}>` } })).toBe(
    204,
  );
});

describe("MKCOL with a body", () => {
  const body = (properties: string) =>
    `<D:mkcol xmlns:D="DAV:" xmlns:x="urn:x"><D:set><D:prop>${properties}</D:prop></D:set></D:mkcol>`;
  const type = "<D:resourcetype><D:collection/></D:resourcetype>";

  test.each(["docs", "home"])("of RFC 5689 makes a folder with its properties in %s", async (root) => {
    const url = `/dav/${root}/made`;
    expect(await venue.status("MKCOL", url, { body: body(`${type}<x:colour>blue</x:colour>`) })).toBe(201);
    const asked = '<propfind xmlns="DAV:"><prop><resourcetype/><x:colour xmlns:x="urn:x"/></prop></propfind>';
    const found = await venue.dav("PROPFIND", url, { headers: { depth: "0" }, body: asked });
    expect(found.text).toContain("<D:collection/>");
    expect(found.text).toContain(">blue<");
    expect(await venue.status("MKCOL", url, { body: body(type) })).toBe(405);
  });

  test.each([
    ["xml of another kind", "<a/>", 415],
    ["no xml", "make it", 415],
    ["a propertyupdate", '<D:propertyupdate xmlns:D="DAV:"/>', 415],
    ["a calendar", body('<D:resourcetype><D:collection/><c xmlns="urn:c"/></D:resourcetype>'), 403],
    ["a property of the venue's own", body(`${type}<D:getetag>"x"</D:getetag>`), 403],
  ])("of %s makes nothing", async (_, text, status) => {
    expect(await venue.status("MKCOL", "/dav/docs/not-made", { body: text })).toBe(status);
    expect(existsSync(join(venue.docs, "not-made"))).toBe(false);
  });
});

describe.each(["docs", "tmp", "home"])("X-OC-Mtime in %s", (root) => {
  const time = async (path: string, depth: string) =>
    [...(await venue.dav("PROPFIND", path, { headers: { depth } })).text.matchAll(/<D:getlastmodified>([^<]*)/g)].map(
      ([, date]) => Date.parse(date ?? "") / 1000,
    );

  test.each([-86_400, -1.5, 0, 1_234_567_890.25, 4_000_000_000])(
    "of %d is kept, and told everywhere",
    async (seconds) => {
      const put = await venue.dav("PUT", `/dav/${root}/timed`, { headers: { "x-oc-mtime": `${seconds}` }, body: "x" });
      expect(put.headers["x-oc-mtime"]).toBe("accepted");
      const whole = Math.floor(seconds);
      expect(await time(`/dav/${root}/timed`, "0")).toEqual([whole]);
      expect(await time(`/dav/${root}/`, "1")).toContain(whole);
      const { headers } = await venue.dav("GET", `/dav/${root}/timed`);
      expect(Date.parse(String(headers["last-modified"])) / 1000).toBe(whole);
      if (root === "docs") expect(Math.floor(statSync(join(venue.docs, "timed")).mtimeMs / 1000)).toBe(whole);
    },
  );

  test("is set by PROPPATCH too, goes with a copy and a move, and ends with new content", async () => {
    const url = `/dav/${root}/kept`;
    await venue.dav("PUT", url, { body: "one" });
    const body =
      '<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><D:lastmodified>1111111111</D:lastmodified></D:prop></D:set></D:propertyupdate>';
    const patched = await venue.dav("PROPPATCH", url, { body });
    expect(patched.text).toContain("200 OK");
    expect(await time(url, "0")).toEqual([1_111_111_111]);
    expect(await venue.status("MOVE", url, { headers: { destination: `${url}-moved` } })).toBe(201);
    expect(await time(`${url}-moved`, "0")).toEqual([1_111_111_111]);
    await venue.dav("PUT", `${url}-moved`, { body: "two" });
    expect((await time(`${url}-moved`, "0"))[0]).toBeGreaterThan(1_700_000_000);
  });
});

describe("digests", () => {
  const content = "checked content";
  const digest = (algorithm: string, encoding: "hex" | "base64", of = content) =>
    createHash(algorithm).update(of).digest(encoding);
  const headers = (of?: string) => [
    { "oc-checksum": `SHA1:${digest("sha1", "hex", of)}` },
    { "oc-checksum": `MD5:${digest("md5", "hex", of).toUpperCase()}` },
    { "content-md5": digest("md5", "base64", of) },
    { digest: `SHA-256=${digest("sha256", "base64", of)}` },
    { digest: `unixsum=30637,SHA=${digest("sha1", "base64", of)}` },
    { "repr-digest": `sha-512=:${digest("sha512", "base64", of)}:` },
    { "content-digest": `sha-256=:${digest("sha256", "base64", of)}:, md5=:${digest("md5", "base64", of)}:` },
  ];
  const bearer = () => ({ authorization: `Bearer ${venue.password("operator")}` });

  test.each(["/dav/docs/", "/dav/home/", "/api/v1/files/docs/"])("that do not fit are refused at %s", async (base) => {
    for (const [index, fitting] of headers().entries()) {
      const url = `${base}${base.length}-digest-${index}`;
      const wrong = headers("something else")[index] ?? {};
      const put = (more: Record<string, string>) =>
        venue.status("PUT", url, { headers: { ...more, ...bearer() }, body: content });
      expect([wrong, await put(wrong)]).toEqual([wrong, 400]);
      expect(await venue.status("GET", url, { headers: bearer() })).toBe(404);
      expect([fitting, await put(fitting)]).toEqual([fitting, 201]);
    }
    const unknown = { "oc-checksum": "CRC64:00", digest: "id-crc32=abc", "content-digest": "future=:AA==:" };
    expect(
      await venue.status("PUT", `${base}${base.length}-unknown`, {
        headers: { ...unknown, ...bearer() },
        body: content,
      }),
    ).toBe(201);
    const short = { "content-md5": "AAAA", ...bearer() };
    expect(await venue.status("PUT", `${base}short`, { headers: short, body: content })).toBe(400);
  });

  test.each(["docs", "home"])("of what was sent to %s are offered while it is there", async (root) => {
    const sum = `SHA1:${digest("sha1", "hex")}`;
    const url = `/dav/${root}/summed`;
    await venue.dav("PUT", url, { headers: { "oc-checksum": sum }, body: content });
    const body = '<propfind xmlns="DAV:"><prop><o:checksums xmlns:o="http://owncloud.org/ns"/></prop></propfind>';
    const sums = async (path: string, depth: string) =>
      (await venue.dav("PROPFIND", path, { headers: { depth }, body })).text;
    const shown = `${sum} SHA256:${digest("sha256", "hex")}`;
    expect(await sums(url, "0")).toContain(`<o:checksum>${shown}</o:checksum>`);
    expect(await sums(`/dav/${root}/`, "1")).toContain(shown);
    await venue.dav("PUT", url, { body: "other" });
    expect(await sums(url, "0")).not.toContain(sum);
  });
});

test("without a quota the space of the disk is told, to those who see the root", async () => {
  const body = '<propfind xmlns="DAV:"><prop><quota-available-bytes/><quota-used-bytes/></prop></propfind>';
  const asked = { headers: { depth: "0" }, body };
  const { bsize, bavail, blocks } = statfsSync(venue.docs);
  const found = await venue.dav("PROPFIND", "/dav/docs/", asked);
  const [available, used] = ["D:quota-available-bytes", "D:quota-used-bytes"].map((name) =>
    Number(textIn(found, name)),
  );
  expect(Math.abs((available ?? 0) - bavail * bsize)).toBeLessThan(2 ** 30);
  expect((available ?? 0) + (used ?? 0)).toBe(blocks * bsize);
  expect((await venue.dav("PROPFIND", "/dav/hidden/", { ...asked, as: "alice" })).status).toBe(403);
});
