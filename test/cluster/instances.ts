// Instances of one venue as processes of their own, with what they share: an engine, and proxies in front of it.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { VenueConfigInput } from "../../src/config/types.js";
import { listening, makeFolder, type Running, run, start } from "../cli/process.js";
import { BUCKET, CREDENTIALS, type FakeS3, REGION, startFakeS3 } from "../drive/store/s3/fake-s3.js";
import { PATIENCE_MS, until as untilTrue } from "../until.js";
import { startProxy, type TcpProxy } from "./proxy.js";

const SEED = "5e".repeat(32);
/** What `Retry-After` says. */
const RETRY_MS = 1000;
export const TOKENS = { alice: "alice-token-of-32-characters-aaaa", bob: "bob-token-of-32-characters-bbbbbb" } as const;
/** `operator`: by the local token of the instance that is asked. */
export type Who = keyof typeof TOKENS | "operator";

/** Reads in its temp root, which is enough to wait there. */
const CAPS = [{ with: "file://tmp/", can: "crud" }];

export interface Instance extends Running {
  readonly number: number;
  readonly url: string;
  /** Id of a job that it has. */
  readonly known: string;
  /** Between it and the engine. */
  readonly toEngine: TcpProxy;
  /** Between its peers and it. */
  readonly toPeers: TcpProxy;
  /** One request, whatever comes of it. @param who or a token */
  ask(path: string, init?: RequestInit, who?: Who | { readonly token: string }): Promise<Response>;
  /** Starts a call that is still running when its id is told; patiently. @returns the id */
  begin(waitMs?: number, who?: Who): Promise<string>;
  /** What it says of a job; patiently. */
  record(
    id: string,
    who?: Who,
  ): Promise<{ readonly status: number; readonly record: Readonly<Record<string, unknown>> }>;
}

const WATCH = "v/ops/file/watch";

export interface Cluster {
  readonly s3: FakeS3;
  /** Starts one more. */
  start(more?: VenueConfigInput): Promise<Instance>;
  close(): Promise<void>;
}

/** Prepares an engine for a venue. @param enginePort of an empty database */
export async function startCluster(enginePort: number, config: VenueConfigInput = {}): Promise<Cluster> {
  const s3 = await startFakeS3();
  const proxies: TcpProxy[] = [];
  const proxied = async (port: () => number): Promise<TcpProxy> => {
    const made = await startProxy(port);
    proxies.push(made);
    return made;
  };
  const urlOf = (port: number) => `postgres://venue:nothing@127.0.0.1:${port}/postgres`;
  const fileFor = (more: VenueConfigInput): string => {
    const folder = makeFolder();
    const given = {
      ...{ port: 0, seed: SEED, stateDir: join(folder, "state"), rateLimit: false },
      drives: { store: { s3: { bucket: BUCKET, endpoint: s3.endpoint } } },
      storage: { content: "s3", s3: { bucket: BUCKET, endpoint: s3.endpoint } },
      file: { roots: { tmp: { temp: true, perInstance: true } } },
      auth: {
        tokens: Object.keys(TOKENS).map((name) => ({ name, token: { env: name.toUpperCase() }, caps: CAPS })),
      },
      jobs: { inlineWaitMs: 50 },
      mcp: { tools: "full" },
      ...config,
      ...more,
    };
    const file = join(folder, "venue.json5");
    writeFileSync(file, JSON.stringify(given));
    return file;
  };
  const shared = { postgres: { url: { env: "ENGINE" } } };
  const keys = { AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId, AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey };
  const known = { ALICE: TOKENS.alice, BOB: TOKENS.bob, ...keys, AWS_REGION: REGION };
  const prepared = await run(["cluster", "init", "--config", fileFor({ shared })], {
    env: { ...known, ENGINE: urlOf(enginePort) },
  });
  if (prepared.status !== 0) throw new Error(prepared.stderr);
  return {
    s3,
    async start(more = {}) {
      let port = 0;
      const [toEngine, toPeers] = [await proxied(() => enginePort), await proxied(() => port)];
      const advertise = `http://127.0.0.1:${toPeers.port}`;
      const file = fileFor({ ...more, shared: { ...shared, advertise, ...more.shared } });
      const env = { ...known, ENGINE: urlOf(toEngine.port) };
      const running = await listening(start(["serve", "--config", file], { env }));
      port = Number(new URL(running.url).port);
      const operator = readFileSync(join(dirname(file), "state", "local-token"), "utf8").trim();
      return withCalls(running, { url: `http://127.0.0.1:${port}`, toEngine, toPeers, operator });
    },
    async close() {
      await Promise.all([s3, ...proxies].map((one) => one.close()));
    },
  };
}

interface Parts extends Pick<Instance, "url" | "toEngine" | "toPeers"> {
  /** The local token. */
  readonly operator: string;
}

async function withCalls(running: Running, { operator, ...parts }: Parts): Promise<Instance> {
  const tokens = { ...TOKENS, operator };
  const ask: Instance["ask"] = (path, init = {}, who = "alice") =>
    fetch(`${parts.url}${path}`, {
      ...init,
      headers: {
        authorization: `Bearer ${typeof who === "string" ? tokens[who] : who.token}`,
        "content-type": "application/json",
        ...(init.headers as object),
      },
    });
  const invoke = async (input: object, operation: string, { who = "alice" as Who, wait = true } = {}) => {
    const init = { method: "POST", body: JSON.stringify({ operation, input, wait }) };
    const answer = await patiently(() => ask("/api/v1/invoke", init, who));
    return (await answer.json()) as { id: string; status: string; output?: { cursor: string } };
  };
  const first = await invoke({ root: "tmp", path: "" }, "v/ops/file/stat");
  return {
    ...{ ...running, ...parts, ask, number: Number.parseInt(first.id.slice(14, 18), 16), known: first.id.slice(2) },
    async begin(waitMs = 30_000, who = "alice") {
      for (let tries = 0; ; tries++) {
        const { output } = await invoke({ root: "tmp", path: "" }, WATCH, { who });
        const input = { root: "tmp", path: "", cursor: output?.cursor, waitMs };
        const begun = await invoke(input, WATCH, { who, wait: false });
        if (begun.status === "STARTED") return begun.id.slice(2);
        // It may have been told of a change from before.
        if (tries === 10) throw new Error(`Not running: ${JSON.stringify(begun)}`);
      }
    },
    async record(id, who) {
      const answer = await patiently(() => ask(`/api/v1/jobs/${id}`, {}, who));
      return { status: answer.status, record: (await answer.json()) as Readonly<Record<string, unknown>> };
    },
  };
}

/** Looks until something holds; what cannot be asked does not. */
export const until = (holds: () => Promise<boolean>): Promise<void> => untilTrue(() => holds().catch(() => false), 100);

/** Asks again where it is told to come again, as clients do: on a busy machine the engine or a peer may take too long. */
export async function patiently(ask: () => Promise<Response>): Promise<Response> {
  for (const end = performance.now() + PATIENCE_MS; ; await sleep(RETRY_MS)) {
    const answer = await ask();
    if (answer.status !== 503 || performance.now() > end) return answer;
    await answer.arrayBuffer();
  }
}

/** Each of them reaches each other. */
export const haveMet = (instances: readonly Instance[]): Promise<void> =>
  until(async () => {
    const asked = instances.flatMap((one) => instances.map((other) => one.record(other.known)));
    return (await Promise.all(asked)).every(({ status }) => status === 200);
  });
