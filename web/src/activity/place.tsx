// Activity: calls as they happen. The last 5,000 are kept; denials stand out.

import { Activity, Pause, Play } from "lucide";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { read } from "../api/call.js";
import { offers, who } from "../api/catalogue.js";
import { follow, isLive } from "../api/events.js";
import { labelOf, loadLabels, personOf } from "../api/labels.js";
import type { AuditRecord } from "../api/operations.js";
import { texts } from "../texts.js";
import { formatClock, formatMoment, plain } from "../ui/format.js";
import { Icon } from "../ui/icon.js";
import { Name } from "../ui/name.js";
import { addressOf } from "../ui/router.js";
import { Empty, Failure, Skeleton } from "../ui/states.js";
import { VirtualRows } from "../ui/virtual.js";
import { RunningJobs } from "./jobs.js";

const MAX_KEPT = 5000;
const FIRST_PAGE = 200;
/** Where no events arrive, the newest are asked for so often. */
const LOOK_MS = 3000;
/** Events of a busy venue are shown together, so that no task takes long. */
const SHOW_MS = 250;
const ROW = 30;

/** Ids of access tokens and sessions; others stand for processes and connections. */
const IS_TOKEN = /^[0-9a-f]{32}$/;

const isDenial = (outcome: string): boolean => /DENIED|SYMLINK_ESCAPE|PATH_ESCAPES|APPROVAL/.test(outcome);

interface Feed {
  readonly records: readonly AuditRecord[] | undefined;
  readonly error: unknown;
}

/** The newest records, and those that follow. */
function useFeed(isPaused: boolean): Feed {
  const [records, setRecords] = useState<readonly AuditRecord[] | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const waiting = useRef<AuditRecord[]>([]);
  const did = who.value?.did;
  const paused = useRef(isPaused);
  paused.current = isPaused;
  useEffect(() => {
    const load = () =>
      read("audit:query", { limit: FIRST_PAGE }).then(
        (page) => setRecords(page.records),
        (failure: unknown) => setError(failure),
      );
    void load();
    void loadLabels();
    const timer = setInterval(() => {
      if (!isLive.value && !paused.current && document.visibilityState === "visible") void load();
    }, LOOK_MS);
    const stop = follow(["audit"], ({ name, data }) => {
      if (name === "overflow") void load();
      else if (name === "audit") waiting.current.push(data as AuditRecord);
      if (waiting.current.length > MAX_KEPT) waiting.current.splice(0, waiting.current.length - MAX_KEPT);
    });
    return () => {
      clearInterval(timer);
      stop();
    };
  }, [did]);
  useEffect(() => {
    if (isPaused) return;
    const timer = setInterval(() => {
      const some = waiting.current.splice(0).reverse();
      if (some.length > 0) setRecords((before) => [...some, ...(before ?? [])].slice(0, MAX_KEPT));
    }, SHOW_MS);
    return () => clearInterval(timer);
  }, [isPaused]);
  return { records, error };
}

export function ActivityPlace(): JSX.Element {
  const [isPaused, setPaused] = useState(false);
  const [filter, setFilter] = useState("");
  const [onlyFailures, setOnlyFailures] = useState(false);
  const { records, error } = useFeed(isPaused);
  const shown = useMemo(() => chosen(records ?? [], filter, onlyFailures), [records, filter, onlyFailures]);
  return (
    <div class="place">
      <header class="page-head bar">
        <h1>{texts.places["activity"]}</h1>
        <input
          type="search"
          class="filter"
          aria-label={texts.filterActivity}
          placeholder={texts.filterActivity}
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={onlyFailures}
            onChange={(event) => setOnlyFailures(event.currentTarget.checked)}
          />
          {texts.onlyFailures}
        </label>
        <span class="spring" />
        <span class={isPaused ? "tag" : "tag good"} role="status">
          {isPaused ? texts.paused : texts.live}
        </span>
        <button type="button" onClick={() => setPaused(!isPaused)}>
          <Icon of={isPaused ? Play : Pause} />
          {isPaused ? texts.resume : texts.pause}
        </button>
      </header>
      <RunningJobs />
      {error !== undefined ? (
        <Failure error={error} />
      ) : records === undefined ? (
        <Skeleton />
      ) : shown.length === 0 ? (
        <Empty icon={Activity} title={texts.noActivity} />
      ) : (
        <Records records={shown} />
      )}
    </div>
  );
}

/** Calls by which a page asks for what its frame shows. */
const OWN_CALLS = ["auth:whoami", "auth:list", "approval:list", "approval:get", "file:roots"];

/** Looking here is a call too, and would fill the list with itself. */
const isOwnLook = ({ operation, caller, outcome }: AuditRecord): boolean =>
  operation === "audit:query" ||
  (outcome === "OK" && OWN_CALLS.includes(operation) && personOf(caller) === personOf(who.value?.did ?? ""));

function chosen(records: readonly AuditRecord[], filter: string, onlyFailures: boolean): readonly AuditRecord[] {
  const wanted = filter.toLowerCase();
  return records.filter((record) => {
    const { outcome, caller, operation, resource } = record;
    if (isOwnLook(record) || (onlyFailures && outcome === "OK")) return false;
    return wanted === "" || `${caller} ${operation} ${resource}`.toLowerCase().includes(wanted);
  });
}

const COLUMNS = [texts.time, texts.whoColumn, texts.operation, texts.path, texts.outcome, texts.right, texts.duration];

function Records({ records }: { readonly records: readonly AuditRecord[] }): JSX.Element {
  const [active, setActive] = useState(0);
  const onKeyDown = (event: KeyboardEvent) => {
    const to = { ArrowDown: active + 1, ArrowUp: active - 1, Home: 0, End: records.length - 1 }[event.key];
    if (event.key === "Enter") document.querySelector<HTMLAnchorElement>(`#record-${active} a`)?.click();
    if (to === undefined) return;
    event.preventDefault();
    setActive(Math.max(0, Math.min(records.length - 1, to)));
  };
  const row = (index: number) => {
    const record = records[index];
    return record === undefined ? null : <Row index={index} record={record} isActive={index === active} />;
  };
  return (
    <VirtualRows
      count={records.length}
      rowHeight={ROW}
      active={active}
      render={row}
      header={{
        height: 32,
        content: (
          <div class="record header" role="row" aria-rowindex={1}>
            {COLUMNS.map((title) => (
              <div key={title} role="columnheader">
                {title}
              </div>
            ))}
          </div>
        ),
      }}
      attributes={{
        class: "entries records",
        role: "grid",
        tabIndex: 0,
        "aria-label": texts.places["activity"] ?? "",
        "aria-rowcount": records.length + 1,
        "aria-activedescendant": `record-${active}`,
        onKeyDown,
      }}
    />
  );
}

interface RowProps {
  readonly index: number;
  readonly record: AuditRecord;
  readonly isActive: boolean;
}

/** A change leads to its entry, a look at a file to the file. */
function Row({ index, record, isActive }: RowProps): JSX.Element {
  const { time, caller, operation, resource, outcome, via = "", ms } = record;
  const [root = "", ...rest] = resource.replace(/^(?:file|dlfs):\/\//, "").split("/");
  const isChange =
    /^file:(?:write|edit|append|move|copy|delete|mkdir|patch|undo|restore)$/.test(operation) && outcome === "OK";
  const place = isChange && offers("file:history") ? "changes" : "files";
  const tone = outcome === "OK" ? "" : isDenial(outcome) ? "tag danger" : "tag";
  const isFile = /^(?:file|dlfs):/.test(operation) && root !== "";
  const path = rest.join("/");
  return (
    <div
      id={`record-${index}`}
      role="row"
      class={isActive ? "record entry active" : "record entry"}
      aria-rowindex={index + 2}
    >
      <div role="gridcell" title={formatMoment(time)}>
        {formatClock(time)}
      </div>
      <div role="gridcell" title={plain(caller)}>
        {personOf(caller, via)}
      </div>
      <div role="gridcell">{plain(operation)}</div>
      <div role="gridcell" class="record-path">
        {isFile ? (
          <a href={addressOf(place, root, path)} tabIndex={-1} title={plain(resource)}>
            <Name text={path === "" ? root : `${root}/${path}`} />
          </a>
        ) : (
          <Name text={resource} />
        )}
      </div>
      <div role="gridcell">
        <span class={tone} title={plain(outcome)}>
          {plain(outcome)}
        </span>
      </div>
      <div role="gridcell" title={plain(via)}>
        {IS_TOKEN.test(via) ? (
          <a href={addressOf("access")} tabIndex={-1}>
            {plain(labelOf(via) ?? via.slice(0, 8))}
          </a>
        ) : (
          plain(via.slice(0, 8))
        )}
      </div>
      <div role="gridcell" class="entry-size">
        {ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms
      </div>
    </div>
  );
}
