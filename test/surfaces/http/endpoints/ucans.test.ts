import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { Caller, NameCaller } from "../../../../src/core/call/caller.js";
import { outcome, send } from "../client.js";
import { ALICE, as, BOB, closeAll, DID, postInvoke, postText, type Served, serve } from "../fixture.js";

const PUBLIC = `${DID}:public`;
const ANONYMOUS = { did: PUBLIC, authentication: "public", isOperator: false };
const alices: Caller = { did: ALICE, authentication: "ucan", isOperator: false, identityTokens: ["alice"] };

/** What the venue was asked, in order. */
let asked: Parameters<NameCaller>[] = [];
const nameCaller: NameCaller = (caller, ucans) => {
  asked.push([caller, ucans]);
  if (!Array.isArray(ucans)) return caller;
  if (ucans.includes("alice")) return ucans.includes("bob") ? "ambiguous" : alices;
  return caller;
};

let served: Served;
beforeAll(async () => {
  served = await serve({ read: () => "done" }, { nameCaller });
});
beforeEach(() => {
  asked = [];
});
afterAll(closeAll);

const call = (fields: object) => ({ operation: "file:read", ...fields });
const lastContext = () => served.adapter.calls.at(-1)?.context;
const runs = [
  ["invoke", 201],
  ["run", 200],
] as const;

describe.each(runs)("a call without credentials, to %s", (endpoint, status) => {
  const send = (fields: object) => postText(served, `/api/v1/${endpoint}`, JSON.stringify(call(fields)));

  test("is made by whom its tokens name, who is told of with those tokens", async () => {
    expect((await send({ ucans: ["alice", "other"] })).status).toBe(status);
    expect(lastContext()).toMatchObject({
      callerDID: ALICE,
      authentication: "ucan",
      identityTokens: ["alice"],
      ucans: ["alice", "other"],
    });
    expect(lastContext()?.ambiguousCaller).toBeUndefined();
  });

  test("is made by nobody when its tokens name several, and its adapter is told", async () => {
    await send({ ucans: ["alice", "bob"] });
    expect(lastContext()).toMatchObject({ callerDID: PUBLIC, authentication: "public", ambiguousCaller: true });
    expect(lastContext()?.identityTokens).toBeUndefined();
  });

  test("is made by nobody when its tokens name nobody", async () => {
    for (const fields of [{ ucans: ["other"] }, { ucans: null }, {}]) {
      await send(fields);
      expect(lastContext()).toMatchObject({ callerDID: PUBLIC, authentication: "public" });
      expect(lastContext()?.identityTokens).toBeUndefined();
    }
    expect(asked).toEqual([
      [ANONYMOUS, ["other"]],
      [ANONYMOUS, undefined],
      [ANONYMOUS, undefined],
    ]);
  });

  test("that cannot be understood asks for nobody's name", async () => {
    await postText(served, `/api/v1/${endpoint}`, '{"ucans":["alice"]}');
    await send({ operation: "file:none", ucans: ["alice"] });
    expect(asked).toEqual([]);
  });
});

describe("a job that tokens named the owner of", () => {
  test("is theirs", async () => {
    const { body } = await outcome(postInvoke(served, call({ ucans: ["alice"] })));
    expect(body).toMatchObject({ status: "COMPLETE", caller: ALICE });
    const { id } = body as { id: string };
    const read = async (headers: Record<string, string>) =>
      (await fetch(`${served.url}/api/v1/jobs/${id}`, { headers })).status;
    expect([await read({}), await read(as("bob")), await read(as("alice"))]).toEqual([403, 403, 200]);
  });

  test("of several is the anonymous caller's", async () => {
    const { body } = await outcome(postInvoke(served, call({ ucans: ["alice", "bob"] })));
    expect(body).toMatchObject({ caller: PUBLIC });
  });
});

test("a caller with credentials is who they say, whatever tokens come along", async () => {
  const answer = await send(`${served.url}/api/v1/invoke`, { json: call({ ucans: ["none"] }), headers: as("bob") });
  expect(await answer.json()).toMatchObject({ caller: BOB });
  expect(asked).toEqual([[{ did: BOB, authentication: "identity", isOperator: false }, ["none"]]]);
});

test("where callers without credentials are not served, tokens in a call are none", async () => {
  const closed = await serve({ read: () => "done" }, { nameCaller, http: { publicAccess: false } });
  const answer = await postInvoke(closed, call({ ucans: ["alice"] }));
  expect([answer.status, await answer.json()]).toEqual([401, { error: "Authentication required" }]);
  expect(closed.adapter.calls).toEqual([]);
  expect(asked).toEqual([]);
});

test("neither the answer nor the record of a call shows its tokens", async () => {
  const answer = await postInvoke(served, call({ ucans: ["alice"] }));
  expect(await answer.text()).not.toMatch(/ucans|identityTokens|"alice"/);
});
