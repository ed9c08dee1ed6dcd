import { createHash, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type JavaAnswer, type JavaClient, type JavaRequest, javaClient } from "./java-client.js";
import { newKeyPair } from "./key-pair.js";
import { closeVenues, type Opened, openVenue } from "./open-venue.js";

const JSON_BODY = { "Content-Type": "application/json" };
const HASH = /^(0x)?[0-9a-f]{64}$/;
let opened: Opened;
let send: JavaClient;
beforeAll(async () => {
  opened = await openVenue();
  send = javaClient(opened.url);
});
afterAll(closeVenues);

const post = (path: string, body: unknown, headers = {}) =>
  send(path, { method: "POST", headers: { ...JSON_BODY, ...headers }, body: JSON.stringify(body) });
const invoke = (operation: string, input: unknown, headers = {}) => post("invoke", { operation, input }, headers);
/** A PUT whose body is the empty string: a length of zero and no content type. */
const emptyPut = (path: string) => send(path, { method: "PUT", body: "" });
const write = (path: string, content: string) => invoke("v/ops/file/write", { root: "tmp", path, content });

/** The record, its id and the id in the form this client uses in paths. */
function job(answer: JavaAnswer): { record: Record<string, unknown>; hex: string } {
  const record: Record<string, unknown> = JSON.parse(answer.body);
  expect(record["id"]).toMatch(/^0x[0-9a-f]{32}$/);
  return { record, hex: String(record["id"]).slice(2) };
}

async function operationId(name: string): Promise<string> {
  const { status, body } = await send(`operations/${encodeURIComponent(name)}`);
  expect(status).toBe(200);
  const { asset } = JSON.parse(body);
  expect(asset).toMatch(HASH);
  return asset;
}

describe("a request that asks for HTTP/2 on clear text is answered in HTTP/1.1", () => {
  test.each<[string, string, JavaRequest, number]>([
    ["without a body", "status", {}, 200],
    ["with a JSON body", "invoke", { method: "POST", headers: JSON_BODY, body: '{"operation":"file:roots"}' }, 201],
    ["with an empty body", `jobs/${"0".repeat(32)}/cancel`, { method: "PUT", body: "" }, 404],
  ])("%s", async (_label, path, request, status) => {
    expect(await send(path, request)).toMatchObject({ status, version: "1.1" });
  });
});

test("status is a map with the venue's DID", async () => {
  const { status, body } = await send("status");
  expect({ status, body: JSON.parse(body) }).toMatchObject({
    status: 200,
    body: { status: "OK", did: opened.venue.did },
  });
});

describe("operations are looked up with %2F", () => {
  test("by catalogue path", async () => {
    await operationId("v/ops/file/read");
  });

  test("an unknown one is anything but 200", async () => {
    expect((await send("operations/v%2Fops%2Ffile%2Fnone")).status).toBe(404);
  });
});

describe("invoke answers exactly 201 with a record that has a status", () => {
  test("of a finished job", async () => {
    const answer = await invoke("v/ops/file/roots", {});
    expect(answer.status).toBe(201);
    expect(job(answer).record).toMatchObject({ status: "COMPLETE", output: { roots: [{ name: "tmp" }] } });
  });

  test("of a failed one", async () => {
    const answer = await invoke("v/ops/file/read", { root: "tmp", path: "missing" });
    expect(answer.status).toBe(201);
    expect(job(answer).record).toMatchObject({
      status: "FAILED",
      error: expect.stringMatching(/^Not found: tmp:missing/),
    });
  });

  test("with a null input, which is what the client sends for none", async () => {
    const answer = await invoke("v/ops/file/roots", null);
    expect(answer.status).toBe(201);
    expect(job(answer).record).toMatchObject({ status: "COMPLETE" });
  });

  test("by the operation's hash, bare and with 0x", async () => {
    await write("by-hash.txt", "here");
    const id = await operationId("v/ops/file/read");
    for (const reference of [id, `0x${id}`]) {
      const answer = await invoke(reference, { root: "tmp", path: "by-hash.txt" });
      expect(job(answer).record).toMatchObject({ status: "COMPLETE", output: { content: "here" } });
    }
  });

  test("of a private run, with proofs in the body and in a header", async () => {
    const proofs = ["a.b.c", "d.e.f"];
    const answer = await post(
      "invoke",
      { operation: "file:roots", input: {}, ucans: proofs, private: true, wait: true },
      { "X-Covia-Ucans": proofs.join(",") },
    );
    expect(answer.status).toBe(201);
    expect(["COMPLETE", "FAILED"]).toContain(job(answer).record["status"]);
  });
});

describe("jobs", () => {
  test("are polled with bare hex", async () => {
    const { record, hex } = job(await write("poll.txt", "x"));
    const { status, body } = await send(`jobs/${hex}`);
    expect({ status, body: JSON.parse(body) }).toEqual({ status: 200, body: record });
  });

  test("that do not exist are 404", async () => {
    expect((await send(`jobs/${"0".repeat(32)}`)).status).toBe(404);
  });

  test("are listed without a query", async () => {
    const { hex } = job(await invoke("file:roots", {}));
    const { status, body } = await send("jobs");
    expect(status).toBe(200);
    expect(JSON.parse(body).items).toContain(hex);
  });

  test("that finished are unchanged by cancel", async () => {
    const { record, hex } = job(await invoke("file:roots", {}));
    const { status, body } = await emptyPut(`jobs/${hex}/cancel`);
    expect({ status, body: JSON.parse(body) }).toEqual({ status: 200, body: record });
  });

  test("are deleted with 200, and gone", async () => {
    const { hex } = job(await invoke("file:roots", {}));
    expect((await emptyPut(`jobs/${hex}/delete`)).status).toBe(200);
    expect((await send(`jobs/${hex}`)).status).toBe(404);
    expect((await emptyPut(`jobs/${hex}/delete`)).status).toBe(404);
  });

  test.each(["pause", "resume"])("cannot %s: 409", async (action) => {
    const { hex } = job(await invoke("file:roots", {}));
    expect((await emptyPut(`jobs/${hex}/${action}`)).status).toBe(409);
  });

  test("take no message: 409, which the client reads as a finished job", async () => {
    const { hex } = job(await invoke("file:roots", {}));
    expect((await post(`jobs/${hex}`, { content: "go on" })).status).toBe(409);
  });
});

describe("assets", () => {
  const content = Buffer.from(`content ${randomUUID()}`);
  const sha256 = createHash("sha256").update(content).digest("hex");
  const metadata = { name: "from Java", content: { sha256 } };
  let id: string;
  beforeAll(async () => {
    const pretty = JSON.stringify(metadata, undefined, "  ");
    const { status, body } = await send("assets", { method: "POST", headers: JSON_BODY, body: pretty });
    expect(status).toBe(201);
    expect(JSON.parse(body)).toMatch(HASH);
    id = JSON.parse(body).replace(/^0x/, "");
  });

  test("take content, answer its hash as a JSON string, and give it back", async () => {
    const { status, body } = await send(`assets/${id}/content`, {
      method: "PUT",
      headers: { "Content-Type": "application/octet-stream" },
      body: content,
    });
    expect({ status, body: JSON.parse(body) }).toEqual({ status: 200, body: `0x${sha256}` });
    expect(await send(`assets/${id}/content`)).toMatchObject({ status: 200, body: content.toString() });
  });

  test("are registered under a JSON string, by which their metadata is found", async () => {
    const { status, body } = await send(`assets/${id}`);
    expect({ status, body: JSON.parse(body) }).toEqual({ status: 200, body: metadata });
  });

  test("are found by a whole reference", async () => {
    for (const reference of [`0x${id}`, `a/${id}`, `${opened.venue.did}/a/${id}`]) {
      expect((await send(`assets/${reference}`)).status).toBe(200);
    }
  });

  test("are listed without a query; every item is a hash", async () => {
    const { status, body } = await send("assets");
    expect(status).toBe(200);
    const { items } = JSON.parse(body);
    expect(items).toContain(id);
    expect(items).toEqual(items.map(() => expect.stringMatching(HASH)));
  });

  test("that do not exist are anything but 200", async () => {
    expect((await send(`assets/${"a".repeat(64)}`)).status).toBe(404);
    expect((await send(`assets/${"a".repeat(64)}/content`)).status).toBe(404);
  });
});

test("values are read with an encoded path", async () => {
  const { status, body } = await send("values/read?path=v%2Finfo%2Fadapters%2Ffile");
  expect({ status, body: JSON.parse(body) }).toMatchObject({
    status: 200,
    body: { exists: true, value: { name: "file" } },
  });
});

test("a key pair's token without an audience is an identity on loopback, for every endpoint", async () => {
  const pair = newKeyPair();
  const headers = { Authorization: `Bearer ${pair.identity()}` };
  const answer = await invoke("file:roots", {}, headers);
  expect(answer.status).toBe(201);
  const { record, hex } = job(answer);
  expect(record).toMatchObject({ status: "COMPLETE", caller: pair.did });
  expect((await send(`jobs/${hex}`, { headers })).status).toBe(200);
  expect((await send(`jobs/${hex}`)).status).toBe(403);
  expect((await send("status", { headers })).status).toBe(200);
});
