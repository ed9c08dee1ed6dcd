import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { outcome } from "../client.js";
import { closeAll, DID, rawRequest, type Served, sendRaw, serve } from "../fixture.js";

let served: Served;
beforeAll(async () => {
  served = await serve({ read: () => ({}), write: () => ({}) });
});
afterAll(closeAll);

const get = (path: string) => outcome(fetch(`${served.url}/api/v1/values/${path}`));
const INFO = { name: "file", description: "A fake", operations: ["v/ops/file/read", "v/ops/file/write"] };

describe("values", () => {
  test("are read by path, with slashes raw or encoded and one more at the front", async () => {
    for (const path of ["v/info/did", "/v/info/did", "v%2Finfo%2Fdid"]) {
      expect(await get(`read?path=${path}`)).toEqual({
        status: 200,
        body: { exists: true, value: DID, type: "String", valueBytes: DID.length + 2 },
      });
    }
    expect((await get("read?path=v/info/adapters/file")).body).toMatchObject({
      exists: true,
      value: INFO,
      type: "Map",
    });
    expect((await get("read?path=v/info/started")).body).toMatchObject({ type: "Long" });
  });

  test("over maxSize are left out", async () => {
    expect((await get("read?path=v/info/adapters/file&maxSize=10")).body).toEqual({
      exists: true,
      truncated: true,
      type: "Map",
      valueBytes: JSON.stringify(INFO).length,
    });
  });

  test("are listed, sliced and counted", async () => {
    expect((await get("list?path=/")).body).toEqual({ exists: true, type: "Map", count: 1, offset: 0, keys: ["v"] });
    expect((await get("list?path=")).body).toMatchObject({ keys: ["v"] });
    expect((await get("list?path=v/ops/file&limit=1&offset=1")).body).toEqual({
      exists: true,
      type: "Map",
      count: 2,
      offset: 1,
      keys: ["write"],
    });
    expect((await get("slice?path=v/info/adapters&offset=0&limit=1000")).body).toEqual({
      exists: true,
      type: "Map",
      values: [{ key: "file", value: INFO }],
      count: 1,
      offset: 0,
    });
    expect((await get("count?path=v/ops/file")).body).toEqual({ exists: true, count: 2 });
    expect((await get("count?path=v/info/name")).body).toEqual({ exists: false });
  });

  test.each(["read", "list", "slice", "count"])("that are not there are 200 for %s", async (endpoint) => {
    for (const path of ["w/x", "o/x", "h/x", "v/nope", "v/info/__proto__", "v/info/name/length"]) {
      expect(await get(`${endpoint}?path=${path}`)).toEqual({
        status: 200,
        body: { exists: false, ...(endpoint === "list" ? { type: "null" } : {}) },
      });
    }
  });

  test.each(["read", "list", "slice", "count"])("without a path, or with two, are 400 for %s", async (endpoint) => {
    expect(await get(endpoint)).toEqual({ status: 400, body: { error: "'path' is required" } });
    expect(await get(`${endpoint}?path=v&path=v`)).toEqual({
      status: 400,
      body: { error: "'path' must be given once" },
    });
  });

  test.each(["limit=1001", "limit=-1", "offset=x", "offset=1.5"])("refuse the page %s", async (query) => {
    for (const endpoint of ["list", "slice"]) expect((await get(`${endpoint}?path=v&${query}`)).status).toBe(400);
  });

  test.each(["maxSize=-1", "maxSize=x", "maxSize=", "maxSize=1&maxSize=2"])("refuse %s", async (query) => {
    expect((await get(`read?path=v&${query}`)).status).toBe(400);
  });

  test("are only read", async () => {
    const answer = await sendRaw(served.port, rawRequest("PUT /api/v1/values/read"));
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });
});
