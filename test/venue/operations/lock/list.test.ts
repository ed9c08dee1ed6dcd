import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type LockGround, serveLocks } from "./lock-calls.js";

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
