// A venue: hosts operations under one identity, runs them as jobs, and serves them over HTTP.

import { randomUUID } from "node:crypto";
import type { Authenticate, Caller, NameCaller } from "../core/call/caller.js";
import { type Clock, systemClock } from "../core/clock.js";
import { unknownOperation } from "../core/errors/texts.js";
import { loadAhead } from "../core/later.js";
import type { Adapter, JsonObject } from "../core/ports/adapter.js";
import { AssetError } from "../core/ports/asset.js";
import type { VenueEvents } from "../core/ports/changes/events.js";
import type { CallerJobs, RecordedJob, StartedJob, Submission } from "../core/ports/job.js";
import { type Log, silentLog } from "../core/ports/log.js";
import type {
  HttpDav,
  HttpFiles,
  HttpHost,
  HttpLimits,
  HttpMetrics,
  Login,
  OperatorStatus,
} from "../surfaces/http/host.js";
import type { HttpAddress, HttpSurface, HttpSurfaceOptions, ListenTarget } from "../surfaces/http/surface.js";
import type { McpEndpoint } from "../surfaces/mcp/http.js";
import { packageVersion } from "../version.js";
import type { VenueAssets } from "./assets/assets.js";
import { parseAssetReference } from "./assets/id.js";
import { type Catalogue, createCatalogue } from "./catalogue/catalogue.js";
import { createValues } from "./catalogue/values.js";
import { type JobLimits, Jobs, type JobsOptions } from "./jobs/jobs.js";
import type { Cluster } from "./shared/cluster.js";
import { listenOnSocket } from "./start/socket-file.js";

export interface VenueHttpOptions
  extends Pick<HttpSurfaceOptions, "listen" | "timeouts" | "maxInFlightBytes" | "maxConnections">,
    Pick<HttpHost, "publicAccess" | "rateLimit" | "workspace">,
    Partial<Pick<HttpHost, "corsOrigins" | "hosts" | "trustProxy">> {
  /** Maximum bytes of a JSON request body, and of an asset's content. */
  readonly maxRequestBytes: number;
  readonly maxContentSize: number;
  /** Public URL without a trailing slash. Absent: derived from the listening address. */
  readonly baseUrl?: string | undefined;
}

export interface VenueHostOptions {
  readonly name: string;
  readonly did: string;
  /** Not owned: their creator closes them. */
  readonly adapters: readonly Adapter[];
  /** Not owned. Operations are registered as assets too. */
  readonly assets: VenueAssets;
  readonly authenticate: Authenticate;
  /** Absent: no tokens of outside issuers are taken. */
  readonly authorizationServers?: (() => readonly string[]) | undefined;
  /** Absent: credentials last as long as the process. */
  readonly stillHolds?: ((caller: Caller) => boolean) | undefined;
  readonly fresh?: HttpHost["fresh"];
  /** Absent: UCANs sent with a call do not name its caller. */
  readonly nameCaller?: NameCaller | undefined;
  /** @param baseUrl URL at which the venue can be reached */
  didDocument(baseUrl: string): JsonObject;
  readonly jobs: JobLimits &
    Pick<HttpLimits, "inlineWaitMs" | "maxWaitMs"> & { readonly listsAnonymous: boolean; readonly graceMs: number };
  readonly http: VenueHttpOptions;
  /** Logs every failure whose details its caller must not see. */
  readonly logInternal: (error: unknown, requestId: string) => void;
  readonly log?: Log | undefined;
  readonly metrics?: HttpMetrics | undefined;
  /** Absent: there is no `/api/v1/events`. Its readers end before the venue closes. */
  readonly events?: VenueEvents | undefined;
  /** Hears when it serves HTTP. @param port absent on a socket */
  readonly onListen?: ((port: number | undefined) => Promise<void>) | undefined;
  /** Absent: the venue is one process. The host owns none of it. */
  readonly cluster?: (Pick<Cluster, "keeper" | "drain"> & Pick<HttpHost, "peers">) | undefined;
  /** Hears of jobs that begin and end. */
  readonly onJob?: JobsOptions["onChange"] | undefined;
  /** Absent: there is no endpoint for whole files. */
  readonly files?: HttpFiles | undefined;
  /** Absent: there is no WebDAV. */
  readonly dav?: Omit<HttpDav, "invoke"> | undefined;
  /** Absent: there is no login. */
  readonly login?: Login | undefined;
  /** Roots and tokens, for the operator's status. Absent: none. */
  readonly overview?: (() => Pick<OperatorStatus, "roots" | "tokens">) | undefined;
  /** Creates the MCP endpoint, at its first request. Absent: there is none. */
  readonly mcp?: ((venue: VenueHost) => Promise<McpEndpoint>) | undefined;
  readonly clock?: Clock | undefined;
}

/** Where a venue can be reached. */
export interface VenueAddress {
  readonly url: string;
  /** Absent on a Unix socket. */
  readonly port?: number;
}

/** A venue: operations under one identity, run as jobs. */
export interface VenueHost {
  readonly name: string;
  readonly did: string;
  readonly catalogue: Catalogue;
  readonly jobs: CallerJobs & Pick<Jobs, "size" | "running" | "bytes" | "lose">;
  /** Base URL without a trailing slash. With port 0, the port is known only while listening. */
  readonly url: string;
  /** Starts a job. @throws UNKNOWN_OPERATION, Overloaded */
  submit(submission: Submission): RecordedJob;
  /** Runs an operation as a job without a record. @throws UNKNOWN_OPERATION */
  run(submission: Submission): StartedJob;
  /** Whether it is serving HTTP. */
  readonly listens: boolean;
  /** Serves HTTP. @throws the system's error, for example with `code` `EADDRINUSE` */
  listen(): Promise<VenueAddress>;
  /** Gives jobs time to end, cancels the rest, stops serving and forgets all jobs. The adapters stay open. */
  close(): Promise<void>;
}

/** DID shared by callers without credentials. */
const publicDid = (venueDid: string): string => `${venueDid}:public`;

/** Creates a venue. Nothing is opened and no HTTP code loaded before {@link VenueHost.listen}. */
export function createVenueHost(options: VenueHostOptions): VenueHost {
  const { name, did, assets, logInternal, clock = systemClock } = options;
  const catalogue = createCatalogue({
    did,
    registerOperation: (metadata) => assets.registerOperation(metadata),
    findAsset: (reference) => findAsset(assets, reference, did),
  });
  for (const adapter of options.adapters) catalogue.add(adapter);
  const { listsAnonymous, graceMs, ...limits } = options.jobs;
  const jobs = new Jobs({
    catalogue,
    clock,
    limits,
    logInternal,
    listsAnonymous,
    publicDid: publicDid(did),
    onChange: options.onJob,
    keeper: options.cluster?.keeper,
  });
  let surface: HttpSurface | undefined;
  // Asked for at every request; it changes once, when the venue begins to listen.
  let known: { readonly address: HttpAddress | undefined; readonly url: string } | undefined;
  let closing: Promise<void> | undefined;
  const close = async () => {
    if (surface !== undefined) await options.cluster?.drain();
    const begunMs = performance.now();
    await jobs.close(graceMs);
    await surface?.close(performance.now() - begunMs);
  };
  const venue: VenueHost = {
    name,
    did,
    catalogue,
    jobs,
    get url() {
      const { baseUrl, listen } = options.http;
      if (baseUrl !== undefined) return baseUrl;
      const address = surface?.address();
      if (known === undefined || known.address !== address) known = { address, url: urlOf(listen, address) };
      return known.url;
    },
    get listens() {
      return surface?.address() !== undefined;
    },
    submit: (submission) => jobs.submit(submission),
    run: (submission) => jobs.run(submission),
    async listen() {
      catalogue.registerAssets();
      const { HttpSurface } = await import("../surfaces/http/surface.js");
      await loadAhead((err) => options.log?.error({ err }, "A part could not be loaded. Restart the venue"));
      if (surface !== undefined || closing !== undefined)
        throw new Error("Cannot listen: the venue listens already or was closed");
      const { listen, timeouts, maxInFlightBytes, maxConnections } = options.http;
      const host = createHttpHost({ venue, jobs, clock, options });
      surface = new HttpSurface({ host, listen, timeouts, maxInFlightBytes, maxConnections });
      const begin = surface.listen.bind(surface);
      const address = await ("socket" in listen ? listenOnSocket(listen.socket, begin) : begin());
      const port = "port" in address ? address.port : undefined;
      await options.onListen?.(port);
      return { url: venue.url, ...(port === undefined ? {} : { port }) };
    },
    close() {
      closing ??= close();
      return closing;
    },
  };
  return venue;
}

function findAsset(assets: VenueAssets, reference: string, did: string) {
  const id = parseAssetReference(reference, did);
  if (id === undefined) return undefined;
  try {
    return { id, metadata: assets.metadata(id) };
  } catch (error) {
    if (error instanceof AssetError) return undefined;
    throw error;
  }
}

/** The host that the HTTP surface of a venue uses. */
function createHttpHost(parts: { venue: VenueHost; jobs: Jobs; clock: Clock; options: VenueHostOptions }): HttpHost {
  const { venue, jobs, clock, options } = parts;
  const { http, assets } = options;
  const { catalogue, did, name } = venue;
  const protocols = ["http", ...(options.mcp === undefined ? [] : ["mcp"])];
  const started = clock.nowMs();
  const startedMs = clock.monotonicMs();
  const streams = { open: 0 };
  const { inlineWaitMs, maxWaitMs } = options.jobs;
  return {
    did,
    name,
    version: packageVersion(),
    description: `${name}: file access for agents`,
    publicAccess: http.publicAccess,
    publicCaller: { did: publicDid(did), authentication: "public", isOperator: false },
    authenticate: options.authenticate,
    authorizationServers: options.authorizationServers ?? (() => []),
    stillHolds: options.stillHolds ?? (() => true),
    nameCaller: options.nameCaller ?? ((caller) => caller),
    fresh: options.fresh,
    hosts: http.hosts ?? [],
    corsOrigins: http.corsOrigins ?? [],
    trustProxy: http.trustProxy ?? false,
    limits: { inlineWaitMs, maxWaitMs, maxRequestBytes: http.maxRequestBytes, maxContentSize: http.maxContentSize },
    ...{ rateLimit: http.rateLimit, jobs, assets, metrics: options.metrics, peers: options.cluster?.peers },
    ...{ files: options.files, events: options.events, login: options.login },
    dav: options.dav && { ...options.dav, invoke: invokerOf(catalogue) },
    url: () => venue.url,
    nowMs: () => clock.nowMs(),
    stats: () => ({ assets: assets.size, users: jobs.users, ops: catalogue.list().length, jobs: jobs.size }),
    streams,
    operatorStatus: () => ({
      uptimeMs: Math.round(clock.monotonicMs() - startedMs),
      jobs: { kept: jobs.size, running: jobs.running },
      streams: streams.open,
      versions: { venue: packageVersion(), node: process.versions.node },
      ...(options.overview?.() ?? { roots: [], tokens: { access: 0, sessions: 0 } }),
    }),
    didDocument: (url) => options.didDocument(url),
    operations: () => catalogue.list().map((operation) => operation.listing),
    operation: (reference) => {
      const found = catalogue.resolve(reference);
      if (found === undefined) return undefined;
      const { operation, asset } = found;
      const { name: dispatched, ability, also = [] } = operation.metadata;
      const base = { name: dispatched, listing: operation.listing, abilities: [ability, ...also] };
      return asset === undefined ? base : { ...base, asset };
    },
    submit: venue.submit,
    values: createValues({
      ...{ did, name, started, protocols, version: packageVersion() },
      adapters: () => catalogue.adapters,
      operations: () => catalogue.list(),
      url: () => venue.url,
      servesDav: options.dav !== undefined,
      revision: () => catalogue.revision,
    }),
    requestId: () => randomUUID(),
    logInternal: options.logInternal,
    log: options.log ?? silentLog,
    workspace: http.workspace,
    mcp: options.mcp && lazily(options.mcp, venue),
  };
}

/** Runs operations by their dispatch names, also those that no caller is offered. */
const invokerOf =
  ({ adapters }: Pick<Catalogue, "adapters">): HttpDav["invoke"] =>
  (operation, input, context) => {
    const [name] = operation.split(":", 1);
    const adapter = adapters.find((one) => one.name === name);
    if (adapter === undefined) throw unknownOperation(operation);
    return adapter.invoke(operation, input, context);
  };

/** Creates the handler at the first request; a failure is not cached, so the next request tries again. */
function lazily(make: (venue: VenueHost) => Promise<McpEndpoint>, venue: VenueHost): McpEndpoint {
  let made: Promise<McpEndpoint> | undefined;
  return {
    async serve(request) {
      made ??= make(venue);
      const handler = await made.catch((error: unknown) => {
        made = undefined;
        throw error;
      });
      return handler.serve(request);
    },
  };
}

function urlOf(listen: ListenTarget, bound: HttpAddress | undefined): string {
  // A socket has no host name, but a URL needs one; clients of the socket ignore it.
  if ("socket" in listen) return "http://localhost";
  const name = listen.hostname.includes(":") ? `[${listen.hostname}]` : listen.hostname;
  return `http://${name}:${bound !== undefined && "port" in bound ? bound.port : listen.port}`;
}
