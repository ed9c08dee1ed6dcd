// Actions in a folder, and on the chosen entries.

import { EllipsisVertical, FilePlus, FolderPlus, FolderUp, RefreshCw, Search, Trash2, Upload } from "lucide";
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { offers } from "../api/catalogue.js";
import { texts } from "../texts.js";
import { Icon } from "../ui/icon.js";
import { Menu } from "../ui/menu.js";
import { addressOf, navigate } from "../ui/router.js";
import { hasTrash } from "./actions/delete.js";
import { doingsOf } from "./actions/entry-actions.js";
import { newFile, newFolder } from "./actions/new-items.js";
import { type Entry, list } from "./listing.js";
import { areRootsKnown, mayChange } from "./roots.js";
import { selected } from "./selection.js";
import { filesOfInput } from "./uploads/dropped.js";
import { upload } from "./uploads/uploads.js";

interface ToolbarProps {
  readonly root: string;
  readonly path: string;
  readonly entries: readonly Entry[];
  readonly filter: string;
  readonly onFilter: (filter: string) => void;
}

export function FolderToolbar({ root, path, entries, filter, onFilter }: ToolbarProps): JSX.Element {
  const names = entries.filter(({ name }) => selected.value.has(name)).map(({ name }) => name);
  const mayWrite = areRootsKnown() && mayChange(root, path, "crud/write");
  return (
    <div class="toolbar" role="toolbar" aria-label={texts.places["files"]}>
      <input
        type="search"
        class="filter"
        placeholder={texts.filter}
        aria-label={texts.filter}
        value={filter}
        onInput={(event) => onFilter(event.currentTarget.value)}
      />
      <button
        type="button"
        class="quiet"
        onClick={() => navigate(addressOf("files", root, path, { directory: true, query: { search: "" } }))}
      >
        <Icon of={Search} />
        <span class="wide-only">{texts.search}</span>
      </button>
      <span class="spring" />
      {names.length > 0 ? (
        <Chosen root={root} path={path} names={names} />
      ) : (
        <>
          <button
            type="button"
            class="quiet square"
            aria-label={texts.refresh}
            title={texts.refresh}
            onClick={() => void list(root, path)}
          >
            <Icon of={RefreshCw} />
          </button>
          {offers("file:trash") && hasTrash(root) ? (
            <a
              class="button quiet square"
              href={addressOf("files", root, path, { directory: true, query: { trash: "" } })}
              aria-label={texts.trash}
              title={texts.trash}
            >
              <Icon of={Trash2} />
            </a>
          ) : null}
          {mayWrite ? <NewThings root={root} path={path} /> : null}
        </>
      )}
    </div>
  );
}

function Chosen({
  root,
  path,
  names,
}: {
  readonly root: string;
  readonly path: string;
  readonly names: readonly string[];
}): JSX.Element {
  return (
    <div class="chosen">
      <span class="hint" role="status">
        {texts.selectedCount(names.length)}
      </span>
      {doingsOf(root, path, names).map(({ label, icon, isDanger, run, keys }) => (
        <button
          key={label}
          type="button"
          class={isDanger === true ? "quiet danger" : "quiet"}
          aria-label={label}
          title={keys === undefined ? label : `${label} (${keys})`}
          aria-keyshortcuts={keys}
          onClick={run}
        >
          <Icon of={icon} />
          <span class="wide-only">{label}</span>
        </button>
      ))}
    </div>
  );
}

function NewThings({ root, path }: { readonly root: string; readonly path: string }): JSX.Element {
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  const picked = (event: Event) => {
    const input = event.currentTarget as HTMLInputElement;
    upload({ root, path }, filesOfInput(input));
    input.value = "";
  };
  return (
    <>
      <input ref={files} type="file" multiple hidden onChange={picked} aria-label={texts.upload} />
      <input
        ref={folder}
        type="file"
        hidden
        onChange={picked}
        aria-label={texts.uploadFolder}
        {...{ webkitdirectory: true }}
      />
      <button type="button" onClick={() => files.current?.click()}>
        <Icon of={Upload} />
        <span class="wide-only">{texts.upload}</span>
      </button>
      <button type="button" onClick={() => void newFile(root, path)}>
        <Icon of={FilePlus} />
        <span class="wide-only">{texts.newFile}</span>
      </button>
      <Menu
        label={texts.more}
        buttonClass="square"
        items={[
          { label: texts.newFolder, icon: FolderPlus, run: () => void newFolder(root, path) },
          { label: texts.uploadFolder, icon: FolderUp, run: () => folder.current?.click() },
        ]}
      >
        <Icon of={EllipsisVertical} />
      </Menu>
    </>
  );
}
