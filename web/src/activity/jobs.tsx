// Jobs of the caller, for the operator those of all: as they begin and end, with a button that cancels one.

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { who } from "../api/catalogue.js";
import { follow } from "../api/events.js";
import { request } from "../api/http.js";
import { texts } from "../texts.js";
import { formatAgo, plain } from "../ui/format.js";
import { notifyFailure } from "../ui/notices.js";
import { Skeleton } from "../ui/states.js";

interface Job {
  readonly id: string;
  readonly operation: string;
  readonly status: string;
  /** Milliseconds since the epoch. */
  readonly created: number;
  readonly error?: string;
}

const MAX_JOBS = 20;
/** Events of a busy venue are shown together. */
const SHOW_MS = 250;

const isOver = ({ status }: Job): boolean => !["PENDING", "STARTED", "RUNNING"].includes(status);

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

/** Jobs as they are after some news, newest first: all that run, and the newest of the others. */
function withNews(jobs: readonly Job[], news: readonly Job[]): readonly Job[] {
  const known = new Map(jobs.map((job) => [job.id, job]));
  for (const job of news) known.set(job.id, job);
  const all = [...known.values()].sort((one, other) => other.created - one.created);
  return all.filter((job, index) => index < MAX_JOBS || !isOver(job));
}

interface Jobs {
  /** `undefined` until they are known. */
  readonly jobs: readonly Job[] | undefined;
  readonly cancel: (id: string) => void;
}

function useJobs(): Jobs {
  const [jobs, setJobs] = useState<readonly Job[] | undefined>(undefined);
  const news = useRef<Job[]>([]);
  const load = () => void loadJobs().then(setJobs, () => setJobs([]));
  useEffect(() => {
    load();
    const timer = setInterval(() => {
      const some = news.current.splice(0);
      if (some.length > 0) setJobs((before) => withNews(before ?? [], some));
    }, SHOW_MS);
    const stop = follow(["job"], ({ name, data }) => {
      if (name === "overflow") load();
      else if (name === "job") news.current.push(data as Job);
    });
    return () => {
      clearInterval(timer);
      stop();
    };
  }, [who.value?.did]);
  const cancel = (id: string) => void request(`/api/v1/jobs/${id}/cancel`, { method: "PUT" }).then(load, notifyFailure);
  return { jobs, cancel };
}

/** The newest jobs. */
export function JobsSection(): JSX.Element {
  const { jobs, cancel } = useJobs();
  return (
    <section>
      <h2>{texts.jobs}</h2>
      {jobs === undefined ? <Skeleton rows={3} /> : jobs.length === 0 ? <p class="hint">{texts.noJobs}</p> : null}
      <JobList jobs={jobs ?? []} cancel={cancel} />
    </section>
  );
}

/** The jobs that run now; nothing where there are none. */
export function RunningJobs(): JSX.Element | null {
  const { jobs = [], cancel } = useJobs();
  const running = jobs.filter((job) => !isOver(job));
  if (running.length === 0) return null;
  return (
    <section class="running" aria-label={texts.runningJobs}>
      <JobList jobs={running} cancel={cancel} />
    </section>
  );
}

function JobList({ jobs, cancel }: { readonly jobs: readonly Job[]; readonly cancel: Jobs["cancel"] }): JSX.Element {
  return (
    <ul class="jobs">
      {jobs.map((job) => (
        <JobItem key={job.id} job={job} cancel={cancel} />
      ))}
    </ul>
  );
}

function JobItem({ job, cancel }: { readonly job: Job; readonly cancel: Jobs["cancel"] }): JSX.Element {
  const { id, operation, status, created, error } = job;
  const name = plain(operation.replace(/^v\/ops\//, "").replace("/", ":"));
  const tone = status === "COMPLETE" ? "tag good" : isOver(job) ? "tag danger" : "tag";
  return (
    <li>
      <code>{name}</code>
      <span class={tone}>{plain(status.toLowerCase())}</span>
      <span class="hint">{formatAgo(created)}</span>
      {error === undefined ? null : <span class="hint job-error">{plain(error)}</span>}
      <span class="spring" />
      {isOver(job) ? null : (
        <button type="button" aria-label={`${texts.cancelJob} ${name}`} onClick={() => cancel(id)}>
          {texts.cancelJob}
        </button>
      )}
    </li>
  );
}
