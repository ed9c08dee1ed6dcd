import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { ResolveAsset } from "../../../src/core/adapter.js";
import type { Assets } from "../../../src/core/asset.js";
import type { Caller } from "../../../src/core/caller.js";
import { systemClock } from "../../../src/core/clock.js";
import { sendError } from "../../../src/surfaces/http/answer.js";
import type { Exchange } from "../../../src/surfaces/http/exchange.js";
import { explain } from "../../../src/surfaces/http/explain.js";
import type { HttpHost } from "../../../src/surfaces/http/host.js";
import { invoke } from "../../../src/surfaces/http/invoke.js";
import { cancelJob, deleteJob, getJob, listJobs, messageJob, pauseJob } from "../../../src/surfaces/http/jobs.js";
import { streamJob } from "../../../src/surfaces/http/sse.js";
import { createCatalogue } from "../../../src/venue/catalogue.js";
import { createJobs, type JobLimits, type Jobs } from "../../../src/venue/jobs.js";
import { type FakeAdapter, type FakeOperation, fakeAdapter } from "../../venue/fake-adapter.js";
import { ANYONE, OP_ASSET, OPERATOR, PUBLIC_DID } from "../../venue/job-store.js";

/** Another asset that describes `file:read`. */
export const OTHER_ASSET = "f".repeat(64);

export interface JobServer {
  readonly url: string;
  readonly port: number;
  readonly jobs: Jobs;
  readonly adapter: FakeAdapter;
  readonly resolveAsset: ResolveAsset;
  readonly logged: unknown[];
  /** Sends a request as somebody. */
  request(path: string, caller?: Caller, init?: RequestInit): Promise<Response>;
  close(): Promise<void>;
}

export interface JobServerOptions extends Partial<JobLimits> {
  readonly maxWaitMs?: number;
  readonly heartbeatMs?: number;
  /** Headers that something before the endpoint has set. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly listsAnonymous?: boolean;
}

type Endpoint = (host: HttpHost, exchange: Exchange) => FastifyReply | Promise<FastifyReply>;

const open: JobServer[] = [];

/** Closes what {@link serveJobs} opened. */
export async function closeAll(): Promise<void> {
  await Promise.all(open.splice(0).map((server) => server.close()));
}

/**
 * Serves the endpoints of jobs alone, on a real socket, over a real job store. Who calls is said by the header `caller`:
 * finding that out is not theirs.
 */
export async function serveJobs(
  operations: Record<string, FakeOperation>,
  options: JobServerOptions = {},
): Promise<JobServer> {
  const {
    maxWaitMs = 5000,
    inlineWaitMs = 2000,
    listsAnonymous = true,
    heartbeatMs,
    headers = {},
    ...limits
  } = options;
  const adapter = fakeAdapter(operations);
  const catalogue = createCatalogue({
    did: OPERATOR.did,
    registerOperation: () => OP_ASSET,
    findAsset: (id) => (id === OTHER_ASSET ? { id, metadata: { operation: { adapter: "file:read" } } } : undefined),
  });
  catalogue.add(adapter);
  const logged: unknown[] = [];
  const logInternal = (error: unknown) => logged.push(error);
  const jobs = createJobs({
    catalogue,
    clock: systemClock,
    limits: { max: 100, maxBytes: 20_000_000, ttlMs: 60_000, inlineWaitMs, ...limits },
    publicDid: PUBLIC_DID,
    listsAnonymous,
    logInternal,
  });
  const resolveAsset: ResolveAsset = async () => undefined;
  const part: Partial<HttpHost> = {
    jobs,
    limits: { maxRequestBytes: 1_000_000, maxContentSize: 1_000_000, inlineWaitMs, maxWaitMs },
    assets: { resolve: resolveAsset } as Assets,
    operation: (reference) => {
      const found = catalogue.resolve(reference);
      if (found === undefined) return undefined;
      const { operation, ...asset } = found;
      return { name: operation.metadata.name, listing: operation.listing, ...asset };
    },
    submit: (submission) => jobs.submit(submission),
    requestId: () => "request-1",
    logInternal,
  };
  const host = part as HttpHost;
  const stream: Endpoint = (_host, exchange) =>
    streamJob(host, exchange, ...(heartbeatMs === undefined ? [] : [{ heartbeatMs }]));
  const app = build(host, stream, headers);
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  const server: JobServer = {
    url,
    port: Number(new URL(url).port),
    jobs,
    adapter,
    resolveAsset,
    logged,
    request: (path, caller = ANYONE, init = {}) =>
      fetch(url + path, { ...init, headers: { ...init.headers, caller: JSON.stringify(caller) } }),
    close: async () => {
      await Promise.all([jobs.close(0), app.close()]);
    },
  };
  open.push(server);
  return server;
}

function build(host: HttpHost, stream: Endpoint, headers: Readonly<Record<string, string>>): FastifyInstance {
  const app = fastify({ forceCloseConnections: false });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
  app.addHook("onRequest", async (_request, reply) => {
    reply.headers(headers);
  });
  app.setErrorHandler((error, request, reply) => sendError(reply, explain(error, host, { request, reply })));
  const handle = (endpoint: Endpoint) => (request: FastifyRequest, reply: FastifyReply) => {
    const { target = "" } = request.params as { target?: string };
    const header = request.headers["caller"];
    const caller = typeof header === "string" ? (JSON.parse(header) as Caller) : ANYONE;
    return endpoint(host, { request, reply, target, caller });
  };
  app.post("/api/v1/invoke", handle(invoke));
  app.get("/api/v1/jobs", handle(listJobs));
  app.get("/api/v1/jobs/:target", handle(getJob));
  app.post("/api/v1/jobs/:target", handle(messageJob));
  app.get("/api/v1/jobs/:target/sse", handle(stream));
  app.put("/api/v1/jobs/:target/cancel", handle(cancelJob));
  app.put("/api/v1/jobs/:target/pause", handle(pauseJob));
  app.put("/api/v1/jobs/:target/resume", handle(pauseJob));
  app.put("/api/v1/jobs/:target/delete", handle(deleteJob));
  return app;
}
