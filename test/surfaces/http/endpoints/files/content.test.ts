import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import fastify from "fastify";
import { systemClock } from "../../../../../src/core/clock.js";
import { MemoryBudget } from "../../../../../src/core/memory.js";
import type { ByteRange } from "../../../../../src/core/ports/asset.js";
import type { Body } from "../../../../../src/core/ports/backend.js";
import { silentLog } from "../../../../../src/core/ports/log.js";
import type { UploadBody } from "../../../../../src/core/ports/streams.js";
import { PART_BYTES } from "../../../../../src/core/ports/transfer.js";
import { createVenue, type Venue } from "../../../../../src/index.js";
import { upload } from "../../../../../src/ops/upload.js";
import { getContent } from "../../../../../src/surfaces/http/endpoints/assets.js";
import { partsOf } from "../../../../../src/surfaces/http/endpoints/file-parts.js";
import type { HttpHost } from "../../../../../src/surfaces/http/host.js";
import { createAssets, type VenueAssets } from "../../../../../src/venue/assets/assets.js";
import { AssetMemory } from "../../../../../src/venue/assets/memory.js";
import type { AssetStore } from "../../../../../src/venue/assets/store.js";
import { readRecords } from "../../../../audit/records.js";
import { bearer, bodyOf, outcome, run, send } from "../../client.js";
import { as, closeAll, DID, memoryAssets, rawRequest, readAnswer, type Served, sendRaw, serve } from "../../fixture.js";

afterAll(closeAll);

describe("content", () => {
  const LIMIT = 1_000_000;
  const sha256 = (bytes: string | Buffer): string => createHash("sha256").update(bytes).digest("hex");
  const wanting = (content: string | Buffer, more: object = {}) => ({ content: { sha256: sha256(content), ...more } });

  let served: Served;
  let assets: VenueAssets;
  beforeAll(async () => {
    assets = await memoryAssets();
    served = await serve({ read: () => ({}) }, { assets });
  });

  async function register(metadata: object, where = served, headers = {}): Promise<string> {
    const response = send(`${where.url}/api/v1/assets`, { json: metadata, headers });
    return String((await outcome(response)).body);
  }

  const pathOf = (reference: string): string => `/api/v1/assets/${reference}/content`;

  function put(reference: string, body: string | Buffer, headers = {}, where = served): Promise<Response> {
    return fetch(where.url + pathOf(reference), { method: "PUT", body: new Uint8Array(Buffer.from(body)), headers });
  }

  /** Registers and uploads. */
  async function stored(content: string | Buffer, more: object = {}): Promise<string> {
    const id = await register(wanting(content, more));
    expect((await put(id, content)).status).toBe(200);
    return id;
  }

  const download = (reference: string, headers = {}, query = ""): Promise<Response> =>
    fetch(served.url + pathOf(reference) + query, { headers });

  describe("uploading content", () => {
    test.each([{}, { "content-type": "application/json" }, { "content-type": "text/html" }, { "content-type": "x/y" }])(
      "of any type %j is 200 with the hash as a JSON string",
      async (headers) => {
        const id = await register(wanting("{bytes}"));
        for (const reference of [id, `0x${id}`, encodeURIComponent(`${DID}/a/${id}`), `a/${id}`]) {
          const response = await put(reference, "{bytes}", headers);
          expect(response.headers.get("content-type")).toBe("application/json");
          expect([response.status, await response.text()]).toEqual([200, `"0x${sha256("{bytes}")}"`]);
        }
      },
    );

    test("without a type, in chunks, or empty works too", async () => {
      const id = await register(wanting("hello"));
      const chunked = "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n";
      const request = rawRequest(`PUT ${pathOf(id)}`, { "Transfer-Encoding": "chunked" });
      expect((await sendRaw(served.port, request + chunked)).body).toBe(`"0x${sha256("hello")}"`);
      const empty = await register(wanting(""));
      expect((await sendRaw(served.port, rawRequest(`PUT ${pathOf(empty)}`))).body).toBe(`"0x${sha256("")}"`);
      expect(await (await download(empty)).text()).toBe("");
    });

    test("is seen only once it is complete", async () => {
      const id = await register(wanting("0123456789"));
      const socket = connect(served.port, "127.0.0.1");
      socket.write(rawRequest(`PUT ${pathOf(id)}`, { "Content-Length": "10" }));
      socket.write("01234");
      await taking(5);
      expect((await download(id)).status).toBe(404);
      const answer = readAnswer(socket);
      socket.write("56789");
      expect((await answer).status).toBe(200);
      expect((await download(id)).status).toBe(200);
      socket.destroy();
    });

    test("other bytes is 400 and leaves nothing; the connection goes on", async () => {
      const id = await register(wanting("hello world"));
      const request = (body: string) => rawRequest(`PUT ${pathOf(id)}`, {}, body);
      const socket = connect(served.port, "127.0.0.1");
      socket.write(request("hello World"));
      const answer = await readAnswer(socket);
      socket.removeAllListeners("data");
      expect([answer.status, answer.headers.get("connection")]).toEqual([400, "keep-alive"]);
      const error = `Cannot PUT asset content: Content hash mismatch. Expected: ${sha256("hello world")}`;
      expect(JSON.parse(answer.body)).toEqual({ error });
      expect((await download(id)).status).toBe(404);
      socket.write(request("hello world"));
      expect((await readAnswer(socket)).status).toBe(200);
      socket.destroy();
    });

    test.each([
      ["an asset without a content object", { name: "x" }, 404, "Asset metadata does not specify content object"],
      [
        "an asset with a hash that is none",
        { content: { sha256: "x" } },
        404,
        "Asset metadata does not specify content object",
      ],
    ])("to %s is refused", async (_name, metadata, status, error) => {
      expect(await outcome(put(await register(metadata), "bytes"))).toEqual({ status, body: { error } });
    });

    test("to no asset is refused", async () => {
      const unknown = "0".repeat(64);
      expect(await outcome(put(unknown, "x"))).toEqual({ status: 404, body: { error: `Asset not found: ${unknown}` } });
      expect(await outcome(put("odd", "x"))).toEqual({ status: 400, body: { error: "Invalid asset ID: odd" } });
    });

    test("is 403 where only the operator may write", async () => {
      const closed = await serve({}, { assetRules: { write: "operator" } });
      const id = await register(wanting("x"), closed, as("operator"));
      expect((await put(id, "x", as("alice"), closed)).status).toBe(403);
      expect((await put(id, "x", as("operator"), closed)).status).toBe(200);
    });

    test("is 507 when there is no room, and what was taken is given back", async () => {
      const small = await serve({}, { assetRules: { maxTotalBytes: 10_000 } });
      const [large, fits] = ["x".repeat(9500), "y".repeat(7000)];
      const [a, b] = [await register(wanting(large), small), await register(wanting(fits), small)];
      expect(await outcome(put(a, large, {}, small))).toEqual({
        status: 507,
        body: { error: "Asset storage is full" },
      });
      expect((await put(b, fits, {}, small)).status).toBe(200);
    });

    test("to a storage that fails is 500 without details, which are logged", async () => {
      const failure = Object.assign(new Error("EIO: /srv/secret"), { code: "EIO", syscall: "write" });
      const broken = await serveStore({ put: () => Promise.reject(failure) });
      const answer = await outcome(put(await register(wanting("x"), broken), "x", {}, broken));
      expect(answer).toEqual({ status: 500, body: { error: expect.stringMatching(/^Internal error \([\w-]+\)$/) } });
      expect(broken.logged.map(({ error }) => error)).toEqual([failure]);
    });
  });

  describe("an upload that is too large", () => {
    test("of exactly the limit is taken", async () => {
      const content = Buffer.alloc(LIMIT, "x");
      await stored(content);
    });

    test("is 413 before it is sent when it says so", async () => {
      const id = await register(wanting("x"));
      const answer = await sendRaw(served.port, rawRequest(`PUT ${pathOf(id)}`, { "Content-Length": `${LIMIT + 1}` }));
      expect([answer.status, answer.headers.get("connection")]).toEqual([413, "close"]);
      expect(JSON.parse(answer.body)).toEqual({ error: `Asset content too large: limit ${LIMIT} bytes` });
    });

    test("is 413 where it passes the limit when it does not", async () => {
      const id = await register(wanting("x"));
      const socket = connect(served.port, "127.0.0.1");
      socket.write(rawRequest(`PUT ${pathOf(id)}`, { "Transfer-Encoding": "chunked" }));
      const chunk = `${(100_000).toString(16)}\r\n${" ".repeat(100_000)}\r\n`;
      // No last chunk ever: the answer cannot wait for the end.
      for (let i = 0; i < 11; i += 1) socket.write(chunk);
      const answer = await readAnswer(socket);
      expect([answer.status, answer.headers.get("connection")]).toEqual([413, "close"]);
      socket.destroy();
    });
  });

  describe("a refused upload that goes on", () => {
    test("is answered at once, and the connection ends without the rest being read", async () => {
      const id = await register({ name: "no content" });
      const socket = connect(served.port, "127.0.0.1");
      socket.write(rawRequest(`PUT ${pathOf(id)}`, { "Content-Length": "900000" }));
      const answer = await readAnswer(socket);
      expect([answer.status, answer.headers.get("connection")]).toEqual([404, "close"]);
      expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
      socket.resume();
      await once(socket, "end");
      socket.destroy();
    });

    test("is still taken for a while, so that its sender sees the answer and no broken connection", async () => {
      const id = await register({ name: "no content" });
      const socket = connect(served.port, "127.0.0.1");
      const errors: unknown[] = [];
      socket.on("error", (error) => errors.push(error));
      socket.write(rawRequest(`PUT ${pathOf(id)}`, { "Content-Length": "900000" }));
      expect((await readAnswer(socket)).status).toBe(404);
      socket.write(Buffer.alloc(900_000));
      await once(socket, "close");
      expect(errors).toEqual([]);
    });

    test("does not end the connection when it came whole", async () => {
      const id = await register({ name: "no content" });
      const socket = connect(served.port, "127.0.0.1");
      for (let again = 0; again < 2; again += 1) {
        socket.write(rawRequest(`PUT ${pathOf(id)}`, {}, "small"));
        const answer = await readAnswer(socket);
        expect([answer.status, answer.headers.get("connection")]).toEqual([404, "keep-alive"]);
        socket.removeAllListeners("data");
      }
      socket.destroy();
    });
  });

  describe("an upload that its sender breaks off", () => {
    test("leaves nothing, frees its share and is no fault of the venue", async () => {
      const content = "x".repeat(1000);
      const id = await register(wanting(content));
      const before = assets.totalBytes;
      const socket = connect(served.port, "127.0.0.1");
      socket.write(rawRequest(`PUT ${pathOf(id)}`, { "Content-Length": "1000" }));
      socket.write("x".repeat(500));
      await taking(500);
      socket.destroy();
      await until(() => assets.totalBytes === before);
      expect((await download(id)).status).toBe(404);
      expect(served.logged).toEqual([]);
      expect((await put(id, content)).status).toBe(200);
    });
  });

  describe("downloading content", () => {
    test("gives the bytes, with what the metadata says of them", async () => {
      const bytes = randomBytes(700_000);
      const id = await stored(bytes, { contentType: "text/html; charset=utf-8", fileName: "page.html" });
      const response = await download(id);
      expect(response.status).toBe(200);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        "content-type": "text/html; charset=utf-8",
        "content-length": "700000",
        "content-disposition": 'attachment; filename="page.html"',
        etag: `"${sha256(bytes)}"`,
        "cache-control": "private, max-age=31536000, immutable",
        "x-content-type-options": "nosniff",
        "content-security-policy": "sandbox; default-src 'none'",
        "accept-ranges": "bytes",
      });
      expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true);
    });

    test("that says nothing is of bytes without a name", async () => {
      const { headers } = await download(await stored("plain"));
      expect(headers.get("content-type")).toBe("application/octet-stream");
      expect(headers.get("content-disposition")).toBe("attachment");
    });

    test.each([
      ["text/plain", "text/plain"],
      ['Text/Plain; charset="utf-8"', 'Text/Plain; charset="utf-8"'],
      ["application/vnd.a+json;v=1", "application/vnd.a+json;v=1"],
      ["text", "application/octet-stream"],
      ["text/", "application/octet-stream"],
      ["text/plain\r\nx-evil: 1", "application/octet-stream"],
      ["text/plain; a", "application/octet-stream"],
      ["text/plän", "application/octet-stream"],
      [" text/plain", "application/octet-stream"],
      [`text/${"x".repeat(5000)}`, "application/octet-stream"],
      ["text/plain, text/html", "application/octet-stream"],
    ])("with the type %j is sent as %s", async (contentType, sent) => {
      const { headers } = await download(await stored("typed", { contentType }));
      expect(headers.get("content-type")).toBe(sent);
      expect(headers.get("x-evil")).toBeNull();
    });

    test.each([
      ["a b (1).txt", 'attachment; filename="a b (1).txt"'],
      ["naïve.txt", "attachment; filename=\"na_ve.txt\"; filename*=UTF-8''na%C3%AFve.txt"],
      ["日本😀.txt", "attachment; filename=\"___.txt\"; filename*=UTF-8''%E6%97%A5%E6%9C%AC%F0%9F%98%80.txt"],
      ['a"; x="b\\c.txt', "attachment; filename=\"a_; x=_b_c.txt\"; filename*=UTF-8''a%22%3B%20x%3D%22b_c.txt"],
      ["50%2f.txt", "attachment; filename=\"50_2f.txt\"; filename*=UTF-8''50%252f.txt"],
      ["it's*(x).é", "attachment; filename=\"it's*(x)._\"; filename*=UTF-8''it%27s%2A%28x%29.%C3%A9"],
      ["../../etc/passwd", 'attachment; filename=".._.._etc_passwd"'],
      ["a\r\nx-evil: 1", 'attachment; filename="a__x-evil: 1"'],
      ["gpj.\u202eexe", 'attachment; filename="gpj._exe"'],
      ["x".repeat(300), `attachment; filename="${"x".repeat(200)}"`],
      ["", "attachment"],
    ])("with the name %j says so safely", async (fileName, sent) => {
      const { headers } = await download(await stored("named", { fileName }));
      expect(headers.get("content-disposition")).toBe(sent);
      expect(headers.get("x-evil")).toBeNull();
    });

    test.each([
      ["text/plain", "?inline", "inline"],
      ["text/plain; charset=utf-8", "?inline=true", "inline"],
      ["IMAGE/PNG", "?inline", "inline"],
      ["image/jpeg", "?inline", "inline"],
      ["image/gif", "?inline", "inline"],
      ["image/webp", "?inline", "inline"],
      ["text/plain", "?inline=false", "attachment"],
      ["text/plain", "", "attachment"],
      ["text/html", "?inline", "attachment"],
      ["image/svg+xml", "?inline", "attachment"],
      ["application/pdf", "?inline", "attachment"],
      ["text/plainly", "?inline", "attachment"],
    ])("of %s with %j is %s", async (contentType, query, kind) => {
      const { headers } = await download(await stored("shown", { contentType, fileName: "f" }), {}, query);
      expect(headers.get("content-disposition")).toBe(`${kind}; filename="f"`);
    });

    test("where none is stored is 404, as is that of an operation", async () => {
      const operations = (await outcome(fetch(`${served.url}/api/v1/operations`))).body as { asset: string }[];
      for (const id of [await register(wanting("never sent")), `0x${operations[0]?.asset}`]) {
        const answer = await outcome(download(id));
        expect(answer).toEqual({ status: 404, body: { error: `Asset has no content: ${id}` } });
      }
    });

    test("that the client has is 304", async () => {
      const id = await stored("known");
      const etag = `"${sha256("known")}"`;
      for (const tags of [etag, `W/${etag}`, `"x", ${etag}`, `"sha256:${sha256("known")}"`, "*"]) {
        const response = await download(id, { "if-none-match": tags });
        expect([response.status, response.headers.get("etag"), await response.text()]).toEqual([304, etag, ""]);
      }
      for (const tags of ['"x"', sha256("known")])
        expect((await download(id, { "if-none-match": tags })).status).toBe(200);
    });
  });

  describe("a part of content", () => {
    const content = "0123456789";
    let id: string;
    beforeAll(async () => {
      id = await stored(content);
    });

    test.each([
      ["bytes=0-0", "0", "bytes 0-0/10"],
      ["bytes=2-4", "234", "bytes 2-4/10"],
      ["Bytes= 7-", "789", "bytes 7-9/10"],
      ["bytes=-3", "789", "bytes 7-9/10"],
      ["bytes=-99", content, "bytes 0-9/10"],
      ["bytes=9-99999999999999999999", "9", "bytes 9-9/10"],
    ])("%s is 206", async (range, part, sent) => {
      const response = await download(id, { range });
      expect([response.status, await response.text()]).toEqual([206, part]);
      expect(response.headers.get("content-range")).toBe(sent);
      expect(response.headers.get("content-length")).toBe(`${part.length}`);
    });

    test.each(["bytes=10-", "bytes=99-100", "bytes=-0", "bytes=99999999999999999999-"])("%s is 416", async (range) => {
      const response = await download(id, { range });
      expect(response.headers.get("content-range")).toBe("bytes */10");
      expect(response.headers.get("cache-control")).toBe("no-store");
      expect(await outcome(response)).toEqual({ status: 416, body: { error: "Range not satisfiable" } });
    });

    test.each(["bytes=0-1,3-4", "bytes=4-2", "bytes=-", "bytes=a-b", "items=0-1", "0-1"])(
      "%s is ignored",
      async (range) => {
        expect((await download(id, { range })).status).toBe(200);
      },
    );

    test("of another version is the whole", async () => {
      const headers = { range: "bytes=0-1", "if-range": '"other"' };
      expect((await download(id, headers)).status).toBe(200);
      for (const tag of [`"${sha256(content)}"`, `"sha256:${sha256(content)}"`])
        expect((await download(id, { ...headers, "if-range": tag })).status).toBe(206);
    });

    test("of no content is 416", async () => {
      expect((await download(await stored(""), { range: "bytes=0-0" })).status).toBe(416);
    });
  });

  describe("a download that breaks", () => {
    test("before the first byte is 500 with the headers of an error", async () => {
      const broken = await serveStore({
        open: async function* () {
          yield* [];
          throw new Error("unreadable");
        },
      });
      const id = await register(wanting("x"), broken);
      await put(id, "x", {}, broken);
      const response = await fetch(broken.url + pathOf(id));
      expect(response.headers.get("cache-control")).toBe("no-store");
      expect([response.headers.get("etag"), response.headers.get("content-disposition")]).toEqual([null, null]);
      expect((await outcome(response)).status).toBe(500);
      expect(broken.logged.length).toBe(1);
    });

    test("later breaks the connection, and is logged", async () => {
      const broken = await serveStore({
        open: async function* () {
          yield Buffer.from("x");
          throw new Error("unreadable");
        },
      });
      const id = await register(wanting("xyz"), broken);
      await put(id, "xyz", {}, broken);
      const response = await fetch(broken.url + pathOf(id));
      expect(response.status).toBe(200);
      await expect(response.text()).rejects.toThrow();
      expect(broken.logged.map(({ error }) => error)).toEqual([new Error("unreadable")]);
    });

    test("because the client went away closes the content", async () => {
      const closed = signal();
      const endless = await serveStore({ open: () => zeros(closed.fire) });
      const id = await register(wanting("x"), endless);
      await put(id, "x", {}, endless);
      const socket = connect(endless.port, "127.0.0.1");
      socket.write(rawRequest(`GET ${pathOf(id)}`));
      await once(socket, "data");
      socket.destroy();
      await closed.fired;
      expect(endless.logged).toEqual([]);
    });

    test("because the client takes nothing closes the content after a while", async () => {
      let isClosed = false;
      const { port, close } = await serveBare(() =>
        zeros(() => {
          isClosed = true;
        }),
      );
      const socket = connect(port, "127.0.0.1");
      socket.pause();
      jest.useFakeTimers({
        doNotFake: ["Date", "hrtime", "nextTick", "performance", "queueMicrotask", "setImmediate"],
      });
      try {
        socket.write(rawRequest("GET /"));
        await until(() => jest.getTimerCount() > 0);
        jest.advanceTimersByTime(59_000);
        expect(isClosed).toBe(false);
        await until(() => {
          jest.advanceTimersByTime(1000);
          return isClosed;
        });
      } finally {
        jest.useRealTimers();
      }
      socket.destroy();
      await close();
    });
  });

  /** Waits until something holds; everything that makes it so happens in this process. */
  async function until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Waits until the venue has received so many bytes of an upload. */
  function taking(bytes: number): Promise<void> {
    const before = assets.totalBytes;
    return until(() => assets.totalBytes >= before + bytes);
  }

  function signal(): { fired: Promise<void>; fire: () => void } {
    let fire: () => void = () => {};
    const fired = new Promise<void>((resolve) => {
      fire = resolve;
    });
    return { fired, fire: () => fire() };
  }

  /** Content without end. */
  async function* zeros(onClose: () => void): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield Buffer.alloc(65_536);
    } finally {
      onClose();
    }
  }

  /** Assets in a store of which some calls are others. */
  function assetsIn(store: Partial<AssetStore>): Promise<VenueAssets> {
    const memory = new AssetMemory();
    return createAssets({
      did: DID,
      store: {
        totalBytes: 0,
        size: (hash) => memory.size(hash),
        put: (hash, body) => memory.put(hash, body),
        open: (hash, range?: ByteRange) => memory.open(hash, range),
        load: () => memory.load(),
        save: (record) => memory.save(record),
        close: () => memory.close(),
        ...store,
      },
      write: "public",
      maxTotalBytes: LIMIT,
      maxContentSize: LIMIT,
      clock: systemClock,
      log: silentLog,
    });
  }

  async function serveStore(store: Partial<AssetStore>): Promise<Served> {
    return serve({}, { assets: await assetsIn(store) });
  }

  /** A server of one download. */
  async function serveBare(open: AssetStore["open"]): Promise<{ port: number; close: () => Promise<void> }> {
    const hash = sha256("x");
    const content = { size: 1_000_000_000, sha256: hash, open: () => open(hash) };
    const host = { assets: { content: async () => content }, logInternal: () => {} } as unknown as HttpHost;
    const caller = { did: DID, authentication: "public", isOperator: false } as const;
    const memory = new MemoryBudget(1).lease("");
    const app = fastify();
    app.get("/", (request, reply) => getContent(host, { request, reply, caller, memory, target: hash }));
    const address = await app.listen({ port: 0, host: "127.0.0.1" });
    return { port: Number(new URL(address).port), close: () => app.close() };
  }
});

describe("parts of a file", () => {
  const TOKENS = { alice: "a".repeat(32), reader: "r".repeat(32), writer: "w".repeat(32) };
  const CAN = { alice: "crud", reader: "crud/read", writer: "crud/write" };
  const MOST = 2 * PART_BYTES + 1000;
  type Name = keyof typeof TOKENS;
  const base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-parts-")));
  let venue: Venue;
  let url: string;

  beforeAll(async () => {
    for (const root of ["docs", "parts"]) mkdirSync(join(base, root));
    writeFileSync(join(base, "docs/there.txt"), "0123456789");
    for (const [name, token] of Object.entries(TOKENS))
      writeFileSync(join(base, `${name}.token`), token, { mode: 0o600 });
    const tokens = (Object.keys(TOKENS) as Name[]).map((name) => ({
      ...{ name, token: { file: `${name}.token` } },
      caps: ["docs", "parts", "home"].map((root) => ({ with: `file://${root}/`, can: CAN[name] })),
    }));
    venue = await createVenue(
      {
        ...{ port: 0, stateDir: "state", auth: { public: { enabled: false }, tokens }, audit: { file: "audit.log" } },
        file: {
          limits: { maxWriteBytes: 1000, maxUploadBytes: MOST },
          roots: { docs: { path: "docs" }, parts: { path: "parts", durability: "none" }, home: { dlfs: "home" } },
        },
      },
      { baseDir: base },
    );
    ({ url } = await venue.listen());
  });
  afterAll(async () => {
    await venue.close();
    rmSync(base, { recursive: true, force: true });
  });

  const at = (path: string): string => `${url}/api/v1/files/${path}`;
  const onDisk = (path: string): string => readFileSync(join(base, "docs", path), "utf8");

  const aborted = (root: string) =>
    readRecords(join(base, "audit.log")).filter(
      (record) => record["outcome"] === "ABORTED" && JSON.stringify(record).includes(`${root}/`),
    );

  async function patch(path: string, offset: string | undefined, body: string, name: Name = "alice") {
    const answer = await send(at(path), {
      token: TOKENS[name],
      method: "PATCH",
      body,
      headers: offset === undefined ? {} : { "upload-offset": offset },
    });
    const text = await answer.text();
    return {
      status: answer.status,
      offset: answer.headers.get("upload-offset"),
      body: text === "" ? undefined : JSON.parse(text),
    };
  }

  describe.each(["docs", "home"])("PATCH in %s", (root) => {
    test("adds part after part, and says how far the file is", async () => {
      expect(await patch(`${root}/sub/new.bin?parents=true`, "0", "one ")).toMatchObject({ status: 201, offset: "4" });
      expect(await patch(`${root}/sub/new.bin`, "4", "two")).toMatchObject({ status: 204, offset: "7" });
      const whole = await send(at(`${root}/sub/new.bin`), { token: TOKENS.alice });
      expect(await whole.text()).toBe("one two");
    });

    test("adds a part once, though it is sent again", async () => {
      await patch(`${root}/again`, "0", "one ");
      await patch(`${root}/again`, "4", "two");
      expect(await patch(`${root}/again`, "4", "two")).toMatchObject({ status: 204, offset: "7" });
    });

    test("tells where the file is instead, and adds nothing", async () => {
      await patch(`${root}/elsewhere`, "0", "one");
      for (const offset of ["0", "2", "4"])
        expect(await patch(`${root}/elsewhere`, offset, "two")).toMatchObject({
          status: 412,
          body: { errorCode: "CONFLICT", errorData: { currentSize: 3 } },
        });
      expect((await patch(`${root}/missing`, "3", "x")).status).toBe(412);
    });
  });

  test.each([undefined, "", "-1", "1.5", "x", "1, 2"])("an offset of %s is refused", async (offset) => {
    const { status, body } = await patch("docs/there.txt", offset, "x");
    expect([status, body.error]).toEqual([400, expect.stringContaining("Upload-Offset")]);
    expect(onDisk("there.txt")).toBe("0123456789");
  });

  test("the whole is as large as an upload may be, which is said before it comes", async () => {
    expect((await patch("docs/large", `${MOST}`, "x")).status).toBe(413);
    const announce = (length: string) => {
      const headers = { "upload-offset": "0", "upload-length": length };
      return send(at("docs/announced"), { token: TOKENS.alice, method: "PATCH", headers, body: "x" });
    };
    expect([(await announce(`${MOST + 1}`)).status, (await announce("many")).status]).toEqual([413, 400]);
    expect((await announce(`${MOST}`)).status).toBe(201);
  });

  describe("a body of several parts", () => {
    const body = randomBytes(MOST);
    const all = (chunks: Uint8Array[], length?: number) => ({
      ...(length === undefined ? {} : { length }),
      chunks: (async function* () {
        yield* chunks;
      })(),
    });
    const read = async (upload: UploadBody) => {
      const parts: { readonly length: number | undefined; readonly bytes: Buffer }[] = [];
      for await (const { length, chunks } of partsOf(upload)) {
        const own: Uint8Array[] = [];
        for await (const chunk of chunks) own.push(chunk);
        parts.push({ length, bytes: Buffer.concat(own) });
      }
      return parts;
    };

    test.each([
      ["one chunk", [body]],
      ["chunks that end beside its ends", [body.subarray(0, PART_BYTES - 7), body.subarray(PART_BYTES - 7)]],
      ["chunks that end at its ends", [body.subarray(0, PART_BYTES), body.subarray(PART_BYTES)]],
    ])("is cut, from %s", async (_, chunks) => {
      for (const length of [undefined, body.length]) {
        const parts = await read(all(chunks, length));
        expect(parts.map(({ bytes }) => bytes.length)).toEqual([PART_BYTES, PART_BYTES, 1000]);
        if (length !== undefined) expect(parts.map((part) => part.length)).toEqual([PART_BYTES, PART_BYTES, 1000]);
        expect(Buffer.concat(parts.map(({ bytes }) => bytes)).equals(body)).toBe(true);
      }
    });

    test("has no empty part at its end, and one if it is empty", async () => {
      expect((await read(all([body.subarray(0, PART_BYTES)]))).map(({ bytes }) => bytes.length)).toEqual([PART_BYTES]);
      expect((await read(all([]))).map(({ bytes }) => bytes.length)).toEqual([0]);
    });

    test("lies in two buffers in turns, which a backend may borrow", async () => {
      const stored: Buffer[] = [];
      const lenders = new Set<ArrayBufferLike>();
      const append = async (_path: unknown, { borrow }: Body) => {
        const part = await borrow?.();
        if (part === undefined) throw new Error("nothing is lent");
        lenders.add(part.buffer);
        stored.push(Buffer.from(part));
        return { bytes: part.length, created: false };
      };
      const access = { scope: { renew: () => {} }, place: { root: "r", path: "p" } };
      const shared = {
        path: { segments: ["p"], text: "p" },
        access,
        limits: { maxUploadBytes: MOST },
        root: { backend: { append } },
      };
      let offset = 0;
      for await (const part of partsOf(all([body], body.length))) {
        const input = { root: "r", path: "p", offset };
        const call = { ...shared, transfer: { body: part } } as never;
        offset = (await upload.run(input, call)).size ?? 0;
      }
      expect(Buffer.concat(stored).equals(body)).toBe(true);
      expect(lenders.size).toBe(2);
    });

    test("stays as far as it has come when the connection breaks, and goes on from there", async () => {
      const sent = connect(Number(new URL(url).port), "127.0.0.1");
      const headers = { ...bearer(TOKENS.alice), "Upload-Offset": "0", "Content-Length": `${body.length}` };
      sent.write(rawRequest("PATCH /api/v1/files/parts/broken", headers));
      await new Promise((resolve) => sent.write(body.subarray(0, PART_BYTES + 5000), resolve));
      const sizeNow = () => statSync(join(base, "parts/broken"), { throwIfNoEntry: false })?.size ?? 0;
      while (sizeNow() < PART_BYTES) await new Promise((resolve) => setImmediate(resolve));
      sent.destroy();
      while (aborted("parts").length === 0) await new Promise((resolve) => setImmediate(resolve));
      expect(sizeNow()).toBe(PART_BYTES);
      const answer = await send(at("parts/broken"), {
        token: TOKENS.alice,
        method: "PATCH",
        body: body.subarray(PART_BYTES),
        headers: { "upload-offset": `${PART_BYTES}` },
      });
      expect([answer.status, answer.headers.get("upload-offset")]).toEqual([204, `${body.length}`]);
      expect(readFileSync(join(base, "parts/broken")).equals(body)).toBe(true);
    });
  });

  test("it needs the right to write, and tells a writer without the right to read nothing of the content", async () => {
    expect((await patch("docs/there.txt", "10", "x", "reader")).status).toBe(403);
    await patch("docs/blind", "0", "secret", "writer");
    // Whoever may not read is not told whether these are the bytes that are there.
    expect((await patch("docs/blind", "0", "secret", "writer")).status).toBe(412);
  });

  test("a ticket is for a whole file", async () => {
    const input = { root: "docs", path: "there.txt", direction: "upload" };
    const ticket = await bodyOf<{ href: string }>(run(url, "file:transfer", input, TOKENS.alice));
    const answer = await send(ticket.href, { method: "PATCH", headers: { "upload-offset": "10" }, body: "x" });
    expect(answer.status).toBe(400);
    expect(onDisk("there.txt")).toBe("0123456789");
  });

  test("a part that breaks off adds nothing, and stands in the audit", async () => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    const expecting = { "Upload-Offset": "10", "Content-Length": "5", Expect: "100-continue" };
    socket.write(rawRequest("PATCH /api/v1/files/docs/there.txt", { ...bearer(TOKENS.alice), ...expecting }));
    await new Promise((resolve) => socket.once("data", resolve));
    socket.write("bro");
    socket.destroy();
    while (aborted("docs").length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(aborted("docs")).toMatchObject([{ operation: "file:upload", outcome: "ABORTED" }]);
    expect(onDisk("there.txt")).toBe("0123456789");
  });

  test("what it holds counts as in flight", async () => {
    const narrow = await createVenue(
      {
        ...{ port: 0, stateDir: "narrow", maxRequestBytes: 100_000, maxInFlightBytes: 1_048_576 },
        file: { roots: { docs: { path: "docs" } } },
      },
      { baseDir: base },
    );
    try {
      const { url: own } = await narrow.listen();
      const headers = { ...bearer(narrow.localToken), "Upload-Offset": "0" };
      const patch = (size: number) =>
        send(`${own}/api/v1/files/docs/narrow`, { method: "PATCH", headers, body: new Uint8Array(size) });
      const other = connect(Number(new URL(own).port), "127.0.0.1");
      const expecting = { ...headers, "Content-Length": "2000000", Expect: "100-continue" };
      other.write(rawRequest("PATCH /api/v1/files/docs/other", expecting));
      await new Promise((resolve) => other.once("data", resolve));
      expect((await patch(2_000_000)).status).toBe(429);
      other.destroy();
      expect((await patch(1000)).status).toBe(201);
    } finally {
      await narrow.close();
    }
  });
});
