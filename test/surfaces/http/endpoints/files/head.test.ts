import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { send } from "../../client.js";
import { as, closeAll, postText, type Served, serve } from "../../fixture.js";

const CONTENT = "content of an asset";

let served: Served;
const paths: Record<string, string> = {};
const handed: string[] = [];

beforeAll(async () => {
  served = await serve(
    { read: (input) => input },
    {
      mcp: async () => ({
        serve: async (request) => {
          handed.push(request.method);
          return { status: 200, message: {} };
        },
      }),
      metrics: { readers: "public", text: async () => ({ contentType: "text/plain", body: "count 1\n" }) },
    },
  );
  const sha256 = createHash("sha256").update(CONTENT).digest("hex");
  const asset = await postText(served, "/api/v1/assets", JSON.stringify({ content: { sha256, fileName: "a.txt" } }));
  const id: unknown = await asset.json();
  await fetch(`${served.url}/api/v1/assets/${id}/content`, { method: "PUT", body: CONTENT });
  const call = await postText(served, "/api/v1/invoke", JSON.stringify({ operation: "file:read", input: { a: 1 } }));
  const job = call.headers.get("location");
  Object.assign(paths, {
    ...{ asset: `/api/v1/assets/${id}`, content: `/api/v1/assets/${id}/content`, later: `/api/v1/content/${id}` },
    ...{ job, events: `${job}/sse` },
  });
});
afterAll(closeAll);

const ENDPOINTS = [
  ...["/api/v1/status", "/api/v1/operations", "/api/v1/operations/v/ops/file/read", "/api/v1/jobs", "/api/v1/assets"],
  ...["/api/v1/values/read?path=v/info", "/api/v1/values/list?path=v", "/api/v1/values/slice?path=v"],
  ...["/api/v1/values/count?path=v", "/.well-known/did.json", "/.well-known/mcp", "/openapi.json", "/healthz"],
  ...["/metrics", "/mcp", "asset", "content", "later", "job", "events"],
  ...["/api/v1/jobs/00", "/api/v1/jobs/nope", "/api/v1/operations/nope", "/api/v1/assets/00", "/nope"],
];

const SELDOM_SAME = ["date", "x-request-id", "connection", "keep-alive", "transfer-encoding"];
/** Of an answer, what does not change from one to the next. */
const headersOf = (response: Response) =>
  Object.fromEntries([...response.headers].filter(([name]) => !SELDOM_SAME.includes(name)));

const urlOf = (name: string) => served.url + (paths[name] ?? name);

describe("HEAD", () => {
  test.each(ENDPOINTS)("of %s has the status and the headers of GET, and no body", async (name) => {
    const [get, head] = [await fetch(urlOf(name)), await fetch(urlOf(name), { method: "HEAD" })];
    expect([head.status, await head.text()]).toEqual([get.status, ""]);
    const expected = headersOf(get);
    // The texts of two differ, by a time and by the method; of a stream nobody need know the length.
    if (["/api/v1/status", "/nope", "events"].includes(name)) delete expected["content-length"];
    expect(headersOf(head)).toMatchObject(expected);
    await get.body?.cancel();
  });

  test("hands /mcp its method", async () => {
    handed.length = 0;
    await fetch(`${served.url}/mcp`, { method: "HEAD" });
    expect(handed).toEqual(["HEAD"]);
  });

  test("of content opens none, whatever range is asked for", async () => {
    const head = await fetch(urlOf("content"), { method: "HEAD", headers: { range: "bytes=0-1" } });
    expect([head.status, head.headers.get("content-length")]).toEqual([200, `${CONTENT.length}`]);
  });

  test("delivers no private job, which is kept until GET does", async () => {
    let end: (value: string) => void = () => {};
    const slow = await serve({ wait: () => new Promise((resolve) => (end = resolve)) }, { jobs: { inlineWaitMs: 1 } });
    const headers = as("alice");
    const post = await send(`${slow.url}/api/v1/invoke`, { json: { operation: "file:wait", private: true }, headers });
    const job = `${slow.url}${post.headers.get("location")}`;
    for (const path of [job, `${job}/sse`]) {
      expect((await fetch(path, { method: "HEAD", headers })).status).toBe(200);
    }
    end("done");
    for (const path of [job, `${job}/sse`, job]) {
      expect((await fetch(path, { method: "HEAD", headers })).status).toBe(200);
    }
    expect(await (await fetch(job, { headers })).json()).toMatchObject({ output: "done" });
    expect((await fetch(job, { method: "HEAD", headers })).status).toBe(404);
  });
});

describe("a slash at the end", () => {
  test.each(ENDPOINTS.filter((name) => name !== "/nope" && name !== "/api/v1/status"))(
    "of %s is the same endpoint",
    async (name) => {
      const [path = "", query = ""] = urlOf(name).split("?");
      const [plain, slashed] = [await fetch(urlOf(name)), await fetch(`${path}/?${query}`)];
      expect([slashed.status, await slashed.text()]).toEqual([plain.status, await plain.text()]);
    },
  );

  test("is the same for POST and PUT, and for who may call", async () => {
    const open = await postText(served, "/api/v1/invoke/", JSON.stringify({ operation: "file:read" }));
    expect(open.status).toBe(201);
    const cancelled = await fetch(`${served.url}${paths["job"]}/cancel/`, { method: "PUT" });
    expect(cancelled.status).toBe(200);
    const closed = await serve(
      { read: () => 1 },
      { http: { publicAccess: false }, mcp: async () => ({ serve: async () => ({ status: 200, message: {} }) }) },
    );
    for (const path of ["/api/v1/jobs/", "/api/v1/operations/", "/mcp/"]) {
      expect((await fetch(closed.url + path)).status).toBe(401);
    }
    expect((await fetch(`${closed.url}/api/v1/status/`)).status).toBe(200);
  });
});
