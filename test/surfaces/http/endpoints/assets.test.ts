import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { assetIdOf } from "../../../../src/venue/assets/id.js";
import { outcome, send } from "../client.js";
import { as, closeAll, DID, postText, rawRequest, type Served, sendRaw, serve } from "../fixture.js";

const UNKNOWN = "0".repeat(64);
const JSON_TYPE = { "content-type": "application/json" };

let served: Served;
beforeAll(async () => {
  served = await serve({ read: () => ({}), write: () => ({}) }, { http: { maxRequestBytes: 3_000_000 } });
});
afterAll(closeAll);

const get = (path: string, headers = {}): Promise<{ status: number; body: unknown }> =>
  outcome(fetch(served.url + path, { headers }));
const register = (metadata: unknown, headers = {}): Promise<Response> =>
  send(`${served.url}/api/v1/assets`, { json: metadata, headers });

describe("registering an asset", () => {
  test("is 201 with the id as a JSON string, and where it is", async () => {
    const metadata = { name: "Data", b: [1], a: { c: null } };
    const id = assetIdOf(JSON.stringify(metadata));
    for (let again = 0; again < 2; again += 1) {
      const response = await register(metadata);
      expect(response.status).toBe(201);
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(response.headers.get("location")).toBe(`/api/v1/assets/${id}`);
      expect(response.headers.get("cache-control")).toBe("no-store");
      expect(await response.text()).toBe(`"${id}"`);
    }
    const found = await fetch(`${served.url}/api/v1/assets/${id}`);
    expect(await found.text()).toBe(JSON.stringify(metadata));
  });

  test("keeps and serves it byte for byte", async () => {
    const texts = ['{"n":9007199254740993}', '{"n":9007199254740992}', '{ "b": 1.0, "a": "\\u00e9" }\n'];
    const ids: unknown[] = [];
    for (const text of texts) ids.push((await outcome(postText(served, "/api/v1/assets", text))).body);
    expect(ids).toEqual(texts.map((text) => assetIdOf(text)));
    const found = ids.map(async (id) => (await fetch(`${served.url}/api/v1/assets/${id}`)).text());
    expect(await Promise.all(found)).toEqual(texts);
    const list = await (await fetch(`${served.url}/api/v1/assets?expand=metadata&limit=3`)).text();
    for (const text of texts) expect(list).toContain(`"metadata":${text}`);
    expect(JSON.parse(list)).toMatchObject({ total: expect.any(Number), offset: 0, limit: 3 });
  });

  test("takes JSON5 like every small body", async () => {
    const answer = await outcome(postText(served, "/api/v1/assets", "{name: 'Data', /* twice */}"));
    expect(answer).toEqual({ status: 201, body: assetIdOf('{"name":"Data"}') });
  });

  test.each(["[]", "null", '"text"', "1"])("%s is 400: it is no object", async (text) => {
    const answer = await outcome(postText(served, "/api/v1/assets", text));
    expect(answer).toEqual({ status: 400, body: { error: "Asset metadata must be a JSON object" } });
  });

  test.each([
    ["half a surrogate pair", '{"a":"\\ud800"}', "not valid Unicode"],
    ["too many levels", `{"a":${"[".repeat(300)}${"]".repeat(300)}}`, "nested deeper than 256 levels"],
  ])("with %s is 400: it has no canonical JSON", async (_name, text, reason) => {
    const answer = await outcome(postText(served, "/api/v1/assets", text));
    expect(answer).toEqual({ status: 400, body: { error: `Invalid asset metadata: ${reason}` } });
  });

  test("with NaN is 400: it is no JSON", async () => {
    const answer = await outcome(postText(served, "/api/v1/assets", "{a: NaN}"));
    expect(answer).toEqual({ status: 400, body: { error: expect.stringMatching(/^Invalid JSON: Infinity and NaN/) } });
  });

  test("over 1 MiB is 413", async () => {
    const frame = JSON.stringify({ a: "" }).length;
    expect((await register({ a: "x".repeat(1_048_576 - frame) })).status).toBe(201);
    expect(await outcome(register({ a: "x".repeat(1_048_577 - frame) }))).toEqual({
      status: 413,
      body: { error: "Asset metadata too large: 1048577 bytes, limit 1048576" },
    });
  });

  test("is 403 where only the operator may, and reading stays open", async () => {
    const closed = await serve({}, { assetRules: { write: "operator" } });
    const post = (headers: Record<string, string>) =>
      fetch(`${closed.url}/api/v1/assets`, { method: "POST", headers: { ...JSON_TYPE, ...headers }, body: "{}" });
    for (const headers of [{}, as("alice")]) {
      expect(await outcome(post(headers))).toEqual({
        status: 403,
        body: { error: "Only the operator may register assets and upload content" },
      });
    }
    const { status, body: id } = await outcome(post(as("operator")));
    expect(status).toBe(201);
    expect((await fetch(`${closed.url}/api/v1/assets/${id}`)).status).toBe(200);
  });

  test("is 507 when there is no room", async () => {
    const small = await serve({}, { assetRules: { maxTotalBytes: 100 } });
    expect(await outcome(postText(small, "/api/v1/assets", "{}"))).toEqual({
      status: 507,
      body: { error: "Asset storage is full" },
    });
  });
});

describe("a list of assets", () => {
  let mine: Served;
  const ids: string[] = [];
  beforeAll(async () => {
    mine = await serve({ read: () => ({}) });
    for (const name of ["a", "b", "c"]) {
      const { body: id } = await outcome(
        send(`${mine.url}/api/v1/assets`, {
          json: { name, type: "t", description: "d", other: 1 },
          headers: as(name === "b" ? "bob" : "alice"),
        }),
      );
      ids.push(String(id));
    }
  });
  const list = (query: string, headers = {}) => outcome(fetch(`${mine.url}/api/v1/assets${query}`, { headers }));

  test("is an envelope of ids, newest first, operations last", async () => {
    const { status, body } = await list("");
    expect(status).toBe(200);
    const operation = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(body).toEqual({ items: [...ids].reverse().concat([operation as never]), total: 4, offset: 0, limit: 1000 });
  });

  test("has pages", async () => {
    expect((await list("?offset=1&limit=1")).body).toEqual({ items: [ids[1]], total: 4, offset: 1, limit: 1 });
    expect((await list("?offset=9")).body).toEqual({ items: [], total: 4, offset: 9, limit: 1000 });
  });

  test.each(["limit=1001", "limit=-1", "limit=x", "offset=1.5", "offset=", "limit=1&limit=2", "scope=own&scope=own"])(
    "refuses %s with 400",
    async (query) => {
      expect((await list(`?${query}`)).status).toBe(400);
    },
  );

  test("of one's own has name, type and description", async () => {
    const item = (id: string | undefined, name: string) => ({ id, name, type: "t", description: "d" });
    expect((await list("?scope=own", as("alice"))).body).toEqual({
      items: [item(ids[2], "c"), item(ids[0], "a")],
      total: 2,
      offset: 0,
      limit: 1000,
    });
    expect((await list("?scope=own&limit=1&offset=1", as("alice"))).body).toMatchObject({
      items: [{ name: "a" }],
      total: 2,
    });
    expect((await list("?scope=own")).body).toEqual({ items: [], total: 0, offset: 0, limit: 1000 });
  });
});

describe("the metadata of an asset", () => {
  test("is found by every form of a reference, with slashes raw or encoded", async () => {
    const id = String((await outcome(register({ name: "found" }))).body);
    const references = [id, `0x${id}`, id.toUpperCase(), `a/${id}`, `/a/${id}`, `${DID}/a/${id}`, `/${DID}/a/${id}`];
    for (const reference of references) {
      for (const path of [reference, encodeURIComponent(reference)]) {
        const answer = await get(`/api/v1/assets/${path}`);
        expect([path, answer]).toEqual([path, { status: 200, body: { name: "found" } }]);
      }
    }
  });

  test.each(["nonsense", UNKNOWN.slice(1), `b/${UNKNOWN}`, `did:key:zOther/${UNKNOWN}`, "v/ops/file/read"])(
    "is 400 for %s",
    async (reference) => {
      const answer = await get(`/api/v1/assets/${reference}`);
      expect(answer).toEqual({ status: 400, body: { error: `Invalid asset ID: ${reference}` } });
    },
  );

  test.each([UNKNOWN, `0x${UNKNOWN}`, `a/${UNKNOWN}`, `did:key:zOther/a/${UNKNOWN}`])(
    "is 404 for %s",
    async (reference) => {
      const answer = await get(`/api/v1/assets/${reference}`);
      expect(answer).toEqual({ status: 404, body: { error: `Asset not found: ${reference}` } });
    },
  );

  test("that cannot be found repeats the reference on one line and cut", async () => {
    const { body } = await get(`/api/v1/assets/${encodeURIComponent(`x\n${"y".repeat(2000)}`)}`);
    const { error } = body as { error: string };
    expect(error).toMatch(/^Invalid asset ID: x\\u\{a\}y+…$/);
    expect(error.length).toBeLessThan(600);
  });

  test("of an operation has an operation key", async () => {
    const operations = (await get("/api/v1/operations")).body as { name: string; asset: string }[];
    const read = operations.find(({ name }) => name === "v/ops/file/read");
    expect((await get(`/api/v1/assets/${read?.asset}`)).body).toEqual({
      name: "Fake read",
      description: "Does read",
      operation: {
        adapter: "file:read",
        toolName: "file_read",
        input: { type: "object", title: "read" },
        output: { type: "object" },
      },
    });
  });

  test("is only read: other methods are 405", async () => {
    for (const method of ["PUT", "DELETE"]) {
      const answer = await sendRaw(served.port, rawRequest(`${method} /api/v1/assets/${UNKNOWN}`));
      expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    }
  });
});
