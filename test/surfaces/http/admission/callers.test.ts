import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { RateLimit } from "../../../../src/surfaces/http/host.js";
import { outcome, send } from "../client.js";
import { ALICE, as, closeAll, DID, postText, rawRequest, type Served, sendRaw, serve } from "../fixture.js";

let served: Served;
beforeAll(async () => {
  served = await serve({ read: () => 1 });
});
afterAll(closeAll);

const invokeAs = (headers: Record<string, string>) =>
  outcome(send(`${served.url}/api/v1/invoke`, { json: { operation: "file:read" }, headers }));

describe("a caller with a token", () => {
  test("is the caller of its jobs and of the operation", async () => {
    expect(await invokeAs(as("alice"))).toMatchObject({ status: 201, body: { caller: ALICE } });
    expect(served.adapter.calls.at(-1)?.context).toMatchObject({ callerDID: ALICE, authentication: "identity" });
  });

  test("is served where others are not", async () => {
    const closed = await serve({ read: () => 1 }, { http: { publicAccess: false } });
    const get = (headers: Record<string, string>) => fetch(`${closed.url}/api/v1/operations`, { headers });
    expect((await get({})).status).toBe(401);
    expect((await get(as("alice"))).status).toBe(200);
  });

  test("who is the operator acts as the venue", async () => {
    expect(await invokeAs(as("operator"))).toMatchObject({ status: 201, body: { caller: DID } });
  });
});

describe("a token that is wrong", () => {
  test("makes nobody anonymous", async () => {
    const before = served.adapter.calls.length;
    expect(await invokeAs({ authorization: "Bearer nonsense" })).toEqual({
      status: 401,
      body: { error: "Invalid or expired token" },
    });
    expect(served.adapter.calls).toHaveLength(before);
  });

  test("is not made right by a right one beside it", async () => {
    const line = "GET /api/v1/operations HTTP/1.1\r\nHost: localhost\r\n";
    const { authorization } = as("alice");
    for (const [first, second] of [
      [authorization, "Bearer x"],
      [authorization, authorization],
    ]) {
      const answer = await sendRaw(served.port, `${line}Authorization: ${first}\r\nAuthorization: ${second}\r\n\r\n`);
      expect([answer.status, answer.body]).toEqual([401, '{"error":"Invalid or expired token"}']);
    }
  });

  test("that is a delegation is told where it belongs", async () => {
    const told = await serve({}, { authenticate: () => ({ refused: "invalid_token", delegatedTo: "did:key:zBob\n" }) });
    expect(await outcome(fetch(`${told.url}/api/v1/status`, { headers: as("bob") }))).toEqual({
      status: 401,
      body: {
        error:
          "Invalid or expired token: token is a delegation to did:key:zBob\\u{a}; send it in 'ucans' and authenticate as its audience",
      },
    });
  });
});

describe("too many requests", () => {
  /** Lets each sender through once. */
  function once(): { seen: string[]; rateLimit: RateLimit } {
    const seen: string[] = [];
    return {
      seen,
      rateLimit: async ({ did, address }) => {
        const sender = did ?? address;
        const known = seen.includes(sender);
        seen.push(sender);
        return known ? 1500 : 0;
      },
    };
  }

  test("are refused before anything is run, and told when to come back", async () => {
    const { rateLimit } = once();
    const slow = await serve({ read: () => 1 }, { http: { rateLimit } });
    const body = '{"operation":"file:read"}';
    expect((await postText(slow, "/api/v1/invoke", body)).status).toBe(201);
    const second = await postText(slow, "/api/v1/invoke", body);
    expect([second.status, second.headers.get("retry-after")]).toEqual([429, "2"]);
    expect(await second.json()).toEqual({ error: "Too many requests. Retry after 2 s" });
    expect(slow.adapter.calls).toHaveLength(1);
  });

  test("are counted by caller, and without one, or with a wrong token, by address", async () => {
    const { seen, rateLimit } = once();
    const slow = await serve({}, { http: { rateLimit } });
    const get = async (headers: Record<string, string>) =>
      (await fetch(`${slow.url}/api/v1/status`, { headers })).status;
    expect(await get(as("alice"))).toBe(200);
    expect(await get(as("bob"))).toBe(200);
    expect(await get({})).toBe(200);
    expect(await get(as("alice"))).toBe(429);
    expect(await get({ authorization: "Bearer wrong" })).toBe(429);
    expect(seen).toEqual([ALICE, expect.stringMatching(/Bob$/), ADDRESS, ALICE, ADDRESS]);
  });

  test.each([
    [true, "203.0.113.7"],
    [false, "127.0.0.1"],
  ])("are counted by the address a proxy tells only when it is trusted: %s", async (trustProxy, address) => {
    const { seen, rateLimit } = once();
    const slow = await serve({}, { http: { rateLimit, trustProxy } });
    await sendRaw(slow.port, rawRequest("GET /api/v1/status", { "X-Forwarded-For": "203.0.113.7" }));
    expect(seen).toEqual([expect.stringContaining(address)]);
  });
});

const ADDRESS = "127.0.0.1";

test("every answer has an id of its own, by which its failure is found in the log", async () => {
  const broken = await serve(
    {},
    {
      didDocument: () => {
        throw new Error("broken");
      },
    },
  );
  const response = await fetch(`${broken.url}/.well-known/did.json`);
  const id = response.headers.get("x-request-id");
  expect(await response.json()).toEqual({ error: `Internal error (${id})` });
  expect(broken.logged).toEqual([{ error: expect.objectContaining({ message: "broken" }), requestId: id }]);
  const other = await fetch(`${broken.url}/api/v1/status`);
  expect(other.headers.get("x-request-id")).not.toBe(id);
});
