// Instances of one venue that listen, in the process of a suite, on one engine and one bucket.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll } from "@jest/globals";
import postgres from "postgres";
import { parseConfig } from "../../../src/config/load.js";
import type { VenueConfigInput } from "../../../src/config/types.js";
import { initShared } from "../../../src/venue/shared/admin.js";
import { type OpenVenue, openVenue } from "../../../src/venue/start/open-venue.js";
import { BUCKET, CREDENTIALS, type FakeS3, REGION, startFakeS3 } from "../../drive/store/s3/fake-s3.js";
import { hasPostgres, startPostgres, type TestEngine } from "../../postgres.js";
import { PATIENCE_MS } from "../../until.js";

/** A token of every instance, for all of its temp root. */
export const STATIC = "static-token-of-at-least-32-characters";

export interface Served {
  readonly venue: OpenVenue;
  readonly url: string;
  /** One line a call. */
  readonly audit: string;
}

export interface DavAnswer {
  readonly status: number;
  readonly retry: string | null;
  readonly token: string;
  readonly text: string;
}

export interface VenueGround {
  readonly engine: TestEngine;
  /** What instances have logged. */
  readonly lines: readonly (readonly [fields: object, text: string])[];
  serve(more?: VenueConfigInput): Promise<Served>;
  /** Runs a statement in the schema of the venue, beside it. */
  sql(statement: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

/** An engine and a bucket for a suite. Without PostgreSQL nothing is started. */
export function useVenues(): VenueGround {
  let parts: { readonly engine: TestEngine; readonly s3: FakeS3 } | undefined;
  const open: OpenVenue[] = [];
  const lines: [object, string][] = [];
  beforeAll(async () => {
    if (!hasPostgres) return;
    const [engine, s3] = await Promise.all([startPostgres(), startFakeS3()]);
    parts = { engine, s3 };
  });
  afterAll(async () => {
    for (const venue of open) await venue.close();
    await parts?.s3.close();
    await parts?.engine.remove();
  });
  const there = () => {
    if (parts === undefined) throw new Error("There is no engine");
    return parts;
  };
  return {
    lines,
    get engine() {
      return there().engine;
    },
    async sql(statement) {
      const { url } = there().engine;
      const client = postgres(url, { max: 1, connection: { search_path: "venue_files" }, onnotice: () => {} });
      try {
        return [...(await client.unsafe(statement))];
      } finally {
        await client.end({ timeout: 1 });
      }
    },
    async serve(more = {}) {
      const { engine, s3 } = there();
      const baseDir = mkdtempSync(join(tmpdir(), "instance-"));
      const audit = join(baseDir, "audit.jsonl");
      const config = parseConfig(
        {
          ...{ seed: "ab".repeat(32), port: 0, hostname: "127.0.0.1", stateDir: join(baseDir, "state") },
          drives: { store: { s3: { bucket: BUCKET, endpoint: s3.endpoint, region: REGION } } },
          storage: { content: "s3", s3: { bucket: BUCKET, endpoint: s3.endpoint, region: REGION } },
          audit: { file: audit },
          file: { roots: { tmp: { temp: true, perInstance: true }, mine: { dlfs: "notes" } } },
          shared: { postgres: { url: { env: "DB" } }, drainMs: 0 },
          auth: { tokens: [{ name: "fixed", token: { env: "FIXED" }, caps: [{ with: "file://tmp/", can: "crud" }] }] },
          ...more,
        },
        { baseDir },
      );
      const keys = { AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId, AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey };
      const env = { DB: engine.url, FIXED: STATIC, ...keys };
      await initShared(config, env);
      const write = (fields: object, text: string) => void lines.push([fields, text]);
      const log = { debug: write, info: write, warn: write, error: write };
      const venue = await openVenue(config, { listens: true, env, log });
      open.push(venue);
      const { url } = await venue.host.listen();
      return { venue, url, audit };
    },
  };
}

export const local = ({ venue }: Served): string => venue.access.localToken ?? "";

/** Asks again where it is told to come again, as clients do: on a busy machine the engine or a peer may take too long. */
export async function ask(to: Served, path: string, token?: string, body?: object) {
  for (const end = performance.now() + PATIENCE_MS; ; await pause(1000)) {
    const answer = await askOnce(to, path, token, body);
    if (answer.status !== 503 || performance.now() > end) return answer;
  }
}

/** One request, whatever comes of it. */
export async function askOnce({ url }: Served, path: string, token?: string, body?: object) {
  const json = { "content-type": "application/json" };
  const headers = token === undefined ? json : { ...json, authorization: `Bearer ${token}` };
  const response = await fetch(url + path, { headers, ...(body && { method: "POST", body: JSON.stringify(body) }) });
  return { status: response.status, retry: response.headers.get("retry-after"), text: await response.text() };
}

export async function call(to: Served, operation: string, input: object, token = local(to)) {
  const { text } = await ask(to, "/api/v1/run", token, { operation, input });
  return JSON.parse(text);
}

/** A WebDAV request below `/dav/`. */
export async function dav(
  to: Served,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: string,
): Promise<DavAnswer> {
  const authorization = `Bearer ${local(to)}`;
  const init = { method, headers: { authorization, ...headers }, ...(body === undefined ? {} : { body }) };
  const response = await fetch(`${to.url}/dav/${path}`, init);
  const [token, retry] = [response.headers.get("lock-token") ?? "", response.headers.get("retry-after")];
  return { status: response.status, retry, token, text: await response.text() };
}
