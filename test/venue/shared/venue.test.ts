import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { beforeAll, expect, test } from "@jest/globals";
import { describeWhere } from "../../needs.js";
import { hasPostgres, NO_POSTGRES } from "../../postgres.js";
import { until } from "../../until.js";
import { ask, askOnce, call, local, type Served, STATIC, useVenues } from "./served.js";

describeWhere(hasPostgres, NO_POSTGRES)("a venue with two instances", () => {
  const ground = useVenues();
  const { lines } = ground;
  let one: Served;
  let two: Served;
  beforeAll(async () => {
    one = await ground.serve();
    two = await ground.serve({ auth: { tokens: [] } });
  });
  const whoami = { operation: "auth:whoami", input: {} };

  test("takes a token at one that was made at the other, until it is revoked at a third place", async () => {
    const made = await call(one, "auth:issue", { label: "x" });
    expect(await call(two, "auth:whoami", {}, made.token)).toMatchObject({ operator: true, via: made.id });
    const gone = await call(two, "auth:revoke", { id: made.id, wait: true });
    expect(gone).toEqual({ revoked: true, id: made.id, effectiveBy: expect.any(Number) });
    expect((await ask(one, "/api/v1/run", made.token, whoami)).status).toBe(401);
    expect((await ask(two, "/api/v1/run", made.token, whoami)).status).toBe(401);
  });

  test("has one set of assets: what one stores, the other has at once", async () => {
    const of = (token: string) => ({ authorization: `Bearer ${token}`, "content-type": "application/json" });
    const send = async ({ url, venue }: Served, path: string, init: RequestInit = {}) => {
      const response = await fetch(url + path, { headers: of(venue.access.localToken ?? ""), ...init });
      return [response.status, await response.text()] as const;
    };
    const register = (to: Served, body: string) => send(to, "/api/v1/assets", { method: "POST", body });
    const bytes = "stored at the first";
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const metadata = JSON.stringify({ name: "x", content: { sha256 } });
    const [status, made] = await register(one, metadata);
    const id = JSON.parse(made);
    const path = `/api/v1/assets/${id}`;
    expect([status, await send(two, path)]).toEqual([201, [200, metadata]]);
    expect((await send(two, `${path}/content`))[0]).toBe(404);
    expect((await send(one, `${path}/content`, { method: "PUT", body: bytes }))[0]).toBe(200);
    expect(await send(two, `${path}/content`)).toEqual([200, bytes]);
    const input = { root: "tmp", path: "a", asset: id };
    expect(await call(two, "file:write", input, local(two))).toMatchObject({ written: bytes.length });
    // What describes an operation can be called by its id, here too.
    const [, described] = await register(one, '{"operation":{"adapter":"auth:whoami"}}');
    expect(await call(two, JSON.parse(described), {}, local(two))).toMatchObject({ operator: true });
    const [[, all], [, own]] = await Promise.all([
      send(two, "/api/v1/assets?limit=2"),
      send(two, "/api/v1/assets?scope=own"),
    ]);
    expect([JSON.parse(all).items, JSON.parse(own).total]).toEqual([[JSON.parse(described), id], 2]);
  });

  test("makes a call once that comes beside the cancellation of another, of which alone peers are told", async () => {
    const passed = async () => {
      const { text } = await ask(one, "/metrics", local(one));
      return Number(/^venue_files_forwards_total\{outcome="passed"\} (\d+)$/m.exec(text)?.[1]);
    };
    // A list asks who is there.
    await until(async () => {
      await ask(one, "/api/v1/jobs", local(one));
      return (await passed()) > 0;
    });
    const before = await passed();
    const append = { name: "file_append", arguments: { root: "mine", path: "log", content: "once\n" } };
    const batch = [
      { method: "notifications/cancelled", params: { requestId: "nowhere", reason: "x".repeat(50_000) } },
      { id: 1, method: "tools/call", params: append },
    ];
    const response = await fetch(`${one.url}/mcp`, {
      method: "POST",
      headers: {
        ...{ authorization: `Bearer ${local(one)}`, "content-type": "application/json" },
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify(batch.map((message) => ({ jsonrpc: "2.0", ...message }))),
    });
    expect(await response.text()).toContain('"appended":5');
    await until(async () => (await passed()) > before);
    expect(await passed()).toBe(before + 1);
    await pause(300);
    expect(await call(two, "file:read", { root: "mine", path: "log" })).toMatchObject({ content: "once\n" });
  });

  test("lists jobs from wherever in the list", async () => {
    const { status, text } = await ask(one, "/api/v1/jobs?offset=9007199254740991", local(one));
    expect([status, JSON.parse(text)]).toEqual([
      200,
      expect.objectContaining({ items: [], total: expect.any(Number) }),
    ]);
  });

  test("refuses unknown tokens, and soon asks for patience", async () => {
    const unknown = (index: number) => `vft_${String(index).padStart(43, "x")}`;
    // Twenty of them are looked for in a second, which a slow machine may need for no more.
    const statuses = new Set<number>();
    await until(async () => {
      const all = Array.from({ length: 40 }, (_, index) => ask(one, "/api/v1/run", unknown(index), whoami));
      for (const { status } of await Promise.all(all)) statuses.add(status);
      return statuses.has(429);
    });
    expect(statuses).toEqual(new Set([401, 429]));
  });

  test("tells its metrics, and that the other is configured differently", async () => {
    await until(() => lines.some(([, text]) => /other static tokens/.test(text)));
    const { text } = await ask(one, "/metrics", local(one));
    expect(text).toMatch(/^venue_files_instance_info\{number="[1-9]\d*",name="venue-files",version="[^"]+"\} 1$/m);
    expect(text).toMatch(/^venue_files_instances 2$/m);
    expect(text).toMatch(/^venue_files_config_differs 1$/m);
    expect(text).toMatch(/^venue_files_shared_request_duration_seconds_count [1-9]/m);
    expect(text).toMatch(/^venue_files_forwards_total\{outcome="passed"\} \d+$/m);
    expect(lines).toContainEqual([
      { instance: expect.any(Number), instances: [expect.any(Number)] },
      expect.stringMatching(/other static tokens/),
    ]);
  });

  /** Events of some topics at an instance, from now on. */
  async function follow({ url }: Served, token: string, topics: readonly string[]) {
    const ended = new AbortController();
    const query = topics.map((topic) => `topic=${encodeURIComponent(topic)}`).join("&");
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(`${url}/api/v1/events?${query}`, { headers, signal: ended.signal });
    let text = "";
    const read = async () => {
      for await (const chunk of response.body ?? []) text += Buffer.from(chunk).toString();
    };
    void read().catch(() => {});
    // The head comes before the first event that it would be told.
    await until(() => text.includes("\nid: "));
    const saw = (pattern: RegExp) => until(() => new RegExp(pattern, "m").test(text));
    return { saw, text: () => text, end: () => ended.abort() };
  }

  test("tells at one what happens at the other: in drives, to tokens and to those who may see them alone", async () => {
    const stranger = await call(
      one,
      "auth:issue",
      { label: "s", caps: [{ with: "file://tmp/", can: "crud" }] },
      local(one),
    );
    const seen = await follow(two, local(two), ["files:mine", "auth"]);
    const others = await follow(two, stranger.token, ["files:mine", "auth"]);
    const written = await call(one, "file:write", { root: "mine", path: "plan.txt", content: "x" });
    expect(written).toMatchObject({ created: true });
    await seen.saw(/^event: files:mine\ndata: .*"path":"plan\.txt"/m);
    const made = await call(one, "auth:issue", { label: "told" });
    await seen.saw(new RegExp(`^event: auth\\n.*${made.id}`, "m"));
    // Of its own token it may hear.
    expect(others.text()).not.toMatch(new RegExp(`event: files|${made.id}`));
    seen.end();
    others.end();
  });

  /** The number of an instance that has begun a job. */
  const numberIn = (id: string): number => Number.parseInt(id.slice(14, 18), 16);
  async function begin(to: Served): Promise<string> {
    const { cursor } = await call(to, "file:watch", { root: "tmp", path: "" });
    const input = { root: "tmp", path: "", cursor, waitMs: 30_000 };
    const { text } = await ask(to, "/api/v1/invoke", local(to), { operation: "v/ops/file/watch", input, wait: false });
    return JSON.parse(text).id;
  }
  const cancel = (to: Served, id: string) =>
    fetch(`${to.url}/api/v1/jobs/${id}/cancel`, { method: "PUT", headers: { authorization: `Bearer ${local(to)}` } });

  test("logs what is passed on under one id, and says in log and audit which instance it was", async () => {
    const id = await begin(one);
    const cancelled = await cancel(two, id);
    expect(await cancelled.json()).toMatchObject({ id, status: "CANCELLED" });
    const requestId = cancelled.headers.get("x-request-id");
    const logged = () =>
      lines.flatMap(([fields]) => ("requestId" in fields && fields.requestId === requestId ? fields : []));
    await until(() => logged().length === 2);
    const numbers = logged().map((fields) => Object(fields).instance);
    expect(numbers).toContain(numberIn(id));
    expect(new Set(numbers).size).toBe(2);
    const records = readFileSync(one.audit, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(new Set(records.flatMap(({ operation, instance }) => (operation ? [instance] : [])))).toEqual(
      new Set([numberIn(id)]),
    );
  });

  test("tells at one of the jobs that were handed out at the other", async () => {
    const seen = await follow(two, local(two), ["job"]);
    const id = await begin(one);
    await seen.saw(new RegExp(`^event: job\\ndata: .*${id}.*"STARTED"`, "m"));
    await cancel(two, id);
    await seen.saw(new RegExp(`^event: job\\ndata: .*${id}.*"CANCELLED"`, "m"));
    seen.end();
  });

  test("tells, once, of a job whose instance is gone", async () => {
    const three = await ground.serve();
    const seen = await follow(two, local(two), ["job"]);
    const id = await begin(one);
    // As if it had been another one's, which is gone as soon as somebody goes.
    await ground.sql(`UPDATE job SET instance = 65000 WHERE id = '${id.slice(2)}'`);
    await three.venue.close();
    const lost = new RegExp(`^event: job\\ndata: .*${id}.*"FAILED".*"INSTANCE_LOST"`, "gm");
    await seen.saw(lost);
    await pause(500);
    expect(seen.text().match(lost)).toHaveLength(1);
    seen.end();
    await cancel(one, id);
  });

  test("goes on with its jobs after a long absence of the engine, of which no instance has died", async () => {
    const jobs = [[one, await begin(one)] as const, [two, await begin(two)] as const];
    await ground.engine.stop();
    await pause(11_000);
    await ground.engine.start();
    // Each looks as soon as it is back, mostly before the other.
    await pause(4000);
    const rows = await ground.sql("SELECT id, state FROM job");
    for (const [to, id] of jobs) {
      // Each waits for half a minute, which may be over.
      expect(rows).toContainEqual({ id: id.slice(2), state: expect.stringMatching(/^(?:open|ended)$/) });
      await cancel(to, id);
    }
  });

  test("lets its part of the rate limit through at each", async () => {
    const three = await ground.serve({ rateLimit: { perSecond: 1, burst: 12 } });
    const begun = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => ask(three, "/api/v1/run", local(three), whoami)),
    );
    // One more comes with every three seconds.
    const more = Math.floor((performance.now() - begun) / 3000);
    await three.venue.close();
    const passed = answers.filter(({ status }) => status === 200).length;
    expect(passed).toBeGreaterThanOrEqual(4);
    expect(passed).toBeLessThanOrEqual(4 + more);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(12 - passed);
  });

  test("says of a revocation who has not confirmed it", async () => {
    const revoke = (fill: number) =>
      call(one, "ucan:revoke", { id: Buffer.alloc(32, fill).toString("base64url"), wait: true });
    expect(await revoke(7)).toEqual({ revoked: true, id: expect.any(String), effectiveBy: expect.any(Number) });
    await ground.sql(`INSERT INTO instance (number, boot, name, version, digest, beat, clock)
      VALUES (77, 'x', 'silent', '1', '{}', clock_timestamp() + interval '1 minute', now())`);
    expect(await revoke(8)).toMatchObject({ revoked: true, missing: [77], effectiveBy: expect.any(Number) });
    await ground.sql("DELETE FROM instance WHERE number = 77");
  });

  test("goes on by static tokens without its engine, and judges nothing else by an old view", async () => {
    const { token } = await call(one, "auth:issue", { label: "x" });
    const followed = await follow(one, token, ["files:mine"]);
    const ticket = await call(one, "file:transfer", { root: "tmp", path: "a.txt", direction: "upload" }, STATIC);
    const upload = () => fetch(String(ticket.href).replace(/^.*?(?=\/api)/, one.url), { method: "PUT", body: "x" });
    await ground.engine.stop();
    const early = await askOnce(one, "/api/v1/run", local(one), { operation: "auth:issue", input: { label: "y" } });
    expect(early).toMatchObject({ status: 503, text: expect.stringMatching(/SHARED_STATE_UNAVAILABLE/) });
    await until(async () => (await askOnce(one, "/readyz")).status !== 200);
    expect(await askOnce(one, "/api/v1/run", token, whoami)).toMatchObject({ status: 503, retry: "1" });
    const ucans = await askOnce(one, "/api/v1/run", undefined, { ...whoami, ucans: ["e30.e30.e30"] });
    expect(ucans).toMatchObject({ status: 503, retry: "1" });
    const refused = await upload();
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    await followed.saw(/^event: end$/m);
    expect((await ask(one, "/api/v1/run", undefined, whoami)).status).toBe(200);
    expect(await call(one, "auth:whoami", {}, STATIC)).toMatchObject({ authentication: "static-token" });
    expect(await call(one, "auth:whoami", {})).toMatchObject({ operator: true });
    expect(await ask(one, "/healthz")).toMatchObject({ status: 200, text: '{"status":"degraded"}' });
    await ground.engine.start();
    await until(async () => (await askOnce(one, "/readyz")).status === 200);
    expect(await call(one, "auth:whoami", {}, token)).toMatchObject({ operator: true });
    await until(async () => (await upload()).status === 201);
  });
});
