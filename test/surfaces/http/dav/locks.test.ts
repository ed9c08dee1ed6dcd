import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { parseIf } from "../../../../src/surfaces/http/dav/locks/if-header.js";
import { Locks } from "../../../../src/surfaces/http/dav/locks/locks.js";
import { Markup } from "../../../../src/surfaces/http/dav/xml/write.js";
import { type Answer, type Ask, type DavVenue, serveDav, textIn } from "./fixture.js";

let venue: DavVenue;
beforeAll(async () => {
  venue = await serveDav({ webdav: { lockSeconds: 1000, maxLocks: 40 } });
});
afterAll(() => venue.close());

const info = (scope = "exclusive", owner = "<href>me</href>") =>
  `<lockinfo xmlns="DAV:"><lockscope><${scope}/></lockscope><locktype><write/></locktype><owner>${owner}</owner></lockinfo>`;
const lock = (path: string, ask: Ask & { scope?: string } = {}): Promise<Answer> =>
  venue.dav("LOCK", path, { as: "alice", body: info(ask.scope), ...ask });
const tokenOf = ({ headers }: Answer): string => String(headers["lock-token"]);
const holding = (answer: Answer) => ({ if: `(${tokenOf(answer)})` });
const unlock = (path: string, answer: Answer, as: Ask["as"] = "alice") =>
  venue.status("UNLOCK", path, { as, headers: { "lock-token": tokenOf(answer) } });

let count = 0;
/** A fresh folder with a file. */
async function folder(): Promise<string> {
  const path = `/dav/docs/f${count++}`;
  await venue.dav("MKCOL", path);
  await venue.dav("PUT", `${path}/a`, { body: "alpha" });
  return path;
}

describe("an exclusive lock", () => {
  test("holds off everybody else, and whoever does not send its token", async () => {
    const at = await folder();
    const held = await lock(`${at}/a`);
    expect(held.status).toBe(200);
    const headers = holding(held);
    expect(await venue.status("PUT", `${at}/a`, { as: "alice", body: "x" })).toBe(423);
    expect(await venue.status("PUT", `${at}/a`, { as: "bob", body: "x", headers })).toBe(423);
    expect(await venue.status("DELETE", at, { as: "bob" })).toBe(423);
    expect(await venue.status("MOVE", at, { as: "bob", headers: { destination: "/dav/docs/away" } })).toBe(423);
    expect(await venue.status("COPY", `${at}/a`, { as: "bob", headers: { destination: `${at}/b` } })).toBe(201);
    const over = { destination: `${at}/a` };
    expect(await venue.status("COPY", `${at}/b`, { as: "bob", headers: over })).toBe(423);
    expect((await lock(`${at}/a`, { as: "bob" })).status).toBe(423);
    expect(await venue.status("PUT", `${at}/a`, { as: "alice", body: "x", headers })).toBe(204);
    expect(await unlock(`${at}/a`, held, "bob")).toBe(403);
    expect(await unlock(`${at}/a`, held)).toBe(204);
    expect(await unlock(`${at}/a`, held)).toBe(409);
    expect(await venue.status("PUT", `${at}/a`, { as: "bob", body: "x" })).toBe(204);
  });

  test("names the lock in the refusal, to those with rights alone", async () => {
    const at = await folder();
    const held = await lock(at);
    const refused = await venue.dav("PUT", `${at}/a`, { as: "bob", body: "x" });
    expect(refused.text).toContain(`<D:lock-token-submitted><D:href>${at}/</D:href></D:lock-token-submitted>`);
    expect(await venue.status("PUT", `${at}/a`, { as: "reader", body: "x" })).toBe(403);
    await unlock(at, held);
  });

  test("is seen by others without its token", async () => {
    const at = await folder();
    const held = await lock(`${at}/a`);
    const ask = (as: "alice" | "bob") => venue.dav("PROPFIND", `${at}/a`, { as, headers: { depth: "0" } });
    const [own, other] = [await ask("alice"), await ask("bob")];
    expect(own.text).toContain(tokenOf(held).slice(1, -1));
    expect(other.text).not.toContain("opaquelocktoken");
    expect(other.text).toContain("<D:exclusive/>");
    expect(textIn(other, "D:owner")).toContain("me");
    await unlock(`${at}/a`, held);
  });

  test("on a collection covers what is in it, with Depth: 0 its members' names alone", async () => {
    const at = await folder();
    const deep = await lock(at);
    expect(await venue.status("PUT", `${at}/new`, { as: "bob", body: "x" })).toBe(423);
    expect((await lock(`${at}/a`, { as: "bob" })).status).toBe(423);
    expect(await unlock(`${at}/a`, deep)).toBe(204);
    const shallow = await lock(at, { headers: { depth: "0" } });
    expect(await venue.status("PUT", `${at}/a`, { as: "bob", body: "x" })).toBe(204);
    expect(await venue.status("PUT", `${at}/new`, { as: "bob", body: "x" })).toBe(423);
    expect(await venue.status("DELETE", `${at}/a`, { as: "bob" })).toBe(423);
    await unlock(at, shallow);
  });

  test("makes an empty file of a missing name, and goes with it", async () => {
    const at = await folder();
    const held = await lock(`${at}/new`);
    expect([held.status, (await venue.dav("GET", `${at}/new`)).text]).toEqual([201, ""]);
    expect(await venue.status("DELETE", `${at}/new`, { as: "alice", headers: holding(held) })).toBe(204);
    expect(await unlock(`${at}/new`, held)).toBe(409);
    expect((await lock(`${at}/none/x`)).status).toBe(409);
    expect([(await lock(`${at}/new/`)).status, (await lock(`${at}/a/`)).status]).toEqual([409, 409]);
  });

  test("is not carried along by MOVE", async () => {
    const at = await folder();
    const held = await lock(`${at}/a`);
    const headers = { destination: `${at}/b`, ...holding(held) };
    expect(await venue.status("MOVE", `${at}/a`, { as: "alice", headers })).toBe(201);
    expect(await venue.status("PUT", `${at}/b`, { as: "bob", body: "x" })).toBe(204);
    expect(await unlock(`${at}/a`, held)).toBe(409);
  });

  test("keeps its holder from writing over what another surface wrote", async () => {
    const at = await folder();
    const held = await lock(`${at}/a`);
    const headers = holding(held);
    const put = (body: string) => venue.status("PUT", `${at}/a`, { as: "alice", body, headers });
    expect([await put("one"), await put("two")]).toEqual([204, 204]);
    writeFileSync(join(venue.base, at.slice("/dav/".length), "a"), "by an agent");
    expect(await put("three")).toBe(412);
    expect((await venue.dav("GET", `${at}/a`)).text).toBe("by an agent");
    await unlock(`${at}/a`, held);
  });

  test("of one drive counts whatever URL names it", async () => {
    await venue.dav("PUT", "/dav/home/a", { body: "a" });
    const held = await lock("/dav/home/a", { as: "operator" });
    expect(await venue.status("PUT", "/dlfs/home/a", { body: "x" })).toBe(423);
    // Another caller's drive of that name is another place.
    expect(await venue.status("PUT", "/dav/home/a", { as: "alice", body: "x" })).toBe(201);
    expect(await unlock("/dlfs/home/a", held, "operator")).toBe(204);
  });
});

test("shared locks stand beside each other, and any holder may write", async () => {
  const at = await folder();
  const [one, other] = [
    await lock(`${at}/a`, { scope: "shared" }),
    await lock(`${at}/a`, { scope: "shared", as: "bob" }),
  ];
  expect([one.status, other.status]).toEqual([200, 200]);
  expect((await lock(`${at}/a`)).status).toBe(423);
  expect(await venue.status("PUT", `${at}/a`, { as: "bob", body: "x", headers: holding(other) })).toBe(204);
  expect(await venue.status("PUT", `${at}/a`, { as: "bob", body: "x", headers: holding(one) })).toBe(423);
  await unlock(`${at}/a`, one);
  await unlock(`${at}/a`, other, "bob");
});

test("a lock lasts as long as was asked for, within the limit, and can be refreshed", async () => {
  const at = await folder();
  const held = await lock(`${at}/a`, { headers: { timeout: "Extended-5, Second-77" } });
  expect(textIn(held, "D:timeout")).toBe("Second-77");
  const refresh = (timeout: string, headers = holding(held)) =>
    venue.dav("LOCK", `${at}/a`, { as: "alice", headers: { timeout, ...headers } });
  expect(textIn(await refresh("Infinite, Second-5"), "D:timeout")).toBe("Second-1000");
  expect((await refresh("Second-5", { if: "(<opaquelocktoken:none>)" })).status).toBe(412);
  expect((await venue.dav("LOCK", `${at}/a`, { as: "alice" })).status).toBe(412);
  await unlock(`${at}/a`, held);
});

test.each<[string, Ask, number]>([
  ["a depth of 1", { headers: { depth: "1" } }, 400],
  ["no lockinfo", { body: "<x/>" }, 400],
  ["a kind of lock that there is not", { body: info("strange") }, 422],
  ["an owner that is too long", { body: info("exclusive", "x".repeat(1025)) }, 507],
])("LOCK with %s is refused", async (_, ask, status) => {
  expect((await lock(`${await folder()}/a`, ask)).status).toBe(status);
});

test("UNLOCK without a token is 400, LOCK of all roots 403", async () => {
  expect(await venue.status("UNLOCK", "/dav/docs/f0/a")).toBe(400);
  expect(await venue.status("LOCK", "/dav/", { body: info() })).toBe(403);
});

test("If holds tokens and ETags of any resource", async () => {
  const at = await folder();
  const { etag } = (await venue.dav("GET", `${at}/a`)).headers;
  const held = await lock(`${at}/a`);
  const put = (condition: string, path = `${at}/a`) =>
    venue.status("PUT", path, { as: "alice", body: "alpha", headers: { if: condition } });
  const token = tokenOf(held);
  const url = `<${venue.url}${at}/a>`;
  expect(await put(`(${token} [${String(etag)}])`)).toBe(204);
  expect(await put(`(${token} ["other"])`)).toBe(412);
  expect(await put(`(${token} ["other"]) (${token})`)).toBe(204);
  expect(await put(`(Not <DAV:no-lock> ${token})`)).toBe(204);
  expect(await put("(<DAV:no-lock>)")).toBe(412);
  expect(await put(`(Not <DAV:no-lock>)`)).toBe(423);
  expect(await put(`${url} (${token})`, `${at}/b`)).toBe(201);
  expect(await put(`<http://other.example/x> (${token})`)).toBe(412);
  expect(await put(`(${token}`)).toBe(400);
  await unlock(`${at}/a`, held);
});

describe("the If header", () => {
  test.each([
    "",
    "()",
    "(<a>",
    "<a>",
    "(<a>) <b>",
    "(<>)",
    '["x"]',
    "(x)",
    "(<a>) (<b>) <c> (<d>)",
    `(${"<a>".repeat(101)})`,
  ])("%s is malformed", (header) => {
    expect(() => parseIf(header)).toThrow("Malformed If header");
  });

  test("is read without trying other ways again", () => {
    // Of so many openings, a reader that goes back tries more ways than the test has time for.
    for (const header of ["(", "<", "(<a>", "([", '(["']) {
      expect(() => parseIf(header.repeat(8192 / header.length))).toThrow();
    }
    expect(() => parseIf("(<a>)".repeat(2000))).toThrow("longer than");
  });
});

describe("the store of locks", () => {
  const request = (caller: string, name: string) => ({
    spot: { tree: "t", segments: [name] },
    place: { space: "dav" as const, root: "t", segments: [name] },
    isCollection: false,
    ...{ isDeep: true, isExclusive: true, caller, ownerText: "", owner: Markup.trusted(""), seconds: 10 },
  });

  test("has room for 1,000 of a caller and so many in all, and forgets those that have ended", () => {
    let now = 0;
    const locks = new Locks({ most: 1500, now: () => now });
    for (let index = 0; index < 1000; index++) expect(locks.add(request("a", `a${index}`))).toBeDefined();
    expect(locks.add(request("a", "more"))).toBeUndefined();
    for (let index = 0; index < 500; index++) locks.add(request("b", `b${index}`));
    expect(locks.add(request("c", "c"))).toBeUndefined();
    now = 10_001;
    expect(locks.add(request("c", "c"))).toBeDefined();
    expect(locks.covering({ tree: "t", segments: ["a1", "x"] })).toEqual([]);
    expect(locks.covering({ tree: "t", segments: ["c", "x"] })).toHaveLength(1);
    expect(locks.covering({ tree: "other", segments: ["c"] })).toEqual([]);
  });

  test("answers 507 when it is full", async () => {
    const at = await folder();
    const statuses = new Set<number>();
    for (let index = 0; index < 41; index++) statuses.add((await lock(`${at}/n${index}`)).status);
    expect(statuses).toEqual(new Set([201, 507]));
  });
});
