import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import type { Log } from "../../../../src/core/ports/log.js";
import { filesOf, missingOf, OWNER, publish, treeOf } from "../cells.js";
import { CREDENTIALS, type FakeS3, startFakeS3 } from "./fake-s3.js";
import { type Stores, storesOn } from "./stores.js";

jest.setTimeout(60_000);

let fake: FakeS3;
let stores: Stores;
let lines: string[] = [];
const keep = (fields: object, text: string): void => void lines.push(`${text} ${JSON.stringify(fields)}`);
const log: Log = { debug: keep, info: keep, warn: keep, error: keep };

beforeEach(async () => {
  fake = await startFakeS3();
  stores = storesOn(fake.endpoint, { log });
  lines = [];
});

afterEach(async () => {
  fake.fault = undefined;
  await stores.dispose();
  await fake.close();
});

const refusal = (open: Promise<unknown>): Promise<unknown> =>
  open.then(
    () => undefined,
    (error: unknown) => error,
  );

describe("a bucket that cannot be used", () => {
  test.each([
    ["another access key", { credentials: { ...CREDENTIALS, accessKeyId: "OTHER" } }, "refuses the access key"],
    ["a wrong secret", { credentials: { ...CREDENTIALS, secretAccessKey: "wrong" } }, "refuses the access key"],
    ["no such bucket", { bucket: "absent" }, "has no such bucket: create it"],
    ["another region", { region: "us-west-9" }, "another region"],
  ])("is refused at the start: %s", async (_, options, text) => {
    const error = await refusal(stores.open(options));
    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", message: expect.stringContaining(text) });
    expect(lines.join()).toContain(text);
    expect(lines.join()).not.toContain(CREDENTIALS.secretAccessKey);
  });

  test("is refused at the start when nobody is there", async () => {
    const gone = await startFakeS3();
    await gone.close();
    const error = await refusal(stores.open({ endpoint: gone.endpoint }));
    const message = expect.stringContaining("does not answer (ECONNREFUSED): check the endpoint");
    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", message });
  });

  /** Something else than object storage. @returns its address, once `answer` is what it does */
  async function other(answer: RequestListener): Promise<{ endpoint: string; close(): void }> {
    const server = createServer(answer);
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const close = (): void => {
      server.close();
      server.closeAllConnections();
    };
    return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
  }

  const PAGE = `<!DOCTYPE html><html><body>${"Sign in ".repeat(100)}</body></html>`;
  test.each<[string, RequestListener]>([
    ["pages", (_, to) => void to.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(PAGE)],
    ["a page that forbids", (_, to) => void to.writeHead(403, { "content-type": "text/html" }).end(PAGE)],
    ["a page that asks for a name", (_, to) => void to.writeHead(401, { "content-type": "Text/HTML" }).end(PAGE)],
    ["a page that there is nothing", (_, to) => void to.writeHead(404, { "content-type": "text/html" }).end(PAGE)],
    ["JSON", (_, to) => void to.writeHead(200, { "content-type": "application/json" }).end("{}")],
    ["nothing", (_, to) => void to.writeHead(200).end()],
  ])("is refused at the start when it answers %s", async (_, answer) => {
    const { endpoint, close } = await other(answer);
    const error = await refusal(stores.open({ endpoint }));
    close();
    const message = expect.stringContaining("does not answer as S3 does: check the endpoint and the bucket");
    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", message });
  });

  test("is refused within 10 seconds when it never answers", async () => {
    const { endpoint, close } = await other(() => {});
    const from = performance.now();
    const error = await refusal(stores.open({ endpoint, patience: { tries: 5, waitMs: 200, timeoutMs: 15_000 } }));
    close();
    // Its own bound is 8 s.
    expect(performance.now() - from).toBeLessThan(14_000);
    const message = expect.stringContaining("does not answer (timed out): check the endpoint and the network");
    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE", message });
  });

  test("answers pages for a while: nothing is told to be damaged", async () => {
    const store = await stores.open();
    await publish(store, filesOf(2, 1));
    const reader = await stores.open();
    fake.fault = () => ({ page: PAGE });
    await expect(reader.root(OWNER)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await expect(publish(store, filesOf(2, 2))).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    fake.fault = undefined;
    expect(await reader.root(OWNER)).toBeDefined();
    expect(await missingOf(reader, treeOf(filesOf(2, 1)).cells)).toBe(0);
  });

  test("is refused at the start when it is read-only, and else when something is to be written", async () => {
    const store = await stores.open();
    await publish(store, filesOf(2, 1));
    fake.isReadOnly = true;
    const readOnly = {
      code: "STORE_UNAVAILABLE",
      message: expect.stringContaining("does not let this access key write"),
    };
    await expect(publish(store, filesOf(2, 2))).rejects.toMatchObject(readOnly);
    await expect(stores.open()).rejects.toMatchObject(readOnly);
    expect(await missingOf(store, treeOf(filesOf(2, 1)).cells)).toBe(0);
    fake.isReadOnly = false;
    await publish(store, filesOf(2, 2));
  });

  test("is tried again, and nothing is acknowledged while it does not answer", async () => {
    const store = await stores.open();
    let tries = 0;
    fake.fault = () => {
      tries += 1;
      return tries <= 2 ? "lost" : undefined;
    };
    await publish(store, filesOf(1, 1));
    fake.fault = () => "lost";
    await expect(publish(store, filesOf(1, 2))).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    fake.fault = undefined;
    expect(Buffer.from((await store.root(OWNER))?.bytes ?? [])).toEqual(Buffer.from(treeOf(filesOf(1, 1)).root));
  });
});

describe("what is damaged in the bucket", () => {
  test("is told as such, and never as content", async () => {
    await publish(await stores.open(), filesOf(20, 1));
    for (const [key, object] of fake.objects) {
      if (!key.startsWith("packs/")) continue;
      const bytes = Buffer.from(object.bytes);
      bytes[100] = (bytes[100] ?? 0) ^ 1;
      fake.objects.set(key, { ...object, bytes });
    }
    const other = await stores.open();
    await other.root(OWNER);
    const found = await refusal(missingOf(other, treeOf(filesOf(20, 1)).cells));
    expect(found).toMatchObject({ code: "STORE_DAMAGED" });
  });

  test("a root that is cut off is told as such", async () => {
    await publish(await stores.open(), filesOf(1, 1));
    for (const [key, object] of fake.objects) {
      if (key.startsWith("roots/")) fake.objects.set(key, { ...object, bytes: object.bytes.subarray(0, 60) });
    }
    await expect((await stores.open()).root(OWNER)).rejects.toMatchObject({ code: "STORE_DAMAGED" });
  });
});
