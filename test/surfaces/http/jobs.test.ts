import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { SurfaceContext } from "../../../src/core/adapter.js";
import type { Caller } from "../../../src/core/caller.js";
import { aborted } from "../../../src/core/texts.js";
import { gate } from "../../venue/fake-adapter.js";
import { ALICE, ANYONE, BOB, call, callBy, OPERATOR } from "../../venue/job-store.js";
import { outcome } from "./fixture.js";
import { closeAll, type JobServer, serveJobs } from "./job-server.js";

const stoppable = (_input: unknown, { signal }: SurfaceContext): Promise<unknown> =>
  new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(aborted())));

let server: JobServer;
beforeAll(async () => {
  server = await serveJobs({ read: (input) => input, slow: stoppable });
});
afterAll(closeAll);

const JOBS = "/api/v1/jobs";
const get = (path: string, caller?: Caller) => outcome(server.request(`${JOBS}${path}`, caller));
const send = (method: string, path: string, caller?: Caller) =>
  outcome(server.request(`${JOBS}${path}`, caller, { method }));

/** A job of Alice that has ended. */
async function finished(): Promise<string> {
  const job = server.jobs.submit(call("file:read", { root: "docs" }));
  await job.result;
  return job.id;
}

/** A job of Alice that runs until it is stopped. */
const running = (): string => server.jobs.submit(call("file:slow")).id;

describe("the list of jobs", () => {
  test("is an envelope of bare ids, newest first, of the caller alone", async () => {
    const caller = { ...ALICE, did: "did:key:zLister" };
    const ids = [1, 2, 3].map(() => server.jobs.submit(callBy(caller, "file:read")).id).reverse();
    expect(await get("", caller)).toEqual({ status: 200, body: { items: ids, total: 3, offset: 0, limit: 1000 } });
    expect(await get("?offset=1&limit=1", caller)).toEqual({
      status: 200,
      body: { items: [ids[1]], total: 3, offset: 1, limit: 1 },
    });
    expect(await get("?offset=7&limit=0&other=1", caller)).toEqual({
      status: 200,
      body: { items: [], total: 3, offset: 7, limit: 0 },
    });
    expect(await get("", { ...caller, did: "did:key:zStranger" })).toEqual({
      status: 200,
      body: { items: [], total: 0, offset: 0, limit: 1000 },
    });
  });

  test("of callers without credentials is empty where they are strangers to each other", async () => {
    const open = await serveJobs({ read: () => 1 }, { listsAnonymous: false });
    const { id } = open.jobs.submit(callBy(ANYONE, "file:read"));
    expect(await outcome(open.request(JOBS))).toMatchObject({ status: 200, body: { items: [], total: 0 } });
    expect((await open.request(`${JOBS}/${id}`)).status).toBe(200);
  });

  const limit = "'limit' must be an integer between 0 and 1000";
  const offset = `'offset' must be an integer between 0 and ${Number.MAX_SAFE_INTEGER}`;
  test.each([
    ["limit=1001", limit],
    ["limit=-1", limit],
    ["limit=1.5", limit],
    ["limit=1e2", limit],
    ["limit=0x10", limit],
    ["limit=%2B5", limit],
    ["limit=%205", limit],
    ["limit=05", limit],
    ["limit=", limit],
    ["limit", limit],
    ["limit=all", limit],
    ["limit=NaN", limit],
    ["limit=1&limit=2", "'limit' must be given once"],
    ["offset=-1", offset],
    ["offset=9007199254740992", offset],
    ["offset=99999999999999999999", offset],
    ["offset=1.0", offset],
    ["offset=0&offset=0", "'offset' must be given once"],
  ])("is refused for ?%s", async (query, error) => {
    expect(await get(`?${query}`, ALICE)).toEqual({ status: 400, body: { error } });
  });
});

describe("a job", () => {
  test("is found by its id in every form", async () => {
    const id = await finished();
    const record = { status: 200, body: JSON.parse(JSON.stringify(server.jobs.record(id))) as unknown };
    for (const form of [id, id.toUpperCase(), `0x${id}`, `0X${id.toUpperCase()}`]) {
      expect(await get(`/${form}`, ALICE)).toEqual(record);
    }
  });

  const endpoints: [string, string][] = [
    ["GET", ""],
    ["GET", "/sse"],
    ["PUT", "/cancel"],
    ["PUT", "/pause"],
    ["PUT", "/resume"],
    ["PUT", "/delete"],
    ["POST", ""],
  ];
  describe.each(endpoints)("by %s <id>%s", (method, suffix) => {
    test.each(["nope", "0x", "0x0x12", "12g4", "%C3%A9", `${"f".repeat(32)}%2F1`])("is no id: %s", async (id) => {
      const error = `Invalid job ID: ${decodeURIComponent(id)}`;
      expect(await send(method, `/${id}${suffix}`, OPERATOR)).toEqual({ status: 400, body: { error } });
    });

    test("is unknown", async () => {
      const id = "ab".repeat(16);
      const error = `Job not found: ${id}`;
      expect(await send(method, `/0x${id.toUpperCase()}${suffix}`, ALICE)).toEqual({ status: 404, body: { error } });
      const long = await send(method, `/${"1".repeat(90)}${suffix}`, ALICE);
      expect(long).toEqual({ status: 404, body: { error: `Job not found: ${"1".repeat(90)}` } });
    });

    test("is not for others, who change nothing", async () => {
      const id = running();
      const error = `Access denied to job: ${id}`;
      for (const caller of [BOB, ANYONE]) {
        expect(await send(method, `/${id}${suffix}`, caller)).toEqual({ status: 403, body: { error } });
      }
      expect(server.jobs.record(id)?.status).toBe("STARTED");
    });
  });

  test.each<[string, Caller]>([
    ["its caller", ALICE],
    ["the operator", OPERATOR],
  ])("is for %s", async (_name, caller) => {
    const id = running();
    expect(await get(`/${id}`, caller)).toMatchObject({ status: 200, body: { status: "STARTED", caller: ALICE.did } });
    expect(await send("PUT", `/${id}/cancel`, caller)).toMatchObject({ status: 200, body: { status: "CANCELLED" } });
    expect(await send("PUT", `/${id}/delete`, caller)).toEqual({ status: 200, body: { deleted: true } });
    expect(await get(`/${id}`, caller)).toMatchObject({ status: 404 });
  });

  test("that is cancelled shows how it ended, and again when it is cancelled again", async () => {
    const id = running();
    const first = await send("PUT", `/${id}/cancel`, ALICE);
    expect(first).toMatchObject({
      status: 200,
      body: { id: `0x${id}`, status: "CANCELLED", error: `Job cancelled: ${id}`, errorCode: "ABORTED" },
    });
    expect(await send("PUT", `/${id}/cancel`, ALICE)).toEqual(first);
    expect(await get(`/${id}`, ALICE)).toEqual(first);
  });

  test("that does not stop is shown as it stands after a while", async () => {
    const write = gate();
    const slow = await serveJobs({ slow: () => write.promise }, { inlineWaitMs: 5 });
    const { id } = slow.jobs.submit(call("file:slow"));
    const cancelled = await outcome(slow.request(`${JOBS}/${id}/cancel`, ALICE, { method: "PUT" }));
    expect(cancelled).toMatchObject({ status: 200, body: { status: "STARTED" } });
    write.open(1);
  });

  test.each(["pause", "resume"])("cannot be asked to %s, ended or not", async (verb) => {
    for (const id of [running(), await finished()]) {
      const error = `Job cannot be paused or resumed: ${id}`;
      expect(await send("PUT", `/${id}/${verb}`, ALICE)).toEqual({ status: 409, body: { error } });
      expect(server.jobs.record(id)).toBeDefined();
    }
  });

  test("takes no messages, ended or not", async () => {
    for (const id of [running(), await finished()]) {
      const init = { method: "POST", headers: { "content-type": "application/json" }, body: '{"hello":1}' };
      const answer = await outcome(server.request(`${JOBS}/${id}`, ALICE, init));
      expect(answer).toEqual({ status: 409, body: { error: `Job takes no messages: ${id}` } });
    }
  });

  test("that is private is not forgotten by a request that does not show it", async () => {
    const job = server.jobs.submit(call("file:read", {}, { private: true }));
    await job.result;
    await send("PUT", `/${job.id}/pause`, ALICE);
    await send("POST", `/${job.id}`, ALICE);
    expect(await get(`/${job.id}`, ALICE)).toMatchObject({ status: 200, body: { status: "COMPLETE" } });
    expect(await get(`/${job.id}`, ALICE)).toMatchObject({ status: 404 });
  });
});
