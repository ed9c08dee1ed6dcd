import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { send } from "../../../surfaces/http/client.js";
import { ALL_DOCS, accessOf, FILE, STATIC, SUB } from "../access-calls.js";
import { useGround } from "../fixture.js";

const ground = useGround();
const access = accessOf(ground);
const { issue, read, revoke, statusWith } = access;

describe("an access token", () => {
  beforeEach(() =>
    ground.open({
      auth: {
        grants: [{ did: ground.bob.did, ...SUB }],
        tokens: [{ name: "ci", token: { file: ground.secret("ci.token", STATIC) }, caps: [SUB] }],
      },
    }),
  );

  test("does what its caps say, and nothing else, not even what everybody may", async () => {
    const { token, id, did } = await issue({ caps: [SUB] });
    expect(token).toMatch(/^vft_[A-Za-z0-9_-]{43}$/);
    expect(did).toBe(`${ground.venue.did}:access:${id}`);
    expect(await read(token)).toMatchObject({ status: "COMPLETE", caller: did });
    expect((await ground.call("auth:whoami", {}, { bearer: token })).output).toMatchObject({
      ...{ did, authentication: "access-token", operator: false, via: id, grants: [SUB] },
    });
    const denied = await ground.call("file:write", { ...FILE, content: "x" }, { bearer: token });
    expect(denied.errorData).toMatchObject({ have: [SUB], denied_by: ["agent_caps"] });
    expect(await ground.call("file:list", { root: "tmp", path: "" }, { bearer: token })).toMatchObject({
      errorCode: "CAPABILITY_DENIED",
    });
    expect(await read(token, { root: "hers", path: "sub/a.txt" })).toMatchObject({ errorCode: "CAPABILITY_DENIED" });
  });

  test.each([
    ["an identity, whatever the caps say", "identity", { errorCode: "CAPABILITY_DENIED" }],
    ["a static token, which has fewer caps", "static", { errorCode: "CAPABILITY_DENIED" }],
  ])("never does more than its maker: %s", async (_title, kind, refusal) => {
    const by = kind === "identity" ? { as: ground.bob } : { bearer: STATIC };
    const { token } = await issue({ caps: [ALL_DOCS] }, by);
    expect(await read(token)).toMatchObject({ status: "COMPLETE" });
    expect(await ground.call("file:delete", FILE, { bearer: token })).toMatchObject(refusal);
  });

  test("is not made by callers without credentials, by UCANs, by narrowed callers and by access tokens", async () => {
    const { token } = await issue({ caps: [ALL_DOCS] });
    const ucan = await ground.key.grant(ground.bob, [SUB]);
    const bearer = await ground.bob.grant(ground.venue, [SUB], { proofs: [ucan.token] });
    const cases: Parameters<typeof ground.call>[2][] = [
      {},
      { bearer: token },
      { bearer: bearer.token },
      { bearer: ground.venue.localToken, caps: [SUB] },
    ];
    for (const options of cases) {
      const answer = await ground.call("auth:issue", { label: "no", caps: [SUB] }, options);
      expect(answer).toMatchObject({ status: "FAILED", errorCode: "CAPABILITY_DENIED" });
      const signed = await ground.call("ucan:issue", { aud: ground.carol.did, att: [SUB] }, { bearer: token });
      expect(signed).toMatchObject({ errorCode: "CAPABILITY_DENIED" });
    }
  });

  test.each([
    [{ caps: [] }, "/caps"],
    [{ caps: [{ with: "file://../", can: "crud" }] }, "/caps/0"],
    [{ caps: [{ with: "file://docs/", can: "crud", nb: {} }] }, "/caps/0"],
    [{ caps: [SUB, { with: "file://docs/", can: "crud/raed" }] }, "/caps/1/can"],
    [{ caps: [{ with: "file://docs/", can: "read" }] }, "/caps/0/can"],
    [{ label: "" }, "/label"],
    [{ lifetimeSeconds: 604_801 }, "/lifetimeSeconds"],
    [{ caps: [SUB], lifetimeSeconds: 31_622_401 }, "/lifetimeSeconds"],
  ])("is refused for %j", async (input, pointer) => {
    const answer = await ground.byOperator("auth:issue", { label: "test", ...input });
    expect(answer).toMatchObject({ errorCode: "INVALID_INPUT", errorData: { pointer } });
  });

  test("tells the operator, and nobody else, that there is no such root", async () => {
    const caps = [SUB, { with: "file://dosc/", can: "crud/read" }, { with: "dlfs://notes/", can: "crud" }];
    expect((await issue({ caps })).note).toBe("There is no root for file://dosc/, which leads nowhere");
    expect((await issue({ caps: [SUB, { with: "file://", can: "*" }] })).note).toBeUndefined();
    expect((await issue({ caps }, { as: ground.bob })).note).toBeUndefined();
  });

  test("is told once: neither job, list, audit nor disk hold it", async () => {
    const { token, id } = await issue({ caps: [SUB] });
    const answer = await ground.byOperator("auth:issue", { label: "again", caps: [SUB] });
    const again = answer.output["token"];
    const job = await (
      await send(`${ground.venue.url}/api/v1/jobs/${answer.id.slice(2)}`, { token: ground.venue.localToken })
    ).text();
    expect(JSON.parse(job)).toMatchObject({ output: { token: "HIDDEN" } });
    const list = JSON.stringify((await ground.byOperator("auth:list")).output);
    expect(list).toContain(id);
    await read(token);
    await statusWith(`${token.slice(0, -1)}x`);
    const folder = join(ground.base, "state", "access");
    const files = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
    expect(statSync(folder).mode & 0o077).toBe(0);
    for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o077).toBe(0);
    await ground.venue.close();
    const audit = readFileSync(join(ground.base, "audit.jsonl"), "utf8");
    expect(audit).toContain(`access:${id}`);
    for (const text of [job, list, audit, ...files]) {
      expect(text).not.toContain(token.slice(4));
      expect(text).not.toContain(String(again).slice(4));
    }
  });

  test.each([
    ["an unknown one", () => `vft_${"A".repeat(43)}`],
    ["one of another form", () => "vft_short"],
    [
      "one with one letter changed",
      (token: string) => `${token.slice(0, -2)}${token.at(-2) === "A" ? "B" : "A"}${token.at(-1)}`,
    ],
    ["one without its prefix", (token: string) => token.slice(4)],
    ["the hash of one", (token: string) => `vft_${Buffer.from(token).toString("base64url").slice(0, 43)}`],
  ])("is refused, never anonymous: %s", async (_title, change) => {
    const { token } = await issue({ caps: [SUB] });
    expect(await statusWith(token)).toBe(200);
    expect(await statusWith(change(token))).toBe(401);
  });

  test("loses a right when its maker does, and is worth nothing without its maker", async () => {
    const byBob = await issue({ caps: [ALL_DOCS] }, { as: ground.bob });
    const byCi = await issue({ caps: [SUB] }, { bearer: STATIC });
    const session = await issue({}, { bearer: STATIC });
    for (const { token } of [byBob, byCi, session]) expect(await read(token)).toMatchObject({ status: "COMPLETE" });
    await ground.byOperator("ucan:revoke", { id: ground.bob.did });
    expect(await statusWith(byBob.token)).toBe(401);
    await ground.byOperator("ucan:revoke", { id: `${ground.venue.did}:token:ci` });
    for (const { token } of [byCi, session]) expect(await statusWith(token)).toBe(401);
  });

  test("runs jobs that its maker sees and others do not", async () => {
    const { token } = await issue({ caps: [SUB] }, { as: ground.bob });
    const { token: session } = await issue({}, { as: ground.bob });
    const { id } = await read(token);
    const jobs = async (bearer: string) => {
      const headers = { authorization: `Bearer ${bearer}` };
      const one = await fetch(`${ground.venue.url}/api/v1/jobs/${id.slice(2)}`, { headers });
      const list = await fetch(`${ground.venue.url}/api/v1/jobs`, { headers });
      return { status: one.status, listed: (await list.text()).includes(id.slice(2)) };
    };
    expect(await jobs(session)).toEqual({ status: 200, listed: true });
    expect(await jobs((await issue({}, { as: ground.alice })).token)).toEqual({ status: 403, listed: false });
    expect(await jobs(token)).toEqual({ status: 200, listed: true });
  });
});

describe("a session", () => {
  beforeEach(() => ground.open());

  test("acts as whoever made it, and what was made through it ends with it", async () => {
    const first = await issue({});
    expect((await ground.call("auth:whoami", {}, { bearer: first.token })).output).toMatchObject({
      ...{ did: ground.venue.did, operator: true, authentication: "session", via: first.id },
    });
    const second = await issue({}, { bearer: first.token });
    const third = await issue({ caps: [SUB] }, { bearer: second.token });
    expect(second.expires).toBeLessThanOrEqual(first.expires);
    const ucan = (await ground.call("ucan:issue", { aud: ground.bob.did, att: [SUB] }, { bearer: second.token }))
      .output;
    expect(await ground.reads(ground.bob, String(ucan["token"]))).toMatchObject({ status: "COMPLETE" });
    const other = await issue({ caps: [SUB] });
    await revoke(first.id, ground.venue.localToken);
    for (const { token } of [first, second, third]) expect(await statusWith(token)).toBe(401);
    expect(await ground.reads(ground.bob, String(ucan["token"]))).toMatchObject({ errorCode: "CAPABILITY_DENIED" });
    expect(await statusWith(other.token)).toBe(200);
  });
});

test("an access token acts on the drives of its maker, and on those alone", async () => {
  await ground.open({ file: { roots: { mine: { dlfs: "notes" } } }, drives: { store: { path: "drives" } } });
  for (const [as, content] of [
    [ground.alice, "hers"],
    [ground.bob, "his"],
  ] as const) {
    await ground.call("dlfs:create-drive", { drive: "notes" }, { as });
    await ground.call("dlfs:write", { drive: "notes", path: "a", content }, { as });
  }
  const caps = ["crud/read", "crud/write"].map((can) => ({ with: "file://mine/", can }));
  const { token } = await issue({ caps }, { as: ground.bob });
  expect((await read(token, { root: "mine", path: "a" })).output).toMatchObject({ content: "his" });
  await ground.call("file:write", { root: "mine", path: "a", content: "his agent's" }, { bearer: token });
  const contents = [ground.alice, ground.bob].map(async (as) => {
    return (await ground.call("file:read", { root: "mine", path: "a" }, { as })).output["content"];
  });
  expect(await Promise.all(contents)).toEqual(["hers", "his agent's"]);
});

describe("tokens of a venue", () => {
  test("outlast it where it keeps its key, and are worth nothing in another with the same state", async () => {
    await ground.open();
    const { token } = await issue({ caps: [SUB] });
    await ground.venue.close();
    await ground.open();
    expect(await read(token)).toMatchObject({ status: "COMPLETE" });
    await ground.venue.close();
    await ground.open({}, { freshKey: true });
    expect(await statusWith(token)).toBe(401);
    expect((await ground.byOperator("auth:list", { kind: "access" })).output).toMatchObject({ entries: [] });
    expect((await ground.byOperator("auth:issue", { label: "x" })).output).toHaveProperty("note");
  });

  test("that has no state directory do not exist", async () => {
    await ground.open({ stateDir: false, auth: { localToken: false } });
    const answer = await ground.call("auth:issue", { label: "x", caps: [SUB] }, { as: ground.key });
    expect(answer).toMatchObject({ errorCode: "NOT_SUPPORTED", error: expect.stringContaining("stateDir") });
    const login = await fetch(`${ground.venue.url}/api/v1/login`, { method: "POST" });
    expect(login.status).toBe(404);
    expect(existsSync(join(ground.base, "state"))).toBe(false);
  });
});
