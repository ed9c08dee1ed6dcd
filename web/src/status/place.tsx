// Status: what the venue says of itself, and the jobs of the caller.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { who } from "../api/catalogue.js";
import { follow } from "../api/events.js";
import { request } from "../api/http.js";
import { texts } from "../texts.js";
import { formatAgo, formatMoment, formatNumber, formatSize, plain } from "../ui/format.js";
import { notifyFailure } from "../ui/notices.js";
import { Failure, Skeleton } from "../ui/states.js";

interface Status {
  readonly did: string;
  readonly name: string;
  readonly version: string;
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
    <div class="page">
      <h1>{texts.places["status"]}</h1>
      <Numbers status={status} metrics={metrics} />
      <Facts status={status} />
      <Jobs />
    </div>
  );
}

/** Sums of a metrics text (Prometheus exposition) by metric, and failures and denials of calls. */
function sums(text: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  const add = (name: string, value: number) => found.set(name, (found.get(name) ?? 0) + value);
  for (const line of text.split("\n")) {
    const [, name = "", labels = "", value = ""] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/i.exec(line) ?? [];
    if (name === "" || /_bucket$/.test(name)) continue;
    add(name, Number(value));
    const outcome = /outcome="([^"]*)"/.exec(labels)?.[1];
    if (outcome !== undefined && outcome !== "OK") add(`${name} failed`, Number(value));
    if (outcome !== undefined && /DENIED/.test(outcome)) add(`${name} denied`, Number(value));
  }
  return found;
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
  const shown: [string, string | undefined][] = [
    [texts.operations, formatNumber(status.stats["ops"] ?? 0)],
    [texts.jobs, formatNumber(status.stats["jobs"] ?? 0)],
    [texts.calls, value(calls) === undefined ? undefined : formatNumber(value(calls) ?? 0)],
    [texts.failures, metrics === undefined ? undefined : formatNumber(value(`${calls} failed`) ?? 0)],
    [texts.denials, metrics === undefined ? undefined : formatNumber(value(`${calls} denied`) ?? 0)],
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
  const uptime = status.operator?.["uptimeMs"];
  const facts: [string, ComponentChildren][] = [
    [texts.venueDid, <code key="did">{plain(status.did)}</code>],
    ["URL", <code key="url">{plain(status.url)}</code>],
    [texts.version, plain(status.version)],
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

interface Job {
  readonly id: string;
  readonly name: string;
  readonly operation: string;
  readonly status: string;
  readonly created: number;
  readonly error?: string;
}

const MAX_JOBS = 20;

async function loadJobs(): Promise<Job[]> {
  const newest = await request(`/api/v1/jobs?limit=${MAX_JOBS}`);
  const { items } = (await newest.json()) as { readonly items: readonly string[] };
  const found = await Promise.all(
    items.map((id) =>
      request(`/api/v1/jobs/${id}`)
        .then((response) => response.json() as Promise<Job>)
        .catch(() => undefined),
    ),
  );
  return found.filter((job) => job !== undefined);
}

const isOver = (status: string): boolean => !["PENDING", "STARTED", "RUNNING"].includes(status);

function Jobs(): JSX.Element {
  const [jobs, setJobs] = useState<readonly Job[] | undefined>(undefined);
  const load = () => void loadJobs().then(setJobs, () => setJobs([]));
  useEffect(() => {
    load();
    return follow(["job"], load);
  }, [who.value?.did]);
  const cancel = (id: string) => void request(`/api/v1/jobs/${id}/cancel`, { method: "PUT" }).then(load, notifyFailure);
  return (
    <section>
      <h2>{texts.jobs}</h2>
      {jobs === undefined ? <Skeleton rows={3} /> : jobs.length === 0 ? <p class="hint">{texts.noJobs}</p> : null}
      <ul class="jobs">
        {(jobs ?? []).map(({ id, operation, status, created, error }) => (
          <li key={id}>
            <code>{plain(operation.replace(/^v\/ops\//, "").replace("/", ":"))}</code>
            <span class={status === "COMPLETE" ? "tag good" : isOver(status) ? "tag danger" : "tag"}>
              {plain(status.toLowerCase())}
            </span>
            <span class="hint">{formatAgo(created)}</span>
            {error === undefined ? null : <span class="hint job-error">{plain(error)}</span>}
            <span class="spring" />
            {isOver(status) ? null : (
              <button type="button" onClick={() => cancel(id)}>
                {texts.cancelJob}
              </button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
