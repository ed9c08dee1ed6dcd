// Jobs and HTTP surface of a venue of several instances: rows of jobs, requests to peers, an orderly end.

import { setTimeout as pause } from "node:timers/promises";
import { isLoopbackListener } from "../../config/loopback.js";
import type { VenueConfig } from "../../config/types.js";
import type { Caller } from "../../core/call/caller.js";
import type { JobRecord } from "../../core/ports/job.js";
import type { Log } from "../../core/ports/log.js";
import { type ForwardOutcome, PeerRequests } from "../../surfaces/http/passing/peers.js";
import type { JobKeeper, KeptJob } from "../jobs/keeper.js";
import type { Register } from "../telemetry/metrics-sources.js";
import { JobRows } from "./job-rows.js";
import { addShared } from "./metrics.js";
import type { SharedEvents } from "./pieces/events.js";
import type { PostgresShared } from "./postgres.js";

export interface ClusterOptions {
  readonly shared: PostgresShared;
  readonly log: Log;
  readonly config: Pick<VenueConfig, "shared" | "jobs"> & Parameters<typeof isLoopbackListener>[0];
  stillHolds(caller: Caller): boolean;
  /** Tell of jobs. */
  readonly told: Pick<SharedEvents, "job" | "lostJob">;
  /** Hears that others hold a job of this instance for lost. */
  onLost(job: KeptJob, record: JobRecord): void;
}

/** Parts of a venue of several instances. */
export interface Cluster {
  readonly keeper: JobKeeper;
  readonly peers: PeerRequests;
  /** Tells balancers that this instance stops, and waits until they have heard. Calls are taken meanwhile. */
  drain(): Promise<void>;
  /** Adds its metrics. @returns called before each later scrape */
  metrics(register: Register): () => void;
  close(): Promise<void>;
}

const NONE = { items: [], total: 0 };

export function createCluster(options: ClusterOptions): Cluster {
  const { shared, config } = options;
  const { jobs } = config;
  // As for the jobs of this instance.
  const listsAnonymous = isLoopbackListener(config);
  const { log, told, onLost } = options;
  const rows = new JobRows({ shared, log, told, onLost, ttlMs: jobs.ttlMs });
  const forwards: Record<ForwardOutcome, number> = { passed: 0, failed: 0, refused: 0 };
  let isDraining = false;
  const isStale = () => shared.tick.isStale;
  const peers = new PeerRequests({
    key: shared.secret("requests passed on"),
    number: () => shared.self.number,
    nowMs: Date.now,
    live: () =>
      shared.live.flatMap(({ number, advertise }) => (advertise === undefined ? [] : [{ number, advertise }])),
    look: () => shared.tick.refresh(),
    readiness: () => (isDraining ? "draining" : isStale() ? "stale" : "ready"),
    isDegraded: isStale,
    stillHolds: options.stillHolds,
    cancelMs: jobs.inlineWaitMs,
    lostJob: (id) => rows.lost(id),
    lostJobs: async (caller, most) =>
      caller.authentication === "public" && !listsAnonymous ? NONE : rows.lostOf(caller, most),
    count: (outcome) => forwards[outcome]++,
  });
  return {
    ...{ keeper: rows, peers },
    metrics: (register) => addShared(register, shared, forwards),
    async drain() {
      isDraining = true;
      await pause(config.shared?.drainMs);
    },
    async close() {
      peers.close();
      await rows.close();
    },
  };
}
