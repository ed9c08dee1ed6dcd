// One folder: its entries as a list, and what can be done with them.

import { FolderOpen } from "lucide";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { venuePath } from "../api/base.js";
import { texts } from "../texts.js";
import { plain } from "../ui/format.js";
import { CopyButton, Empty, Failure, Skeleton } from "../ui/states.js";
import { DropArea } from "./drag.js";
import { EntryList } from "./entry-list.js";
import { FolderToolbar } from "./folder-toolbar.js";
import { followFolder } from "./follow.js";
import { arrange, type Listing, list, listing, type Sorting } from "./listing.js";
import { areRootsKnown, mayChange } from "./roots.js";
import { clearSelection } from "./selection.js";
import { learnFolders } from "./tree.js";

interface Place {
  readonly root: string;
  readonly path: string;
}

export function FolderView({ root, path }: Place): JSX.Element {
  const [filter, setFilter] = useState("");
  const [sorting, setSorting] = useState<Sorting>({ by: "name", descending: false });
  // Ask before the paint: the user waits for the answer.
  useLayoutEffect(() => {
    clearSelection();
    void list(root, path);
    return followFolder(root, path, () => void list(root, path));
  }, [root, path]);
  const shown = listing.value;
  const isThis = shown?.root === root && shown.path === path && areRootsKnown();
  const entries = useMemo(
    () => (isThis ? arrange(shown.entries, sorting, filter) : []),
    [shown, isThis, sorting, filter],
  );
  useEffect(() => {
    if (!isThis || !shown.isWhole) return;
    const folders = shown.entries.filter(({ type }) => type === "directory").map(({ name }) => name);
    learnFolders(root, path, folders);
  }, [shown, isThis]);
  // A folder that cannot be listed offers no actions.
  if (isThis && shown.error !== undefined) return <Failure error={shown.error} retry={() => void list(root, path)} />;
  return (
    <DropArea root={root} path={path}>
      <FolderToolbar root={root} path={path} entries={entries} filter={filter} onFilter={setFilter} />
      {isThis ? (
        <Entries
          place={{ root, path }}
          shown={shown}
          entries={entries}
          filter={filter}
          sorting={sorting}
          onSort={setSorting}
        />
      ) : (
        <Skeleton />
      )}
    </DropArea>
  );
}

interface EntriesProps {
  readonly place: Place;
  readonly shown: Listing;
  readonly entries: Listing["entries"];
  readonly filter: string;
  readonly sorting: Sorting;
  readonly onSort: (sorting: Sorting) => void;
}

function Entries({ place, shown, entries, filter, sorting, onSort }: EntriesProps): JSX.Element {
  const { root, path } = place;
  if (entries.length === 0 && shown.isWhole)
    return filter === "" ? <EmptyFolder {...place} /> : <NoMatch filter={filter} />;
  return (
    <>
      <EntryList root={root} path={path} entries={entries} isWhole={shown.isWhole} sorting={sorting} onSort={onSort} />
      <Footer shown={shown} count={entries.length} />
    </>
  );
}

function NoMatch({ filter }: { readonly filter: string }): JSX.Element {
  return <Empty icon={FolderOpen} title={texts.nothingMatches(filter)} />;
}

function EmptyFolder({ root, path }: Place): JSX.Element {
  const url = `${location.origin}${venuePath}/mcp`;
  return (
    <Empty icon={FolderOpen} title={texts.emptyFolder}>
      {mayChange(root, path, "crud/write") ? <p>{texts.emptyFolderHint}</p> : null}
      {path === "" ? (
        <div class="connect">
          <h3>{texts.connectAgent}</h3>
          <p>{texts.connectAgentHint}</p>
          <p class="row">
            <code>{url}</code>
            <CopyButton text={url} label={texts.copyLink} />
          </p>
        </div>
      ) : null}
    </Empty>
  );
}

function Footer({ shown, count }: { readonly shown: Listing; readonly count: number }): JSX.Element {
  const { hidden = {}, isWhole, total, entries } = shown;
  const parts = Object.entries(hidden).map(([why, many]) => texts.hidden(many ?? 0, texts.hiddenBy[why] ?? why));
  return (
    <p class="list-footer" role="status">
      {[isWhole ? texts.entries(count) : texts.loadingMore(entries.length, total), ...parts].map(plain).join(" · ")}
    </p>
  );
}
