import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { createVenue, type Venue, type VenueConfigInput } from "../../../../../src/index.js";
import { readRecords } from "../../../../audit/records.js";
import { zipOf } from "../../../../backend/archive/zip-bytes.js";
import { send } from "../../client.js";
import { rawRequest, sendRaw } from "../../fixture.js";

const TOKENS = { alice: "a".repeat(32), reader: "r".repeat(32) };
const WRITER = { authorization: `Bearer ${TOKENS.alice}` };
const READER = { authorization: `Bearer ${TOKENS.reader}` };
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
    const [whole, head] = [await get("docs/a.txt"), await get("docs/a.txt", { ...WRITER, range: "bytes=0-1" }, "HEAD")];
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
    expect((await put("docs/mail.mht", "--x--", { "content-type": "multipart/related; boundary=x" })).status).toBe(201);
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
    // Twice as long as the deadline; between two pieces, there is time enough on a busy machine too.
    async function* slowly(): AsyncGenerator<Uint8Array> {
      for (let piece = 0; piece < 100; piece++) {
        yield new Uint8Array(60_000);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
    const body = ReadableStream.from(slowly());
    const options = { method: "PUT", body, headers: WRITER, duplex: "half" };
    expect((await fetch(at("docs/slow.bin"), options as RequestInit)).status).toBe(201);
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
    const answer = await fetch(at(path), { method: "PUT", body: "x", headers: { ...caller, ...headers } });
    expect([answer.status, ((await answer.json()) as { errorCode?: string }).errorCode]).toEqual([status, errorCode]);
    expect(onDisk("a.txt")).toBe("0123456789");
  });

  test("to a read-only root is refused whoever asks", async () => {
    await serve();
    const answer = await send(at("ro/a.txt"), { token: venue.localToken, method: "PUT", body: "x" });
    expect([answer.status, ((await answer.json()) as { errorCode?: string }).errorCode]).toEqual([
      403,
      "READ_ONLY_ROOT",
    ]);
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
