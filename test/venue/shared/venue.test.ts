import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { parseConfig } from "../../../src/config/load.js";
import type { VenueConfigInput } from "../../../src/config/types.js";
import { silentLog } from "../../../src/core/ports/log.js";
import { initShared } from "../../../src/venue/shared/admin.js";
import { type OpenVenue, openVenue } from "../../../src/venue/start/open-venue.js";
import { BUCKET, CREDENTIALS, type FakeS3, REGION, startFakeS3 } from "../../drive/store/s3/fake-s3.js";
import { describeWhere } from "../../needs.js";
import { hasPostgres, NO_POSTGRES, startPostgres, type TestEngine } from "../../postgres.js";

const STATIC = "static-token-of-at-least-32-characters";

interface Served {
  readonly venue: OpenVenue;
  readonly url: string;
}

describeWhere(hasPostgres, NO_POSTGRES)("a venue with two instances", () => {
  let engine: TestEngine;
  let s3: FakeS3;
  let one: Served;
  let two: Served;
  const lines: [object, string][] = [];

  async function serve(more: VenueConfigInput = {}): Promise<Served> {
    const baseDir = mkdtempSync(join(tmpdir(), "instance-"));
    const config = parseConfig(
      {
        ...{ seed: "ab".repeat(32), port: 0, hostname: "127.0.0.1", stateDir: join(baseDir, "state") },
        drives: { store: { s3: { bucket: BUCKET, endpoint: s3.endpoint, region: REGION } } },
        file: { roots: { tmp: { temp: true, perInstance: true }, mine: { dlfs: "notes" } } },
        shared: { postgres: { url: { env: "DB" } }, drainMs: 0 },
        auth: { tokens: [{ name: "fixed", token: { env: "FIXED" }, caps: [{ with: "file://tmp/", can: "crud" }] }] },
        ...more,
      },
      { baseDir },
    );
    const keys = { AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId, AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey };
    const env = { DB: engine.url, FIXED: STATIC, ...keys };
    await initShared(config, env);
    const write = (fields: object, text: string) => void lines.push([fields, text]);
    const log = { ...silentLog, warn: write, error: write };
    const venue = await openVenue(config, { listens: true, env, log });
    const { url } = await venue.host.listen();
    return { venue, url };
  }

  beforeAll(async () => {
    [engine, s3] = await Promise.all([startPostgres(), startFakeS3()]);
    one = await serve();
    two = await serve({ auth: { tokens: [] } });
  }, 120_000);
  afterAll(async () => {
    await one?.venue.close();
    await two?.venue.close();
    await s3?.close();
    await engine?.remove();
  });

  const ask = async ({ url }: Served, path: string, token?: string, body?: object) => {
    const json = { "content-type": "application/json" };
    const headers = token === undefined ? json : { ...json, authorization: `Bearer ${token}` };
    const response = await fetch(url + path, { headers, ...(body && { method: "POST", body: JSON.stringify(body) }) });
    return { status: response.status, retry: response.headers.get("retry-after"), text: await response.text() };
  };
  const call = async (to: Served, operation: string, input: object, token: string) => {
    const { text } = await ask(to, "/api/v1/run", token, { operation, input });
    return JSON.parse(text);
  };
  const local = ({ venue }: Served): string => venue.access.localToken ?? "";
  const whoami = { operation: "auth:whoami", input: {} };

  test("takes a token at one that was made at the other, until it is revoked at a third place", async () => {
    const made = await call(one, "auth:issue", { label: "x" }, local(one));
    expect(await call(two, "auth:whoami", {}, made.token)).toMatchObject({ operator: true, via: made.id });
    const gone = await call(two, "auth:revoke", { id: made.id, wait: true }, local(two));
    expect(gone).toEqual({ revoked: true, id: made.id, effectiveBy: expect.any(Number) });
    expect((await ask(one, "/api/v1/run", made.token, whoami)).status).toBe(401);
    expect((await ask(two, "/api/v1/run", made.token, whoami)).status).toBe(401);
  });

  test("refuses unknown tokens, and soon asks for patience", async () => {
    const unknown = (index: number) => `vft_${String(index).padStart(43, "x")}`;
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) => ask(one, "/api/v1/run", unknown(index), whoami)),
    );
    const statuses = answers.map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
  });

  test("tells its metrics, and that the other is configured differently", async () => {
    const { text } = await ask(one, "/metrics", local(one));
    expect(text).toMatch(/^venue_files_instance_info\{number="[1-9]\d*",name="venue-files",version="[^"]+"\} 1$/m);
    expect(text).toMatch(/^venue_files_instances 2$/m);
    expect(text).toMatch(/^venue_files_config_differs 1$/m);
    expect(text).toMatch(/^venue_files_shared_request_duration_seconds_count [1-9]/m);
    expect(text).toMatch(/^venue_files_forwards_total\{outcome="passed"\} 0$/m);
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
    const saw = async (pattern: RegExp) => {
      for (let tries = 0; tries < 100 && !pattern.test(text); tries++) {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      expect(text).toMatch(pattern);
    };
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
    const written = await call(one, "file:write", { root: "mine", path: "plan.txt", content: "x" }, local(one));
    expect(written).toMatchObject({ created: true });
    await seen.saw(/^event: files:mine\ndata: .*"path":"plan\.txt"/m);
    const made = await call(one, "auth:issue", { label: "told" }, local(one));
    await seen.saw(new RegExp(`^event: auth\\n.*${made.id}`, "m"));
    // Of its own token it may hear.
    expect(others.text()).not.toMatch(new RegExp(`event: files|${made.id}`));
    seen.end();
    others.end();
  });

  test("holds WebDAV locks everywhere: taken at one, used and ended at the other, one at a time in a tree", async () => {
    const dav = async (
      to: Served,
      method: string,
      path: string,
      headers: Record<string, string> = {},
      body?: string,
    ) => {
      const authorization = `Bearer ${local(to)}`;
      const init = { method, headers: { authorization, ...headers }, ...(body === undefined ? {} : { body }) };
      const response = await fetch(`${to.url}/dav/mine/${path}`, init);
      return { status: response.status, token: response.headers.get("lock-token") ?? "", text: await response.text() };
    };
    const info =
      '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype><D:owner>ann</D:owner></D:lockinfo>';
    const take = (to: Served, path: string, depth = "0") => dav(to, "LOCK", path, { depth }, info);
    const taken = await take(one, "locked.txt");
    expect(taken.status).toBe(201);
    expect((await take(two, "locked.txt")).status).toBe(423);
    expect((await take(two, "", "infinity")).status).toBe(423);
    expect((await dav(two, "PUT", "locked.txt", {}, "x")).status).toBe(423);
    expect((await dav(two, "DELETE", "locked.txt")).status).toBe(423);
    expect((await dav(two, "PUT", "locked.txt", { if: `(${taken.token})` }, "x")).status).toBe(204);
    // Its holder's view of the content is the other's, too.
    expect((await dav(one, "PUT", "locked.txt", { if: `(${taken.token})` }, "y")).status).toBe(204);
    const { locks } = await call(two, "lock:list", {}, local(two));
    expect(locks).toEqual([expect.objectContaining({ root: "mine", path: "locked.txt", owner: "ann" })]);
    expect((await dav(two, "PROPFIND", "locked.txt", { depth: "0" })).text).toContain(taken.token.slice(1, -1));
    expect((await dav(two, "UNLOCK", "locked.txt", { "lock-token": taken.token })).status).toBe(204);
    expect((await dav(one, "PUT", "locked.txt", {}, "z")).status).toBe(204);
    for (let round = 0; round < 8; round++) {
      const both = await Promise.all([take(one, "locked.txt"), take(two, "", "infinity")]);
      expect(both.map(({ status }) => status).toSorted()).toEqual([200, 423]);
      const [at, path] = both[0].status === 200 ? [two, "locked.txt"] : [one, ""];
      const { token } = both.find(({ status }) => status === 200) ?? { token: "" };
      expect((await dav(at, "UNLOCK", path, { "lock-token": token })).status).toBe(204);
    }
    await take(one, "dropped.txt");
    const [left] = (await call(two, "lock:list", {}, local(two))).locks;
    expect(await call(two, "lock:drop", { id: left.id }, local(two))).toEqual({ dropped: true, id: left.id });
    expect((await dav(one, "PUT", "dropped.txt", {}, "z")).status).toBe(204);
  });

  test("goes on by static tokens without its engine, and judges nothing else by an old view", async () => {
    const { token } = await call(one, "auth:issue", { label: "x" }, local(one));
    const followed = await follow(one, token, ["files:mine"]);
    await engine.stop();
    const early = await ask(one, "/api/v1/run", local(one), { operation: "auth:issue", input: { label: "y" } });
    expect(early).toMatchObject({ status: 503, text: expect.stringMatching(/SHARED_STATE_UNAVAILABLE/) });
    for (let tries = 0; tries < 100 && (await ask(one, "/readyz")).status === 200; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(await ask(one, "/api/v1/run", token, whoami)).toMatchObject({ status: 503, retry: "1" });
    const ucans = await ask(one, "/api/v1/run", undefined, { ...whoami, ucans: ["e30.e30.e30"] });
    expect(ucans).toMatchObject({ status: 503, retry: "1" });
    await followed.saw(/^event: end$/m);
    expect(await call(one, "auth:whoami", {}, STATIC)).toMatchObject({ authentication: "static-token" });
    expect(await call(one, "auth:whoami", {}, local(one))).toMatchObject({ operator: true });
    expect(await ask(one, "/healthz")).toMatchObject({ status: 200, text: '{"status":"degraded"}' });
    await engine.start();
    for (let tries = 0; tries < 100 && (await ask(one, "/readyz")).status !== 200; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(await call(one, "auth:whoami", {}, token)).toMatchObject({ operator: true });
  }, 60_000);
});
