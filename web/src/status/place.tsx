// Status: what the venue says of itself, and the jobs of the caller.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { JobsSection } from "../activity/jobs.js";
import { who } from "../api/catalogue.js";
import { productVersion } from "../api/features.js";
import { request } from "../api/http.js";
import { loadRoots, roots } from "../files/roots.js";
import { texts } from "../texts.js";
import { formatMoment, formatNumber, formatSize, plain } from "../ui/format.js";
import { Name } from "../ui/name.js";
import { Failure, Skeleton } from "../ui/states.js";
import { LocksSection } from "./locks.js";
import { sums } from "./metrics.js";

interface Status {
  readonly did: string;
  readonly name: string;
  readonly url: string;
  readonly stats: Readonly<Record<string, number>>;
  readonly operator?: Readonly<Record<string, unknown>>;
}

const REFRESH_MS = 5000;

export function StatusPlace(): JSX.Element {
  const [status, setStatus] = useState<Status | undefined>(undefined);
  const [metrics, setMetrics] = useState<ReadonlyMap<string, number> | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  useEffect(() => {
    const look = () => {
      if (document.visibilityState !== "visible") return;
      void request("/api/v1/status")
        .then((response) => response.json())
        .then(setStatus, setError);
      if (who.value?.operator === true)
        void request("/metrics")
          .then((response) => response.text())
          .then(
            (text) => setMetrics(sums(text)),
            () => {},
          );
    };
    look();
    const timer = setInterval(look, REFRESH_MS);
    return () => clearInterval(timer);
  }, [who.value?.did]);
  if (error !== undefined) return <Failure error={error} />;
  if (status === undefined) return <Skeleton />;
  return (
    // The section may hold nothing else focusable, and must still scroll by keys.
    <section class="page" tabIndex={0} aria-label={texts.places["status"]}>
      <h1>{texts.places["status"]}</h1>
      <Numbers status={status} metrics={metrics} />
      <Facts status={status} />
      <Roots metrics={metrics} />
      <LocksSection />
      <JobsSection />
    </section>
  );
}

function Numbers({
  status,
  metrics,
}: {
  readonly status: Status;
  readonly metrics: ReadonlyMap<string, number> | undefined;
}): JSX.Element {
  const calls = [...(metrics?.keys() ?? [])].find((name) => /(?:calls|operations)_total$/.test(name)) ?? "";
  const value = (name: string) => metrics?.get(name);
  const memory = value("process_resident_memory_bytes");
  const median = value("median seconds");
  const bytes = (direction: string) => formatSize(value(`venue_files_bytes_total ${direction}`) ?? 0);
  const { jobs } = status.stats;
  const shown: [string, string | undefined][] = [
    [texts.operations, formatNumber(status.stats["ops"] ?? 0)],
    [texts.jobs, jobs === undefined ? undefined : formatNumber(jobs)],
    [texts.calls, value(calls) === undefined ? undefined : formatNumber(value(calls) ?? 0)],
    [texts.failures, metrics === undefined ? undefined : formatNumber(value(`${calls} failed`) ?? 0)],
    [texts.denials, metrics === undefined ? undefined : formatNumber(value(`${calls} denied`) ?? 0)],
    [texts.latency, median === undefined ? undefined : texts.atMost(median * 1000)],
    [texts.bytesRead, metrics === undefined ? undefined : bytes("out")],
    [texts.bytesWritten, metrics === undefined ? undefined : bytes("in")],
    [texts.memory, memory === undefined ? undefined : formatSize(memory)],
  ];
  return (
    <>
      <dl class="numbers">
        {shown.map(([title, text]) =>
          text === undefined ? null : (
            <div key={title}>
              <dt>{title}</dt>
              <dd>{text}</dd>
            </div>
          ),
        )}
      </dl>
      {metrics === undefined ? <p class="hint">{texts.metricsHint}</p> : null}
    </>
  );
}

function Facts({ status }: { readonly status: Status }): JSX.Element {
  const { uptimeMs: uptime, streams } = status.operator ?? {};
  const version = productVersion.value;
  const facts: [string, ComponentChildren][] = [
    [texts.venueDid, <code key="did">{plain(status.did)}</code>],
    ["URL", <code key="url">{plain(status.url)}</code>],
    ...(version === "" ? [] : ([[texts.version, plain(version)]] as [string, string][])),
    ...(typeof streams === "number" ? ([[texts.streams, formatNumber(streams)]] as [string, string][]) : []),
    ...(typeof uptime === "number" ? ([[texts.uptime, formatMoment(Date.now() - uptime)]] as [string, string][]) : []),
  ];
  return (
    <section class="card">
      <dl>
        {facts.map(([title, text]) => (
          <>
            <dt>{title}</dt>
            <dd>{text}</dd>
          </>
        ))}
      </dl>
    </section>
  );
}

/** The usage of each root against its quota, and for the operator the free space below it. */
function Roots({ metrics }: { readonly metrics: ReadonlyMap<string, number> | undefined }): JSX.Element | null {
  useEffect(() => void loadRoots(), [who.value?.did]);
  const all = roots.value ?? [];
  if (all.length === 0) return null;
  return (
    <section>
      <h2>{texts.roots}</h2>
      <ul class="jobs">
        {all.map(({ name, quota, readOnly }) => {
          const free = metrics?.get(`venue_files_root_free_bytes ${name}`);
          return (
            <li key={name}>
              <Name text={name} />
              {readOnly ? <span class="tag">{texts.readOnly}</span> : null}
              {quota?.bytes === undefined ? null : (
                <span class="hint">{texts.quota(quota.usedBytes ?? 0, quota.bytes)}</span>
              )}
              {free === undefined ? null : <span class="hint">{texts.free(free)}</span>}
            </li>
          );
        })}
      </ul>
    </section>
  );
}
