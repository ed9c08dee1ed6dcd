// The worker thread of the scan pool.

import { parentPort } from "node:worker_threads";
import type { LineQuery, Scan, ScanJob } from "../core/call/scan.js";
import { compileExpression } from "./scan-expression.js";
import { type LineMatcher, scanLines } from "./scan-lines.js";

/** A message to the thread: compile a query, or scan files with the last one. */
export type ScanRequest = { readonly query: LineQuery } | { readonly jobs: readonly ScanJob[] };

let matcher: LineMatcher | undefined;

parentPort?.on("message", (request: ScanRequest) => {
  parentPort?.postMessage(answer(request));
});

function answer(request: ScanRequest): unknown {
  if ("query" in request) {
    const compiled = compileExpression(request.query);
    matcher = "reason" in compiled ? undefined : compiled;
    return "reason" in compiled ? compiled : {};
  }
  const ready = matcher;
  return ready === undefined ? [] : request.jobs.map((job) => wholeScan(job, ready));
}

/** Scans without pauses: the thread does nothing else. */
function wholeScan(job: ScanJob, ready: LineMatcher): Scan {
  const scan = scanLines(job, ready);
  if (scan === "binary" || "count" in scan) return scan;
  for (;;) {
    const step = scan.next();
    if (step.done === true) return step.value;
  }
}
