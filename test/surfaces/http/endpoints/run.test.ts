import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { notFound } from "../../../../src/core/errors/texts.js";
import { gate } from "../../../venue/catalogue/fake-adapter.js";
import { outcome } from "../client.js";
import { as, closeAll, postText, type Served, serve } from "../fixture.js";

let served: Served;
beforeAll(async () => {
  served = await serve(
    {
      read: (input) => ({ read: input }),
      nothing: () => undefined,
      fail: () => {
        throw notFound({ root: "docs", path: "nope" });
      },
      slow: () => gate().promise,
    },
    { jobs: { maxWaitMs: 20 } },
  );
});
afterAll(closeAll);

const run = (body: object) => postText(served, "/api/v1/run", JSON.stringify(body));

describe("run", () => {
  test("answers with the output alone, and names the job", async () => {
    const response = await run({ operation: "file:read", input: { root: "docs" } });
    const job = response.headers.get("location");
    expect(await outcome(response)).toEqual({ status: 200, body: { read: { root: "docs" } } });
    expect(await outcome(fetch(served.url + job))).toMatchObject({ status: 200, body: { status: "COMPLETE" } });
  });

  test("answers null where there is no output", async () => {
    expect(await outcome(run({ operation: "file:nothing" }))).toEqual({ status: 200, body: null });
  });

  test("answers a failure with its own status, text, code and data", async () => {
    expect(await outcome(run({ operation: "file:fail" }))).toEqual({
      status: 404,
      body: { error: "Not found: docs:nope", errorCode: "NOT_FOUND", errorData: { root: "docs", path: "nope" } },
    });
  });

  test("keeps no job that is private", async () => {
    const response = await run({ operation: "file:read", private: true });
    const job = response.headers.get("location");
    expect((await fetch(served.url + job)).status).toBe(404);
  });

  test("that outlasts the wait goes on under its name", async () => {
    const response = await run({ operation: "file:slow" });
    const job = response.headers.get("location");
    expect(await outcome(response)).toEqual({ status: 504, body: { error: `Still running: see ${job}` } });
    expect(await outcome(fetch(served.url + job))).toMatchObject({ body: { status: "STARTED" } });
  });

  test.each([
    [{}, "Invoke request requires an 'operation' parameter as a String"],
    [{ operation: "file:nope" }, "Cannot resolve operation: file:nope"],
  ])("refuses %j like invoke does", async (body, error) => {
    expect(await outcome(run(body))).toEqual({ status: 400, body: { error } });
  });
});

describe("content of an asset", () => {
  test("is found under both names", async () => {
    const sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    const id = await (await postText(served, "/api/v1/assets", JSON.stringify({ content: { sha256 } }))).json();
    const put = await fetch(`${served.url}/api/v1/assets/${id}/content`, { method: "PUT", body: "hello" });
    expect(put.status).toBe(200);
    for (const path of [`assets/${id}/content`, `content/${id}`, `content/a/${id}`, `content/0x${id}`]) {
      expect(await (await fetch(`${served.url}/api/v1/${path}`, { headers: as("alice") })).text()).toBe("hello");
    }
    expect((await fetch(`${served.url}/api/v1/content/nope`)).status).toBe(400);
  });
});

describe("a list of assets", () => {
  test("has the metadata where that is asked for", async () => {
    const metadata = { name: "expanded" };
    const id = await (await postText(served, "/api/v1/assets", JSON.stringify(metadata))).json();
    const { body } = await outcome(fetch(`${served.url}/api/v1/assets?expand=metadata&limit=1`));
    expect(body).toMatchObject({ items: [{ id, metadata }], offset: 0, limit: 1 });
  });

  test("expanded is shorter than asked for when it would be too large", async () => {
    const large = await serve({}, { assetRules: { maxTotalBytes: 50_000_000 } });
    const name = "x".repeat(900_000);
    for (const index of [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]) {
      const reply = await postText(large, "/api/v1/assets", JSON.stringify({ name: name.slice(index) }));
      expect(reply.status).toBe(201);
    }
    const list = async (query: string) =>
      (await (await fetch(`${large.url}/api/v1/assets?${query}`)).json()) as { items: unknown[]; total: number };
    const first = await list("expand=metadata");
    expect([first.items.length, first.total]).toEqual([9, 10]);
    expect((await list("expand=metadata&offset=9")).items).toHaveLength(1);
    expect((await fetch(`${large.url}/api/v1/assets?expand=metadata&expand=x`)).status).toBe(400);
  });
});
