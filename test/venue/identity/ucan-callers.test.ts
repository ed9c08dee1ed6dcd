import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { VenueConfigInput } from "../../../src/index.js";
import { send } from "../../surfaces/http/client.js";
import { alice, bob } from "../../ucan/tokens.js";
import { DOCS, operator, secondsFromNow, UcanVenue } from "./ucan-venue.js";

let here: UcanVenue;
const clients: Client[] = [];
beforeEach(() => {
  here = new UcanVenue();
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await here.close();
});

const ucan: UcanVenue["ucan"] = (...parts) => here.ucan(...parts);
const identity: UcanVenue["identity"] = (...parts) => here.identity(...parts);

describe("a UCAN as bearer", () => {
  test("is its issuer, who has what its own proofs give", async () => {
    await here.open();
    const grant = ucan(operator, { aud: bob.did, att: [DOCS] });
    const bearer = ucan(bob, { att: [DOCS], prf: [grant] });
    const { job } = await here.call({ bearer });
    expect(job).toMatchObject({ status: "COMPLETE", caller: bob.did, output: { content: "of docs" } });
  });

  test("is its issuer also when its proofs are worth nothing", async () => {
    await here.open();
    const forged = ucan(operator, { aud: bob.did, att: [DOCS] }).slice(0, -86) + ucan(bob).slice(-86);
    for (const prf of [[forged], ["a.b.c"], [ucan(alice, { aud: bob.did, att: [DOCS] })]]) {
      const { status, job } = await here.call({ bearer: ucan(bob, { att: [DOCS], prf }) });
      expect([status, job.caller, job.errorCode]).toEqual([201, bob.did, "CAPABILITY_DENIED"]);
    }
  });

  test("leaves its issuer what it owns, as far as its list goes", async () => {
    await here.open();
    expect(await here.outcome({ bearer: ucan(alice), root: "owned" })).toBe("of owned");
    const list = [{ with: "file://owned/b.txt", can: "crud" }];
    expect(await here.outcome({ bearer: ucan(alice, { att: list }), root: "owned" })).toEqual(
      expect.arrayContaining(["CAPABILITY_DENIED"]),
    );
    expect(await here.outcome({ bearer: ucan(operator) })).toBe("of docs");
    expect(await here.outcome({ bearer: ucan(operator, { att: [{ with: "file://owned/", can: "crud" }] }) })).toEqual(
      expect.arrayContaining(["CAPABILITY_DENIED"]),
    );
  });

  test("lets a delegation to its issuer count", async () => {
    await here.open();
    const grant = ucan(operator, { aud: bob.did, att: [DOCS] });
    expect(await here.outcome({ bearer: ucan(bob), ucans: [grant] })).toBe("of docs");
    expect(await here.outcome({ bearer: identity(bob), ucans: [grant] })).toBe("of docs");
  });

  test.each<[string, () => string]>([
    ["a grant to somebody", () => ucan(operator, { aud: bob.did, att: [DOCS] })],
    ["one with the key of another in it", () => ucan(bob, {}, { kid: alice.multikey })],
    ["one for another venue", () => ucan(bob, { aud: alice.did })],
    ["one that has ended", () => ucan(bob, { exp: secondsFromNow(-31) })],
    ["one that lives too long to say who somebody is", () => ucan(bob, { exp: secondsFromNow(3700) })],
    ["one that says nothing of its version", () => ucan(bob, { ucv: undefined })],
  ])("is refused before there is a job: %s", async (_what, make) => {
    await here.open();
    expect(await here.outcome({ bearer: make() })).toBe(401);
  });

  test.each([
    ["RS256", "z4MXj1wBzi9jUstyPMS4jQqB6KdJaiatPkAtVtGc6bQEQEEsKTic", 256, "an RSA"],
    ["ES256", "zDnaerDaTF5BXEavCrfRZEk316dpbLsfPDZ3WJ5hRTPFU2169", 64, "a P-256"],
    ["ES256K", "zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme", 64, "a secp256k1"],
    ["EdDSA", "z6LSeu9HkTHSfLLeUs2nnzUSNedgDUevfNQgQjQC23ZCit6F", 64, "an X25519"],
  ])("by a key of %s is told of which type its issuer is", async (alg, key, bytes, type) => {
    await here.open();
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const iss = `did:key:${key}`;
    const claims = part({ iss, sub: iss, exp: secondsFromNow(60), iat: secondsFromNow(0) });
    const bearer = `${part({ alg, typ: "JWT" })}.${claims}.${Buffer.alloc(bytes, 1).toString("base64url")}`;
    const { status, job } = await here.call({ bearer });
    const why = `its issuer is ${type} did:key, and only Ed25519 keys are taken`;
    expect([status, job]).toEqual([401, { error: `Invalid or expired token: ${why}` }]);
  });

  test("that is a grant is told where it belongs, and that is no more than it says itself", async () => {
    await here.open();
    const { status, job } = await here.call({ bearer: ucan(operator, { aud: bob.did, att: [DOCS] }) });
    expect([status, job]).toEqual([
      401,
      {
        error: `Invalid or expired token: token is a delegation to ${bob.did}; send it in 'ucans' and authenticate as its audience`,
      },
    ]);
  });
});

describe("jobs", () => {
  const status = async (bearer: string, path: string, method = "GET"): Promise<number> =>
    (await send(`${here.venue.url}/api/v1/jobs${path}`, { token: bearer, method })).status;
  const list = async (bearer: string): Promise<unknown> => {
    const response = await send(`${here.venue.url}/api/v1/jobs`, { token: bearer });
    return ((await response.json()) as { items: unknown }).items;
  };

  test.each([
    ["its issuer", alice, "owned", () => identity(alice)],
    ["the operator", operator, "docs", () => here.venue.localToken ?? ""],
  ])("of %s are not shown to a UCAN that gives less, nor touched by it", async (_whose, by, root, whole) => {
    await here.open();
    const { job } = await here.call({ bearer: whole(), root });
    expect(job.output?.content).toBe(`of ${root}`);
    const narrow = ucan(by, { att: [{ with: `file://${root}/b.txt`, can: "crud/read" }] });
    expect(await here.outcome({ bearer: narrow, root })).toContain("CAPABILITY_DENIED");
    for (const path of ["", "/sse"]) expect(await status(narrow, `/${job.id}${path}`)).toBe(403);
    for (const path of ["/cancel", "/delete"]) expect(await status(narrow, `/${job.id}${path}`, "PUT")).toBe(403);
    expect(await list(narrow)).not.toContain(job.id.slice(2));
    expect(await status(whole(), `/${job.id}`)).toBe(200);
  });

  test("made with such a UCAN are that UCAN's, and its issuer's", async () => {
    await here.open();
    const att = [{ with: "file://owned/a.txt", can: "crud/read" }];
    const narrow = ucan(alice, { att });
    const ids = [
      await here.call({ bearer: narrow, root: "owned" }),
      await here.call({ ucans: [narrow], root: "owned" }),
    ];
    const own = ids.map(({ job }) => job.id.slice(2)).reverse();
    expect(await list(narrow)).toEqual(own);
    expect(await list(ucan(alice, { att, nnc: "another" }))).toEqual([]);
    for (const bearer of [identity(alice), ucan(alice)]) expect(await list(bearer)).toEqual(own);
    expect(await status(narrow, `/${own[0]}/delete`, "PUT")).toBe(200);
  });
});

describe("UCANs in a call without credentials", () => {
  test("name the caller, to whom the job belongs", async () => {
    await here.open();
    const grant = ucan(operator, { aud: bob.did, att: [DOCS] });
    const { job } = await here.call({ ucans: [ucan(bob, { att: [DOCS], prf: [grant] })] });
    expect(job).toMatchObject({ status: "COMPLETE", caller: bob.did, output: { content: "of docs" } });
    const read = async (bearer?: string) => {
      const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
      return (await fetch(`${here.venue.url}/api/v1/jobs/${job.id}`, { headers })).status;
    };
    expect([await read(), await read(identity(alice)), await read(ucan(bob)), await read(identity(bob))]).toEqual([
      ...[403, 403, 200, 200],
    ]);
  });

  test("make a grant to the caller count", async () => {
    await here.open();
    const grant = ucan(operator, { aud: bob.did, att: [DOCS] });
    expect(await here.outcome({ ucans: [ucan(bob), grant] })).toBe("of docs");
    expect(await here.outcome({ ucans: [grant] })).toEqual(["CAPABILITY_DENIED", "wrong_audience"]);
  });

  test("do not name two", async () => {
    await here.open();
    const { status, job } = await here.call({ ucans: [ucan(operator), ucan(alice)] });
    expect([status, job.status, job.caller]).toEqual([201, "FAILED", `${here.venue.did}:public`]);
    expect(job).toMatchObject({ errorCode: "CAPABILITY_DENIED", errorData: { reasons: ["ambiguous_caller"] } });
  });

  test("do not name whoever only passes the call on", async () => {
    await here.open();
    const { job } = await here.call({
      ucans: [ucan(operator, { att: [{ with: here.venue.did, can: "venue/relay" }] })],
    });
    expect(job).toMatchObject({ status: "FAILED", caller: `${here.venue.did}:public`, errorCode: "CAPABILITY_DENIED" });
  });

  test("change nothing about a caller who has credentials", async () => {
    await here.open();
    const { job } = await here.call({ bearer: identity(bob), ucans: [ucan(operator)] });
    expect(job).toMatchObject({ status: "FAILED", caller: bob.did });
  });
});

describe("tokens of a call that cannot be looked at", () => {
  const lists: readonly [string, unknown, string][] = [
    ["a token instead of a list", "a.b.c", "malformed"],
    ["an object", { length: 0 }, "malformed"],
    ["something else among the tokens", ["a.b.c", 1], "malformed"],
    [
      "nine tokens",
      Array(9)
        .fill("a")
        .map((text, index) => `${text}${index}`),
      "too_large",
    ],
    ["much in all", Array.from({ length: 8 }, (_, index) => `${index}${"x".repeat(4096)}`), "too_large"],
    ["a long token", ["x".repeat(8193)], "too_large"],
    ["what is no token", ["x"], "malformed"],
  ];
  test.each(lists)("deny it, with the reason, to whom public access would do: %s", async (_name, ucans, reason) => {
    await here.open({ auth: { public: { enabled: true, caps: [DOCS] } } });
    expect(await here.outcome({})).toBe("of docs");
    expect(await here.outcome({ ucans })).toEqual(["CAPABILITY_DENIED", reason]);
    expect(await here.outcome({ ucans, bearer: identity(bob) })).toEqual(["CAPABILITY_DENIED", reason]);
  });

  test("at the limit are looked at", async () => {
    await here.open();
    const grant = ucan(operator, { aud: bob.did, att: [DOCS] });
    const others = Array.from({ length: 7 }, (_, index) => `${index}${"x".repeat(4000)}`);
    expect(await here.outcome({ ucans: [...others, grant], bearer: identity(bob) })).toBe("of docs");
  });
});

describe("a token for no venue in particular", () => {
  const unbound = () => identity(alice, { aud: undefined });
  const asked = async (config: VenueConfigInput) => {
    await here.open(config);
    return here.outcome({ bearer: unbound(), root: "owned" });
  };

  test("is taken on loopback only, unless the configuration says otherwise", async () => {
    expect(await asked({})).toBe("of owned");
    expect(await asked({ auth: { acceptUnboundIdentity: false } })).toBe(401);
    expect(await asked({ trustProxy: true })).toBe(401);
  });

  test("is never a UCAN", async () => {
    await here.open();
    expect(await here.outcome({ bearer: ucan(alice, { aud: undefined }), root: "owned" })).toBe(401);
    expect(await here.outcome({ ucans: [ucan(alice, { aud: undefined })], root: "owned" })).not.toBe("of owned");
  });
});

describe("over MCP", () => {
  async function connect(bearer?: string): Promise<Client> {
    const client = new Client({ name: "test", version: "1" });
    clients.push(client);
    const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
    const transport = new StreamableHTTPClientTransport(new URL(`${here.venue.url}/mcp`), { requestInit: { headers } });
    await client.connect(transport);
    return client;
  }
  const read = (client: Client, ucans?: unknown, root = "docs") =>
    client.callTool({
      name: "file_read",
      arguments: { root, path: "a.txt", ...(ucans === undefined ? {} : { ucans }) },
    });
  const errorOf = (code: string, reasons: readonly string[]) => ({
    isError: true,
    _meta: { "venue-files/error": { errorCode: code, errorData: { reasons } } },
  });

  test("a UCAN as bearer is its issuer, and grants count in arguments", async () => {
    await here.open();
    const client = await connect(ucan(bob));
    expect(await read(client)).toMatchObject({ isError: true });
    const grant = ucan(operator, { aud: bob.did, att: [DOCS] });
    expect(await read(client, [grant])).toMatchObject({
      content: expect.arrayContaining([{ type: "text", text: "of docs" }]),
    });
  });

  test("UCANs in arguments name a caller without credentials, whose job it is", async () => {
    await here.open();
    const client = await connect();
    const answer = await read(client, [ucan(alice)], "owned");
    expect(answer).toMatchObject({ content: expect.arrayContaining([{ type: "text", text: "of owned" }]) });
    const url = `${here.venue.url}/api/v1/jobs/${answer._meta?.["venue-files/job"]}`;
    expect((await fetch(url)).status).toBe(403);
    const job = await send(url, { token: identity(alice) });
    expect(await job.json()).toMatchObject({ status: "COMPLETE", caller: alice.did });
  });

  test("UCANs in arguments do not name two, nor change who has credentials", async () => {
    await here.open();
    const two = [ucan(alice), ucan(operator)];
    expect(await read(await connect(), two)).toMatchObject(errorOf("CAPABILITY_DENIED", ["ambiguous_caller"]));
    const answer = await read(await connect(identity(bob)), [ucan(operator)]);
    expect(answer).toMatchObject({ isError: true });
  });

  test("a bad bearer is refused", async () => {
    await here.open();
    await expect(connect(ucan(operator, { aud: bob.did, att: [DOCS] }))).rejects.toThrow();
  });
});
