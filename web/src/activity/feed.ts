// The newest records of the audit, and those that follow as they happen.

import { useEffect, useRef, useState } from "preact/hooks";
import { read } from "../api/call.js";
import { who } from "../api/catalogue.js";
import { follow, isLive } from "../api/events.js";
import { credentialOf } from "../api/labels.js";
import type { AuditRecord } from "../api/operations.js";
import { isLookOfPage } from "./looks.js";

const MAX_KEPT = 5000;
const FIRST_PAGE = 200;
/** Where the first records are look-ups of pages, more are asked for until so many others are there. */
const ENOUGH = 50;
const LATER_PAGE = 1000;
/** Where no events arrive, the newest are asked for so often. */
const LOOK_MS = 3000;
/** Events of a busy venue are shown together, so that no task takes long. */
const SHOW_MS = 250;

export interface Feed {
  readonly records: readonly AuditRecord[] | undefined;
  readonly error: unknown;
}

export const isLook = (record: AuditRecord): boolean =>
  isLookOfPage(record, who.value, (via) => credentialOf(via)?.kind === "session");

async function loadNewest(): Promise<readonly AuditRecord[]> {
  const records: AuditRecord[] = [];
  for (let cursor: string | undefined; ; ) {
    const limit = cursor === undefined ? FIRST_PAGE : LATER_PAGE;
    const page = await read("audit:query", { limit, ...(cursor === undefined ? {} : { cursor }) });
    records.push(...page.records);
    cursor = page.nextCursor;
    const others = records.filter((record) => !isLook(record)).length;
    if (cursor === undefined || others >= ENOUGH || records.length + LATER_PAGE > MAX_KEPT) return records;
  }
}

const keyOf = ({ time, caller, operation, resource, job = "" }: AuditRecord): string =>
  [time, caller, operation, resource, job].join(" ");

/** The loaded records, below those that arrived since the request. */
function withLater(loaded: readonly AuditRecord[], before: readonly AuditRecord[] = []): readonly AuditRecord[] {
  const [newest] = loaded;
  const known = new Set(loaded.map(keyOf));
  const later = before.filter((record) => record.time >= (newest?.time ?? 0) && !known.has(keyOf(record)));
  return [...later, ...loaded];
}

export function useFeed(isPaused: boolean): Feed {
  const [records, setRecords] = useState<readonly AuditRecord[] | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const waiting = useRef<AuditRecord[]>([]);
  const did = who.value?.did;
  const paused = useRef(isPaused);
  paused.current = isPaused;
  useEffect(() => {
    const load = () =>
      loadNewest().then(
        (loaded) => setRecords((before) => withLater(loaded, before)),
        (failure: unknown) => setError(failure),
      );
    setRecords(undefined);
    void load();
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
