// Scans for short literals on the calling thread, without blocking the event loop for long.

import type { LineScanner, Scan, ScanJob } from "../core/call/scan.js";
import { timedOut } from "../core/errors/texts.js";
import { type Awaitable, isPending, yieldToLoop } from "../core/io.js";
import { type LineMatcher, literalMatcher, scanLines } from "./scan-lines.js";

/** How long a scan may occupy the event loop before it yields. */
const BREATH_MS = 10;

/** Scans for a literal on the calling thread, which is faster than passing the files to a worker. */
export function scanInline(literal: string): LineScanner {
  const matcher = literalMatcher(literal);
  return {
    isInline: true,
    scan(jobs, withinMs) {
      const [first] = jobs;
      if (first === undefined) return [];
      const one = scanOne(first, matcher, withinMs);
      if (jobs.length === 1 && !isPending(one)) return [one];
      return scanAll(one, jobs.slice(1), { matcher, withinMs });
    },
    close: () => {},
  };
}

async function scanAll(
  first: Awaitable<Scan>,
  others: readonly ScanJob[],
  { matcher, withinMs }: { matcher: LineMatcher; withinMs: number },
): Promise<readonly Scan[]> {
  const scans = [await first];
  for (const job of others) scans.push(await scanOne(job, matcher, withinMs));
  return scans;
}

function scanOne(job: ScanJob, matcher: LineMatcher, withinMs: number): Awaitable<Scan> {
  const scan = scanLines(job, matcher);
  if (scan === "binary" || "count" in scan) return scan;
  const endsAt = performance.now() + withinMs;
  return scanSlice(scan) ?? scanWithPauses(scan, endsAt, withinMs);
}

/** Scans for at most {@link BREATH_MS}. @returns `undefined` if there is more to do */
function scanSlice(scan: Generator<undefined, Scan>): Scan | undefined {
  const until = performance.now() + BREATH_MS;
  do {
    const step = scan.next();
    if (step.done === true) return step.value;
  } while (performance.now() < until);
  return undefined;
}

async function scanWithPauses(scan: Generator<undefined, Scan>, endsAt: number, withinMs: number): Promise<Scan> {
  for (;;) {
    await yieldToLoop();
    if (performance.now() > endsAt) throw timedOut(Math.round(withinMs));
    const done = scanSlice(scan);
    if (done !== undefined) return done;
  }
}
