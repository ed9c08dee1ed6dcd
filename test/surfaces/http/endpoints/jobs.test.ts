import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { aborted } from "../../../../src/core/errors/texts.js";
import type { SurfaceContext } from "../../../../src/core/ports/adapter.js";
import type { Submission } from "../../../../src/core/ports/job.js";
import { gate } from "../../../venue/catalogue/fake-adapter.js";
import { OPERATOR } from "../../../venue/jobs/job-store.js";
import { outcome } from "../client.js";
import { ALICE, as, closeAll, DID, type Served, serve, type TOKENS } from "../fixture.js";

type Who = keyof typeof TOKENS | undefined;

const stoppable = (_input: unknown, { signal }: SurfaceContext): Promise<unknown> =>
  new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(aborted())));

let served: Served;
beforeAll(async () => {
  served = await serve({ read: (input) => input, slow: stoppable });
});
afterAll(closeAll);

const JOBS = "/api/v1/jobs";
const send = (method: string, path: string, who?: Who, on = served) =>
  outcome(fetch(on.url + JOBS + path, { method, headers: who === undefined ? {} : as(who) }));
const get = (path: string, who?: Who) => send("GET", path, who);

const submission = (operation: string, more: Partial<Submission> = {}): Submission => ({
  operation,
  input: { root: "docs" },
  caller: ALICE,
  context: { callerDID: ALICE },
  ...more,
});

/** The record of a job, without showing it to its caller. */
function recordOf(id: string) {
  const lookup = served.venue.jobs.find(id, OPERATOR);
  return "found" in lookup ? lookup.found : undefined;
}

/** A job of Alice that has ended. */
async function finished(more: Partial<Submission> = {}): Promise<string> {
  const job = served.venue.submit(submission("file:read", more));
  await job.result;
  return job.id;
}

/** A job of Alice that runs until it is stopped. */
const running = (): string => served.venue.submit(submission("file:slow")).id;

describe("the list of jobs", () => {
  test("is an envelope of bare ids, newest first, of the caller alone", async () => {
    const own = await serve({ read: () => 1 });
    const ids = [1, 2, 3].map(() => own.venue.submit(submission("file:read")).id).reverse();
    const rows: [string, Who, object][] = [
      ["", "alice", { items: ids, total: 3, offset: 0, limit: 1000 }],
      ["?offset=1&limit=1", "alice", { items: [ids[1]], total: 3, offset: 1, limit: 1 }],
      ["?offset=7&limit=0&other=1", "alice", { items: [], total: 3, offset: 7, limit: 0 }],
      ["", "bob", { items: [], total: 0, offset: 0, limit: 1000 }],
      ["", "operator", { items: [], total: 0, offset: 0, limit: 1000 }],
      ["", undefined, { items: [], total: 0, offset: 0, limit: 1000 }],
    ];
    for (const [query, who, body] of rows) expect(await send("GET", query, who, own)).toEqual({ status: 200, body });
  });

  test.each([
    [true, 1],
    [false, 0],
  ])("of callers without credentials, where that is allowed: %s", async (listsAnonymous, total) => {
    const open = await serve({ read: () => 1 }, { jobs: { listsAnonymous } });
    const { id } = open.venue.submit(submission("file:read", { caller: `${DID}:public` }));
    expect(await send("GET", "", undefined, open)).toMatchObject({ status: 200, body: { total } });
    expect(await send("GET", `/${id}`, undefined, open)).toMatchObject({ status: 200 });
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
    expect(await get(`?${query}`, "alice")).toEqual({ status: 400, body: { error } });
  });
});

describe("a job", () => {
  test("is found by its id in every form", async () => {
    const id = await finished();
    const record = { status: 200, body: JSON.parse(JSON.stringify(recordOf(id))) as unknown };
    expect(record.body).toMatchObject({ id: `0x${id}`, op: expect.stringMatching(/^[0-9a-f]{64}$/) });
    for (const form of [id, id.toUpperCase(), `0x${id}`, `0X${id.toUpperCase()}`]) {
      expect(await get(`/${form}`, "alice")).toEqual(record);
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
      expect(await send(method, `/${id}${suffix}`, "operator")).toEqual({ status: 400, body: { error } });
    });

    test("is unknown", async () => {
      const id = "ab".repeat(16);
      const error = `Job not found: ${id}`;
      expect(await send(method, `/0x${id.toUpperCase()}${suffix}`, "alice")).toEqual({ status: 404, body: { error } });
      const long = await send(method, `/${"1".repeat(90)}${suffix}`, "alice");
      expect(long).toEqual({ status: 404, body: { error: `Job not found: ${"1".repeat(90)}` } });
    });

    test("is not for others, who change nothing", async () => {
      const id = running();
      const error = `Access denied to job: ${id}`;
      for (const who of ["bob", undefined] as const) {
        expect(await send(method, `/${id}${suffix}`, who)).toEqual({ status: 403, body: { error } });
      }
      expect(recordOf(id)?.status).toBe("STARTED");
    });
  });

  test.each(["alice", "operator"] as const)("is for its caller and the operator: %s", async (who) => {
    const id = running();
    expect(await get(`/${id}`, who)).toMatchObject({ status: 200, body: { status: "STARTED", caller: ALICE } });
    expect(await send("PUT", `/${id}/cancel`, who)).toMatchObject({ status: 200, body: { status: "CANCELLED" } });
    expect(await send("PUT", `/${id}/delete`, who)).toEqual({ status: 200, body: { deleted: true } });
    expect(await get(`/${id}`, who)).toMatchObject({ status: 404 });
  });

  test("that is cancelled shows how it ended, and again when it is cancelled again", async () => {
    const id = running();
    const first = await send("PUT", `/${id}/cancel`, "alice");
    expect(first).toMatchObject({
      status: 200,
      body: { id: `0x${id}`, status: "CANCELLED", error: `Job cancelled: ${id}`, errorCode: "ABORTED" },
    });
    expect(await send("PUT", `/${id}/cancel`, "alice")).toEqual(first);
    expect(await get(`/${id}`, "alice")).toEqual(first);
  });

  test("that is cancelled for a reason says that", async () => {
    const id = running();
    const headers = { ...as("alice"), "content-type": "application/json" };
    const body = JSON.stringify({ reason: "no longer needed" });
    const answer = await outcome(fetch(`${served.url}${JOBS}/${id}/cancel`, { method: "PUT", headers, body }));
    const cancelled = { status: "CANCELLED", error: "no longer needed", errorCode: "ABORTED" };
    expect(answer).toMatchObject({ status: 200, body: cancelled });
    expect(await get(`/${id}`, "alice")).toMatchObject({ body: cancelled });
  });

  test.each<[string, RequestInit]>([
    ["an empty text", { body: "" }],
    ["an empty body of JSON", { body: "", headers: { "content-type": "application/json" } }],
    ["an empty object", { body: "{}", headers: { "content-type": "application/json" } }],
    ["what is no JSON", { body: "}", headers: { "content-type": "application/json" } }],
    ["a form", { body: "a=b", headers: { "content-type": "application/x-www-form-urlencoded" } }],
  ])("is cancelled whatever body is sent: %s", async (_name, init) => {
    const headers = { ...init.headers, ...as("alice") };
    const answer = fetch(`${served.url}${JOBS}/${running()}/cancel`, { ...init, method: "PUT", headers });
    expect(await outcome(answer)).toMatchObject({ status: 200, body: { status: "CANCELLED" } });
  });

  test("that does not stop is shown as it stands after a while", async () => {
    const write = gate();
    const slow = await serve({ slow: () => write.promise }, { jobs: { inlineWaitMs: 5 } });
    const { id } = slow.venue.submit(submission("file:slow"));
    const cancelled = await send("PUT", `/${id}/cancel`, "alice", slow);
    expect(cancelled).toMatchObject({ status: 200, body: { status: "STARTED" } });
    write.open(1);
  });

  test.each(["pause", "resume"])("cannot be asked to %s, ended or not", async (verb) => {
    for (const id of [running(), await finished()]) {
      const error = `Job cannot be paused or resumed: ${id}`;
      expect(await send("PUT", `/${id}/${verb}`, "alice")).toEqual({ status: 409, body: { error } });
      expect(recordOf(id)).toBeDefined();
    }
  });

  test("takes no messages, ended or not", async () => {
    for (const id of [running(), await finished()]) {
      const headers = { ...as("alice"), "content-type": "application/json" };
      const init = { method: "POST", headers, body: '{"hello":1}' };
      const answer = await outcome(fetch(`${served.url}${JOBS}/${id}`, init));
      expect(answer).toEqual({ status: 409, body: { error: `Job takes no messages: ${id}` } });
    }
  });

  test("that is private is not forgotten by a request that does not show it", async () => {
    const id = await finished({ private: true });
    await send("PUT", `/${id}/pause`, "alice");
    await send("POST", `/${id}`, "alice");
    await get(`/${id}`, "operator");
    expect(await get(`/${id}`, "alice")).toMatchObject({ status: 200, body: { status: "COMPLETE" } });
    expect(await get(`/${id}`, "alice")).toMatchObject({ status: 404 });
  });
});
