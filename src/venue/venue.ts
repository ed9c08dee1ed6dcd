import { randomUUID } from "node:crypto";
import type { Adapter } from "../core/adapter.js";
import { type Clock, systemClock } from "../core/clock.js";
import type { JobRecord, RecordedJob, StartedJob, Submission } from "../core/job.js";
import type { HttpHost, HttpLimits, JobLookup, McpHandler } from "../surfaces/http/host.js";
import type { HttpTimeouts } from "../surfaces/http/node-server.js";
import type { HttpSurface } from "../surfaces/http/surface.js";
import { type Catalogue, createCatalogue } from "./catalogue.js";
import { createJobs, type JobLimits, type Jobs } from "./jobs.js";

export interface VenueHttpOptions {
  /** Address to listen on. */
  readonly hostname: string;
  /** `0`: any free port. */
  readonly port: number;
  /** Whether callers without credentials are served. */
  readonly publicAccess: boolean;
  /** Most bytes of a request body. */
  readonly maxRequestBytes: number;
  /** Host names accepted on a loopback listener besides the loopback ones. Default: none. */
  readonly allowedHosts?: readonly string[];
  readonly timeouts?: Partial<HttpTimeouts>;
}

export interface VenueHostOptions {
  readonly name: string;
  readonly did: string;
  /** Hosted, not owned: whoever made them closes them. */
  readonly adapters: readonly Adapter[];
  readonly jobs: JobLimits & Pick<HttpLimits, "inlineWaitMs" | "maxWaitMs">;
  readonly http: VenueHttpOptions;
  /** Told of every failure whose details its caller must not see. */
  readonly logInternal: (error: unknown, requestId: string) => void;
  /** Makes the MCP endpoint, at its first request. Absent: there is none. */
  readonly mcp?: (venue: VenueHost) => Promise<McpHandler>;
  readonly clock?: Clock;
}

/** Where a venue can be reached. */
export interface VenueAddress {
  readonly address: string;
  readonly port: number;
  readonly url: string;
}

/** A venue: operations under one identity, run as jobs. */
export interface VenueHost {
  readonly name: string;
  readonly did: string;
  readonly catalogue: Catalogue;
  /** Starts a job. @throws UNKNOWN_OPERATION */
  submit(submission: Submission): RecordedJob;
  /** Runs an operation as a job without a record. @throws UNKNOWN_OPERATION */
  run(submission: Submission): StartedJob;
  /** The record of a job by its bare lower-case hex id. `undefined`: never known, or dropped. */
  job(id: string): JobRecord | undefined;
  /** Serves HTTP. @throws the error of the system, for example with `code` `EADDRINUSE` */
  listen(): Promise<VenueAddress>;
  /** Stops serving and forgets all jobs. The adapters stay open. */
  close(): Promise<void>;
}

/** Creates a venue. Until {@link VenueHost.listen} it opens nothing and loads no HTTP code. */
export function createVenueHost(options: VenueHostOptions): VenueHost {
  const { name, did, adapters, logInternal, clock = systemClock } = options;
  const catalogue = createCatalogue({ did, adapters });
  const jobs = createJobs({ catalogue, clock, limits: options.jobs, logInternal });
  let surface: HttpSurface | undefined;
  let closed = false;
  const venue: VenueHost = {
    name,
    did,
    catalogue,
    submit: (submission) => jobs.submit(submission),
    run: (submission) => jobs.run(submission),
    job: (id) => jobs.get(id),
    listen: async () => {
      const { createHttpSurface } = await import("../surfaces/http/surface.js");
      if (surface !== undefined || closed) throw new Error("Cannot listen: the venue listens already or was closed");
      const { hostname, port, timeouts } = options.http;
      const url = () => urlOf(options.http, surface?.address()?.port);
      const host = createHttpHost({ venue, jobs, clock, url, options });
      surface = createHttpSurface({ host, hostname, port, ...(timeouts === undefined ? {} : { timeouts }) });
      const address = await surface.listen();
      return { ...address, url: url() };
    },
    close: async () => {
      closed = true;
      await surface?.close();
      jobs.close();
    },
  };
  return venue;
}

/** What the HTTP surface sees of a venue. */
function createHttpHost(parts: {
  venue: VenueHost;
  jobs: Jobs;
  clock: Clock;
  url: () => string;
  options: VenueHostOptions;
}): HttpHost {
  const { venue, jobs, clock, url, options } = parts;
  const { http } = options;
  return {
    did: venue.did,
    name: venue.name,
    publicAccess: http.publicAccess,
    allowedHosts: (http.allowedHosts ?? []).map((allowed) => allowed.toLowerCase()),
    limits: { ...options.jobs, maxRequestBytes: http.maxRequestBytes },
    url,
    nowMs: () => clock.nowMs(),
    stats: () => ({ assets: 0, users: 0, ops: venue.catalogue.list().length, jobs: jobs.size }),
    operations: () => venue.catalogue.list().map((operation) => operation.listing),
    operation: (reference) => {
      const operation = venue.catalogue.resolve(reference);
      return operation && { name: operation.metadata.name, listing: operation.listing };
    },
    submit: venue.submit,
    job: (id, caller) => lookUp(jobs, id, caller),
    requestId: () => randomUUID(),
    logInternal: options.logInternal,
    ...(options.mcp === undefined ? {} : { mcp: lazily(options.mcp, venue) }),
  };
}

function lookUp(jobs: Jobs, id: string, caller: string): JobLookup {
  const record = jobs.get(id);
  if (record === undefined) return { refused: "unknown" };
  if (record.caller !== caller) return { refused: "denied" };
  jobs.delivered(id);
  return { found: record };
}

/** The handler itself is made at the first request; a failure to make it is not remembered. */
function lazily(make: (venue: VenueHost) => Promise<McpHandler>, venue: VenueHost): McpHandler {
  let made: Promise<McpHandler> | undefined;
  return async (request, context) => {
    made ??= make(venue);
    let handler: McpHandler;
    try {
      handler = await made;
    } catch (error) {
      made = undefined;
      throw error;
    }
    return handler(request, context);
  };
}

function urlOf(http: VenueHttpOptions, boundPort: number | undefined): string {
  const name = http.hostname.includes(":") ? `[${http.hostname}]` : http.hostname;
  return `http://${name}:${boundPort ?? http.port}`;
}
