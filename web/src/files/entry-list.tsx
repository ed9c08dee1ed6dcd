// The entries of a folder as a grid: pointer, keyboard and drag do the same things.

import { ArrowDown, ArrowUp } from "lucide";
import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { texts } from "../texts.js";
import { formatAgo, formatMoment, formatSize, joinPath, parentOf, plain } from "../ui/format.js";
import { Icon } from "../ui/icon.js";
import { Name } from "../ui/name.js";
import { addressOf, navigate } from "../ui/router.js";
import { TypeAhead } from "../ui/type-ahead.js";
import { VirtualRows } from "../ui/virtual.js";
import { doingsOf, runDoing } from "./actions/entry-actions.js";
import { dragOut } from "./drag.js";
import { iconOf, openedAt } from "./kinds.js";
import type { Entry, Sorting, SortKey } from "./listing.js";
import { active, choose, chooseAll, chosen, selected } from "./selection.js";

const ROW = 34;
const HEADER = 32;

interface ListProps {
  readonly root: string;
  readonly path: string;
  readonly entries: readonly Entry[];
  /** Whether all entries are there. */
  readonly isWhole: boolean;
  readonly sorting: Sorting;
  readonly onSort: (sorting: Sorting) => void;
}

export function EntryList({ root, path, entries, isWhole, sorting, onSort }: ListProps): JSX.Element {
  const names = useMemo(() => entries.map(({ name }) => name), [entries]);
  const isTyping = useTyping(names, isWhole);
  const onKeyDown = (event: KeyboardEvent) => {
    const entry = entries[active.value];
    if (isTyping(event) || isSelectionKey(event, names)) return;
    if (event.key === "Enter" && entry !== undefined) open(root, path, entry);
    else if (event.key === "Backspace" || (event.key === "ArrowUp" && event.altKey)) {
      if (path !== "") navigate(addressOf("files", root, parentOf(path), { directory: true }));
    } else if (!runDoing(event, doingsOf(root, path, chosen(names)))) return;
    event.preventDefault();
  };
  const row = (index: number) => {
    const entry = entries[index];
    return entry === undefined ? null : <EntryRow index={index} entry={entry} names={names} root={root} path={path} />;
  };
  return (
    <VirtualRows
      count={entries.length}
      rowHeight={ROW}
      active={active.value}
      render={row}
      header={{ height: HEADER, content: <Header sorting={sorting} onSort={onSort} /> }}
      attributes={{
        class: "entries",
        role: "grid",
        tabIndex: 0,
        "aria-label": texts.entriesOf(path === "" ? root : path),
        "aria-multiselectable": true,
        "aria-rowcount": entries.length + 1,
        "aria-colcount": 3,
        "aria-activedescendant": `entry-${active.value}`,
        onKeyDown,
      }}
    />
  );
}

const addressIn = (root: string, folder: string, { name, type }: Entry): string => {
  const { path, directory } = openedAt(folder, name, type);
  return addressOf("files", root, path, { directory });
};

const open = (root: string, path: string, entry: Entry): void => navigate(addressIn(root, path, entry));

const PAGE = 20;

/** Keys that move the focus or choose. @returns whether it was one */
function isSelectionKey(event: KeyboardEvent, names: readonly string[]): boolean {
  const at = active.value;
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    PageDown: at + PAGE,
    PageUp: at - PAGE,
    Home: 0,
    End: names.length - 1,
  };
  const to = event.altKey ? undefined : steps[event.key];
  const command = event.ctrlKey || event.metaKey;
  if (to !== undefined) {
    const index = Math.max(0, Math.min(names.length - 1, to));
    if (command) active.value = index;
    else choose(names, index, { range: event.shiftKey });
  } else if (event.key === " ") choose(names, at, { toggle: true });
  else if (command && event.key === "a") chooseAll(names);
  else if (event.key === "Escape" && selected.value.size > 0) selected.value = new Set();
  else return false;
  event.preventDefault();
  return true;
}

/**
 * Goes to the entry whose name begins with what is typed; if it is not there yet, once it is. The row with the focus keeps it
 * when entries come and go.
 */
function useTyping(names: readonly string[], isWhole: boolean): (event: KeyboardEvent) => boolean {
  const typing = useRef(new TypeAhead());
  const isSought = useRef(false);
  const focused = useRef("");
  const go = (from: number) => {
    const found = typing.current.find(names, from);
    isSought.current = found === undefined && !isWhole;
    if (found !== undefined) choose(names, found);
  };
  useLayoutEffect(() => {
    const at = active.value === 0 ? -1 : names.indexOf(focused.current);
    if (at >= 0) active.value = at;
    if (isSought.current) go(active.value);
  }, [names]);
  useLayoutEffect(() => {
    focused.current = names[active.value] ?? "";
  });
  return (event) => {
    const isTaken = typing.current.takes(event);
    if (event.key !== "Shift") isSought.current = false;
    if (!isTaken) return false;
    event.preventDefault();
    go(active.value);
    return true;
  };
}

function Header({ sorting, onSort }: Pick<ListProps, "sorting" | "onSort">): JSX.Element {
  const column = (by: SortKey, label: string, kind: string) => {
    const isThis = sorting.by === by;
    const order = sorting.descending ? "descending" : "ascending";
    return (
      <div role="columnheader" class={kind} aria-sort={isThis ? order : "none"}>
        <button
          type="button"
          class="quiet"
          title={texts.sortBy(label)}
          onClick={() => onSort({ by, descending: isThis ? !sorting.descending : by !== "name" })}
        >
          {label}
          {isThis ? <Icon of={sorting.descending ? ArrowDown : ArrowUp} size={12} /> : null}
        </button>
      </div>
    );
  };
  return (
    <div class="entry header" role="row" aria-rowindex={1}>
      {column("name", texts.name, "entry-name")}
      {column("size", texts.size, "entry-size")}
      {column("modified", texts.modified, "entry-modified")}
    </div>
  );
}

interface RowProps {
  readonly index: number;
  readonly entry: Entry;
  readonly names: readonly string[];
  readonly root: string;
  readonly path: string;
}

/** A row is made anew only when one of its properties differs or the selection changes. */
function EntryRow({ index, entry, names, root, path }: RowProps): JSX.Element {
  const { name, type, size, modified, unreachable } = entry;
  const isDirectory = type === "directory";
  const isChosen = selected.value.has(name);
  const isActive = active.value === index;
  const onClick = (event: MouseEvent) => {
    const toggle = event.ctrlKey || event.metaKey;
    choose(names, index, { range: event.shiftKey, toggle });
    if (!toggle && !event.shiftKey && event.target instanceof Element && event.target.closest("a") !== null) {
      event.preventDefault();
      open(root, path, entry);
    }
  };
  return (
    <div
      id={`entry-${index}`}
      role="row"
      class={isActive ? "entry active" : "entry"}
      aria-rowindex={index + 2}
      aria-selected={isChosen}
      draggable
      data-drop={isDirectory ? joinPath(path, name) : undefined}
      onClick={onClick}
      onDblClick={() => open(root, path, entry)}
      onDragStart={(event) => {
        if (!isChosen) choose(names, index);
        dragOut(
          event,
          root,
          chosen(names).map((each) => joinPath(path, each)),
        );
      }}
    >
      <div role="gridcell" class="entry-name">
        <Icon of={iconOf(type, name)} />
        <a href={addressIn(root, path, entry)} tabIndex={-1} draggable={false}>
          <Name text={name} />
        </a>
        {unreachable === true ? <span class="tag">{texts.unreachable}</span> : null}
      </div>
      <div role="gridcell" class="entry-size">
        {isDirectory ? "" : formatSize(size)}
      </div>
      <div role="gridcell" class="entry-modified" title={plain(formatMoment(modified))}>
        {formatAgo(modified)}
      </div>
    </div>
  );
}
