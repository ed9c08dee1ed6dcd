// Actions on chosen entries, for menus and keys alike. Actions without the right are not offered.

import { Copy, Download, FolderInput, GitCompareArrows, Pencil, Trash2 } from "lucide";
import { offers } from "../../api/catalogue.js";
import { texts } from "../../texts.js";
import { joinPath } from "../../ui/format.js";
import { addressOf, navigate } from "../../ui/router.js";
import { isInArchive } from "../kinds.js";
import { listing } from "../listing.js";
import { mayChange } from "../roots.js";
import { removeItems } from "./delete.js";
import { download } from "./download.js";
import { rename } from "./new-items.js";
import { copyItems, moveItems } from "./relocate.js";

export interface Doing {
  readonly label: string;
  readonly icon: unknown;
  /** `KeyboardEvent.key` in the list. A letter is held with Alt: alone it is part of a name that one types. */
  readonly key?: string;
  /** The keys, for people. */
  readonly keys?: string;
  readonly isDanger?: boolean;
  readonly run: () => void;
}

/** @param names chosen entries of a folder */
export function doingsOf(root: string, folder: string, names: readonly string[]): readonly Doing[] {
  const [first] = names;
  if (first === undefined) return [];
  const paths = names.map((name) => joinPath(folder, name));
  const path = joinPath(folder, first);
  const isOne = names.length === 1;
  const isInside = isInArchive(folder);
  const isFile = listing.value?.entries.find(({ name }) => name === first)?.type === "file";
  const mayWrite = paths.every((one) => mayChange(root, one, "crud/write"));
  const mayDelete = paths.every((one) => mayChange(root, one, "crud/delete"));
  const doings: (Doing | false)[] = [
    isOne && isFile && !isInside && { label: texts.download, icon: Download, run: () => void download(root, path) },
    isOne &&
      !isInside &&
      offers("file:history") && {
        label: texts.history,
        icon: GitCompareArrows,
        run: () => navigate(addressOf("changes", root, path)),
      },
    isOne &&
      mayWrite &&
      mayDelete && { label: texts.rename, icon: Pencil, key: "F2", keys: "F2", run: () => void rename(root, path) },
    mayDelete && {
      label: texts.move,
      icon: FolderInput,
      key: "m",
      keys: "Alt+M",
      run: () => void moveItems(root, paths),
    },
    !isInside && { label: texts.copy, icon: Copy, key: "c", keys: "Alt+C", run: () => void copyItems(root, paths) },
    mayDelete && {
      label: texts.remove,
      icon: Trash2,
      key: "Delete",
      keys: "Delete",
      isDanger: true,
      run: () => void removeItems(root, paths),
    },
  ];
  return doings.filter((one) => one !== false);
}

/** Does what a key stands for. @returns whether it stands for something */
export function runDoing(event: KeyboardEvent, doings: readonly Doing[]): boolean {
  if (event.ctrlKey || event.metaKey) return false;
  const doing = doings.find(({ key = "" }) => isKey(event, key));
  doing?.run();
  return doing !== undefined;
}

/** Where Alt makes another character of a letter the place of its key counts. */
function isKey({ key, code, altKey }: KeyboardEvent, wanted: string): boolean {
  if (wanted.length !== 1) return !altKey && key === wanted;
  const isOther = !/^[a-z]$/i.test(key) && code === `Key${wanted.toUpperCase()}`;
  return altKey && (key.toLowerCase() === wanted || isOther);
}
