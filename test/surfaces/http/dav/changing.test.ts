import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { parseIf } from "../../../../src/surfaces/http/dav/locks/if-header.js";
import { Locks } from "../../../../src/surfaces/http/dav/locks/locks.js";
import { Markup } from "../../../../src/surfaces/http/dav/xml/write.js";
import { basic, run, type Sent, send } from "../client.js";
import { rawRequest, readAnswer, sendRaw } from "../fixture.js";
import { type Answer, type Ask, type DavVenue, serveDav, textIn } from "./fixture.js";

describe("changes", () => {
  let venue: DavVenue;
  beforeAll(async () => {
    venue = await serveDav({ file: { limits: { maxUploadBytes: 100_000 } } });
  });
  afterAll(() => venue.close());

  const ROOTS = ["docs", "tmp", "home"] as const;
  /** Roots in which a case may have changed something. */
  const dirty = new Set<string>(ROOTS);
  /** Every case starts from the same tree in each kind of root. */
  beforeEach(async () => {
    for (const root of dirty) {
      await Promise.all(
        ["a.txt", "b.txt", "tree", "old", "new", "new.txt"].map((name) => venue.dav("DELETE", `/dav/${root}/${name}`)),
      );
      await venue.dav("PUT", `/dav/${root}/a.txt`, { body: "alpha" });
      await venue.dav("PUT", `/dav/${root}/b.txt`, { body: "beta" });
      for (const folder of ["tree", "tree/sub", "old"]) await venue.dav("MKCOL", `/dav/${root}/${folder}`);
      await venue.dav("PUT", `/dav/${root}/tree/sub/x`, { body: "x" });
      await venue.dav("PUT", `/dav/${root}/old/gone`, { body: "gone" });
      dirty.delete(root);
    }
  });

  const get = async (path: string): Promise<string | number> => {
    const { status, text } = await venue.dav("GET", path);
    return status === 200 ? text : status;
  };

  describe.each(ROOTS)("in %s", (root) => {
    const at = (path: string): string => `/dav/${root}/${path}`;
    const send = async (method: string, path: string, ask: Ask = {}): Promise<number> => {
      const status = await venue.status(method, at(path), ask);
      if (status < 300) dirty.add(root);
      return status;
    };
    const relocate = (method: "COPY" | "MOVE", from: string, to: string, headers: Record<string, string> = {}) =>
      send(method, from, { headers: { destination: at(to), ...headers } });

    test.each<[string, string, Ask, number]>([
      ["PUT", "new.txt", { body: "new" }, 201],
      ["PUT", "a.txt", { body: "newer" }, 204],
      ["PUT", "tree", { body: "x" }, 405],
      ["PUT", "", { body: "x" }, 405],
      ["PUT", "none/x", { body: "x" }, 409],
      ["PUT", "a.txt/x", { body: "x" }, 409],
      ["PUT", "new.txt/", { body: "x" }, 409],
      ["PUT", "new.txt", { body: "x", headers: { "content-range": "bytes 0-0/1" } }, 400],
      ["PUT", "new.txt", { body: "x", headers: { "content-encoding": "gzip" } }, 415],
      ["PUT", "new.txt", { body: "x", headers: { "content-type": 'Multipart/Form-Data; boundary="x"' } }, 415],
      ["PUT", "new.txt", { body: "x", headers: { "x-oc-mtime": "soon" } }, 400],
      ["PUT", "new.txt", { body: Buffer.alloc(100_001) }, 413],
      ["PUT", "a.txt", { body: "x", headers: { "if-none-match": "*" } }, 412],
      ["PUT", "new.txt", { body: "x", headers: { "if-none-match": "*" } }, 201],
      ["PUT", "new.txt", { body: "x", headers: { "if-match": "*" } }, 412],
      ["PUT", "a.txt", { body: "x", headers: { "if-match": `"sha256-${"A".repeat(43)}"` } }, 412],
      ["PUT", "a.txt", { body: "x", headers: { "if-unmodified-since": "Mon, 01 Jan 1990 00:00:00 GMT" } }, 412],
      ["MKCOL", "new", {}, 201],
      ["MKCOL", "new/", {}, 201],
      ["MKCOL", "tree", {}, 405],
      ["MKCOL", "a.txt", {}, 405],
      ["MKCOL", "none/new", {}, 409],
      ["MKCOL", "new", { body: "<x/>" }, 415],
      ["DELETE", "a.txt", {}, 204],
      ["DELETE", "tree/", {}, 204],
      ["DELETE", "none", {}, 404],
      ["DELETE", "a.txt/", {}, 404],
      ["DELETE", "tree", { headers: { depth: "1" } }, 400],
      ["DELETE", "", {}, 403],
      ["POST", "a.txt", { body: "x" }, 405],
      ["PATCH", "a.txt", { body: "x" }, 405],
      ["REPORT", "a.txt", {}, 405],
    ])("%s %s %j is %i", async (method, path, ask, status) => {
      expect(await send(method, path, ask)).toBe(status);
    });

    test.each<["COPY" | "MOVE", string, string, Record<string, string>, number]>([
      ["COPY", "a.txt", "new.txt", {}, 201],
      ["MOVE", "a.txt", "new.txt", { overwrite: "F" }, 201],
      ["COPY", "a.txt", "b.txt", {}, 204],
      ["MOVE", "a.txt", "b.txt", {}, 204],
      ["COPY", "a.txt", "b.txt", { overwrite: "F" }, 412],
      ["MOVE", "tree", "old", { overwrite: "F" }, 412],
      ["COPY", "none", "new", {}, 404],
      ["COPY", "a.txt", "none/new", {}, 409],
      ["COPY", "a.txt", "a.txt", {}, 403],
      ["MOVE", "tree", "tree/sub/in", {}, 403],
      ["COPY", "tree", "tree/sub/in", {}, 403],
      ["MOVE", "tree/sub", "tree", {}, 403],
      ["MOVE", "", "new", {}, 403],
      ["COPY", "tree", "", {}, 403],
      ["MOVE", "tree", "new", { depth: "0" }, 400],
      ["COPY", "a.txt", "new", { overwrite: "maybe" }, 400],
      ["COPY", "a.txt", "new", { destination: "http://other.example/dav/tmp/x" }, 502],
      ["COPY", "a.txt", "new", { destination: "http://me:pw@other.example/dav/tmp/x" }, 502],
      ["COPY", "a.txt", "new", { destination: "/api/v1/files/tmp/x" }, 403],
      ["COPY", "a.txt", "new", { destination: "/dlfs/home/x" }, 403],
      ["COPY", "a.txt", "new", { destination: "tmp/x" }, 400],
      ["COPY", "a.txt", "new", { destination: "/dav/tmp/a%2fb" }, 400],
      ["COPY", "a.txt", "new", { destination: "/dav/tmp/../x" }, 400],
      ["COPY", "a.txt", "new", { destination: "/dav/tmp/x?y" }, 400],
    ])("%s %s to %s with %j is %i", async (method, from, to, headers, status) => {
      expect(await relocate(method, from, to, headers)).toBe(status);
    });

    test.each(["COPY", "MOVE"] as const)("%s replaces a tree as a whole, and merges nothing", async (method) => {
      expect(await relocate(method, "tree", "old")).toBe(204);
      expect([await get(at("old/sub/x")), await get(at("old/gone"))]).toEqual(["x", 404]);
      expect(await get(at("tree/sub/x"))).toBe(method === "COPY" ? "x" : 404);
      expect(await relocate(method, "a.txt", "old")).toBe(204);
      expect(await get(at("old"))).toBe("alpha");
    });

    test("COPY with Depth: 0 takes the collection alone", async () => {
      expect(await relocate("COPY", "tree", "new", { depth: "0" })).toBe(201);
      expect(await get(at("new/sub/x"))).toBe(404);
    });

    test("PUT tells the version, by which the next one is made safe", async () => {
      dirty.add(root);
      const first = await venue.dav("PUT", at("new.txt"), { body: "one" });
      const { etag } = first.headers;
      expect((await venue.dav("GET", at("new.txt"))).headers["etag"]).toBe(etag);
      const found = await venue.dav("PROPFIND", at("new.txt"), { headers: { depth: "0" } });
      expect(textIn(found, "D:getetag")).toBe(String(etag).replaceAll('"', "&quot;"));
      const headers = { "if-match": `${String(etag)}, "other"` };
      expect(await send("PUT", "new.txt", { body: "two", headers })).toBe(204);
      expect(await send("PUT", "new.txt", { body: "three", headers })).toBe(412);
      expect(await send("DELETE", "new.txt", { headers })).toBe(412);
      expect(await get(at("new.txt"))).toBe("two");
    });

    test("X-OC-Mtime sets the time", async () => {
      dirty.add(root);
      const headers = { "x-oc-mtime": "1000000000.25" };
      const answer = await venue.dav("PUT", at("new.txt"), { body: "new", headers });
      const found = await venue.dav("PROPFIND", at("new.txt"), { headers: { depth: "0" } });
      expect(answer.headers["x-oc-mtime"]).toBe("accepted");
      expect(textIn(found, "D:getlastmodified")).toBe("Sun, 09 Sep 2001 01:46:40 GMT");
    });

    test("a body that is not what Finder announced writes nothing", async () => {
      const headers = { "x-expected-entity-length": "5" };
      expect(await send("PUT", "new.txt", { body: "four", headers })).toBe(400);
      expect(await get(at("new.txt"))).toBe(404);
      expect(await send("PUT", "new.txt", { body: "five!", headers })).toBe(201);
    });
  });

  test("copies go from one root to another", async () => {
    for (const root of ROOTS) dirty.add(root);
    const headers = { destination: `${venue.url}/dav/home/new` };
    expect(await venue.status("COPY", "/dav/docs/tree", { headers })).toBe(201);
    expect(await get("/dav/home/new/sub/x")).toBe("x");
    expect(await venue.status("MOVE", "/dav/tmp/tree", { headers })).toBe(204);
    expect([await get("/dav/home/new/sub/x"), await get("/dav/tmp/tree/sub/x")]).toEqual(["x", 404]);
  });

  test("a proxy that ends TLS leaves the scheme of Destination", async () => {
    const { host } = new URL(venue.url);
    const headers = { host, destination: `https://${host}/dav/tmp/new.txt` };
    expect(await venue.status("COPY", "/dav/tmp/a.txt", { headers })).toBe(201);
  });

  describe("drives by name", () => {
    const send = (method: string, path: string, ask?: Ask) => venue.status(method, `/dlfs/${path}`, ask);

    test("are made, used and removed, and are those of the caller alone", async () => {
      expect(await send("PUT", "own/a", { body: "a" })).toBe(409);
      expect(await send("MKCOL", "own")).toBe(201);
      expect(await send("MKCOL", "own")).toBe(405);
      expect(await send("PUT", "own/a", { body: "a" })).toBe(201);
      expect(await send("MOVE", "own/a", { headers: { destination: "/dlfs/own/b" } })).toBe(201);
      expect(await send("COPY", "own/b", { headers: { destination: "/dlfs/own/c" } })).toBe(201);
      expect(await send("MOVE", "own", { headers: { destination: "/dlfs/other" } })).toBe(403);
      expect(await send("PROPFIND", "own", { as: "alice", headers: { depth: "0" } })).toBe(404);
      expect(await send("GET", "own/b", { as: "alice" })).toBe(404);
      const listed = await venue.dav("PROPFIND", "/dlfs/", { headers: { depth: "1" } });
      expect(listed.text).toContain("<D:href>/dlfs/own/</D:href>");
      expect(await send("DELETE", "own")).toBe(204);
      expect(await send("PROPFIND", "own", { headers: { depth: "0" } })).toBe(404);
    });

    test("tell how much of them is used, only when asked", async () => {
      const body = '<propfind xmlns="DAV:"><prop><quota-used-bytes/><quota-available-bytes/></prop></propfind>';
      const answer = await venue.dav("PROPFIND", "/dav/home/", { headers: { depth: "0" }, body });
      expect(Number(textIn(answer, "D:quota-used-bytes"))).toBeGreaterThan(0);
      expect(Number(textIn(answer, "D:quota-available-bytes"))).toBeGreaterThan(0);
      const without = await venue.dav("PROPFIND", "/dav/home/", { headers: { depth: "0" } });
      expect(without.text).not.toContain("quota");
    });
  });

  describe("what a caller may not do", () => {
    test.each<[string, string, Ask, number]>([
      ["PUT", "/dav/ro/x", { body: "x" }, 403],
      [
        "LOCK",
        "/dav/ro/r.txt",
        { body: '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>' },
        403,
      ],
      ["PUT", "/dav/docs/x", { as: "reader", body: "x" }, 403],
      ["DELETE", "/dav/docs/a.txt", { as: "reader" }, 403],
      ["GET", "/dav/tmp/a.txt", { as: "reader" }, 403],
      ["GET", "/dav/hidden/x", { as: "alice" }, 403],
      ["COPY", "/dav/docs/a.txt", { as: "reader", headers: { destination: "/dav/docs/new" } }, 403],
      [
        "PROPPATCH",
        "/dav/docs/a.txt",
        { as: "reader", body: '<propertyupdate xmlns="DAV:"><set><prop><x/></prop></set></propertyupdate>' },
        403,
      ],
    ])("%s %s is refused", async (method, path, ask, status) => {
      const answer = await venue.dav(method, path, ask);
      expect(answer.status).toBe(status);
      expect(answer.text).not.toContain(venue.base);
    });

    test("a read-only root tells that nothing can be changed, so that it is mounted so", async () => {
      const answer = await venue.dav("OPTIONS", "/dav/ro/");
      expect([answer.headers["dav"], answer.headers["allow"]]).toEqual(["1, 3", "OPTIONS, GET, HEAD, PROPFIND"]);
      expect((await venue.dav("OPTIONS", "/dav/docs/")).headers["dav"]).toBe("1, 2, 3");
    });
  });

  test("a refusal names the methods of WebDAV, not operations", async () => {
    const { text } = await venue.dav("PUT", "/dav/docs/none/x", { body: "x" });
    expect(/<v:message>([^<]*)/.exec(text)?.[1]).toBe(
      "Parent directory does not exist: none. Pass a path whose collection exists or call MKCOL",
    );
    const headers = { destination: "/dav/docs/b.txt", overwrite: "F" };
    expect((await venue.dav("COPY", "/dav/docs/a.txt", { headers })).text).not.toMatch(/file:|: true/);
  });

  test("links stay what they are: a tree with one that leads out is moved, and never followed", async () => {
    mkdirSync(join(venue.docs, "linked"), { recursive: true });
    symlinkSync("/etc/passwd", join(venue.docs, "linked/out"));
    const headers = { destination: "/dav/docs/old" };
    expect(await venue.status("MOVE", "/dav/docs/linked", { headers })).toBe(204);
    expect(readdirSync(join(venue.docs, "old"))).toEqual(["out"]);
    expect(await venue.status("DELETE", "/dav/docs/old")).toBe(204);
    expect(existsSync("/etc/passwd")).toBe(true);
  });

  test("a link that leads out, or nowhere, is moved and removed by its name", async () => {
    for (const [name, leads] of [
      ["out-link", "/etc/passwd"],
      ["dead-link", "nowhere"],
    ] as const) {
      symlinkSync(leads, join(venue.docs, name));
      const headers = { destination: `/dav/docs/${name}-2` };
      expect(await venue.status("MOVE", `/dav/docs/${name}`, { headers })).toBe(201);
      expect(
        await venue.status("COPY", `/dav/docs/${name}-2`, { headers: { destination: "/dav/docs/new" } }),
      ).toBeGreaterThan(400);
      expect(await venue.status("DELETE", `/dav/docs/${name}-2`)).toBe(204);
    }
    expect(existsSync("/etc/passwd")).toBe(true);
  });

  test("a link to itself is moved and removed by its name, and a path that is none is refused", async () => {
    symlinkSync("loop", join(venue.docs, "loop"));
    expect(await venue.status("MOVE", "/dav/docs/loop", { headers: { destination: "/dav/docs/loop-2" } })).toBe(201);
    expect(await venue.status("DELETE", "/dav/docs/loop-2")).toBe(204);
    expect(await venue.status("DELETE", "/dav/docs/.venue-files/lock")).toBe(400);
  });

  const putChunked = (body: Buffer<ArrayBuffer>) => {
    const sent = { token: venue.password("operator"), method: "PUT", body: new Blob([body]).stream(), duplex: "half" };
    return send(`${venue.url}/dav/docs/chunked`, sent as Sent);
  };

  test.each([1, 65_536, 65_537, 99_000])(
    "a file of %i bytes is what was sent, with a length and without",
    async (size) => {
      const body = Buffer.alloc(size, "0123456789abcdef");
      const whole = await venue.dav("PUT", "/dav/docs/sized", { body });
      const chunked = await putChunked(body);
      expect([whole.status, chunked.status]).toEqual([201, 201]);
      for (const name of ["sized", "chunked"]) {
        expect(readFileSync(join(venue.docs, name)).equals(body)).toBe(true);
        await venue.status("DELETE", `/dav/docs/${name}`);
      }
    },
  );

  /** The head of an upload whose sender waits until it may go on. */
  const expecting = (path: string, password: string, length: number, more: Record<string, string> = {}) =>
    rawRequest(`PUT ${path}`, {
      ...basic(password),
      ...{ Expect: "100-continue", "Content-Length": `${length}`, ...more },
    });

  test("a broken upload leaves nothing", async () => {
    const socket = connect(Number(new URL(venue.url).port), "127.0.0.1");
    socket.write(expecting("/dav/docs/broken", venue.password("operator"), 9));
    // The upload has begun when the body is asked for.
    expect((await readAnswer(socket)).status).toBe(100);
    socket.write("half", () => socket.destroy());
    await once(socket, "close");
    expect(await venue.status("PUT", "/dav/docs/after", { body: "x" })).toBe(201);
    expect(readdirSync(venue.docs)).not.toContain("broken");
    expect(await venue.status("DELETE", "/dav/docs/after")).toBe(204);
  });

  test("a folder may be called as its root, and is made like any other", async () => {
    expect(await venue.status("PUT", "/dav/docs/docs/x", { body: "x" })).toBe(409);
    expect(await venue.status("MKCOL", "/dav/docs/docs/in")).toBe(409);
    expect(await venue.status("GET", "/dav/docs/docs/a.txt")).toBe(404);
    expect(await venue.status("MKCOL", "/dav/docs/docs")).toBe(201);
    expect(await venue.status("PUT", "/dav/docs/docs/x", { body: "x" })).toBe(201);
    expect(readdirSync(join(venue.docs, "docs"))).toEqual(["x"]);
    await venue.dav("DELETE", "/dav/docs/docs");
  });

  test("a chunked body over the limit is refused, and nothing is written", async () => {
    expect((await putChunked(Buffer.alloc(100_001))).status).toBe(413);
    expect(readdirSync(venue.docs)).not.toContain("chunked");
  });

  test("the history says that a change came over WebDAV", async () => {
    await venue.dav("PUT", "/dav/docs/a.txt", { body: "told" });
    const answer = await run(
      venue.url,
      "file:history",
      { root: "docs", path: "a.txt", limit: 1 },
      venue.password("operator"),
    );
    expect(await answer.json()).toMatchObject({ entries: [{ surface: "webdav" }] });
    dirty.add("docs");
  });

  test("100 Continue waits until the head is accepted", async () => {
    const ask = async (path: string, password: string, more: Record<string, string> = {}) =>
      (await sendRaw(Number(new URL(venue.url).port), expecting(path, password, 4, more))).status;
    const operator = venue.password("operator");
    expect(await ask("/dav/docs/x", "wrong")).toBe(401);
    expect(await ask("/dav/docs/x", operator)).toBe(100);
    expect(await ask("/dav/docs/a.txt", operator, { "If-None-Match": "*" })).toBe(412);
    expect(await ask("/dav/docs/none/x", operator)).toBe(409);
    expect(await ask("/dav/ro/x", operator)).toBe(403);
  });
});

describe("locks", () => {
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

    test("that has ended holds off nobody, from what is around it neither", async () => {
      const at = await folder();
      expect((await lock(`${at}/a`, { headers: { timeout: "Second-1" } })).status).toBe(200);
      await new Promise((resolve) => setTimeout(resolve, 1100));
      expect(await venue.status("DELETE", at, { as: "bob" })).toBe(204);
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
      for (let index = 0; index < 1000; index++) expect(locks.take(request("a", `a${index}`))).toBeDefined();
      expect(locks.take(request("a", "more"))).toBeUndefined();
      for (let index = 0; index < 500; index++) locks.take(request("b", `b${index}`));
      expect(locks.take(request("c", "c"))).toBeUndefined();
      now = 10_001;
      expect(locks.take(request("c", "c"))).toBeDefined();
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
});
