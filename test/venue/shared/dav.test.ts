import { beforeAll, expect, jest, test } from "@jest/globals";
import { locksOf } from "../../../src/venue/shared/pieces/locks.js";
import { describeWhere } from "../../needs.js";
import { hasPostgres, NO_POSTGRES } from "../../postgres.js";
import { until } from "../../until.js";
import { configOf, useInstances } from "./ground.js";
import { call, dav, type Served, useVenues } from "./served.js";

/** A body that sets properties, whose names and values are the same. */
const setting = (...names: readonly string[]) =>
  `<D:propertyupdate xmlns:D="DAV:" xmlns:Z="urn:z"><D:set><D:prop>${names
    .map((name) => `<Z:${name}>of ${name}</Z:${name}>`)
    .join("")}</D:prop></D:set></D:propertyupdate>`;

describeWhere(hasPostgres, NO_POSTGRES)("WebDAV at two instances holds", () => {
  const ground = useVenues();
  let one: Served;
  let two: Served;
  beforeAll(async () => {
    one = await ground.serve();
    two = await ground.serve();
  });

  test("locks: taken at one, used and ended at the other, one at a time in a tree", async () => {
    const info =
      '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype><D:owner>ann</D:owner></D:lockinfo>';
    const take = (to: Served, path: string, depth = "0") => dav(to, "LOCK", path, { depth }, info);
    const taken = await take(one, "mine/locked.txt");
    expect(taken.status).toBe(201);
    expect((await take(two, "mine/locked.txt")).status).toBe(423);
    expect((await take(two, "mine/", "infinity")).status).toBe(423);
    expect((await dav(two, "PUT", "mine/locked.txt", {}, "x")).status).toBe(423);
    expect((await dav(two, "DELETE", "mine/locked.txt")).status).toBe(423);
    expect((await dav(two, "PUT", "mine/locked.txt", { if: `(${taken.token})` }, "x")).status).toBe(204);
    // Its holder's view of the content is the other's, too.
    expect((await dav(one, "PUT", "mine/locked.txt", { if: `(${taken.token})` }, "y")).status).toBe(204);
    const { locks } = await call(two, "lock:list", {});
    expect(locks).toEqual([expect.objectContaining({ root: "mine", path: "locked.txt", owner: "ann" })]);
    expect((await dav(two, "PROPFIND", "mine/locked.txt", { depth: "0" })).text).toContain(taken.token.slice(1, -1));
    expect((await dav(two, "UNLOCK", "mine/locked.txt", { "lock-token": taken.token })).status).toBe(204);
    expect((await dav(one, "PUT", "mine/locked.txt", {}, "z")).status).toBe(204);
    for (let round = 0; round < 8; round++) {
      const both = await Promise.all([take(one, "mine/locked.txt"), take(two, "mine/", "infinity")]);
      expect(both.map(({ status }) => status).toSorted()).toEqual([200, 423]);
      const [at, path] = both[0].status === 200 ? [two, "mine/locked.txt"] : [one, "mine/"];
      const { token } = both.find(({ status }) => status === 200) ?? { token: "" };
      expect((await dav(at, "UNLOCK", path, { "lock-token": token })).status).toBe(204);
    }
    await take(one, "mine/dropped.txt");
    const [left] = (await call(two, "lock:list", {})).locks;
    expect(await call(two, "lock:drop", { id: left.id })).toEqual({ dropped: true, id: left.id });
    expect((await dav(one, "PUT", "mine/dropped.txt", {}, "z")).status).toBe(204);
  });

  const set = (to: Served, path: string, ...names: readonly string[]) =>
    dav(to, "PROPPATCH", path, {}, setting(...names));
  /** Names of the properties of a resource, by its URL, as an instance tells them. */
  async function told(to: Served, path: string, depth = "0"): Promise<Readonly<Record<string, readonly string[]>>> {
    const { status, text } = await dav(to, "PROPFIND", path, { depth });
    expect(status).toBe(207);
    const responses = text.split("<D:response>").slice(1);
    return Object.fromEntries(
      responses.map((one) => [
        /<D:href>([^<]*)/.exec(one)?.[1],
        [...one.matchAll(/>of (\w+)</g)].map(([, name]) => name),
      ]),
    ) as Readonly<Record<string, readonly string[]>>;
  }
  const rows = async () => (await ground.sql("SELECT * FROM dav_property")).length;

  test("properties: stored at one, told by the other, of members and roots too, and unreadable in the engine", async () => {
    await dav(one, "MKCOL", "mine/folder");
    await dav(one, "PUT", "mine/folder/a.txt", {}, "x");
    expect(await set(one, "mine/folder/a.txt", "secret")).toMatchObject({
      status: 207,
      text: expect.stringContaining("200 OK"),
    });
    await set(two, "mine/folder/", "second");
    await set(two, "mine/", "third");
    for (const instance of [one, two]) {
      expect(await told(instance, "mine/folder/a.txt")).toEqual({ "/dav/mine/folder/a.txt": ["secret"] });
      expect(await told(instance, "mine/folder/", "1")).toEqual({
        "/dav/mine/folder/": ["second"],
        "/dav/mine/folder/a.txt": ["secret"],
      });
      expect(await told(instance, "mine/")).toEqual({ "/dav/mine/": ["third"] });
      expect(await told(instance, "", "1")).toMatchObject({ "/dav/mine/": ["third"] });
    }
    const kept = JSON.stringify(
      await ground.sql("SELECT id, above, encode(sealed, 'escape') AS sealed FROM dav_property"),
    );
    expect(kept).not.toMatch(/secret|second|third|folder|notes|urn:z/);
    await dav(one, "DELETE", "mine/folder");
    expect(await rows()).toBe(1);
    await dav(one, "PROPPATCH", "mine/", {}, setting("third").replaceAll("D:set", "D:remove"));
    expect(await rows()).toBe(0);
  });

  test("properties: they go with what is moved or copied, and with what is deleted or replaced, wherever that is asked", async () => {
    for (const folder of ["from", "from/deep"]) await dav(one, "MKCOL", `mine/${folder}`);
    await dav(one, "PUT", "mine/from/deep/b.txt", {}, "x");
    await set(one, "mine/from/", "top");
    await set(one, "mine/from/deep/b.txt", "low");
    const destination = (path: string) => ({ destination: `/dav/mine/${path}` });
    expect((await dav(two, "COPY", "mine/from", destination("copied"))).status).toBe(201);
    expect((await dav(two, "MOVE", "mine/from", destination("moved"))).status).toBe(201);
    await dav(one, "MKCOL", "mine/from");
    for (const instance of [one, two]) {
      for (const folder of ["copied", "moved"]) {
        expect(await told(instance, `mine/${folder}/`)).toEqual({ [`/dav/mine/${folder}/`]: ["top"] });
        expect(await told(instance, `mine/${folder}/deep/`, "1")).toMatchObject({
          [`/dav/mine/${folder}/deep/b.txt`]: ["low"],
        });
      }
      expect(await told(instance, "mine/from/")).toEqual({ "/dav/mine/from/": [] });
    }
    // One of another kind comes in its place.
    await dav(two, "DELETE", "mine/moved/deep/b.txt");
    await dav(one, "PUT", "mine/moved/deep/b.txt", {}, "y");
    expect(await told(one, "mine/moved/deep/b.txt")).toEqual({ "/dav/mine/moved/deep/b.txt": [] });
    expect((await dav(one, "COPY", "mine/copied", { ...destination("moved"), depth: "0" })).status).toBe(204);
    expect(await told(two, "mine/moved/", "1")).toEqual({ "/dav/mine/moved/": ["top"] });
    for (const folder of ["from", "moved", "copied"]) await dav(two, "DELETE", `mine/${folder}`);
    expect(await rows()).toBe(0);
  });

  test("properties: those that both set at once are all kept", async () => {
    await dav(one, "PUT", "mine/both.txt", {}, "x");
    const names = Array.from({ length: 12 }, (_, index) => `p${index}`);
    const answers = await Promise.all(
      names.map((name, index) => set(index % 2 === 0 ? one : two, "mine/both.txt", name)),
    );
    expect(answers.every(({ text }) => text.includes("200 OK"))).toBe(true);
    const { "/dav/mine/both.txt": found } = await told(one, "mine/both.txt");
    expect(found?.toSorted()).toEqual(names.toSorted());
    await dav(two, "DELETE", "mine/both.txt");
    expect(await rows()).toBe(0);
  });

  test("properties: what is beyond the limits of all is refused, and nothing is copied without them", async () => {
    await dav(one, "PUT", "mine/a.txt", {}, "x");
    await set(one, "mine/a.txt", "first");
    await ground.sql("INSERT INTO dav_property VALUES ('x', '{x}', convert_to(repeat('x', 16777216), 'utf8'))");
    expect((await set(two, "mine/a.txt", "second")).text).toContain("507 Insufficient Storage");
    expect((await dav(two, "COPY", "mine/a.txt", { destination: "/dav/mine/b.txt" })).status).toBe(507);
    expect((await dav(two, "MOVE", "mine/a.txt", { destination: "/dav/mine/b.txt" })).status).toBe(201);
    await ground.sql("DELETE FROM dav_property WHERE id = 'x'");
    expect(await told(one, "mine/b.txt")).toEqual({ "/dav/mine/b.txt": ["first"] });
    await dav(one, "DELETE", "mine/b.txt");
  });

  test("properties: where the engine goes away in the middle, nothing is done and the client comes again", async () => {
    await dav(one, "PUT", "mine/a.txt", {}, "x");
    await set(one, "mine/a.txt", "first");
    const time = async () =>
      /getlastmodified>([^<]*)/.exec((await dav(two, "PROPFIND", "mine/a.txt", { depth: "0" })).text)?.[1];
    const before = await time();
    const gone = "BEGIN RAISE EXCEPTION 'gone' USING ERRCODE = '57P01'; END";
    await ground.sql(`CREATE FUNCTION gone() RETURNS trigger LANGUAGE plpgsql AS '${gone.replaceAll("'", "''")}'`);
    await ground.sql("CREATE TRIGGER gone BEFORE INSERT ON dav_property FOR EACH ROW EXECUTE FUNCTION gone()");
    const timed = setting("second").replace("<D:prop>", "<D:prop><D:getlastmodified>1000000000</D:getlastmodified>");
    const made = setting("top").replaceAll("propertyupdate", "mkcol");
    for (const [method, path, body] of [
      ["PROPPATCH", "mine/a.txt", timed],
      ["MKCOL", "mine/new", made],
    ] as const) {
      const { status, retry, text } = await dav(two, method, path, {}, body);
      expect([status, retry]).toEqual([503, "1"]);
      expect(text).toContain("SHARED_STATE_UNAVAILABLE");
    }
    await ground.sql("DROP FUNCTION gone() CASCADE");
    expect(await told(one, "mine/a.txt")).toEqual({ "/dav/mine/a.txt": ["first"] });
    expect(await time()).toBe(before);
    expect((await dav(one, "PROPFIND", "mine/new", { depth: "0" })).status).toBe(404);
    expect((await dav(one, "MKCOL", "mine/new", {}, made)).status).toBe(201);
    expect(await told(two, "mine/new/")).toEqual({ "/dav/mine/new/": ["top"] });
    for (const name of ["a.txt", "new"]) await dav(one, "DELETE", `mine/${name}`);
  });

  test("properties: a row that the venue did not seal for its place tells nobody anything", async () => {
    for (const name of ["a.txt", "b.txt"]) {
      await dav(one, "PUT", `mine/${name}`, {}, "x");
      await set(one, `mine/${name}`, name.slice(0, 1));
    }
    await ground.sql("UPDATE dav_property SET sealed = (SELECT sealed FROM dav_property ORDER BY id LIMIT 1)");
    const found = [await told(two, "mine/a.txt"), await told(two, "mine/b.txt")].flatMap((one) =>
      Object.values(one).flat(),
    );
    expect(found).toHaveLength(1);
    for (const name of ["a.txt", "b.txt"]) await dav(one, "DELETE", `mine/${name}`);
    await ground.sql("DELETE FROM dav_property");
  });

  test("locks and properties of a temp root stay with the instance, as its files do", async () => {
    for (const instance of [one, two]) await dav(instance, "PUT", "tmp/own.txt", {}, "x");
    const info =
      '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>';
    const { status, token } = await dav(one, "LOCK", "tmp/own.txt", { depth: "0" }, info);
    expect(status).toBe(200);
    expect((await dav(one, "PUT", "tmp/own.txt", {}, "y")).status).toBe(423);
    expect((await dav(two, "PUT", "tmp/own.txt", {}, "y")).status).toBe(204);
    expect((await dav(two, "LOCK", "tmp/", { depth: "infinity" }, info)).status).toBe(200);
    expect((await dav(two, "PROPFIND", "tmp/own.txt", { depth: "0" })).text).not.toContain(token.slice(1, -1));
    expect((await dav(one, "UNLOCK", "tmp/own.txt", { "lock-token": token })).status).toBe(204);
    for (const { id } of (await call(one, "lock:list", {})).locks) await call(one, "lock:drop", { id });
    await set(one, "tmp/own.txt", "own");
    expect(await told(one, "tmp/own.txt")).toEqual({ "/dav/tmp/own.txt": ["own"] });
    expect(await told(two, "tmp/own.txt")).toEqual({ "/dav/tmp/own.txt": [] });
    expect(await rows()).toBe(0);
  });
});

describeWhere(hasPostgres, NO_POSTGRES)("a change over WebDAV", () => {
  const ground = useInstances();
  const spot = { tree: "t", segments: ["a"] };
  const asked = { trees: ["t"], spots: [spot], reach: "all" } as const;

  async function instance() {
    const config = configOf();
    await ground.init(config);
    const shared = await ground.start(config);
    return { shared, locks: locksOf(shared)({ most: 10, now: Date.now }) };
  }

  test("asks the engine once, and once more only where it changes locks or properties", async () => {
    const { shared, locks } = await instance();
    const query = jest.spyOn(shared, "query");
    const requests = async (change: (properties: NonNullable<Awaited<ReturnType<typeof locks.look>>>) => unknown) => {
      query.mockClear();
      const properties = await locks.look(asked);
      await (properties && change(properties));
      await locks.settle();
      return query.mock.calls.length;
    };
    expect(await requests((properties) => properties.drop(spot))).toBe(1);
    await requests((properties) => properties.change(spot, false, new Map([["{a}b", "x"]])));
    expect(await requests((properties) => properties.of(spot, false))).toBe(1);
    const to = { tree: "t", segments: ["b"] };
    expect(await requests((properties) => properties.relocate(spot, to, { isCopied: false, isDeep: true }))).toBe(2);
    expect([...((await locks.look({ ...asked, spots: [to] }))?.of(to, false).keys() ?? [])]).toEqual(["{a}b"]);
  });

  test("leaves its properties, if the engine is away, as soon as it is back", async () => {
    const { shared, locks } = await instance();
    const found = async () => [...((await locks.look(asked))?.of(spot, false).keys() ?? [])];
    await (await locks.look(asked))?.change(spot, false, new Map([["{a}b", "x"]]));
    const properties = await locks.look(asked);
    const query = jest.spyOn(shared, "query").mockRejectedValueOnce(new Error("away"));
    properties?.drop(spot);
    await locks.settle();
    query.mockRestore();
    await until(async () => (await found()).length === 0);
    jest.spyOn(shared, "transaction").mockRejectedValueOnce(new Error("away"));
    await expect(properties?.change(spot, false, new Map([["{a}c", "x"]]))).rejects.toThrow("away");
    expect(await found()).toEqual([]);
  });
});
