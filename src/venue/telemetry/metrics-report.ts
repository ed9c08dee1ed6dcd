// Renders the metrics of a venue for Prometheus.

import { createRequire } from "node:module";
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import type { Counter, Gauge, Histogram } from "@platformatic/prom-client";
import type { JournalFacts } from "../../core/ports/changes/journal.js";
import type { Root } from "../../core/ports/operation.js";
import type { MetricsSources, OperationTally, Prometheus, Register, RootTally } from "./metrics-sources.js";

/** Disk usage of the file system of a root. */
interface RootUsage {
  readonly sizeBytes: number;
  readonly freeBytes: number;
}

/** The metrics of a venue in the text format of a monitoring system. */
export type MetricsReport = ReturnType<typeof openMetricsReport>;

export interface MetricsReportOptions {
  readonly sources: () => MetricsSources;
  readonly operations: ReadonlyMap<string, OperationTally>;
  readonly roots: ReadonlyMap<string, RootTally>;
  /** Whether to measure event loop lag from now on. */
  readonly watchesLoop: boolean;
}

/** A metric whose values are collected at each scrape. */
interface Shown {
  readonly name: string;
  readonly help: string;
  readonly labels: string[];
  values(): readonly { readonly labels: string[]; readonly value: number }[];
}

/** Histogram buckets in seconds: from a read on a warm disk to the time limit of an operation. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Time limit for disk usage in milliseconds: a network file system that is down may never answer. */
const USAGE_PATIENCE_MS = 2000;

/** Sampling interval of event loop lag, in milliseconds. */
const LOOP_RESOLUTION_MS = 20;

/** Loads the library and registers all metrics. Each venue has a registry of its own. */
export function openMetricsReport(options: MetricsReportOptions) {
  const prometheus: Prometheus = createRequire(import.meta.url)("@platformatic/prom-client");
  const registry = new prometheus.Registry();
  const register: Register = { prometheus, registry };
  const durations = addCalls(register, options);
  addStores(register, options.sources);
  addJournals(register, options.sources);
  const askRoots = addUsage(register, options.sources);
  addProcess(register);
  const delay = addLoopLag(register);
  if (options.watchesLoop) delay.enable();
  let readMore: (() => void) | undefined;
  return {
    /** @param found durations, in milliseconds */
    observe: (operation: string, found: readonly number[]): void => {
      const child = durations.labels(operation);
      for (const ms of found) child.observe(ms / 1000);
    },
    text: async (): Promise<{ contentType: string; body: string }> => {
      await askRoots();
      if (readMore === undefined) readMore = options.sources().extend?.(register);
      else readMore();
      const body = await registry.metrics();
      delay.reset();
      return { contentType: registry.contentType, body };
    },
    close: () => void delay.disable(),
  };
}

function addCalls(register: Register, { operations, roots }: MetricsReportOptions): Histogram {
  addCounter(register, {
    name: "venue_files_operations_total",
    help: "Calls by operation and by outcome, which is OK or an error code",
    labels: ["operation", "outcome"],
    values: () =>
      [...operations.values()].flatMap(({ operation, outcomes }) =>
        [...outcomes].map(([outcome, value]) => ({ labels: [operation, outcome], value })),
      ),
  });
  addCounter(register, {
    name: "venue_files_bytes_total",
    help: "Bytes of file content that calls wrote (in) or read (out)",
    labels: ["operation", "direction"],
    values: () =>
      [...operations.values()].map(({ operation, direction, bytes }) => ({
        labels: [operation, direction],
        value: bytes,
      })),
  });
  const byRoot: [key: "operations" | "bytes", help: string][] = [
    ["operations", "Calls by root; without a name: no root, or none that is configured"],
    ["bytes", "Bytes of file content read and written by root"],
  ];
  for (const [key, help] of byRoot) {
    const values = () => [...roots.values()].map((tally) => ({ labels: [tally.root], value: tally[key] }));
    addCounter(register, { name: `venue_files_root_${key}_total`, help, labels: ["root"], values });
  }
  return new register.prometheus.Histogram({
    name: "venue_files_operation_duration_seconds",
    help: "Duration of calls by operation",
    labelNames: ["operation"],
    buckets: BUCKETS,
    registers: [register.registry],
  });
}

function addStores(register: Register, sources: () => MetricsSources): void {
  const gauges: [name: string, help: string, value: () => number | undefined][] = [
    ["venue_files_jobs_running", "Jobs that have not ended", () => sources().jobs.running],
    ["venue_files_jobs_kept", "Records of jobs", () => sources().jobs.size],
    ["venue_files_jobs_bytes", "Estimated size of the finished records", () => sources().jobs.bytes],
    ["venue_files_assets", "Registered assets", () => sources().assets?.size],
    ["venue_files_assets_bytes", "Metadata and content of assets", () => sources().assets?.totalBytes],
  ];
  for (const [name, help, value] of gauges) addGauge(register, { name, help, labels: [], values: singleValue(value) });
  const help = "Audit records that could not be written";
  const values = singleValue(() => sources().auditLost?.());
  addCounter(register, { name: "venue_files_audit_lost_total", help, labels: [], values });
}

/** Metrics of open journals. */
function addJournals(register: Register, sources: () => MetricsSources): void {
  const metrics: [add: typeof addGauge, name: string, help: string, key: Exclude<keyof JournalFacts, "fault">][] = [
    [addGauge, "venue_files_journal_entries", "Entries in the journal of a root", "entries"],
    [addGauge, "venue_files_journal_bytes", "Content that the journal of a root keeps", "bytes"],
    [addCounter, "venue_files_journal_unkept_total", "Changes whose earlier content could not be kept", "unkept"],
    [addCounter, "venue_files_journal_lost_total", "Entries of the journal that could not be written", "lost"],
  ];
  const open = () =>
    sources()
      .roots()
      .flatMap(({ name, journal }) => {
        const facts = journal?.facts?.();
        return facts === undefined ? [] : [{ name, facts }];
      });
  for (const [add, name, help, key] of metrics) {
    const values = () => open().map((root) => ({ labels: [root.name], value: root.facts[key] }));
    add(register, { name, help, labels: ["root"], values });
  }
}

/** @returns a function that queries every root */
function addUsage(register: Register, sources: () => MetricsSources): () => Promise<void> {
  const pending = new WeakMap<Pick<Root, "usage">, Promise<RootUsage | undefined>>();
  /** With a time limit; no second query starts while one is pending. */
  const ask = (root: Pick<Root, "usage">): Promise<RootUsage | undefined> => {
    const known = pending.get(root);
    if (known !== undefined) return known;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, sources().usagePatienceMs ?? USAGE_PATIENCE_MS, undefined);
    });
    const answer = usageOf(root);
    const asked = Promise.race([answer, late]);
    pending.set(root, asked);
    void answer.then(() => {
      pending.delete(root);
      clearTimeout(timer);
    });
    return asked;
  };
  let found: { name: string; usage: RootUsage }[] = [];
  addGauge(register, {
    name: "venue_files_root_size_bytes",
    help: "Size of the file system below a root",
    labels: ["root"],
    values: () => found.map(({ name, usage }) => ({ labels: [name], value: usage.sizeBytes })),
  });
  addGauge(register, {
    name: "venue_files_root_free_bytes",
    help: "Free space of the file system below a root",
    labels: ["root"],
    values: () => found.map(({ name, usage }) => ({ labels: [name], value: usage.freeBytes })),
  });
  return async () => {
    const answers = await Promise.all(
      sources()
        .roots()
        .map(async (root) => ({ name: root.name, usage: await ask(root) })),
    );
    found = answers.flatMap(({ name, usage }) => (usage === undefined ? [] : [{ name, usage }]));
  };
}

/** Disk usage of a root; `undefined` if unavailable. */
async function usageOf(root: Pick<Root, "usage">): Promise<RootUsage | undefined> {
  try {
    return await root.usage?.();
  } catch {
    return undefined;
  }
}

/** Process metrics, under the names that dashboards expect. */
function addProcess(register: Register): void {
  const startedSeconds = Date.now() / 1000 - process.uptime();
  const gauges: [name: string, help: string, value: () => number][] = [
    ["process_start_time_seconds", "Start of the process", () => startedSeconds],
    ["process_resident_memory_bytes", "Resident memory", () => process.memoryUsage.rss()],
    ["nodejs_heap_size_used_bytes", "Heap in use", () => process.memoryUsage().heapUsed],
  ];
  for (const [name, help, value] of gauges) addGauge(register, { name, help, labels: [], values: singleValue(value) });
  const cpu = () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  };
  const help = "Time on the processor, of user and system";
  addCounter(register, { name: "process_cpu_seconds_total", help, labels: [], values: singleValue(cpu) });
}

function addLoopLag(register: Register): IntervalHistogram {
  const delay = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
  // The histogram records the interval between two wake-ups; without lag it equals the resolution.
  const lagSeconds = (ns: number): number => Math.max(0, ns / 1e9 - LOOP_RESOLUTION_MS / 1000);
  const since = "of the event loop since the last scrape";
  const gauges: [name: string, help: string, ns: () => number][] = [
    ["nodejs_eventloop_lag_p50_seconds", `Median lag ${since}`, () => delay.percentile(50)],
    ["nodejs_eventloop_lag_p99_seconds", `99th percentile of the lag ${since}`, () => delay.percentile(99)],
    ["nodejs_eventloop_lag_max_seconds", `Longest lag ${since}`, () => delay.max],
  ];
  for (const [name, help, ns] of gauges) {
    const values = singleValue(() => (delay.count === 0 ? 0 : lagSeconds(ns())));
    addGauge(register, { name, help, labels: [], values });
  }
  return delay;
}

/** The values of a metric without labels; none if it has no value. */
export const singleValue = (value: () => number | undefined) => () => {
  const found = value();
  return found === undefined ? [] : [{ labels: [], value: found }];
};

export function addGauge({ prometheus, registry }: Register, { name, help, labels, values }: Shown): void {
  const collect = collector(labels, values);
  new prometheus.Gauge({ name, help, labelNames: labels, registers: [registry], collect });
}

export function addCounter({ prometheus, registry }: Register, { name, help, labels, values }: Shown): void {
  const collect = collector(labels, values);
  new prometheus.Counter({ name, help, labelNames: labels, registers: [registry], collect });
}

/** The values are kept elsewhere; a metric is only set from them, as it is read. */
function collector(labels: readonly string[], values: Shown["values"]) {
  return function collect(this: Gauge | Counter): void {
    this.reset();
    // Without labels, reset() would leave a 0, which differs from no value.
    if (labels.length === 0) this.remove();
    for (const one of values()) this.labels(...one.labels).inc(one.value);
  };
}
