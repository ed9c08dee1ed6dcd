// Metrics of a venue that has several instances.

import { addCounter, addGauge, singleValue } from "../telemetry/metrics-report.js";
import type { Register } from "../telemetry/metrics-sources.js";

/** As of now; the durations since they were last asked for. */
export interface SharedFacts {
  readonly number: number;
  readonly name: string;
  readonly version: string;
  /** Live ones, this one too. */
  readonly instances: number;
  /** Age of what is known of revocations and tokens. */
  readonly ageSeconds: number;
  /** Durations of requests to the engine, in milliseconds. */
  readonly durations: readonly number[];
  /** Requests that found no engine. */
  readonly failures: number;
  /** Requests passed on to other instances, by outcome. */
  readonly forwards: Readonly<Record<string, number>>;
  /** Live instances that are configured differently. */
  readonly differing: number;
}

const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2];

/** @returns reads the facts, before a scrape */
export function addShared(register: Register, read: () => SharedFacts): () => void {
  let facts = read();
  const gauges: [name: string, help: string, key: "instances" | "ageSeconds" | "differing"][] = [
    ["venue_files_instances", "Live instances of this venue", "instances"],
    ["venue_files_shared_age_seconds", "Age of what is known of revocations and tokens", "ageSeconds"],
    ["venue_files_config_differs", "Live instances with other static tokens, grants or roots", "differing"],
  ];
  addGauge(register, {
    name: "venue_files_instance_info",
    help: "This instance of the venue",
    labels: ["number", "name", "version"],
    values: () => [{ labels: [`${facts.number}`, facts.name, facts.version], value: 1 }],
  });
  for (const [name, help, key] of gauges) {
    addGauge(register, { name, help, labels: [], values: singleValue(() => facts[key]) });
  }
  addCounter(register, {
    name: "venue_files_shared_failures_total",
    help: "Requests to the shared engine that found none",
    ...{ labels: [], values: singleValue(() => facts.failures) },
  });
  addCounter(register, {
    name: "venue_files_forwards_total",
    help: "Requests passed on to other instances",
    labels: ["outcome"],
    values: () => Object.entries(facts.forwards).map(([outcome, value]) => ({ labels: [outcome], value })),
  });
  const durations = new register.prometheus.Histogram({
    name: "venue_files_shared_request_duration_seconds",
    help: "Duration of requests to the shared engine",
    buckets: BUCKETS,
    registers: [register.registry],
  });
  const observe = () => {
    for (const ms of facts.durations) durations.observe(ms / 1000);
  };
  observe();
  return () => {
    facts = read();
    observe();
  };
}
