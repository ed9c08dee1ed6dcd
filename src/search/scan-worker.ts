import { parentPort } from "node:worker_threads";
import type { LineQuery, ScanJob } from "../core/scan.js";
import { compileExpression } from "./scan-expression.js";
import { type LineMatcher, scanLines } from "./scan-lines.js";

/** What the thread is asked: to get ready for a query, or to scan files by the last one. */
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
  return ready === undefined ? [] : request.jobs.map((job) => scanLines(job, ready));
}
