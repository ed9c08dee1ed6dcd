// The trash of a root: what was deleted below a folder, and the way back.

import { Trash2, Undo2, X } from "lucide";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { change, read } from "../../api/call.js";
import { offers } from "../../api/catalogue.js";
import { personOf } from "../../api/labels.js";
import type { TrashEntry } from "../../api/operations.js";
import { texts } from "../../texts.js";
import { Dialog, showDialog } from "../../ui/dialog.js";
import { formatAgo, formatMoment, formatSize, plain } from "../../ui/format.js";
import { Icon } from "../../ui/icon.js";
import { Name } from "../../ui/name.js";
import { notify, notifyFailure } from "../../ui/notices.js";
import { addressOf } from "../../ui/router.js";
import { Empty, Failure, Skeleton } from "../../ui/states.js";
import { iconOf } from "../kinds.js";
import { mayChange } from "../roots.js";
import { refreshTree } from "../tree.js";

interface Place {
  readonly root: string;
  readonly path: string;
}

interface Loaded {
  readonly entries: readonly TrashEntry[];
  readonly cursor: string | undefined;
  /** Why nothing is kept there. */
  readonly hint: string | undefined;
}

async function loadPage({ root, path }: Place, cursor?: string): Promise<Loaded> {
  const where = { root, ...(path === "" ? {} : { path }), ...(cursor === undefined ? {} : { cursor }) };
  const { entries, nextCursor, hint } = await read("file:trash", where);
  return { entries, cursor: nextCursor, hint };
}

export function TrashView({ root, path }: Place): JSX.Element {
  const [loaded, setLoaded] = useState<Loaded | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const load = () => {
    setError(undefined);
    setChosen(new Set());
    loadPage({ root, path }).then(setLoaded, setError);
  };
  useEffect(() => {
    load();
  }, [root, path]);
  const older = async () => {
    try {
      const more = await loadPage({ root, path }, loaded?.cursor);
      setLoaded({ ...more, entries: [...(loaded?.entries ?? []), ...more.entries] });
    } catch (failure) {
      notifyFailure(failure);
    }
  };
  if (error !== undefined) return <Failure error={error} retry={load} />;
  const entries = loaded?.entries ?? [];
  const some = entries.filter(({ id }) => chosen.has(id));
  return (
    <>
      <TrashToolbar root={root} path={path} chosen={some} all={entries} reload={load} />
      {loaded === undefined ? (
        <Skeleton />
      ) : entries.length === 0 ? (
        <Empty icon={Trash2} title={texts.trashEmpty}>
          <p>{loaded.hint === undefined ? texts.trashEmptyHint : plain(loaded.hint)}</p>
        </Empty>
      ) : (
        <div class="trash">
          <TrashTable entries={entries} chosen={chosen} onChosen={setChosen} />
          {loaded.cursor === undefined ? null : (
            <button type="button" onClick={() => void older()}>
              {texts.trashOlder}
            </button>
          )}
        </div>
      )}
    </>
  );
}

interface ToolbarProps extends Place {
  readonly chosen: readonly TrashEntry[];
  readonly all: readonly TrashEntry[];
  readonly reload: () => void;
}

/** Acts on the chosen entries; without a choice on all listed ones, which the buttons then say. */
function TrashToolbar({ root, path, chosen, all, reload }: ToolbarProps): JSX.Element {
  const isAll = chosen.length === 0;
  const of = isAll ? all : chosen;
  const mayRestore = offers("file:undo") && of.every((one) => mayChange(root, one.path, "crud/write"));
  const mayPurge = offers("file:purge") && of.every((one) => mayChange(root, one.path, "crud/delete"));
  return (
    <div class="toolbar" role="toolbar" aria-label={texts.trash}>
      <strong>{texts.trash}</strong>
      <span role="status" class="hint">
        {isAll ? texts.trashCount(all.length) : texts.selectedCount(chosen.length)}
      </span>
      <span class="spring" />
      {mayRestore && !isAll ? (
        <button type="button" class="primary" onClick={() => void restore(root, of).then(reload)}>
          <Icon of={Undo2} />
          {texts.trashRestore}
        </button>
      ) : null}
      {mayPurge && of.length > 0 ? (
        <button type="button" class="danger" onClick={() => void purge(root, of, isAll).then(reload)}>
          <Icon of={Trash2} />
          {isAll ? texts.trashPurgeAll : texts.trashPurge}
        </button>
      ) : null}
      <a
        class="button quiet square"
        href={addressOf("files", root, path, { directory: true })}
        aria-label={texts.close}
        title={texts.close}
      >
        <Icon of={X} />
      </a>
    </div>
  );
}

interface TableProps {
  readonly entries: readonly TrashEntry[];
  readonly chosen: ReadonlySet<string>;
  readonly onChosen: (chosen: ReadonlySet<string>) => void;
}

function TrashTable({ entries, chosen, onChosen }: TableProps): JSX.Element {
  const toggle = (id: string) => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    onChosen(next);
  };
  const isAll = entries.every(({ id }) => chosen.has(id));
  return (
    <table>
      <thead>
        <tr>
          <th>
            <input
              type="checkbox"
              aria-label={texts.chooseAll}
              checked={isAll}
              onChange={() => onChosen(new Set(isAll ? [] : entries.map(({ id }) => id)))}
            />
          </th>
          <th scope="col">{texts.path}</th>
          <th scope="col" class="number">
            {texts.size}
          </th>
          <th scope="col">{texts.trashDeleted}</th>
          <th scope="col" class="wide-only">
            {texts.whoColumn}
          </th>
        </tr>
      </thead>
      <tbody>
        {entries.map(({ id, path, kind, size, deleted, by = "" }) => (
          <tr key={id} aria-selected={chosen.has(id)} onClick={() => toggle(id)}>
            <td>
              <input
                type="checkbox"
                aria-label={texts.choose(path)}
                checked={chosen.has(id)}
                onClick={(event) => event.stopPropagation()}
                onChange={() => toggle(id)}
              />
            </td>
            <td>
              <span class="row">
                <Icon of={iconOf(kind, path)} />
                <Name text={path} />
              </span>
            </td>
            <td class="number">{size === undefined ? "" : formatSize(size)}</td>
            <td title={plain(formatMoment(deleted))}>{formatAgo(deleted)}</td>
            <td class="wide-only">{personOf(by)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** One call takes this many. */
const MAX_AT_ONCE = 500;

/** Brings deleted entries back, each by itself where together they cannot: what stands there now is never replaced. */
async function restore(root: string, entries: readonly TrashEntry[]): Promise<void> {
  let done = 0;
  for (const { id, path } of entries) {
    try {
      await change("file:undo", { root, ids: [id] });
      done += 1;
      refreshTree(root, path.slice(0, Math.max(0, path.lastIndexOf("/"))));
    } catch (error) {
      notifyFailure(error);
    }
  }
  if (done > 0) notify(texts.trashRestored(done));
}

async function purge(root: string, entries: readonly TrashEntry[], isAll: boolean): Promise<void> {
  const isSure = await showDialog<boolean>((close) => (
    <Dialog
      title={isAll ? texts.trashPurgeAll : texts.trashPurge}
      onClose={() => close()}
      onSubmit={() => close(true)}
      footer={
        <>
          <button type="button" data-autofocus onClick={() => close()}>
            {texts.cancel}
          </button>
          <button type="submit" class="primary danger">
            {texts.trashPurge}
          </button>
        </>
      }
    >
      <p class="warning">{texts.trashPurgeLead(entries.length)}</p>
    </Dialog>
  ));
  if (isSure !== true) return;
  try {
    const ids = entries.map(({ id }) => id);
    for (let at = 0; at < ids.length; at += MAX_AT_ONCE)
      await change("file:purge", { root, ids: ids.slice(at, at + MAX_AT_ONCE) });
    notify(texts.trashPurged(entries.length));
  } catch (error) {
    notifyFailure(error);
  }
}
