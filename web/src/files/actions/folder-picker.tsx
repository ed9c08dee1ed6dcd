// Picks a folder of any root.

import { Folder, FolderUp, HardDrive } from "lucide";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { read } from "../../api/call.js";
import { texts } from "../../texts.js";
import { Dialog, showDialog } from "../../ui/dialog.js";
import { focusByTyping } from "../../ui/focus-by-typing.js";
import { joinPath, parentOf } from "../../ui/format.js";
import { Icon } from "../../ui/icon.js";
import { Name } from "../../ui/name.js";
import { Skeleton } from "../../ui/states.js";
import { TypeAhead } from "../../ui/type-ahead.js";
import { roots } from "../roots.js";
import type { Target } from "./relocate.js";

interface PickerOptions {
  readonly title: string;
  readonly button: string;
  /** Where it begins. */
  readonly root: string;
  readonly path: string;
}

export const pickFolder = (options: PickerOptions): Promise<Target | undefined> =>
  showDialog<Target>((close) => <FolderPicker {...options} close={close} />);

function FolderPicker({
  title,
  button,
  root,
  path,
  close,
}: PickerOptions & { readonly close: (target?: Target) => void }): JSX.Element {
  const [place, setPlace] = useState<Target>({ root, path });
  return (
    <Dialog
      title={title}
      onClose={() => close()}
      onSubmit={() => place.root !== "" && close(place)}
      footer={
        <>
          <button type="button" onClick={() => close()}>
            {texts.cancel}
          </button>
          <button type="submit" class="primary" disabled={place.root === ""}>
            {button}
          </button>
        </>
      }
    >
      <FolderChooser place={place} onPlace={setPlace} />
    </Dialog>
  );
}

const MAX_LISTED = 10_000;

/** Walks folders. A place with an empty root stands for the list of roots. */
export function FolderChooser({
  place,
  onPlace,
}: {
  readonly place: Target;
  readonly onPlace: (place: Target) => void;
}): JSX.Element {
  const { root, path } = place;
  const [folders, setFolders] = useState<readonly string[] | undefined>(undefined);
  useEffect(() => {
    const own = new AbortController();
    setFolders(undefined);
    if (root !== "") {
      read("file:list", { root, ...(path === "" ? {} : { path }), limit: MAX_LISTED }, { signal: own.signal }).then(
        ({ entries }) => setFolders(entries.filter(({ type }) => type === "directory").map(({ name }) => name)),
        () => own.signal.aborted || setFolders([]),
      );
    }
    return () => own.abort();
  }, [root, path]);
  const typing = useRef(new TypeAhead());
  const list = useRef<HTMLUListElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    const all = [...(list.current?.querySelectorAll("button") ?? [])];
    if (event.key !== " " && focusByTyping(typing.current, event, all)) event.preventDefault();
  };
  const item = (key: string, icon: unknown, text: string, to: Target) => (
    <li key={key}>
      <button type="button" class="quiet" onClick={() => onPlace(to)}>
        <Icon of={icon} />
        <Name text={text} />
      </button>
    </li>
  );
  if (root === "") {
    return (
      <ul class="chooser" ref={list} onKeyDown={onKeyDown}>
        {(roots.value ?? []).map(({ name }) => item(name, HardDrive, name, { root: name, path: "" }))}
      </ul>
    );
  }
  return (
    <>
      <p class="chosen-place" aria-live="polite">
        <Name text={path === "" ? root : `${root}/${path}`} />
      </p>
      <ul class="chooser" ref={list} onKeyDown={onKeyDown}>
        {item("..", FolderUp, "..", path === "" ? { root: "", path: "" } : { root, path: parentOf(path) })}
        {folders === undefined ? (
          <Skeleton rows={3} />
        ) : (
          folders.map((name) => item(`/${name}`, Folder, name, { root, path: joinPath(path, name) }))
        )}
      </ul>
    </>
  );
}
