import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "@jest/globals";
import type { Capability } from "../../../../src/core/call/capability.js";
import { send } from "../../../surfaces/http/client.js";
import { ALL_DOCS, accessOf, FILE, STATIC, SUB } from "../access-calls.js";
import { type Person, READ_DOCS, useGround } from "../fixture.js";

const ground = useGround();

describe("auth:issue", () => {
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
        const one = await send(`${ground.venue.url}/api/v1/jobs/${id.slice(2)}`, { token: bearer });
        const list = await send(`${ground.venue.url}/api/v1/jobs`, { token: bearer });
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
});

describe("what somebody holds", () => {
  const { issue } = accessOf(ground);

  test("is listed beside what the configuration gives, which cannot be revoked", async () => {
    await ground.open({ auth: { grants: [{ did: ground.bob.did, ...SUB }] } });
    const entries = (await ground.byOperator("auth:list")).output["entries"];
    expect(entries).toMatchObject([
      { kind: "owner", label: "operator", did: ground.venue.did },
      { kind: "owner", did: ground.alice.did, grants: [{ with: "file://hers/", can: "*" }] },
      { kind: "config", id: "auth.grants[0]", did: ground.bob.did, grants: [SUB] },
      { kind: "public", id: "auth.public" },
    ]);
    const answer = await ground.byOperator("auth:revoke", { id: "auth.grants[0]" });
    expect(answer).toMatchObject({ errorCode: "NOT_SUPPORTED", error: expect.stringContaining("auth.grants[0]") });
  });

  test("are listed in pages, the newest first", async () => {
    await ground.open();
    const ids: string[] = [];
    for (let count = 0; count < 3; count += 1) ids.unshift((await issue({ caps: [SUB], label: `n${count}` })).id);
    const first = (await ground.byOperator("auth:list", { kind: "access", limit: 2 })).output;
    expect(first).toMatchObject({ complete: false, reason: "limit" });
    const { nextCursor } = first;
    const second = (await ground.byOperator("auth:list", { kind: "access", limit: 2, cursor: nextCursor })).output;
    const all = [first, second].flatMap(({ entries }) => entries as { id: string }[]);
    expect(new Set(all.map(({ id }) => id))).toEqual(new Set(ids));
    expect(second).toMatchObject({ complete: true });
    expect(await ground.byOperator("auth:list", { cursor: "x" })).toMatchObject({ errorCode: "INVALID_INPUT" });
  });
});

describe("a token", () => {
  const { issue, revoke, statusWith } = accessOf(ground);

  beforeEach(() => ground.open({ auth: { grants: [{ did: ground.bob.did, ...SUB }] } }));

  test("ends at once when it is revoked, by its maker, by itself or by the operator", async () => {
    for (const by of ["maker", "itself", "operator"]) {
      const { token, id } = await issue({ caps: [SUB] }, { as: ground.bob });
      const options =
        by === "maker" ? { as: ground.bob } : { bearer: by === "itself" ? token : ground.venue.localToken };
      const answer = await ground.call("auth:revoke", { id }, options);
      expect(answer).toMatchObject({ output: { revoked: true, id } });
      expect(await statusWith(token)).toBe(401);
    }
  });

  test("is neither seen nor revoked by others, and cannot be told from none", async () => {
    const { token, id } = await issue({ caps: [SUB] }, { as: ground.bob });
    const other = await issue({ caps: [SUB] }, { as: ground.alice });
    const texts = new Set<string>();
    for (const wanted of [id, "0".repeat(32)]) {
      for (const options of [{ as: ground.alice }, { bearer: other.token }, {}]) {
        const answer = await ground.call("auth:revoke", { id: wanted }, options);
        expect(answer.errorCode).toBe("CAPABILITY_DENIED");
        texts.add(answer.error);
      }
    }
    expect(texts.size).toBe(1);
    expect(await statusWith(token)).toBe(200);
    for (const options of [{ as: ground.alice }, { bearer: other.token }, {}]) {
      expect(JSON.stringify((await ground.call("auth:list", {}, options)).output)).not.toContain(id);
    }
    const mine = (await ground.call("auth:list", { kind: "access" }, { as: ground.bob })).output;
    expect(mine).toMatchObject({ complete: true, entries: [{ id, label: "test", by: ground.bob.did, grants: [SUB] }] });
  });

  test("is revoked by its DID like a static token", async () => {
    const { token, did } = await issue({ caps: [SUB] });
    await ground.byOperator("ucan:revoke", { id: did });
    expect(await statusWith(token)).toBe(401);
  });

  test("that signs out ends alone", async () => {
    const first = await issue({});
    const made = await issue({ caps: [SUB] }, { bearer: first.token });
    expect(await revoke(first.id, first.token, { keep: true })).toMatchObject({ output: { revoked: true } });
    expect(await statusWith(first.token)).toBe(401);
    expect(await statusWith(made.token)).toBe(200);
    await revoke(first.id, ground.venue.localToken);
    expect(await statusWith(made.token)).toBe(401);
  });

  test("of no known form is no id", async () => {
    expect(await revoke("../x", ground.venue.localToken)).toMatchObject({ errorCode: "INVALID_INPUT" });
  });
});

describe("auth:whoami", () => {
  const PUBLIC: Capability = { with: "file://tmp/", can: "crud/read" };
  const HERS: Capability = { with: "file://hers/sub/", can: "crud/read" };
  const STATIC = "static-token-static-token-static-token";

  const whoami = async (options?: Parameters<typeof ground.call>[2]) =>
    (await ground.call("auth:whoami", {}, options)).output;

  describe("auth:whoami tells", () => {
    test("a caller without credentials what everybody may do, and no more names", async () => {
      await ground.open();
      const answer = await ground.call("auth:whoami");
      expect(answer.output).toEqual({
        did: `${ground.venue.did}:public`,
        authentication: "public",
        operator: false,
        venue: ground.venue.did,
        grants: [PUBLIC],
        grantsTruncated: false,
      });
      // A DID may hold such words by chance.
      expect(JSON.stringify(answer).replaceAll(ground.venue.did, "")).not.toMatch(/hers|docs/);
    });

    test("the operator, by the local token and by its key", async () => {
      await ground.open();
      const said = {
        did: ground.venue.did,
        operator: true,
        grants: ["*", "approve"].map((can) => ({ with: "file://", can })),
      };
      const byToken = (await ground.byOperator("auth:whoami")).output;
      expect(byToken).toMatchObject({ ...said, authentication: "local-token" });
      expect(await whoami({ as: ground.key })).toMatchObject({ ...said, authentication: "identity" });
    });

    test("the operator that is not the venue", async () => {
      await ground.open({ operator: ground.carol.did });
      expect(await whoami({ as: ground.carol })).toMatchObject({ did: ground.carol.did, operator: true });
      expect(await whoami({ as: ground.key })).toMatchObject({
        did: ground.venue.did,
        operator: false,
        grants: [PUBLIC],
      });
    });

    test("the owner of a root", async () => {
      await ground.open();
      expect(await whoami({ as: ground.alice })).toEqual({
        did: ground.alice.did,
        authentication: "identity",
        operator: false,
        venue: ground.venue.did,
        grants: [{ with: "file://hers/", can: "*" }, { with: "file://hers/", can: "approve" }, PUBLIC],
        grantsTruncated: false,
      });
    });

    test("whoever the configuration gives something", async () => {
      await ground.open({ auth: { grants: [{ did: ground.bob.did, ...READ_DOCS }] } });
      expect(await whoami({ as: ground.bob })).toMatchObject({ grants: [READ_DOCS, PUBLIC] });
      expect(await whoami({ as: ground.carol })).toMatchObject({ grants: [PUBLIC] });
    });

    test("whoever brings proofs, for which public rights do not count", async () => {
      await ground.open();
      const { token } = await ground.alice.grant(ground.bob, [HERS]);
      expect(await whoami({ as: ground.bob, ucans: [token] })).toMatchObject({ grants: [HERS] });
      expect(await whoami({ as: ground.carol, ucans: [token] })).toMatchObject({ grants: [] });
    });

    test("whoever has a static token", async () => {
      await ground.open({
        auth: { tokens: [{ name: "ci", token: { file: ground.secret("ci.token", STATIC) }, caps: [READ_DOCS] }] },
      });
      expect(await whoami({ bearer: STATIC })).toMatchObject({
        did: `${ground.venue.did}:token:ci`,
        authentication: "static-token",
        operator: false,
        grants: [READ_DOCS, PUBLIC],
      });
    });

    test("whoever is narrowed what is left", async () => {
      await ground.open();
      const bearer = ground.venue.localToken;
      expect(await whoami({ bearer, caps: [READ_DOCS] })).toMatchObject({ operator: true, grants: [READ_DOCS] });
      expect(await whoami({ bearer, caps: [] })).toMatchObject({ operator: true, grants: [] });
    });

    test("whoever is known by a UCAN until when, and holds them to its list", async () => {
      await ground.open();
      const { token, expiresAt } = await ground.alice.grant(ground.venue.did, [HERS], { lifetimeSeconds: 120 });
      const said = { did: ground.alice.did, authentication: "ucan", grants: [HERS], expires: expiresAt };
      expect(await whoami({ bearer: token })).toMatchObject(said);
      // Among the tokens of a call without a bearer it says the same.
      expect(await whoami({ ucans: [token] })).toMatchObject(said);
    });

    test("whoever is named as two that it is nobody", async () => {
      await ground.open();
      const tokens = [ground.alice, ground.bob].map((person) => person.grant(ground.venue.did, [HERS]));
      const ucans = (await Promise.all(tokens)).map(({ token }) => token);
      expect(await whoami({ ucans })).toMatchObject({ did: `${ground.venue.did}:public`, grants: [] });
    });

    test("of many grants the first twenty", async () => {
      const grants = Array.from({ length: 21 }, (_, i) => ({
        did: ground.bob.did,
        with: `file://docs/${i}/`,
        can: "crud",
      }));
      await ground.open({ auth: { grants: grants.slice(1), public: { caps: [] } } });
      expect(await shownTo(ground.bob)).toEqual([20, false]);
      await ground.venue.close();
      await ground.open({ auth: { grants, public: { caps: [] } } });
      expect(await shownTo(ground.bob)).toEqual([20, true]);
    });
  });

  async function shownTo(person: Person): Promise<unknown[]> {
    const { grants, grantsTruncated } = await whoami({ as: person });
    return [Array.isArray(grants) && grants.length, grantsTruncated];
  }

  test("auth:whoami takes no input", async () => {
    await ground.open();
    expect(await ground.call("auth:whoami", { did: "x" })).toMatchObject({
      errorCode: "INVALID_INPUT",
      error: "Unknown field 'did'. Known fields: none",
    });
  });
});
