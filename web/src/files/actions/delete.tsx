// Deleting: into the trash with a way back, or for good, which the dialog says first.

import { change } from "../../api/call.js";
import { offers, takes } from "../../api/catalogue.js";
import { texts } from "../../texts.js";
import { Dialog, showDialog } from "../../ui/dialog.js";
import { parentOf } from "../../ui/format.js";
import { Name } from "../../ui/name.js";
import { notify, notifyFailure } from "../../ui/notices.js";
import { list, listing } from "../listing.js";
import { rootNamed } from "../roots.js";
import { clearSelection } from "../selection.js";
import { refreshTree } from "../tree.js";

const MAX_NAMED = 8;

/** Whether deleted entries of a root can come back. */
export function hasTrash(root: string): boolean {
  if (rootNamed(root)?.kept === false) return false;
  return offers("file:undo") && takes("file:delete", "permanent") && rootNamed(root)?.kind === "host";
}

export async function removeItems(root: string, paths: readonly string[]): Promise<void> {
  if (paths.length === 0 || !(await confirm(root, paths))) return;
  const ids: string[] = [];
  let done = 0;
  for (const path of paths) {
    try {
      const { trashed, id } = (await change("file:delete", { root, path, recursive: true })) as {
        trashed?: boolean;
        id?: string;
      };
      done += 1;
      if (trashed === true && id !== undefined) ids.push(id);
    } catch (error) {
      notifyFailure(error);
    }
  }
  clearSelection();
  refreshFolder(root, parentOf(paths[0] ?? ""));
  if (done > 0)
    notify(
      texts.deleted(done),
      ids.length === 0 ? undefined : { label: texts.undo, run: () => void takeBack(root, ids, paths) },
    );
}

async function takeBack(root: string, ids: readonly string[], paths: readonly string[]): Promise<void> {
  try {
    await change("file:undo", { root, ids });
    notify(texts.undone);
    refreshFolder(root, parentOf(paths[0] ?? ""));
  } catch (error) {
    notifyFailure(error);
  }
}

/** Shows a folder anew after a change in it. */
export function refreshFolder(root: string, path: string): void {
  refreshTree(root, path);
  if (listing.value?.root === root && listing.value.path === path) void list(root, path);
}

async function confirm(root: string, paths: readonly string[]): Promise<boolean> {
  const isSure = await showDialog<boolean>((close) => (
    <Dialog
      title={texts.deleteTitle(paths.length)}
      onClose={() => close()}
      onSubmit={() => close(true)}
      footer={
        <>
          <button type="button" data-autofocus={hasTrash(root) ? undefined : true} onClick={() => close()}>
            {texts.cancel}
          </button>
          <button type="submit" class="primary danger" data-autofocus={hasTrash(root) ? true : undefined}>
            {texts.remove}
          </button>
        </>
      }
    >
      <ul class="names">
        {paths.slice(0, MAX_NAMED).map((path) => (
          <li key={path}>
            <Name text={path} />
          </li>
        ))}
        {paths.length > MAX_NAMED ? <li>…</li> : null}
      </ul>
      <p class={hasTrash(root) ? "" : "warning"}>{hasTrash(root) ? texts.deleteToTrash : texts.deleteForGood}</p>
    </Dialog>
  ));
  return isSure === true;
}
