// Activity: calls as they happen. The last 5,000 are kept; denials stand out.

import { Activity, Pause, Play } from "lucide";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { offers } from "../api/catalogue.js";
import { credentialOf, personOf } from "../api/labels.js";
import type { AuditRecord } from "../api/operations.js";
import { grantText, texts } from "../texts.js";
import { formatClock, formatMoment, plain } from "../ui/format.js";
import { Icon } from "../ui/icon.js";
import { Name } from "../ui/name.js";
import { addressOf } from "../ui/router.js";
import { Empty, Failure, Skeleton } from "../ui/states.js";
import { VirtualRows } from "../ui/virtual.js";
import { isDenial, showDenial } from "./denial.js";
import { isLook, useFeed } from "./feed.js";
import { RunningJobs } from "./jobs.js";
import { IS_TOKEN } from "./looks.js";

const ROW = 30;

export function ActivityPlace(): JSX.Element {
  const [isPaused, setPaused] = useState(false);
  const [filters, setFilters] = useState<Filters>({ text: "", onlyFailures: false, withLooks: false });
  const { records, error } = useFeed(isPaused);
  const shown = chosen(records ?? [], filters);
  return (
    <div class="place">
      <header class="page-head bar">
        <h1>{texts.places["activity"]}</h1>
        <FilterFields filters={filters} onFilters={setFilters} />
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
        <Empty icon={Activity} title={records.length === 0 ? texts.noActivity : texts.noActivityShown} />
      ) : (
        <Records records={shown} />
      )}
    </div>
  );
}

interface FilterProps {
  readonly filters: Filters;
  readonly onFilters: (filters: Filters) => void;
}

function FilterFields({ filters, onFilters }: FilterProps): JSX.Element {
  const box = (label: string, checked: boolean, onChange: (isChecked: boolean) => void) => (
    <label class="check">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} />
      {label}
    </label>
  );
  return (
    <>
      <input
        type="search"
        class="filter"
        aria-label={texts.filterActivity}
        placeholder={texts.filterActivity}
        value={filters.text}
        onInput={(event) => onFilters({ ...filters, text: event.currentTarget.value })}
      />
      {box(texts.withoutLooks, !filters.withLooks, (isOn) => onFilters({ ...filters, withLooks: !isOn }))}
      {box(texts.onlyFailures, filters.onlyFailures, (isOn) => onFilters({ ...filters, onlyFailures: isOn }))}
    </>
  );
}

interface Filters {
  readonly text: string;
  readonly onlyFailures: boolean;
  readonly withLooks: boolean;
}

function chosen(records: readonly AuditRecord[], { text, onlyFailures, withLooks }: Filters): readonly AuditRecord[] {
  const wanted = text.toLowerCase();
  return records.filter((record) => {
    const { outcome, caller, operation, resource } = record;
    if ((!withLooks && isLook(record)) || (onlyFailures && outcome === "OK")) return false;
    return wanted === "" || `${personOf(caller)} ${caller} ${operation} ${resource}`.toLowerCase().includes(wanted);
  });
}

const COLUMNS = [texts.time, texts.whoColumn, texts.operation, texts.path, texts.outcome, texts.right, texts.duration];

function Records({ records }: { readonly records: readonly AuditRecord[] }): JSX.Element {
  const [active, setActive] = useState(0);
  const onKeyDown = (event: KeyboardEvent) => {
    const to = { ArrowDown: active + 1, ArrowUp: active - 1, Home: 0, End: records.length - 1 }[event.key];
    const record = records[active];
    if (event.key === "Enter" && record !== undefined && isDenial(record.outcome)) showDenial(record);
    else if (event.key === "Enter") document.querySelector<HTMLAnchorElement>(`#record-${active} a`)?.click();
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

/** A change leads to its entry, a look at a file to the file, a denial to what was missing. */
function Row({ index, record, isActive }: RowProps): JSX.Element {
  const { time, caller, operation, resource, outcome, ms } = record;
  const [root = "", ...rest] = resource.replace(/^(?:file|dlfs):\/\//, "").split("/");
  const isChange =
    /^file:(?:write|edit|append|move|copy|delete|mkdir|patch|undo|restore)$/.test(operation) && outcome === "OK";
  const place = isChange && offers("file:history") ? "changes" : "files";
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
        {personOf(caller)}
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
        <Outcome record={record} />
      </div>
      <div role="gridcell">
        <Right record={record} />
      </div>
      <div role="gridcell" class="entry-size">
        {ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms
      </div>
    </div>
  );
}

function Outcome({ record }: { readonly record: AuditRecord }): JSX.Element {
  const { outcome } = record;
  if (isDenial(outcome))
    return (
      <button
        type="button"
        class="tag danger"
        tabIndex={-1}
        title={texts.whyDenied(plain(outcome))}
        onClick={() => showDenial(record)}
      >
        {plain(outcome)}
      </button>
    );
  return (
    <span class={outcome === "OK" ? "" : "tag"} title={plain(outcome)}>
      {plain(outcome)}
    </span>
  );
}

/** The credential that allowed a call, or the right that it lacked. */
function Right({ record: { denied, caller, via = "" } }: { readonly record: AuditRecord }): JSX.Element {
  if (denied !== undefined)
    return <span title={plain(grantText(denied.required))}>{texts.needs(denied.required.can)}</span>;
  const credential = credentialOf(via);
  const kind = credential?.kind ?? (IS_TOKEN.test(via) ? "access" : kindOf(caller));
  const name = credential?.label === undefined ? (texts.kinds[kind] ?? kind) : plain(credential.label);
  const title = [texts.kinds[kind], plain(via)].join(" ");
  return offers("auth:list") ? (
    <a href={addressOf("access")} tabIndex={-1} title={title}>
      {name}
    </a>
  ) : (
    <span title={title}>{name}</span>
  );
}

/** The kind of access of a caller without a credential of its own. */
function kindOf(caller: string): string {
  if (personOf(caller) === texts.operator) return "owner";
  const [, kind = "own"] = /:(token|public)(?::|$)/.exec(caller) ?? [];
  return kind === "token" ? "static" : kind;
}
