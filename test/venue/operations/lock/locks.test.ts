import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type LockGround, serveLocks } from "./lock-calls.js";

describe("lock:drop", () => {
  let ground: LockGround;
  beforeAll(async () => {
    ground = await serveLocks();
  });
  afterAll(() => ground.close());

  async function idOf(path: string): Promise<string> {
    const { body } = await ground.run("lock:list");
    const { locks } = (body.output ?? body) as {
      readonly locks: readonly { readonly id: string; readonly path: string }[];
    };
    return locks.find((one) => one.path === path)?.id ?? "";
  }

  test("a dropped lock lets another client write, and its holder saves over nothing", async () => {
    await ground.dav("PUT", "/dav/docs/a", { body: "one" });
    const taken = await ground.lock("/dav/docs/a");
    const write = (body: string, headers = {}, as: "alice" | "bob" = "bob") =>
      ground.status("PUT", "/dav/docs/a", { as, body, headers });
    expect(await write("two")).toBe(423);
    const id = await idOf("a");
    expect((await ground.run("lock:drop", { id }, "bob")).body).toMatchObject({ errorCode: "CAPABILITY_DENIED" });
    expect((await ground.run("lock:drop", { id }, "alice")).body).toMatchObject({ errorCode: "CAPABILITY_DENIED" });
    expect(await write("two")).toBe(423);
    expect(JSON.stringify((await ground.run("lock:drop", { id })).body)).toContain('"dropped":true');
    expect(await write("two")).toBe(204);
    const held = { if: `(${String(taken.headers["lock-token"])})` };
    expect(await write("three", held, "alice")).toBe(412);
    expect((await ground.dav("GET", "/dav/docs/a")).text).toBe("two");
  });

  test("a deep lock of a folder goes alone, and one that has gone is told", async () => {
    for (const name of ["f", "g"]) await ground.dav("MKCOL", `/dav/docs/${name}`);
    for (const name of ["f", "g"]) expect((await ground.lock(`/dav/docs/${name}`)).status).toBe(200);
    const id = await idOf("f");
    await ground.run("lock:drop", { id });
    expect(await ground.status("PUT", "/dav/docs/f/x", { as: "bob", body: "x" })).toBe(201);
    expect(await ground.status("PUT", "/dav/docs/g/x", { as: "bob", body: "x" })).toBe(423);
    expect((await ground.run("lock:drop", { id })).body).toMatchObject({ errorCode: "INVALID_INPUT" });
    expect((await ground.run("lock:drop", { id: "0" })).body).toMatchObject({ errorCode: "INVALID_INPUT" });
  });
});

describe("lock:list", () => {
  let ground: LockGround;
  beforeAll(async () => {
    ground = await serveLocks();
  });
  afterAll(() => ground.close());

  test("the operator sees place, holder and times of each lock, and no token", async () => {
    await ground.dav("PUT", "/dav/docs/a.txt", { body: "one" });
    const taken = await ground.lock("/dav/docs/a.txt");
    await ground.lock("/dav/docs/b", "bob");
    const listed = await ground.run("lock:list");
    const text = JSON.stringify(listed.body);
    expect(text).toContain('"path":"a.txt"');
    const [, uuid = "?"] = /opaquelocktoken:([^>]+)>/.exec(String(taken.headers["lock-token"])) ?? [];
    expect(uuid).toMatch(/^[0-9a-f-]{36}$/);
    expect(text).not.toContain(uuid);
    const time = expect.any(Number);
    const id = expect.stringMatching(/^[0-9a-f]{16}$/);
    const holder = (name: string) => expect.stringMatching(new RegExp(`:token:${name}$`));
    expect(outputOf(listed.body)).toEqual({
      locks: [
        { id, root: "docs", path: "a.txt", owner: "laptop & co", holder: holder("alice"), since: time, until: time },
        { id, root: "docs", path: "b", owner: "laptop & co", holder: holder("bob"), since: time, until: time },
      ],
      complete: true,
    });
    expect(outputOf((await ground.run("lock:list", { limit: 1 })).body)).toMatchObject({
      locks: [{ path: "a.txt" }],
      complete: false,
      reason: "limit",
    });
  });

  test("nobody else sees any, of their own neither", async () => {
    for (const as of ["alice", "reader"] as const) {
      const { body } = await ground.run("lock:list", {}, as);
      expect(body).toMatchObject({ errorCode: "CAPABILITY_DENIED" });
      expect(JSON.stringify(body)).not.toContain("a.txt");
    }
  });

  const outputOf = (body: Readonly<Record<string, unknown>>): unknown => body["output"] ?? body;
});
