import { type ChildProcess, spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { OURS } from "../ours.js";
import { ALL, IssuerVenue } from "../venue/identity/issuers/issuer-venue.js";
import { type JavaAnswer, type JavaClient, type JavaRequest, javaClient } from "./java-client.js";
import { type KeyPair, newKeyPair } from "./key-pair.js";
import { closeVenues, type Opened, openVenue } from "./open-venue.js";
import { type SdkAnswer, type SdkClient, sdkClient } from "./sdk-client.js";

afterAll(closeVenues);

describe("requests of the SDK", () => {
  /** By this wording of a 404 the SDK takes a whole feature for missing, and stops asking. */
  const ROUTE_MISSING = /\bEndpoint (GET|POST|PUT|DELETE|PATCH|HEAD) /;
  let opened: Opened;
  let anyone: SdkClient;
  let pair: KeyPair;
  let owner: SdkClient;
  beforeAll(async () => {
    opened = await openVenue();
    anyone = sdkClient(opened.url);
    pair = newKeyPair();
    owner = sdkClient(opened.url, () => pair.identity(opened.venue.did));
  });

  const invoke = (body: Record<string, unknown>, client = anyone) =>
    client("/api/v1/invoke", { method: "POST", json: body });
  const read = (path: string) => ({ operation: "v/ops/file/read", input: { root: "tmp", path } });
  const put = (path: string, client = anyone) => client(path, { method: "PUT" });

  async function started(client = anyone): Promise<{ record: Record<string, unknown>; id: string; hex: string }> {
    const { status, text } = await invoke({ operation: "v/ops/file/roots", input: {} }, client);
    expect(status).toBe(201);
    const record: Record<string, unknown> = JSON.parse(text);
    expect(record["id"]).toMatch(/^0x[0-9a-f]{32}$/);
    return { record, id: String(record["id"]), hex: String(record["id"]).slice(2) };
  }

  /** What the SDK turns into an error of a missing thing. */
  function expectMissing(answer: SdkAnswer, error: string | RegExp): void {
    expect(answer).toMatchObject({ status: 404, body: { error: expect.stringMatching(error) } });
    expect(answer.text).not.toMatch(ROUTE_MISSING);
  }

  describe("connecting", () => {
    test("anonymously: the status names the venue and a version that has the values endpoints", async () => {
      const { status, body } = await anyone("/api/v1/status");
      expect(status).toBe(200);
      expect(body).toMatchObject({
        status: "OK",
        did: opened.venue.did,
        name: expect.any(String),
        version: expect.stringMatching(/^(0\.([3-9]|\d\d)|[1-9])/),
        url: opened.url,
        stats: { assets: expect.any(Number), ops: OURS },
      });
    });

    test("with a key pair: the same identity is pinned, and the caller is the key's", async () => {
      expect((await owner("/api/v1/status")).body).toMatchObject({ did: opened.venue.did });
      expect((await started(owner)).record).toMatchObject({ caller: pair.did });
    });

    test("the DID document has the same id and a string endpoint", async () => {
      const { status, body } = await anyone("/.well-known/did.json");
      expect(status).toBe(200);
      expect(body).toMatchObject({
        id: opened.venue.did,
        service: [{ type: "Covia.API.v1", serviceEndpoint: `${opened.url}/api/v1` }],
      });
    });

    test("MCP is discovered", async () => {
      expect(await anyone("/.well-known/mcp")).toMatchObject({
        status: 200,
        body: { mcp_version: "1.0", server_url: `${opened.url}/mcp`, endpoint: { path: "/mcp" } },
      });
    });

    test("a route that is not there says so in the wording the SDK looks for", async () => {
      const { status, text } = await anyone("/.well-known/agent-card.json");
      expect(status).toBe(404);
      expect(text).toMatch(ROUTE_MISSING);
    });
  });

  describe("operations", () => {
    test("are listed as an array", async () => {
      const { status, body } = await anyone("/api/v1/operations");
      expect(status).toBe(200);
      expect(body).toContainEqual(
        expect.objectContaining({ name: "v/ops/file/read", asset: expect.stringMatching(/^[0-9a-f]{64}$/) }),
      );
    });

    test("are looked up with raw slashes", async () => {
      expect(await anyone("/api/v1/operations/v/ops/file/read")).toMatchObject({
        status: 200,
        body: { name: "v/ops/file/read", asset: expect.any(String), input: expect.any(Object) },
      });
      expectMissing(await anyone("/api/v1/operations/v/ops/file/none"), "Operation not found: v/ops/file/none");
    });
  });

  describe("a run", () => {
    test("is over in the reply, so that the SDK does not wait for its first poll", async () => {
      const input = { root: "tmp", path: "run.txt", content: "hello ✓" };
      expect((await invoke({ operation: "v/ops/file/write", input })).body).toMatchObject({ status: "COMPLETE" });
      expect((await invoke(read("run.txt"))).body).toMatchObject({
        status: "COMPLETE",
        output: { content: "hello ✓" },
      });
    });

    test("needs no input", async () => {
      expect((await invoke({ operation: "v/ops/file/roots" })).body).toMatchObject({ status: "COMPLETE" });
    });

    test("that fails has the text for the SDK's error", async () => {
      expect(await invoke(read("no/such"))).toMatchObject({
        status: 201,
        body: { status: "FAILED", error: expect.stringMatching(/^Not found: tmp:no\/such/), errorCode: "NOT_FOUND" },
      });
    });

    test("of an unknown operation is refused with a text", async () => {
      expect(await invoke({ operation: "v/ops/none", input: {} })).toMatchObject({
        status: 400,
        body: { error: "Cannot resolve operation: v/ops/none" },
      });
    });

    test("in private is delivered once, never listed", async () => {
      const { status, text } = await invoke({ operation: "v/ops/file/roots", input: {}, private: true, wait: true });
      expect(status).toBe(201);
      const { id, status: state, output } = JSON.parse(text);
      expect({ state, output }).toMatchObject({ state: "COMPLETE", output: { roots: [{ name: "tmp" }] } });
      expect((await anyone("/api/v1/jobs?offset=0&limit=1000")).text).not.toContain(id.slice(2));
      expectMissing(await anyone(`/api/v1/jobs/${id}`), "Job not found: ");
    });

    test("with a delegation is a job, and its record shows no token", async () => {
      const grants = [{ with: `${opened.venue.did}/file/tmp`, can: "file/read" }];
      const token = pair.delegation(opened.venue.did, grants);
      for (const client of [anyone, owner]) {
        const { status, text } = await invoke({ ...read("run.txt"), ucans: [token] }, client);
        expect(status).toBe(201);
        // The public grants do not count beside a proof, and this one grants nothing here.
        expect(JSON.parse(text)).toMatchObject({ status: "FAILED", errorCode: "CAPABILITY_DENIED", caller: pair.did });
        expect(text).not.toContain(token.split(".")[2]);
      }
    });

    test("of the key pair's owner, by a token for the venue alone, is that owner's job", async () => {
      const token = pair.delegation(opened.venue.did, []);
      const { text } = await invoke({ ...read("run.txt"), ucans: [token] });
      const { id, ...record } = JSON.parse(text);
      expect(record).toMatchObject({ status: "COMPLETE", caller: pair.did });
      expect((await anyone(`/api/v1/jobs/${id}`)).status).toBe(403);
      expect((await owner(`/api/v1/jobs/${id}`)).status).toBe(200);
    });
  });

  describe("jobs", () => {
    test("are listed in pages that advance", async () => {
      const { hex } = await started(owner);
      await started(owner);
      const whole = await owner("/api/v1/jobs?offset=0&limit=1000");
      const { items, total } = JSON.parse(whole.text);
      expect(whole.body).toMatchObject({ offset: 0, limit: 1000, total: items.length });
      expect(items).toContain(hex);
      expect((await owner("/api/v1/jobs?offset=1&limit=1")).body).toEqual({
        items: [items[1]],
        total,
        offset: 1,
        limit: 1,
      });
      expect((await owner(`/api/v1/jobs?offset=${total}&limit=1000`)).body).toMatchObject({ items: [], total });
      expect((await anyone("/api/v1/jobs?offset=0&limit=1000")).text).not.toContain(hex);
    });

    test("are polled with 0x, and with bare hex", async () => {
      const { record, id, hex } = await started();
      expect(await anyone(`/api/v1/jobs/${id}`)).toMatchObject({ status: 200, body: record });
      expect(await anyone(`/api/v1/jobs/${hex}`)).toMatchObject({ status: 200, body: record });
    });

    test("of others are 403, unknown ones a missing thing", async () => {
      const { id, hex } = await started(owner);
      const denied = { status: 403, body: { error: `Access denied to job: ${hex}` } };
      expect(await anyone(`/api/v1/jobs/${id}`)).toMatchObject(denied);
      expect(await put(`/api/v1/jobs/${id}/cancel`)).toMatchObject(denied);
      expect(await anyone(`/api/v1/jobs/${id}/sse`)).toMatchObject(denied);
      expectMissing(await anyone(`/api/v1/jobs/0x${"0".repeat(32)}`), "Job not found: ");
    });

    test("are cancelled and deleted without a body", async () => {
      const { record, id } = await started();
      expect(await put(`/api/v1/jobs/${id}/cancel`)).toMatchObject({ status: 200, body: record });
      expect((await put(`/api/v1/jobs/${id}/delete`)).status).toBe(200);
      expectMissing(await anyone(`/api/v1/jobs/${id}`), "Job not found: ");
    });

    test("are streamed: the state as one event, in lines without \\r, then the end", async () => {
      const { record, id } = await started(owner);
      const { status, type, text } = await owner(`/api/v1/jobs/${id}/sse`, { accept: "text/event-stream" });
      expect({ status, type }).toEqual({ status: 200, type: expect.stringMatching(/^text\/event-stream/) });
      expect(text).not.toContain("\r");
      const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith(":"));
      expect(lines).toEqual(["event: job-update", expect.stringMatching(/^data: \{/)]);
      expect(JSON.parse(lines.at(-1)?.slice("data: ".length) ?? "")).toEqual(record);
      expect(text.endsWith("\n\n")).toBe(true);
    });
  });

  describe("assets", () => {
    const content = Uint8Array.from(Buffer.from(`content ${randomUUID()} \u0000 ✓`));
    const sha256 = createHash("sha256").update(content).digest("hex");
    const metadata = { name: "a report", type: "dataset", description: "of a run", content: { sha256 } };
    let id: string;
    beforeAll(async () => {
      const { status, text } = await owner("/api/v1/assets", { method: "POST", json: metadata });
      expect(status).toBe(201);
      id = JSON.parse(text).replace(/^0x/, "");
    });

    test("are registered under a JSON string, good for a lookup in every form", async () => {
      for (const reference of [id, `0x${id}`, `a/${id}`, `${opened.venue.did}/a/${id}`]) {
        expect(await owner(`/api/v1/assets/${reference}`)).toMatchObject({ status: 200, body: metadata });
      }
    });

    test("that are operations have an operation key", async () => {
      const { text } = await anyone("/api/v1/operations/v/ops/file/stat");
      expect((await anyone(`/api/v1/assets/${JSON.parse(text).asset}`)).body).toMatchObject({
        operation: { adapter: "file:stat" },
      });
    });

    test("are listed in an envelope", async () => {
      const { body, text } = await anyone("/api/v1/assets?offset=0");
      expect(body).toMatchObject({
        items: expect.arrayContaining([id]),
        offset: 0,
        limit: 1000,
        total: expect.any(Number),
      });
      const { items, total } = JSON.parse(text);
      const second = { items: [items[1]], total, offset: 1, limit: 1 };
      expect((await anyone("/api/v1/assets?offset=1&limit=1")).body).toEqual(second);
    });

    test("of the caller are listed with a summary", async () => {
      const { name, type, description } = metadata;
      expect((await owner("/api/v1/assets?scope=own&offset=0")).body).toMatchObject({
        items: [{ id, name, type, description }],
        total: 1,
        offset: 0,
      });
      expect((await anyone("/api/v1/assets?scope=own&offset=0")).body).toMatchObject({ items: [], total: 0 });
    });

    test("take content of no content type, answer a string, and give it back", async () => {
      expectMissing(await owner(`/api/v1/assets/${id}/content`), "Asset has no content: ");
      const path = `/api/v1/assets/${id}/content`;
      expect(await owner(path, { method: "PUT", content: "else" })).toMatchObject({
        status: 400,
        body: { error: expect.stringMatching(/^Cannot PUT asset content: Content hash mismatch/) },
      });
      expect(await owner(path, { method: "PUT", content })).toMatchObject({ status: 200, body: `0x${sha256}` });
      expect(await owner(path)).toMatchObject({ status: 200, text: Buffer.from(content).toString() });
    });

    test("that do not exist are a missing thing", async () => {
      expectMissing(await anyone(`/api/v1/assets/${"a".repeat(64)}`), "Asset not found: ");
      expectMissing(await anyone(`/api/v1/assets/${"a".repeat(64)}/content`), "Asset not found: ");
    });
  });

  describe("adapters are read as values", () => {
    const file = {
      name: "file",
      description: expect.any(String),
      operations: expect.arrayContaining(["v/ops/file/read"]),
    };

    test("all, as a slice of a map", async () => {
      const { status, body } = await anyone("/api/v1/values/slice?path=v%2Finfo%2Fadapters&offset=0&limit=1000");
      expect(status).toBe(200);
      expect(body).toMatchObject({ exists: true, count: 10, offset: 0 });
      expect(body).toMatchObject({
        values: [
          { key: "file", value: file },
          { key: "archive" },
          { key: "dlfs" },
          { key: "drive" },
          { key: "ucan" },
          { key: "auth" },
          { key: "audit" },
          { key: "approval" },
          { key: "lock" },
          { key: "documents" },
        ],
      });
    });

    test("one, and none", async () => {
      const path = "/api/v1/values/read?path=v%2Finfo%2Fadapters%2F";
      expect(await anyone(`${path}file`)).toMatchObject({ status: 200, body: { exists: true, value: file } });
      expect(await anyone(`${path}none`)).toMatchObject({ status: 200, body: { exists: false } });
    });
  });
});

describe("requests from Java", () => {
  const JSON_BODY = { "Content-Type": "application/json" };
  const HASH = /^(0x)?[0-9a-f]{64}$/;
  let opened: Opened;
  let send: JavaClient;
  beforeAll(async () => {
    opened = await openVenue();
    send = javaClient(opened.url);
  });

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
});

describe("signing in", () => {
  const REDIRECT = "http://127.0.0.1/callback";

  let issuer: ChildProcess;
  const here = new IssuerVenue();
  afterAll(async () => {
    issuer.stdin?.end();
    await here.close();
  });

  /** What a person's browser does: follows redirects, keeping cookies, until it is back at the client. */
  async function browse(start: URL): Promise<URL> {
    const cookies = new Map<string, string>();
    let url = start;
    for (let steps = 0; steps < 10; steps++) {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      const response = await fetch(url, { redirect: "manual", headers: { cookie } });
      for (const line of response.headers.getSetCookie()) {
        const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        cookies.set(name, value);
      }
      const location = response.headers.get("location");
      if (location === null) throw new Error(`${response.status} ${await response.text()}`);
      url = new URL(location, url);
      if (url.href.startsWith(REDIRECT)) return url;
    }
    throw new Error("Redirected too often");
  }

  /** The part of a client that a host writes: what it keeps, and what the person is sent to. */
  function host() {
    let tokens: unknown;
    let verifier = "";
    const sentTo: URL[] = [];
    return {
      sentTo,
      provider: {
        redirectUrl: REDIRECT,
        clientMetadata: { redirect_uris: [REDIRECT], token_endpoint_auth_method: "none" },
        clientInformation: () => ({ client_id: "assistant" }),
        tokens: () => tokens as never,
        saveTokens: (made: never) => {
          tokens = made;
        },
        redirectToAuthorization: (url: URL) => void sentTo.push(url),
        saveCodeVerifier: (text: string) => {
          verifier = text;
        },
        codeVerifier: () => verifier,
      },
    };
  }

  interface Session {
    call(name: string, args: Record<string, unknown>): Promise<unknown>;
    finish(back: URL): Promise<void>;
    close(): Promise<void>;
  }

  const CLIENTS: readonly [string, (provider: ReturnType<typeof host>["provider"]) => Promise<Session>][] = [
    [
      "the SDK of version 2",
      async (provider) => {
        let transport = new StreamableHTTPClientTransport(new URL(here.resource), { authProvider: provider });
        let client: Client | undefined;
        return {
          call: async (name, args) => {
            if (client === undefined) {
              const made = new Client({ name: "assistant", version: "1" });
              await made.connect(transport);
              client = made;
            }
            return (await client.callTool({ name, arguments: args })).content;
          },
          finish: async (back) => {
            await transport.finishAuth(back.searchParams);
            if (client !== undefined) return;
            transport = new StreamableHTTPClientTransport(new URL(here.resource), { authProvider: provider });
          },
          close: async () => client?.close(),
        };
      },
    ],
    [
      "the SDK of version 1",
      async (provider) => {
        let transport = new Transport1(new URL(here.resource), { authProvider: provider });
        let client: Client1 | undefined;
        return {
          call: async (name, args) => {
            if (client === undefined) {
              const made = new Client1({ name: "assistant", version: "1" });
              await made.connect(transport as never);
              client = made;
            }
            return (await client.callTool({ name, arguments: args })).content;
          },
          finish: async (back) => {
            await transport.finishAuth(back.searchParams.get("code") ?? "");
            if (client === undefined) transport = new Transport1(new URL(here.resource), { authProvider: provider });
          },
          close: async () => client?.close(),
        };
      },
    ],
  ];

  beforeAll(async () => {
    const program = fileURLToPath(new URL("oidc-issuer.mjs", import.meta.url));
    issuer = spawn(process.execPath, [program], { stdio: ["pipe", "pipe", "ignore"] });
    const url = await new Promise<string>((resolve) => {
      issuer.stdout?.once("data", (text: Buffer) => resolve(String(text).trim()));
    });
    await here.open({ issuer: url, map: [{ when: { team: "editors" }, caps: [ALL] }] });
  });

  describe.each(CLIENTS)("%s signs in at an outside issuer", (_name, open) => {
    test("from 401 to a call, and asks for more scopes when a call needs them", async () => {
      const { provider, sentTo } = host();
      const session = await open(provider);
      const read = () => session.call("file_read", { path: "a.txt" });
      await expect(read()).rejects.toThrow();
      expect(sentTo.map(({ searchParams }) => [searchParams.get("scope"), searchParams.get("resource")])).toEqual([
        ["files:read", here.resource],
      ]);
      await session.finish(await browse(sentTo[0] as URL));
      expect(JSON.stringify(await read())).toContain("alpha");

      const path = `by-${_name.at(-1)}.txt`;
      const write = () => session.call("file_write", { path, content: "beta" });
      await expect(write()).rejects.toThrow();
      expect(sentTo[1]?.searchParams.get("scope")?.split(" ").sort()).toEqual(["files:read", "files:write"]);
      await session.finish(await browse(sentTo[1] as URL));
      await write();
      expect(readFileSync(join(here.base, "docs", path), "utf8")).toBe("beta");
      await session.close();
    });
  });
});
