import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Body } from "../../../../../src/core/ports/backend.js";
import type { UploadBody } from "../../../../../src/core/ports/streams.js";
import { PART_BYTES } from "../../../../../src/core/ports/transfer.js";
import { createVenue, type Venue } from "../../../../../src/index.js";
import { upload } from "../../../../../src/ops/upload.js";
import { partsOf } from "../../../../../src/surfaces/http/endpoints/file-parts.js";
import { readRecords } from "../../../../audit/records.js";
import { send } from "../../client.js";

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
  const headers = { authorization: `Bearer ${TOKENS.alice}`, "upload-offset": "0" };
  const announce = (length: string) =>
    fetch(at("docs/announced"), { method: "PATCH", headers: { ...headers, "upload-length": length }, body: "x" });
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
    sent.write(
      [
        ...["PATCH /api/v1/files/parts/broken HTTP/1.1", "Host: 127.0.0.1", `Authorization: Bearer ${TOKENS.alice}`],
        ...["Upload-Offset: 0", `Content-Length: ${body.length}`, "", ""],
      ].join("\r\n"),
    );
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
  const run = await send(`${url}/api/v1/run`, {
    token: TOKENS.alice,
    json: {
      operation: "file:transfer",
      input: { root: "docs", path: "there.txt", direction: "upload" },
    },
  });
  const ticket = ((await run.json()) as { href: string }).href;
  const answer = await fetch(ticket, { method: "PATCH", headers: { "upload-offset": "10" }, body: "x" });
  expect(answer.status).toBe(400);
  expect(onDisk("there.txt")).toBe("0123456789");
});

test("a part that breaks off adds nothing, and stands in the audit", async () => {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  const head = [
    ...["PATCH /api/v1/files/docs/there.txt HTTP/1.1", "Host: 127.0.0.1", `Authorization: Bearer ${TOKENS.alice}`],
    ...["Upload-Offset: 10", "Content-Length: 5", "Expect: 100-continue", "", ""],
  ];
  socket.write(head.join("\r\n"));
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
    const authorization = `Bearer ${readFileSync(join(base, "narrow/local-token"), "utf8").trim()}`;
    const headers = { authorization, "upload-offset": "0" };
    const send = (size: number) =>
      fetch(`${own}/api/v1/files/docs/narrow`, { method: "PATCH", headers, body: new Uint8Array(size) });
    const other = connect(Number(new URL(own).port), "127.0.0.1");
    other.write(
      [
        ...["PATCH /api/v1/files/docs/other HTTP/1.1", "Host: 127.0.0.1", `Authorization: ${authorization}`],
        ...["Upload-Offset: 0", "Content-Length: 2000000", "Expect: 100-continue", "", ""],
      ].join("\r\n"),
    );
    await new Promise((resolve) => other.once("data", resolve));
    expect((await send(2_000_000)).status).toBe(429);
    other.destroy();
    expect((await send(1000)).status).toBe(201);
  } finally {
    await narrow.close();
  }
});
