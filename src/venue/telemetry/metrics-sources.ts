// The sources of the metrics: values read at each scrape, and counts of calls.

import type { Registry } from "@platformatic/prom-client";
import type { OperationMetadata } from "../../core/ports/adapter.js";
import type { Root } from "../../core/ports/operation.js";

export type Prometheus = typeof import("@platformatic/prom-client");

/** The registry of one venue, and the library. */
export interface Register {
  readonly prometheus: Prometheus;
  readonly registry: Registry;
}

/** Where values come from that are not counted here; read once per scrape. */
export interface MetricsSources {
  readonly jobs: {
    /** Number of running jobs. */
    readonly running: number;
    /** Number of records. */
    readonly size: number;
    readonly bytes?: number;
  };
  readonly assets?: { readonly size: number; readonly totalBytes: number };
  /** The configured roots; may change at run time. */
  roots(): readonly Pick<Root, "name" | "usage" | "journal">[];
  /** The registered operations; more may be added. */
  operations(): readonly { readonly metadata: Pick<OperationMetadata, "name" | "changes"> }[];
  /** Number of lost audit records. Absent: there is no audit log. */
  readonly auditLost?: (() => number) | undefined;
  /** Adds metrics of other parts at the first scrape. @returns called before each later one. Absent: there are none */
  readonly extend?: ((register: Register) => () => void) | undefined;
  /** Time a scrape waits for the disk usage of the roots, in milliseconds. Default 2000. */
  readonly usagePatienceMs?: number;
}

/** Counts of one operation. */
export interface OperationTally {
  readonly operation: string;
  /** Whether its bytes are written to files or read from them. */
  readonly direction: "in" | "out";
  /** Number of calls by `OK` or error code. */
  readonly outcomes: Map<string, number>;
  bytes: number;
  /** Durations in milliseconds not yet passed to the report. */
  readonly durations: number[];
}

/** Counts of one root. */
export interface RootTally {
  readonly root: string;
  operations: number;
  bytes: number;
}
