// Dragging: entries between folders of the page, and files from outside into it.

import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { texts } from "../texts.js";
import { relocate } from "./actions/relocate.js";
import { filesOfDrop } from "./uploads/dropped.js";
import { upload } from "./uploads/uploads.js";

const TYPE = "application/x-venue-files";

/** Begins to drag entries. */
export function dragOut(event: DragEvent, root: string, paths: readonly string[]): void {
  event.dataTransfer?.setData(TYPE, JSON.stringify({ root, paths }));
  if (event.dataTransfer !== null) event.dataTransfer.effectAllowed = "copyMove";
}

interface AreaProps {
  readonly root: string;
  readonly path: string;
  readonly isOn: boolean;
  readonly children: ComponentChildren;
}

/** Takes what is dropped, into the folder under the pointer (`data-drop`) or into its own; and what is pasted. */
export function DropArea({ root, path, isOn, children }: AreaProps): JSX.Element {
  const [isOver, setOver] = useState(false);
  const takes = (event: DragEvent) =>
    isOn && event.dataTransfer?.types.some((type) => type === TYPE || type === "Files") === true;
  const onDragOver = (event: DragEvent) => {
    if (!takes(event)) return;
    event.preventDefault();
    if (event.dataTransfer !== null)
      event.dataTransfer.dropEffect =
        event.ctrlKey || event.altKey ? "copy" : event.dataTransfer.types.includes(TYPE) ? "move" : "copy";
    setOver(true);
  };
  const onDrop = (event: DragEvent) => {
    setOver(false);
    if (!takes(event) || event.dataTransfer === null) return;
    event.preventDefault();
    void drop(event, { root, path: folderUnder(event) ?? path });
  };
  const onPaste = (event: ClipboardEvent) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (!isOn || files.length === 0) return;
    event.preventDefault();
    upload(
      { root, path },
      files.map((file) => ({ file, path: file.name })),
    );
  };
  return (
    <div
      class={isOver ? "drop-area over" : "drop-area"}
      onDragOver={onDragOver}
      onDragLeave={() => setOver(false)}
      onDrop={onDrop}
      onPaste={onPaste}
    >
      {children}
      <div class="drop-hint" aria-hidden="true">
        {texts.dropHere(path === "" ? root : path)}
      </div>
    </div>
  );
}

const folderUnder = (event: DragEvent): string | undefined =>
  event.target instanceof Element ? event.target.closest<HTMLElement>("[data-drop]")?.dataset["drop"] : undefined;

async function drop(event: DragEvent, target: { readonly root: string; readonly path: string }): Promise<void> {
  const own = event.dataTransfer?.getData(TYPE) ?? "";
  if (own === "") {
    upload(target, await filesOfDrop(event.dataTransfer));
    return;
  }
  const { root, paths } = JSON.parse(own) as { readonly root: string; readonly paths: readonly string[] };
  const isInItself = paths.some(
    (one) => root === target.root && (target.path === one || target.path.startsWith(`${one}/`)),
  );
  if (!isInItself) await relocate(event.ctrlKey || event.altKey ? "copy" : "move", root, paths, target);
}
