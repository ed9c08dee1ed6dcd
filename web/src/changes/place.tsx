// Changes: what was done, by whom, and the way back.

import { GitCompareArrows } from "lucide";
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { read } from "../api/call.js";
import { who } from "../api/catalogue.js";
import { codeOf } from "../api/errors.js";
import { follow } from "../api/events.js";
import { personOf } from "../api/labels.js";
import type { HistoryEntry } from "../api/operations.js";
import { Breadcrumbs } from "../files/breadcrumbs.js";
import { loadRoots, roots } from "../files/roots.js";
import { texts } from "../texts.js";
import { formatAgo, formatMoment, plain } from "../ui/format.js";
import { Name } from "../ui/name.js";
import { route } from "../ui/router.js";
import { Empty, Failure, Skeleton } from "../ui/states.js";
import { Chosen } from "./selected-changes.js";
import { type Session, sessionsOf } from "./sessions.js";

const PAGE = 200;
const SETTLE_MS = 500;

interface Loaded {
  readonly entries: readonly HistoryEntry[];
  readonly cursor: string | undefined;
  /** Why nothing more is known. */
  readonly hint: string | undefined;
}

async function loadPage(root: string, path: string, cursor?: string): Promise<Loaded> {
  const where = { ...(root === "" ? {} : { root }), ...(path === "" ? {} : { path }) };
  const page = await read("file:history", { ...where, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
  return { entries: page.entries, cursor: page.nextCursor, hint: page.hint };
}

export function ChangesPlace(): JSX.Element {
  const { root, path, isDirectory } = route.value;
  const [loaded, setLoaded] = useState<Loaded | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const load = () => void loadPage(root, path).then(setLoaded, setError);
  useEffect(() => {
    setLoaded(undefined);
    setError(undefined);
    setChosen(new Set());
    load();
  }, [root, path, who.value?.did]);
  // Apart from the first: the list stays when the roots become known. Earlier changes were not followed, so load them.
  useEffect(() => {
    if (root === "" && loaded !== undefined) load();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const topics =
      root === ""
        ? (roots.value ?? []).map(({ name }) => `files:${name}`)
        : [`files:${root}${path === "" ? "" : `/${path}`}`];
    const stop = follow(topics, () => {
      clearTimeout(timer);
      timer = setTimeout(load, SETTLE_MS);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [root, path, who.value?.did, roots.value]);
  useEffect(() => {
    if (roots.value === undefined) void loadRoots();
  }, []);
  const older = async () => {
    const more = await loadPage(root, path, loaded?.cursor);
    setLoaded({ ...more, entries: [...(loaded?.entries ?? []), ...more.entries] });
  };
  const title = <h1 class="unseen">{texts.places["changes"]}</h1>;
  if (error !== undefined) {
    return (
      <>
        {title}
        {codeOf(error) === "NOT_SUPPORTED" ? <Off error={error} /> : <Failure error={error} retry={load} />}
      </>
    );
  }
  if (loaded === undefined) return <Skeleton />;
  return (
    <div class="place">
      {title}
      {root === "" ? null : <Breadcrumbs root={root} path={path} isDirectory={isDirectory} place="changes" />}
      <Body loaded={loaded} chosen={chosen} onChosen={setChosen} older={() => void older()} reload={load} />
    </div>
  );
}

function Off({ error }: { readonly error: unknown }): JSX.Element {
  return (
    <Empty icon={GitCompareArrows} title={texts.placeIsOff(texts.places["changes"] ?? "")}>
      <p>{error instanceof Error ? plain(error.message) : ""}</p>
    </Empty>
  );
}

interface BodyProps {
  readonly loaded: Loaded;
  readonly chosen: ReadonlySet<string>;
  readonly onChosen: (chosen: ReadonlySet<string>) => void;
  readonly older: () => void;
  readonly reload: () => void;
}

function Body({ loaded, chosen, onChosen, older, reload }: BodyProps): JSX.Element {
  const { entries, cursor, hint } = loaded;
  const sessions = useMemo(() => sessionsOf(entries), [entries]);
  const asked = route.value.query.get("change");
  useEffect(() => {
    // The session in the address is chosen, else the newest.
    const first =
      entries.find(({ id }) => id === asked) === undefined ? sessions[0]?.entries.map(({ id }) => id) : [asked ?? ""];
    if (chosen.size === 0 && first !== undefined) onChosen(new Set(first));
  }, [entries]);
  if (entries.length === 0) return <None hint={hint} />;
  const shown = entries.filter(({ id }) => chosen.has(id));
  return (
    <div class="changes">
      <aside class="sessions">
        {sessions.map((session) => (
          <SessionCard key={session.id} session={session} chosen={chosen} onChosen={onChosen} />
        ))}
        {hint === undefined ? null : <p>{plain(hint)}</p>}
        {cursor === undefined ? null : (
          <button type="button" onClick={older}>
            {texts.loadOlder}
          </button>
        )}
      </aside>
      <section class="pane" aria-label={texts.compare}>
        {shown.length === 0 ? (
          <Empty icon={GitCompareArrows} title={texts.selectChanges} />
        ) : (
          <Chosen entries={shown} reload={reload} />
        )}
      </section>
    </div>
  );
}

/** Placeholder where no change was made, or no history is kept. */
function None({ hint }: { readonly hint: string | undefined }): JSX.Element {
  const root = roots.value?.find(({ name }) => name === route.value.root);
  const why = hint ?? (root?.readOnly === true ? texts.noHistoryOfReadOnly : undefined);
  return (
    <Empty icon={GitCompareArrows} title={why === undefined ? texts.noChanges : texts.noHistory}>
      <p>{why === undefined ? texts.noChangesHint : plain(why)}</p>
    </Empty>
  );
}

interface CardProps {
  readonly session: Session;
  readonly chosen: ReadonlySet<string>;
  readonly onChosen: (chosen: ReadonlySet<string>) => void;
}

function SessionCard({ session, chosen, onChosen }: CardProps): JSX.Element {
  const { actor, entries } = session;
  const files = new Set(entries.map(({ root, path }) => `${root}/${path}`)).size;
  const ids = entries.map(({ id }) => id);
  const isWhole = ids.length === chosen.size && ids.every((id) => chosen.has(id));
  const newest = entries[0]?.time ?? 0;
  const only = (id: string, event: MouseEvent) => {
    const next = new Set(event.ctrlKey || event.metaKey ? chosen : []);
    if (!next.delete(id)) next.add(id);
    onChosen(next);
  };
  return (
    <section class="session">
      <button type="button" class="session-head" aria-pressed={isWhole} onClick={() => onChosen(new Set(ids))}>
        <strong>{personOf(actor)}</strong>
        <small title={formatMoment(newest)}>{formatAgo(newest)}</small>
        <small>{texts.session(files, entries.length)}</small>
      </button>
      <ul>
        {entries.slice(0, MAX_SHOWN).map((entry) => (
          <li key={entry.id}>
            <button
              type="button"
              class="change"
              aria-pressed={chosen.has(entry.id) && !isWhole}
              onClick={(event) => only(entry.id, event)}
              title={formatMoment(entry.time)}
            >
              <span>{texts.change(entry.op)}</span>
              <Name text={`${entry.root}/${entry.path}`} />
              {entry.undoneBy === undefined ? null : <span class="tag">{texts.alreadyUndone}</span>}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

const MAX_SHOWN = 50;
