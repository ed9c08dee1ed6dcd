// Counts calls from audit records, and reports the counts together with gauges of the venue.

import type { AuditRecord, AuditSink } from "../../audit/record.js";
import { ERROR_CODES } from "../../core/errors/errors.js";
import type { HttpMetrics } from "../../surfaces/http/host.js";
import { type MetricsReport, openMetricsReport } from "./metrics-report.js";
import type { MetricsSources, OperationTally, RootTally } from "./metrics-sources.js";

/** Durations are buffered until a scrape, or until this many. */
const MAX_WAITING = 1000;

/** Label of operations that do not exist. */
const UNKNOWN = "unknown";
/** Label of outcomes that are not known error codes. */
const OTHER = "other";
/** Label of calls without a root or with an unknown one: callers must not be able to create labels. */
const NO_ROOT = "";

const SCHEME = "file://";

const NOTHING: MetricsSources = { jobs: { running: 0, size: 0 }, roots: () => [], operations: () => [] };

/**
 * Counts the calls of a venue as an audit sink, and renders the counts for a monitoring system. Counting a call takes about a
 * microsecond; the library that renders them is loaded at the first scrape or the thousandth call.
 */
export class VenueMetrics implements AuditSink, Pick<HttpMetrics, "text"> {
  #sources = NOTHING;
  readonly #operations = new Map<string, OperationTally>();
  readonly #roots = new Map<string, RootTally>([[NO_ROOT, { root: NO_ROOT, operations: 0, bytes: 0 }]]);
  #waiting = 0;
  #report: MetricsReport | undefined;
  #closed = false;

  /** Sets the sources. Before that, every root and operation counts as unknown. */
  observe(sources: MetricsSources): void {
    this.#sources = sources;
  }

  write(record: AuditRecord): void {
    const tally = this.#operations.get(record.operation) ?? this.#operationTally(record.operation);
    const outcome = record.outcome === "OK" || Object.hasOwn(ERROR_CODES, record.outcome) ? record.outcome : OTHER;
    tally.outcomes.set(outcome, (tally.outcomes.get(outcome) ?? 0) + 1);
    tally.bytes += record.bytes;
    tally.durations.push(record.ms);
    const name = rootOf(record.resource);
    const root = this.#roots.get(name) ?? this.#rootTally(name);
    root.operations++;
    root.bytes += record.bytes;
    if (++this.#waiting >= MAX_WAITING) this.#hand();
  }

  async text(): Promise<{ contentType: string; body: string }> {
    for (const { name } of this.#sources.roots()) if (!this.#roots.has(name)) this.#rootTally(name);
    return this.#hand().text();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#report?.close();
  }

  /** Passes the buffered durations to the report. */
  #hand(): MetricsReport {
    this.#report ??= openMetricsReport({
      sources: () => this.#sources,
      operations: this.#operations,
      roots: this.#roots,
      watchesLoop: !this.#closed,
    });
    for (const tally of this.#operations.values()) this.#report.observe(tally.operation, tally.durations.splice(0));
    this.#waiting = 0;
    return this.#report;
  }

  #operationTally(name: string): OperationTally {
    const known = this.#sources.operations().find(({ metadata }) => metadata.name === name)?.metadata;
    const operation = known === undefined ? UNKNOWN : name;
    const found = this.#operations.get(operation);
    if (found !== undefined) return found;
    const direction = known?.changes === true ? "in" : "out";
    const tally: OperationTally = { operation, direction, outcomes: new Map(), bytes: 0, durations: [] };
    this.#operations.set(operation, tally);
    return tally;
  }

  #rootTally(name: string): RootTally {
    const root = this.#sources.roots().some((configured) => configured.name === name) ? name : NO_ROOT;
    const tally = this.#roots.get(root) ?? { root, operations: 0, bytes: 0 };
    this.#roots.set(root, tally);
    return tally;
  }
}

/** The root named in a resource; empty if there is none. */
function rootOf(resource: string): string {
  if (!resource.startsWith(SCHEME)) return NO_ROOT;
  const end = resource.indexOf("/", SCHEME.length);
  return end === -1 ? resource.slice(SCHEME.length) : resource.slice(SCHEME.length, end);
}
