import { beforeEach, describe, expect, test } from "@jest/globals";
import { useGround } from "../../../venue/operations/fixture.js";
import { send } from "../client.js";

const ground = useGround();
const SUB = { with: "file://docs/sub/", can: "crud/read" };

const link = async (input: object = {}): Promise<{ id: string; code: string; url: string }> => {
  const { output } = await ground.byOperator("auth:issue", { label: "link", link: true, ...input });
  expect(output["token"]).toBeUndefined();
  const url = String(output["url"]);
  return { id: String(output["id"]), code: url.slice(url.indexOf("#login=") + 7), url };
};
const login = (body: unknown) => send(`${ground.venue.url}/api/v1/login`, { json: body });
const logIn = async (
  code: string,
): Promise<{ status: number; body: Record<string, unknown>; retry: string | null }> => {
  const response = await login({ code });
  const body = (await response.json()) as Record<string, unknown>;
  return { status: response.status, body, retry: response.headers.get("retry-after") };
};

describe("POST /api/v1/login", () => {
  beforeEach(() => ground.open({ auth: { public: { enabled: false } } }));

  test("exchanges the code of a link for a session, once, without credentials", async () => {
    const { code, id, url } = await link();
    expect(url).toMatch(new RegExp(`^${ground.venue.url}/workspace/#login=[A-Za-z0-9_-]{43}$`));
    const { status, body } = await logIn(code);
    expect({ status, id: body["id"], did: body["did"] }).toEqual({ status: 201, id, did: ground.venue.did });
    const bearer = String(body["token"]);
    expect((await ground.call("auth:whoami", {}, { bearer })).output).toMatchObject({ operator: true, via: id });
    const again = await logIn(code);
    expect(again).toMatchObject({
      status: 401,
      body: { error: "Link is used or expired. Get a new one: venue-files link" },
    });
  });

  test("gives the caps of the link, and the code is no token", async () => {
    const { code } = await link({ caps: [SUB], lifetimeSeconds: 60 });
    for (const bearer of [code, `vft_${code}`]) {
      expect((await send(`${ground.venue.url}/api/v1/jobs`, { token: bearer })).status).toBe(401);
    }
    const { body } = await logIn(code);
    expect(Number(body["expires"]) - Date.now()).toBeLessThanOrEqual(60_000);
    const { output } = await ground.call("auth:whoami", {}, { bearer: String(body["token"]) });
    expect(output).toMatchObject({ authentication: "access-token", grants: [SUB] });
  });

  test("has one winner when a code is raced", async () => {
    const { code } = await link();
    const answers = await Promise.all(Array.from({ length: 8 }, () => logIn(code)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(7);
  });

  test("refuses the eleventh guess in a minute, and never the right code", async () => {
    const { code } = await link();
    const statuses: number[] = [];
    for (let guess = 0; guess < 10; guess += 1) statuses.push((await logIn("x".repeat(43))).status);
    expect(new Set(statuses)).toEqual(new Set([401]));
    const { status, retry } = await logIn("y".repeat(43));
    expect(status).toBe(429);
    expect(Number(retry)).toBeGreaterThan(0);
    expect((await logIn(code)).status).toBe(201);
  });

  test("takes the right code from an address that has called too often", async () => {
    await ground.venue.close();
    await ground.open({ rateLimit: { perSecond: 1, burst: 60 } });
    const { code } = await link();
    const call = async () => (await fetch(`${ground.venue.url}/api/v1/status`)).status;
    const statuses = await Promise.all(Array.from({ length: 61 }, call));
    expect(statuses).toContain(429);
    expect(await call()).toBe(429);
    expect((await logIn("x".repeat(43))).status).toBe(401);
    expect((await logIn(code)).status).toBe(201);
  });

  test.each([[{}], [{ code: 7 }], [[]], ["code"]])("refuses %j", async (body) => {
    expect((await login(body)).status).toBe(400);
  });

  test("a link that was revoked, or whose maker was, gives nothing", async () => {
    const { code, id } = await link();
    await ground.byOperator("auth:revoke", { id });
    expect((await logIn(code)).status).toBe(401);
    const { output } = await ground.call("auth:issue", { label: "by bob", link: true }, { as: ground.bob });
    await ground.byOperator("ucan:revoke", { id: ground.bob.did });
    expect((await logIn(String(output["url"]).split("=")[1] ?? "")).status).toBe(401);
  });

  test("a pending link is listed, and ends after 15 minutes", async () => {
    const { id } = await link();
    const { output } = await ground.byOperator("auth:list", { kind: "session" });
    expect(output["entries"]).toMatchObject([{ id, pending: true }]);
    const [entry] = output["entries"] as { expires: number; created: number }[];
    expect((entry?.expires ?? 0) - (entry?.created ?? 0)).toBe(900_000);
  });
});
