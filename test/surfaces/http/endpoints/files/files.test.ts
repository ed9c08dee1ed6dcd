import { createHash, randomBytes } from "node:crypto";
import { EventEmitter, once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import type { IncomingMessage } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { createVenue, type Venue, type VenueConfigInput } from "../../../../../src/index.js";
import { BodyChunks } from "../../../../../src/surfaces/http/endpoints/body-chunks.js";
import { readRecords } from "../../../../audit/records.js";
import { zipOf } from "../../../../backend/archive/zip-bytes.js";
import { bearer, bodyOf, outcome, send } from "../../client.js";
import { as, closeAll, emptyMcp, postText, rawRequest, type Served, sendRaw, serve } from "../../fixture.js";

afterAll(closeAll);

describe("files", () => {
  const TOKENS = { alice: "a".repeat(32), reader: "r".repeat(32) };
  const [WRITER, READER] = [bearer(TOKENS.alice), bearer(TOKENS.reader)];
  const tagOf = (content: string | Buffer): string => `"sha256:${createHash("sha256").update(content).digest("hex")}"`;

  let base: string;
  let venue: Venue;
  let url: string;

  beforeEach(async () => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-endpoint-")));
    mkdirSync(join(base, "docs/sub"), { recursive: true });
    writeFileSync(join(base, "docs/a.txt"), "0123456789");
    writeFileSync(join(base, "docs/ä b#?%25.txt"), "odd");
    writeFileSync(join(base, "docs/.env"), "SECRET=1");
    writeFileSync(join(base, "docs/empty"), "");
    symlinkSync("/etc", join(base, "docs/out"));
  });
  afterEach(async () => {
    await venue?.close();
  });
  const folders: string[] = [];
  afterAll(() => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });

  async function serve(config: VenueConfigInput = {}): Promise<void> {
    folders.push(base);
    const caps = [{ with: "file://docs/", can: "crud" }];
    const file = { roots: { docs: { path: "docs", deny: ["@secrets"] }, ro: { path: "docs", readOnly: true } } };
    const tokens = [
      { name: "alice", token: { file: "alice.token" }, caps },
      { name: "reader", token: { file: "reader.token" }, caps: [{ with: "file://docs/", can: "crud/read" }] },
    ];
    for (const [name, token] of Object.entries(TOKENS))
      writeFileSync(join(base, `${name}.token`), token, { mode: 0o600 });
    venue = await createVenue(
      {
        ...{ port: 0, stateDir: "state", ...config },
        auth: { public: { enabled: false }, ...config.auth, tokens },
        file: { ...file, ...config.file },
        audit: { file: "audit.log" },
      },
      { baseDir: base },
    );
    ({ url } = await venue.listen());
  }

  const at = (path: string): string => `${url}/api/v1/files/${path}`;
  const get = (path: string, headers: Record<string, string> = WRITER, method = "GET") =>
    fetch(at(path), { headers, method });
  const put = (path: string, body: string | Uint8Array, headers: Record<string, string> = {}) =>
    fetch(at(path), { method: "PUT", body, headers: { ...WRITER, ...headers } });
  const onDisk = (path: string): string => readFileSync(join(base, "docs", path), "utf8");
  const port = (): number => Number(new URL(url).port);
  const staged = (): string[] => {
    const stage = join(base, "docs/.venue-files");
    return existsSync(stage)
      ? readdirSync(stage, { recursive: true })
          .map(String)
          .filter((name) => /[0-9a-f]{8}/.test(name))
      : [];
  };
  const audit = (): Record<string, unknown>[] => readRecords(join(base, "audit.log"));

  /** Waits until something is so; what it waits for has no event of its own. */
  async function until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 10));
  }

  describe("a download", () => {
    test("is the file with its version, type and safe headers", async () => {
      await serve();
      const answer = await get("docs/a.txt");
      expect([answer.status, await answer.text()]).toEqual([200, "0123456789"]);
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        "content-length": "10",
        "content-type": "text/plain",
        "content-disposition": 'attachment; filename="a.txt"',
        "x-content-type-options": "nosniff",
        "cache-control": "no-store",
        "accept-ranges": "bytes",
        etag: tagOf("0123456789"),
      });
    });

    test("by HEAD has the same headers and no body", async () => {
      await serve();
      const [whole, head] = [
        await get("docs/a.txt"),
        await get("docs/a.txt", { ...WRITER, range: "bytes=0-1" }, "HEAD"),
      ];
      expect([head.status, await head.text()]).toEqual([200, ""]);
      for (const name of ["content-length", "content-type", "etag", "content-disposition", "accept-ranges"]) {
        expect([name, head.headers.get(name)]).toEqual([name, whole.headers.get(name)]);
      }
    });

    test("of an empty file is empty", async () => {
      await serve();
      const answer = await get("docs/empty");
      expect([answer.status, answer.headers.get("content-length"), await answer.text()]).toEqual([200, "0", ""]);
    });

    test.each([
      ["bytes=2-4", 206, "234", "bytes 2-4/10"],
      ["bytes=7-", 206, "789", "bytes 7-9/10"],
      ["bytes=-3", 206, "789", "bytes 7-9/10"],
      ["bytes=8-100", 206, "89", "bytes 8-9/10"],
      ["bytes=10-", 416, undefined, "bytes */10"],
      ["bytes=-0", 416, undefined, "bytes */10"],
      ["bytes=0-1,4-5", 200, "0123456789", null],
      ["lines=1-2", 200, "0123456789", null],
    ])("of the range %s is %d", async (range, status, body, contentRange) => {
      await serve();
      const answer = await get("docs/a.txt", { ...WRITER, range });
      expect([answer.status, answer.headers.get("content-range")]).toEqual([status, contentRange]);
      if (body !== undefined) expect(await answer.text()).toBe(body);
    });

    test("of a range of another version is the whole file", async () => {
      await serve();
      const ask = async (tag: string) =>
        (await get("docs/a.txt", { ...WRITER, range: "bytes=0-0", "if-range": tag })).status;
      expect([await ask(tagOf("0123456789")), await ask(tagOf("other")), await ask('W/"x"')]).toEqual([206, 200, 200]);
    });

    test("of a version that is known is 304", async () => {
      await serve();
      const ask = async (tag: string) => (await get("docs/a.txt", { ...WRITER, "if-none-match": tag })).status;
      const tag = tagOf("0123456789");
      expect([await ask(tag), await ask(`"x", W/${tag}`), await ask("*"), await ask('"x"')]).toEqual([
        304, 304, 304, 200,
      ]);
    });

    test("over 8 MB begins before the file is read, and has no version unless one is known", async () => {
      writeFileSync(join(base, "docs/big.bin"), "");
      truncateSync(join(base, "docs/big.bin"), 50_000_000_000);
      await serve();
      const hangUp = new AbortController();
      const answer = await fetch(at("docs/big.bin"), { headers: WRITER, signal: hangUp.signal });
      expect([answer.status, answer.headers.get("content-length"), answer.headers.get("etag")]).toEqual([
        200,
        "50000000000",
        null,
      ]);
      const { value } = (await answer.body?.getReader().read()) ?? {};
      expect(value?.length).toBeGreaterThan(0);
      hangUp.abort();
      await until(() => audit().length > 0);
      expect(audit()[0]).toMatchObject({
        operation: "file:download",
        outcome: "ABORTED",
        resource: "file://docs/big.bin",
      });
      const end = await get("docs/big.bin", { ...WRITER, range: "bytes=49999999998-" });
      expect([end.status, (await end.arrayBuffer()).byteLength]).toEqual([206, 2]);
    });

    test("that its client does not read reads no further", async () => {
      writeFileSync(join(base, "docs/big.bin"), "");
      truncateSync(join(base, "docs/big.bin"), 5_000_000_000);
      await serve();
      const before = process.memoryUsage().arrayBuffers;
      const socket = connect(port(), "127.0.0.1");
      socket.pause();
      socket.write(rawRequest("GET /api/v1/files/docs/big.bin", WRITER));
      await once(socket, "ready");
      expect((await get("docs/a.txt")).status).toBe(200);
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64_000_000);
      socket.destroy();
      await until(() => audit().some(({ outcome }) => outcome === "ABORTED"));
    });

    test("is recorded with its bytes and its caller", async () => {
      await serve();
      await (await get("docs/a.txt", { ...READER, range: "bytes=0-3" })).text();
      await until(() => audit().length > 0);
      expect(audit()[0]).toMatchObject({ operation: "file:download", outcome: "OK", bytes: 4 });
      expect(String(audit()[0]?.["caller"])).toMatch(/:token:reader$/);
    });

    test.each([
      ["docs/none.txt", 404, "NOT_FOUND"],
      ["docs/sub", 409, "IS_A_DIRECTORY"],
      ["docs", 409, "IS_A_DIRECTORY"],
      ["docs/out/passwd", 403, "SYMLINK_ESCAPE"],
      ["docs/.env", 403, "DENIED_BY_POLICY"],
      ["ro/a.txt", 403, "CAPABILITY_DENIED"],
      ["nowhere/a.txt", 403, "CAPABILITY_DENIED"],
      ["docs/%2e%2e/%2e%2e/x", 400, "PATH_ESCAPES_ROOT"],
    ])("of %s is refused with %d %s", async (path, status, errorCode) => {
      await serve();
      // Not by fetch, which resolves dots itself.
      const answer = await sendRaw(port(), rawRequest(`GET /api/v1/files/${path}`, WRITER));
      expect(answer.status).toBe(status);
      expect(JSON.parse(answer.body)).toMatchObject({ error: expect.any(String), errorCode });
      expect(answer.body).not.toContain(base);
    });

    test("decodes its path once, and then takes it apart", async () => {
      await serve();
      expect(await (await get(`docs/${encodeURIComponent("ä b#?%25.txt")}`)).text()).toBe("odd");
      writeFileSync(join(base, "docs/sub/a.txt"), "below");
      expect(await (await get("docs/sub%2Fa.txt")).text()).toBe("below");
      expect(await (await get("docs/sub%2fa.txt", READER)).text()).toBe("below");
      for (const path of [
        "docs/sub%5Ca.txt",
        "docs/a%00.txt",
        "docs/sub%2Fa%00.txt",
        "docs%2Fa.txt",
        "docs%2Fsub/a.txt",
      ]) {
        expect([path, (await get(path)).status]).toEqual([path, 400]);
      }
      expect((await sendRaw(port(), rawRequest("GET /api/v1/files/docs/%zz", WRITER))).status).toBe(400);
      expect((await get("docs/sub%252Fa.txt")).status).toBe(404);
    });

    test.each([
      ["docs/sub%2F..%2F..%2Fstate", 400, "PATH_ESCAPES_ROOT"],
      ["docs/%2e%2e%2F%2e%2e%2Fetc%2Fpasswd", 400, "PATH_ESCAPES_ROOT"],
      ["docs/sub%2F..%2F.env", 403, "DENIED_BY_POLICY"],
      ["docs/out%2Fpasswd", 403, "SYMLINK_ESCAPE"],
      ["docs/%2Fetc%2Fpasswd", 404, "NOT_FOUND"],
      ["ro/sub%2Fa.txt", 403, "CAPABILITY_DENIED"],
    ])("of %s is judged after it is decoded: %d %s", async (path, status, errorCode) => {
      await serve();
      for (const method of ["GET", "PUT"]) {
        if (method === "PUT" && status === 404) continue;
        const answer = await sendRaw(port(), rawRequest(`${method} /api/v1/files/${path}`, WRITER));
        expect([method, answer.status]).toEqual([method, status]);
        expect(JSON.parse(answer.body)).toMatchObject({ errorCode });
      }
    });

    test("by a ticket takes the path as the ticket has it", async () => {
      await serve();
      writeFileSync(join(base, "docs/sub/a.txt"), "below");
      const { href } = Object(
        await (
          await send(`${url}/api/v1/run`, {
            json: {
              operation: "file:transfer",
              input: { root: "docs", path: "sub/a.txt", direction: "download" },
            },
            headers: WRITER,
          })
        ).json(),
      );
      expect((await fetch(href.replace("sub/a.txt", "sub%2Fa.txt"))).status).toBe(400);
      expect(await (await fetch(href)).text()).toBe("below");
    });
  });

  describe("an upload", () => {
    test("to a path with encoded slashes makes no name with a slash in it", async () => {
      await serve();
      expect((await put("docs/sub%2Fü%20b%2Fnew.txt?parents=true", "one")).status).toBe(201);
      expect(onDisk("sub/ü b/new.txt")).toBe("one");
      expect((await put("docs/sub%252Fx.txt", "kept")).status).toBe(201);
      expect(onDisk("sub%2Fx.txt")).toBe("kept");
    });

    test.each(["PUT", "PATCH"])("of a form by %s is 415, says what to send, and stores nothing", async (method) => {
      await serve();
      const body = new FormData();
      body.set("file", new Blob(["content"]), "a.txt");
      const answer = await fetch(at("docs/a.txt"), { method, body, headers: { ...WRITER, "upload-offset": "10" } });
      expect([answer.status, Object(await answer.json()).error]).toEqual([
        415,
        expect.stringContaining("-T FILE in place of -F"),
      ]);
      expect(onDisk("a.txt")).toBe("0123456789");
      // Other types of several parts are content like any other.
      expect((await put("docs/mail.mht", "--x--", { "content-type": "multipart/related; boundary=x" })).status).toBe(
        201,
      );
    });

    test("of a new file is 201 with its version, of another version 204", async () => {
      await serve();
      const made = await put("docs/new.bin", "one");
      expect([made.status, made.headers.get("etag"), await made.text()]).toEqual([201, tagOf("one"), ""]);
      const replaced = await put("docs/new.bin", "two");
      expect([replaced.status, replaced.headers.get("etag"), onDisk("new.bin")]).toEqual([204, tagOf("two"), "two"]);
      expect(audit()[0]).toMatchObject({ operation: "file:upload", outcome: "OK", bytes: 3 });
    });

    test("far over the limits of other requests arrives byte for byte", async () => {
      await serve({ maxRequestBytes: 1000, maxContentSize: 1000 });
      const content = randomBytes(12_000_000);
      expect((await put("docs/big.bin", content)).status).toBe(201);
      expect(readFileSync(join(base, "docs/big.bin")).equals(content)).toBe(true);
      expect(staged()).toEqual([]);
    });

    test("makes missing parents only where that is asked for", async () => {
      await serve();
      expect((await put("docs/x/y.txt", "a")).status).toBe(409);
      expect((await put("docs/x/y.txt?parents=true", "a")).status).toBe(201);
      expect((await put("docs/x/z.txt?parents=maybe", "a")).status).toBe(400);
    });

    test.each(["PUT", "PATCH"])("by %s of a version is refused, not taken for one of the file", async (method) => {
      await serve();
      for (const version of ["01:before", "", "x&version="]) {
        const headers = { ...WRITER, "upload-offset": "10" };
        const answer = await fetch(at(`docs/a.txt?version=${version}`), { method, body: "lost", headers });
        expect([answer.status, onDisk("a.txt")]).toEqual([400, "0123456789"]);
        expect(await answer.text()).toContain("'version' is for GET: versions cannot be written");
      }
    });

    test("goes on only if the file is as expected", async () => {
      await serve();
      const ask = async (headers: Record<string, string>) => {
        const answer = await put("docs/a.txt", "next", headers);
        return [answer.status, onDisk("a.txt")];
      };
      expect(await ask({ "if-none-match": "*" })).toEqual([412, "0123456789"]);
      expect(await ask({ "if-match": tagOf("other") })).toEqual([412, "0123456789"]);
      expect(await ask({ "if-match": tagOf("0123456789"), "if-none-match": "*" })).toEqual([400, "0123456789"]);
      expect(await ask({ "if-match": 'W/"x"' })).toEqual([400, "0123456789"]);
      expect(await ask({ "if-match": tagOf("0123456789") })).toEqual([204, "next"]);
      expect((await put("docs/fresh.txt", "f", { "if-none-match": "*" })).status).toBe(201);
      expect((await put("docs/gone.txt", "f", { "if-match": tagOf("x") })).status).toBe(412);
    });

    test("over the limit is refused with and without a length, and leaves the old file", async () => {
      await serve({ file: { limits: { maxUploadBytes: 1000 } } } as VenueConfigInput);
      const body = "x".repeat(1001);
      expect((await put("docs/a.txt", body)).status).toBe(413);
      const chunked = `3e9\r\n${body}\r\n0\r\n\r\n`;
      const raw = rawRequest("PUT /api/v1/files/docs/a.txt", { ...WRITER, "Transfer-Encoding": "chunked" });
      const answer = await sendRaw(port(), raw + chunked);
      expect([answer.status, JSON.parse(answer.body).errorCode]).toEqual([413, "TOO_LARGE"]);
      expect([onDisk("a.txt"), staged()]).toEqual(["0123456789", []]);
      expect((await put("docs/a.txt", "x".repeat(1000))).status).toBe(204);
    });

    test("that breaks off leaves nothing", async () => {
      await serve();
      const socket = connect(port(), "127.0.0.1");
      socket.write(rawRequest("PUT /api/v1/files/docs/a.txt", { ...WRITER, "Content-Length": "1000000" }));
      socket.write(Buffer.alloc(500_000));
      await until(() => staged().length > 0);
      socket.destroy();
      await until(() => audit().length > 0);
      expect(audit()[0]).toMatchObject({ operation: "file:upload", outcome: "ABORTED" });
      await until(() => staged().length === 0);
      expect(onDisk("a.txt")).toBe("0123456789");
    });

    test("from which nothing comes ends at the deadline, and one that moves outlasts it", async () => {
      await serve({ file: { limits: { timeoutMs: 1000 } } } as VenueConfigInput);
      const stalled = await sendRaw(
        port(),
        `${rawRequest("PUT /api/v1/files/docs/a.txt", { ...WRITER, "Content-Length": "1000" })}x`,
      );
      expect([stalled.status, JSON.parse(stalled.body).errorCode]).toEqual([504, "TIMEOUT"]);
      // The answer is complete before the sender goes.
      await until(() => staged().length === 0);
      expect(onDisk("a.txt")).toBe("0123456789");
      // Twice as long as the deadline, which a machine that stands still may miss between two pieces.
      let longestMs = 0;
      async function* slowly(): AsyncGenerator<Uint8Array> {
        for (let piece = 0; piece < 100; piece++) {
          yield new Uint8Array(60_000);
          const since = performance.now();
          await new Promise((resolve) => setTimeout(resolve, 20));
          longestMs = Math.max(longestMs, performance.now() - since);
        }
      }
      const statusOf = async (): Promise<number> => {
        longestMs = 0;
        const options = { method: "PUT", body: ReadableStream.from(slowly()), headers: WRITER, duplex: "half" };
        const status = await fetch(at("docs/slow.bin"), options as RequestInit).then(
          (answer) => answer.status,
          () => 0,
        );
        return status !== 201 && longestMs > 500 ? statusOf() : status;
      };
      expect(await statusOf()).toBe(201);
    });

    test.each([
      ["ro/a.txt", WRITER, {}, 403, "CAPABILITY_DENIED"],
      ["docs/a.txt", READER, {}, 403, "CAPABILITY_DENIED"],
      ["docs/id_rsa", WRITER, {}, 403, "DENIED_BY_POLICY"],
      ["docs/out/x", WRITER, {}, 403, "SYMLINK_ESCAPE"],
      ["docs/sub", WRITER, {}, 409, "IS_A_DIRECTORY"],
      ["docs/a.txt", WRITER, { "content-range": "bytes 0-1/2" }, 400, undefined],
    ])("to %s is refused %#", async (path, caller, headers, status, errorCode) => {
      await serve();
      const answer = await send(at(path), { method: "PUT", body: "x", headers: { ...caller, ...headers } });
      expect([answer.status, (await bodyOf<{ errorCode?: string }>(answer)).errorCode]).toEqual([status, errorCode]);
      expect(onDisk("a.txt")).toBe("0123456789");
    });

    test("to a read-only root is refused whoever asks", async () => {
      await serve();
      const put = send(at("ro/a.txt"), { token: venue.localToken, method: "PUT", body: "x" });
      expect(await outcome(put)).toMatchObject({ status: 403, body: { errorCode: "READ_ONLY_ROOT" } });
    });
  });

  describe("the endpoint", () => {
    test("names its methods, needs a caller where all others do, and is no operation", async () => {
      await serve();
      const wrong = await fetch(at("docs/a.txt"), { method: "DELETE", headers: WRITER });
      expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET, HEAD, PUT, PATCH"]);
      expect((await get("docs/a.txt", {})).status).toBe(401);
      const call = { operation: "file:download", input: { root: "docs", path: "a.txt" } };
      const invoke = await send(`${url}/api/v1/invoke`, { json: call, headers: WRITER });
      expect(invoke.status).toBe(400);
    });

    test("serves a file called content like any other", async () => {
      writeFileSync(join(base, "docs/sub/content"), "c");
      await serve();
      expect(await (await get("docs/sub/content")).text()).toBe("c");
    });
  });

  test("a path that names its root is the one in it, where host paths are disclosed", async () => {
    await serve();
    const names = ["docs/n/x.txt", join(base, "docs/n/x.txt"), join(base, "docs/n/x.txt").slice(1)];
    for (const name of names) {
      expect((await put(`docs/${name}?parents=true`, "x")).status).toBeLessThan(300);
      expect(await (await get(`docs/${name}`)).text()).toBe("x");
      expect(readdirSync(join(base, "docs/n"))).toEqual(["x.txt"]);
      rmSync(join(base, "docs/n"), { recursive: true });
    }
    expect(existsSync(join(base, "docs/docs"))).toBe(false);
    expect(existsSync(join(base, "docs", base.split("/")[1] ?? ""))).toBe(false);
  });

  describe("what lies in an archive", () => {
    test("is neither sent nor taken, and the refusal says what to do", async () => {
      writeFileSync(join(base, "docs/x.zip"), zipOf([{ name: "a", content: "1" }]));
      await serve();
      for (const answer of [
        await get("docs/x.zip!/a"),
        await get("docs/x.zip!/none"),
        await put("docs/x.zip!/new", "x"),
      ]) {
        expect(answer.status).toBe(501);
        expect(await answer.text()).toMatch(
          /does not look into archives: use archive:extract|Cannot write an archive entry/,
        );
      }
      expect((await get("docs/x.zip")).status).toBe(200);
    });
  });
});

describe("HEAD", () => {
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
      const slow = await serve(
        { wait: () => new Promise((resolve) => (end = resolve)) },
        { jobs: { inlineWaitMs: 1 } },
      );
      const headers = as("alice");
      const post = await send(`${slow.url}/api/v1/invoke`, {
        json: { operation: "file:wait", private: true },
        headers,
      });
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
      const closed = await serve({ read: () => 1 }, { http: { publicAccess: false }, mcp: emptyMcp });
      for (const path of ["/api/v1/jobs/", "/api/v1/operations/", "/mcp/"]) {
        expect((await fetch(closed.url + path)).status).toBe(401);
      }
      expect((await fetch(`${closed.url}/api/v1/status/`)).status).toBe(200);
    });
  });
});

describe("PUT with Idempotency-Key", () => {
  const TOKENS = { alice: "a".repeat(32), bob: "b".repeat(32) };
  const base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-repeated-")));
  let venue: Venue;
  let url: string;

  beforeAll(async () => {
    mkdirSync(join(base, "docs"));
    for (const [name, token] of Object.entries(TOKENS))
      writeFileSync(join(base, `${name}.token`), token, { mode: 0o600 });
    const caps = [{ with: "file://docs/", can: "crud" }];
    venue = await createVenue(
      {
        ...{ port: 0, stateDir: "state", file: { roots: { docs: { path: "docs" } } } },
        auth: {
          tokens: Object.keys(TOKENS).map((name) => ({ name, token: { file: `${name}.token` }, caps })),
          public: { enabled: true, caps },
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

  const inodeOf = (name: string) => statSync(join(base, "docs", name)).ino;

  async function put(
    name: string,
    body: string,
    headers: Record<string, string>,
    caller: keyof typeof TOKENS = "alice",
  ) {
    const answer = await send(`${url}/api/v1/files/docs/${name}`, {
      token: TOKENS[caller],
      method: "PUT",
      body,
      headers,
    });
    const text = await answer.text();
    return {
      status: answer.status,
      etag: answer.headers.get("etag"),
      body: text === "" ? undefined : JSON.parse(text),
    };
  }

  test("puts the file once, and answers a repeat as the first", async () => {
    const first = await put("a.txt", "one", { "idempotency-key": "k1" });
    const inode = inodeOf("a.txt");
    expect(first.status).toBe(201);
    expect(await put("a.txt", "one", { "idempotency-key": '"k1"' })).toEqual(first);
    expect(inodeOf("a.txt")).toBe(inode);
    expect((await put("a.txt", "one", {})).status).toBe(204);
    expect(inodeOf("a.txt")).not.toBe(inode);
  });

  test("keeps a condition that was true the first time true", async () => {
    const headers = { "idempotency-key": "k2", "if-none-match": "*" };
    expect((await put("b.txt", "one", headers)).status).toBe(201);
    expect((await put("b.txt", "one", headers)).status).toBe(201);
    expect((await put("b.txt", "one", { "if-none-match": "*" })).status).toBe(412);
  });

  test.each([
    ["another body of that length", "c.txt", "two", {}],
    ["a longer body", "c.txt", "one and more", {}],
    ["another file", "d.txt", "one", {}],
    ["a condition", "c.txt", "one", { "if-none-match": "*" }],
  ])("is a conflict for %s", async (_what, name, body, headers) => {
    await put("c.txt", "one", { "idempotency-key": "k3" });
    expect(await put(name, body, { "idempotency-key": "k3", ...headers })).toMatchObject({
      status: 412,
      body: { errorCode: "CONFLICT", errorData: { operationId: "k3" } },
    });
    expect(readFileSync(join(base, "docs/c.txt"), "utf8")).toBe("one");
  });

  test("belongs to its caller, and is refused without one", async () => {
    await put("e.txt", "one", { "idempotency-key": "k4" });
    expect((await put("e.txt", "two", { "idempotency-key": "k4" }, "bob")).status).toBe(204);
    const anonymous = { method: "PUT", body: "three", headers: { "idempotency-key": "k4" } };
    expect(await outcome(send(`${url}/api/v1/files/docs/e.txt`, anonymous))).toMatchObject({
      status: 400,
      body: { errorCode: "INVALID_INPUT" },
    });
    expect(readFileSync(join(base, "docs/e.txt"), "utf8")).toBe("two");
  });

  test.each(["", "a b", "x".repeat(65), '"open'])("has a key of a few characters only: %j", async (key) => {
    expect((await put("f.txt", "one", { "idempotency-key": key })).status).toBe(400);
  });

  test("has one effect when equal uploads race", async () => {
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => put("g.txt", "x".repeat(200_000), { "idempotency-key": "k5" })),
    );
    expect(answers).toEqual(answers.map(() => ({ ...answers[0], status: 201 })));
  });

  test("can be made again after a connection that broke in the middle", async () => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    const headers = { ...bearer(TOKENS.alice), "Idempotency-Key": "k6", "Content-Length": "3" };
    socket.write(rawRequest("PUT /api/v1/files/docs/h.txt", headers, "on"));
    const repeat = put("h.txt", "one", { "idempotency-key": "k6" });
    setTimeout(() => socket.destroy(), 50);
    expect((await repeat).status).toBe(201);
    expect(readFileSync(join(base, "docs/h.txt"), "utf8")).toBe("one");
  });
});

const open = () => {
  const raw = Object.assign(new PassThrough({ highWaterMark: 16_384 }), { socket: new EventEmitter() });
  return { raw, body: new BodyChunks(raw as unknown as IncomingMessage) };
};
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

describe("the body of an upload", () => {
  /** Writes a body in pieces, and ends it. */
  async function send(raw: PassThrough, body: Buffer, piece: number): Promise<void> {
    for (let at = 0; at < body.length; at += piece) {
      if (!raw.write(body.subarray(at, at + piece))) await new Promise((resolve) => raw.once("drain", resolve));
    }
    raw.end();
  }

  afterEach(() => {
    jest.useRealTimers();
  });

  test.each([1, 1000, 16_384, 65_536, 300_000])(
    "sent in pieces of %i bytes is taken whole, in large ones",
    async (piece) => {
      // However slow this machine is, no piece has waited for long.
      jest.useFakeTimers({ doNotFake: ["nextTick", "setImmediate", "queueMicrotask"] });
      const { raw, body } = open();
      const sent = randomBytes(piece === 1 ? 3000 : 900_000);
      const sending = send(raw, sent, piece);
      const taken: Uint8Array[] = [];
      for await (const chunk of body) taken.push(chunk);
      await sending;
      expect(Buffer.concat(taken).equals(sent)).toBe(true);
      for (const chunk of taken.slice(0, -1)) expect(chunk.length).toBeGreaterThanOrEqual(65_536);
    },
  );

  test("may be empty", async () => {
    const { raw, body } = open();
    raw.end();
    expect(await body.next()).toEqual({ done: true, value: undefined });
    expect(await body.next()).toEqual({ done: true, value: undefined });
  });

  test("that nobody takes makes its sender wait", async () => {
    const { raw, body } = open();
    const chunk = Buffer.alloc(65_536);
    expect(raw.write(chunk)).toBe(false);
    await body.next();
    let more = 0;
    while (raw.write(chunk) || !raw.isPaused()) {
      more += 1;
      await nextTurn();
    }
    expect(more).toBeLessThan(20);
    await body.next();
    expect(raw.isPaused()).toBe(false);
  });

  test("whose sender is gone has failed, before it is asked for or while it comes", async () => {
    const [early, late] = [open(), open()];
    early.raw.destroy();
    await nextTurn();
    await expect(early.body.next()).rejects.toMatchObject({ code: "ABORTED" });
    const taking = late.body.next();
    late.raw.write("begun");
    expect(Buffer.from((await taking).value ?? "").toString()).toBe("begun");
    late.raw.destroy();
    await expect(late.body.next()).rejects.toMatchObject({ code: "ABORTED" });
  });

  test("whose connection closes has failed, unless all of it has come", async () => {
    const [begun, whole] = [open(), open()];
    begun.raw.write("begun");
    await begun.body.next();
    const waiting = begun.body.next();
    begun.raw.socket.emit("close");
    await expect(waiting).rejects.toMatchObject({ code: "ABORTED" });
    whole.raw.end("whole");
    const taking = whole.body.next();
    Object.assign(whole.raw, { complete: true }).socket.emit("close");
    expect(Buffer.from((await taking).value ?? "").toString()).toBe("whole");
    expect(await whole.body.next()).toEqual({ done: true, value: undefined });
    for (const { raw } of [begun, whole]) expect(raw.socket.listenerCount("close")).toBe(0);
  });

  test("has what came before its sender went", async () => {
    const { raw, body } = open();
    const taking = body.next();
    for (const some of ["be", "gun"]) {
      await new Promise((resolve) => {
        raw.once("data", resolve);
        raw.write(some);
      });
    }
    raw.destroy();
    const taken: Uint8Array[] = [(await taking).value ?? Buffer.alloc(0)];
    await expect(
      (async () => {
        for await (const chunk of body) taken.push(chunk);
      })(),
    ).rejects.toMatchObject({ code: "ABORTED" });
    expect(Buffer.concat(taken).toString()).toBe("begun");
  });

  test("that is not wanted any more leaves the connection as it is", async () => {
    const { raw, body } = open();
    raw.write(Buffer.alloc(70_000));
    for await (const chunk of body) {
      expect(chunk.length).toBe(70_000);
      break;
    }
    expect([raw.destroyed, raw.isPaused(), raw.listenerCount("data")]).toEqual([false, true, 0]);
    expect(await body.next()).toEqual({ done: true, value: undefined });
  });
});
