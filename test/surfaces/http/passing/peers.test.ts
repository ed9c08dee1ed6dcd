// Two instances in one process, without an engine: what one passes on to the other.
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, test } from "@jest/globals";
import type { CallerJobs } from "../../../../src/core/ports/job.js";
import { createForwardSeal } from "../../../../src/surfaces/http/passing/forward-seal.js";
import type { Peer } from "../../../../src/surfaces/http/passing/peer-client.js";
import { type ForwardOutcome, PeerRequests, type PeersOptions } from "../../../../src/surfaces/http/passing/peers.js";
import type { JobKeeper } from "../../../../src/venue/jobs/keeper.js";
import { until } from "../../../until.js";
import { ALICE, as, BOB, closeAll, type Served, serve } from "../fixture.js";

const KEY = randomBytes(32);

interface Instance extends Served {
  readonly number: number;
  readonly counted: ForwardOutcome[];
  readonly begun: string[];
}

const peers: Peer[] = [];
const open: PeerRequests[] = [];

afterEach(async () => {
  peers.length = 0;
  for (const one of open.splice(0)) one.close();
  await closeAll();
});

/** An operation that ends when it is told. */
const waiting = {
  wait: async (_input: unknown, { cancellation }: { cancellation?: { signal: AbortSignal } }) => {
    await new Promise<void>((resolve) => {
      endings.add(resolve);
      cancellation?.signal.addEventListener("abort", () => resolve());
    });
    return { done: true };
  },
};
const endings = new Set<() => void>();
const endAll = () => {
  for (const end of endings) end();
  endings.clear();
};

async function instance(
  number: number,
  options: Partial<PeersOptions> = {},
  rate?: () => Promise<number>,
): Promise<Instance> {
  const counted: ForwardOutcome[] = [];
  const begun: string[] = [];
  const keeper: JobKeeper = {
    instance: number,
    begin: async ({ id }) => void begun.push(id),
    end: async () => {},
    remove: async () => {},
  };
  const requests = new PeerRequests({
    ...{ key: KEY, number: () => number, nowMs: Date.now, cancelMs: 1000 },
    live: () => peers.filter((peer) => peer.number !== number),
    look: async () => {},
    readiness: () => "ready",
    isDegraded: () => false,
    stillHolds: () => true,
    lostJob: async () => undefined,
    lostJobs: async () => ({ items: [], total: 0 }),
    count: (outcome) => counted.push(outcome),
    ...options,
  });
  open.push(requests);
  const cluster = { keeper, peers: requests, drain: async () => {} };
  const served = await serve(waiting, {
    cluster,
    jobs: { inlineWaitMs: 30 },
    http: { hosts: ["127.0.0.1"], rateLimit: rate },
  });
  peers.push({ number, advertise: served.url });
  return { ...served, number, counted, begun };
}

const invoke = async ({ url }: Served, who: "alice" | "bob" = "alice"): Promise<string> => {
  const body = JSON.stringify({ operation: "v/ops/file/wait", input: {} });
  const headers = { ...as(who), "content-type": "application/json" };
  const answer = await fetch(`${url}/api/v1/invoke`, { method: "POST", headers, body });
  const { id, status } = (await answer.json()) as { id: string; status: string };
  expect([answer.status, status]).toEqual([201, "STARTED"]);
  return id.slice(2);
};

const ask = (one: Served, path: string, init: RequestInit = {}, who: "alice" | "bob" | "operator" = "alice") =>
  fetch(`${one.url}/api/v1/jobs${path}`, { ...init, headers: { ...as(who), ...(init.headers as object) } });

test("a job is told, watched, cancelled and forgotten by any instance", async () => {
  const [one, two] = [await instance(1), await instance(2)];
  const id = await invoke(one);
  expect([id.slice(12, 16), one.begun]).toEqual(["0001", [id]]);

  const told = await ask(two, `/${id}`);
  expect([told.status, told.headers.get("cache-control"), (await told.json()) as object]).toEqual([
    200,
    "no-store",
    expect.objectContaining({ id: `0x${id}`, status: "STARTED", caller: ALICE }),
  ]);
  const head = await ask(two, `/${id}`, { method: "HEAD" });
  expect([head.status, Number(head.headers.get("content-length")) > 100]).toEqual([200, true]);

  const events = ask(two, `/${id}/sse`).then((answer) => answer.text());
  expect((await ask(two, `/${id}/pause`, { method: "PUT" })).status).toBe(409);
  const cancelled = await ask(two, `/${id}/cancel`, { method: "PUT", body: '{"reason":"enough"}' });
  expect(await cancelled.json()).toMatchObject({ id: `0x${id}`, status: "COMPLETE" });
  expect((await events).match(/"status":"\w+"/g)).toEqual(['"status":"STARTED"', '"status":"COMPLETE"']);

  expect(await (await ask(two, `/${id}/delete`, { method: "PUT" })).json()).toEqual({ deleted: true });
  for (const instance of [one, two]) expect((await ask(instance, `/${id}`)).status).toBe(404);
  expect(two.counted).toContain("passed");
});

test("its owner judges by the caller that the other instance has judged", async () => {
  const [one, two] = [await instance(1), await instance(2)];
  const id = await invoke(one);
  const statuses = async (method: string, path: string) =>
    Promise.all(
      (["bob", "alice", "operator"] as const).map(async (who) => (await ask(two, path, { method }, who)).status),
    );
  expect(await statuses("GET", `/${id}`)).toEqual([403, 200, 200]);
  expect((await ask(two, `/${id}/delete`, { method: "PUT" }, "bob")).status).toBe(403);
  endAll();
});

test("lists have the jobs of all instances, newest first, and name those that do not answer", async () => {
  const [one, two] = [await instance(1), await instance(2)];
  const ids: string[] = [];
  for (const owner of [one, two, one]) {
    ids.unshift(await invoke(owner));
    await sleep(5);
  }
  await invoke(two, "bob");
  /** On a busy machine one that is there may not answer in time. */
  const list = async (instance: Served, query = "", silent = 0) => {
    let found: { incomplete?: readonly number[] } = {};
    await until(async () => {
      found = (await (await ask(instance, query)).json()) as typeof found;
      return (found.incomplete?.length ?? 0) === silent;
    });
    return found;
  };
  for (const instance of [one, two]) {
    expect(await list(instance)).toEqual({ items: ids, total: 3, offset: 0, limit: 1000 });
    expect(await list(instance, "?offset=1&limit=1")).toEqual({
      items: ids.slice(1, 2),
      total: 3,
      offset: 1,
      limit: 1,
    });
  }
  const silent = createServer(() => {}).listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as { port: number };
  peers.push({ number: 7, advertise: `http://127.0.0.1:${port}` });
  expect(await list(one, "", 1)).toEqual({ items: ids, total: 3, offset: 0, limit: 1000, incomplete: [7] });
  silent.close();
  endAll();
});

test("of an instance that is there but not reached a job is not gone", async () => {
  const one = await instance(1);
  peers.push({ number: 9, advertise: "http://127.0.0.1:9" });
  const answer = await ask(one, `/${"0".repeat(12)}0009${"0".repeat(16)}`);
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(one.counted).toEqual(["failed"]);
});

test("of an instance that was not known before a job is asked for there: it has just started", async () => {
  let known: readonly Peer[] = [];
  const look = async () => {
    known = peers.filter(({ number }) => number === 1);
  };
  const [one, two] = [await instance(1), await instance(2, { live: () => known, look })];
  const told = await ask(two, `/${await invoke(one)}`);
  expect([told.status, two.counted]).toEqual([200, ["passed"]]);
});

test("an answer that breaks off is no answer", async () => {
  const one = await instance(1);
  const breaking = createHttpServer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": "100" });
    response.write('{"id":', () => response.destroy());
  }).listen(0, "127.0.0.1");
  await once(breaking, "listening");
  const { port } = breaking.address() as { port: number };
  peers.push({ number: 9, advertise: `http://127.0.0.1:${port}` });
  const answer = await ask(one, `/${"0".repeat(12)}0009${"0".repeat(16)}`);
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
  breaking.close();
});

test("of an instance that is gone the kept record answers", async () => {
  const record = { id: "0x1", op: "x", name: "x", operation: "x", created: 1, updated: 2, caller: ALICE, input: {} };
  const found = { ...record, status: "FAILED", errorCode: "INSTANCE_LOST" } as const;
  const jobs = { get: () => ({ found }), find: () => ({ found }), watch: () => ({ found, stop: () => {} }) };
  const one = await instance(1, { lostJob: async () => jobs as unknown as CallerJobs });
  const path = `/${"0".repeat(12)}0009${"0".repeat(16)}`;
  expect(await (await ask(one, path)).json()).toEqual(found);
  expect(await (await ask(one, `${path}/sse`)).text()).toContain("INSTANCE_LOST");
  expect((await ask(one, `${path}/pause`, { method: "PUT" })).status).toBe(409);
});

test("an instance that goes while a job is watched ends the stream", async () => {
  const [one, two] = [await instance(1), await instance(2)];
  const id = await invoke(one);
  const answer = await ask(two, `/${id}/sse`);
  const reader = answer.body?.getReader();
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toContain("STARTED");
  endAll();
  await one.venue.close();
  let isOver = false;
  while (!isOver) isOver = (await reader?.read().catch(() => undefined))?.done ?? true;
  expect(isOver).toBe(true);
});

test("takes the trace context of the client along, if it is one", async () => {
  const seen: unknown[] = [];
  const other = createHttpServer(({ headers }, response) => {
    seen.push(headers["traceparent"]);
    response.writeHead(200, { "content-type": "application/json" }).end('{"items":[],"total":0}');
  }).listen(0, "127.0.0.1");
  await once(other, "listening");
  const { port } = other.address() as { port: number };
  const one = await instance(1);
  peers.push({ number: 9, advertise: `http://127.0.0.1:${port}` });
  const traceparent = `00-${"ab".repeat(16)}-${"cd".repeat(8)}-01`;
  const job = `/${"0".repeat(12)}0009${"0".repeat(16)}`;
  for (const path of ["", job]) {
    for (const context of [traceparent, "x".repeat(500)]) await ask(one, path, { headers: { traceparent: context } });
  }
  expect(seen).toEqual([traceparent, undefined, traceparent, undefined]);
  other.close();
});

test("its document says that lists may be incomplete, which that of one process does not, and what any venue may answer", async () => {
  const documentOf = async ({ url }: Served) => Object(await (await fetch(`${url}/openapi.json`)).json());
  const [cluster, single] = [await documentOf(await instance(1)), await documentOf(await serve(waiting))];
  const answersOf = ({ paths }: { paths: object }) =>
    Object.values(paths).flatMap(({ parameters: _, ...methods }) =>
      Object.values(methods).map((operation) => Object(operation).responses),
    );
  expect(cluster.components.responses.Error503.headers).toHaveProperty("Retry-After");
  for (const answers of [cluster, single].flatMap(answersOf)) expect(answers).toHaveProperty("503");
  expect(single.components.responses.Error503).toEqual(cluster.components.responses.Error503);
  expect(cluster.paths["/api/v1/jobs/{id}"].get.responses[503]).toEqual({ $ref: "#/components/responses/Error503" });
  expect(cluster.paths["/readyz"].get.responses[503]).not.toHaveProperty("$ref");
  expect(cluster.components.schemas.JobList.properties).toHaveProperty("incomplete");
  expect(cluster.components.schemas.JobList.required).not.toContain("incomplete");
  expect(JSON.stringify(cluster.paths["/healthz"])).toContain("degraded");
  expect(JSON.stringify(single)).not.toMatch(/incomplete"|degraded/);
});

test("is counted against limits once, where the client has asked", async () => {
  const counts = { one: 0, two: 0 };
  const limit = (name: keyof typeof counts) => async () => {
    counts[name]++;
    return 0;
  };
  const [one, two] = [await instance(1, {}, limit("one")), await instance(2, {}, limit("two"))];
  const id = await invoke(one);
  await ask(two, `/${id}`);
  expect(counts).toEqual({ one: 1, two: 1 });
  endAll();
});

test("a client cannot say who it is, and a header is good for one request, one body and one hop", async () => {
  const [one, two] = [await instance(1), await instance(2)];
  const id = await invoke(one);
  const path = `/api/v1/jobs/${id}`;
  const caller = { did: ALICE, authentication: "identity", isOperator: false } as const;
  const send = (header: string, init: RequestInit = {}, to: Served = one, at = path) =>
    fetch(`${to.url}${at}`, { ...init, headers: { ...as("bob"), "venue-forward": header } });
  const forward = { method: "GET", path, body: Buffer.alloc(0), target: 1, caller, requestId: "of-the-client" };
  const seal = (more: Partial<typeof forward> = {}, key = KEY) =>
    createForwardSeal({ key, number: () => 2, nowMs: Date.now }).seal({ ...forward, ...more });

  const refused = await send("anything");
  expect([refused.status, refused.headers.get("x-request-id")]).toEqual([401, expect.not.stringContaining("client")]);
  expect((await send(seal({}, randomBytes(32)))).status).toBe(401);
  const header = seal();
  const taken = await send(header);
  // Under the id that the client has been told by the other instance.
  expect([taken.status, taken.headers.get("x-request-id")]).toEqual([200, "of-the-client"]);
  expect((await send(header)).status).toBe(401);
  expect((await send(seal({ path: `${path}x` }))).status).toBe(401);
  expect((await send(seal(), {}, two)).status).toBe(401);
  const cancel = { path: `${path}/cancel`, method: "PUT", body: Buffer.from("{}") };
  expect((await send(seal(cancel), { method: "PUT", body: "{ }" }, one, cancel.path)).status).toBe(401);
  // Even if an instance had it answered by the wrong one, that does not pass it on.
  expect((await send(seal({ target: 2 }), {}, two)).status).toBe(404);
  expect(two.counted.filter((outcome) => outcome === "passed")).toEqual([]);
  expect((await ask(one, `/${id}`, {}, "bob")).status).toBe(403);
  expect(BOB).not.toBe(ALICE);
  endAll();
});
