import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { parseConfig } from "../../../src/config/load.js";
import type { VenueConfigInput } from "../../../src/config/types.js";
import { type Log, silentLog } from "../../../src/core/ports/log.js";
import { type OpenVenue, openVenue } from "../../../src/venue/start/open-venue.js";
import { BUCKET, CREDENTIALS, type FakeS3, REGION, startFakeS3 } from "../../drive/store/s3/fake-s3.js";
import { run, type Sent, send } from "../../surfaces/http/client.js";

const ENV = {
  AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
  AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
  AWS_REGION: REGION,
};
const CONTENT = "content in a bucket";
const SHA256 = createHash("sha256").update(CONTENT).digest("hex");
const DESCRIPTION = { name: "x", content: { sha256: SHA256, contentType: "text/plain" } };
const METADATA = JSON.stringify(DESCRIPTION);

describe("a venue of one process with assets in a bucket", () => {
  let home: string;
  let fake: FakeS3;
  let open: OpenVenue[] = [];
  beforeEach(async () => {
    home = mkdtempSync(join(tmpdir(), "venue-files-assets-"));
    fake = await startFakeS3();
  });
  const stop = async () => {
    const all = open;
    open = [];
    await Promise.all(all.map((venue) => venue.close()));
  };
  afterEach(async () => {
    await stop();
    await fake.close();
    rmSync(home, { recursive: true, force: true });
  });

  async function start(more: VenueConfigInput = {}, env: object = ENV, log: Log = silentLog): Promise<string> {
    const given = {
      ...{ port: 0, hostname: "127.0.0.1", seed: "11".repeat(32), stateDir: join(home, "state") },
      storage: { content: "s3", s3: { bucket: BUCKET, endpoint: fake.endpoint, prefix: "venue" } },
      ...more,
    } as const;
    const config = parseConfig(given, { baseDir: home });
    const venue = await openVenue(config, { listens: true, env: { ...env }, log });
    open.push(venue);
    return (await venue.host.listen()).url;
  }

  async function told(answer: Promise<Response>) {
    const response = await answer;
    return { status: response.status, text: await response.text(), retry: response.headers.get("retry-after") };
  }
  const ask = (url: string, path: string, sent?: Sent) => told(send(url + path, sent));
  const register = (url: string, json: object = DESCRIPTION) => ask(url, "/api/v1/assets", { json });
  const upload = (url: string, id: string) =>
    ask(url, `/api/v1/assets/${id}/content`, { method: "PUT", body: CONTENT });
  const copy = (url: string, asset: string) => told(run(url, "file:write", { root: "tmp", path: "copy", asset }));

  test("has them after a restart, below the prefix of the bucket", async () => {
    const url = await start();
    const id = JSON.parse((await register(url)).text);
    expect((await upload(url, id)).text).toBe(`"0x${SHA256}"`);
    await stop();
    const again = await start();
    expect((await ask(again, `/api/v1/assets/${id}`)).text).toBe(METADATA);
    expect((await ask(again, `/api/v1/content/${id}`)).text).toBe(CONTENT);
    const ranged = await ask(again, `/api/v1/content/${id}`, { headers: { range: "bytes=13-18" } });
    expect([ranged.status, ranged.text]).toEqual([206, "bucket"]);
    expect(JSON.parse((await copy(again, id)).text)).toMatchObject({ written: CONTENT.length });
    const others = [...fake.objects.keys()].filter((key) => !key.startsWith("venue/assets/"));
    expect(others).toEqual([]);
  });

  test("answers 503 with the code while the bucket is of no use, and goes on once it is", async () => {
    const lines: string[] = [];
    const write = (fields: object) => void lines.push(JSON.stringify(fields));
    const url = await start({}, ENV, { ...silentLog, error: write });
    const id = JSON.parse((await register(url)).text);
    await upload(url, id);
    fake.fault = () => ({ status: 403, code: "AccessDenied" });
    const error = "Asset storage is not reachable. Try again later";
    const unavailable = { status: 503, retry: "1", text: expect.stringContaining(error) };
    expect(await register(url, { name: "other" })).toEqual(unavailable);
    expect(await ask(url, `/api/v1/assets/${"0".repeat(64)}`)).toEqual(unavailable);
    expect(await ask(url, `/api/v1/content/${id}`)).toEqual(unavailable);
    const listed = await ask(url, "/api/v1/assets");
    expect(listed).toEqual(unavailable);
    expect(JSON.parse(listed.text)).toMatchObject({ error, errorCode: "STORE_UNAVAILABLE" });
    const copied = await copy(url, id);
    expect([copied.status, JSON.parse(copied.text).errorCode]).toEqual([503, "STORE_UNAVAILABLE"]);
    expect((await ask(url, `/api/v1/assets/${id}`)).text).toBe(METADATA);
    expect(lines.join()).toContain("does not let this access key");
    fake.fault = undefined;
    expect((await ask(url, `/api/v1/content/${id}`)).text).toBe(CONTENT);
  });

  test.each<[string, object, RegExp]>([
    ["without credentials", {}, /^'storage\.s3' cannot be opened: object storage needs credentials: set AWS_ACCESS/],
    ["with a key that is none", { ...ENV, AWS_SECRET_ACCESS_KEY: "x" }, /refuses the access key/],
  ])("does not start %s", async (_, env, problem) => {
    await expect(start({}, env)).rejects.toMatchObject({
      ...{ name: "ConfigError", exitStatus: 78 },
      message: expect.stringMatching(problem),
    });
  });

  test("does not start where another venue has its assets", async () => {
    await start();
    const other = start({ seed: "22".repeat(32), stateDir: join(home, "other") });
    const advice = "the bucket has assets of another venue, or of a newer version: set another prefix";
    await expect(other).rejects.toThrow(`'storage.s3' cannot be opened: Store cannot be used: ${advice}`);
  });

  test("needs a state directory for uploads under way", async () => {
    const problem = "'storage.s3' needs a state directory, but 'stateDir' is false";
    await expect(start({ stateDir: false })).rejects.toThrow(problem);
  });

  test("is warned of a bucket that is reached without encryption", () => {
    const storage = { content: "s3", s3: { bucket: BUCKET, endpoint: "http://s3.example.com" } } as const;
    const { warnings } = parseConfig({ seed: "11".repeat(32), storage }, { baseDir: home });
    expect(warnings).toContain("Assets travel unencrypted: make 'storage.s3.endpoint' begin with https:");
  });
});
