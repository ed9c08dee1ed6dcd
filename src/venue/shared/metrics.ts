// Metrics of a venue that has several instances.

import { addCounter, addGauge, singleValue } from "../telemetry/metrics-report.js";
import type { Register } from "../telemetry/metrics-sources.js";
import type { PostgresShared } from "./postgres.js";

const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2];

/** @param forwards requests passed on to other instances, by outcome @returns takes in what durations there are, before a scrape */
export function addShared(
  register: Register,
  shared: PostgresShared,
  forwards: Readonly<Record<string, number>>,
): () => void {
  const { requests } = shared;
  const gauges: [name: string, help: string, value: () => number][] = [
    ["venue_files_instances", "Live instances of this venue", () => shared.live.length + 1],
    [
      "venue_files_shared_age_seconds",
      "Age of what is known of revocations and tokens",
      () => shared.tick.ageMs / 1000,
    ],
    [
      "venue_files_config_differs",
      "Live instances with other static tokens, grants or roots",
      () => shared.differing.length,
    ],
  ];
  addGauge(register, {
    name: "venue_files_instance_info",
    help: "This instance of the venue",
    labels: ["number", "name", "version"],
    values() {
      const { number, name, version } = shared.self;
      return [{ labels: [`${number}`, name, version], value: 1 }];
    },
  });
  for (const [name, help, value] of gauges) addGauge(register, { name, help, labels: [], values: singleValue(value) });
  addCounter(register, {
    name: "venue_files_shared_failures_total",
    help: "Requests to the shared engine that found none",
    ...{ labels: [], values: singleValue(() => requests.failures) },
  });
  addCounter(register, {
    name: "venue_files_forwards_total",
    help: "Requests passed on to other instances",
    labels: ["outcome"],
    values: () => Object.entries(forwards).map(([outcome, value]) => ({ labels: [outcome], value })),
  });
  const durations = new register.prometheus.Histogram({
    name: "venue_files_shared_request_duration_seconds",
    help: "Duration of requests to the shared engine",
    buckets: BUCKETS,
    registers: [register.registry],
  });
  const observe = () => {
    for (const ms of requests.durations.splice(0)) durations.observe(ms / 1000);
  };
  observe();
  return observe;
}
