// Dragging: entries between folders of the page, and files from outside into it.

import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { texts } from "../texts.js";
import { relocate } from "./actions/relocate.js";
import { areRootsKnown, mayChange } from "./roots.js";
import { filesOfDrop } from "./uploads/dropped.js";
import { upload } from "./uploads/uploads.js";

const TYPE = "application/x-venue-files";

/** Begins to drag entries. */
export function dragOut(event: DragEvent, root: string, paths: readonly string[]): void {
  event.dataTransfer?.setData(TYPE, JSON.stringify({ root, paths }));
  if (event.dataTransfer !== null) event.dataTransfer.effectAllowed = "copyMove";
}

/** Where something may be dropped: a folder, and those in it that stand under the pointer (`data-drop`). */
export interface DropTarget {
  readonly root: string;
  readonly path: string;
}

interface Drop {
  /** The folder that takes what is held over it now, and how. */
  readonly over: { readonly path: string; readonly how: "move" | "copy" | "upload" } | undefined;
  readonly handlers: {
    readonly onDragOver: (event: DragEvent) => void;
    readonly onDragLeave: () => void;
    readonly onDrop: (event: DragEvent) => void;
  };
}

const takesFiles = ({ root, path }: DropTarget): boolean => areRootsKnown() && mayChange(root, path, "crud/write");

export function useDrop({ root, path }: DropTarget): Drop {
  const [over, setOver] = useState<Drop["over"]>(undefined);
  const takes = (event: DragEvent) =>
    event.dataTransfer?.types.some((type) => type === TYPE || type === "Files") === true &&
    takesFiles({ root, path: folderUnder(event) ?? path });
  const onDragOver = (event: DragEvent) => {
    if (!takes(event)) {
      setOver(undefined);
      return;
    }
    event.preventDefault();
    const isOwn = event.dataTransfer?.types.includes(TYPE) === true;
    const how = !isOwn ? "upload" : event.ctrlKey || event.altKey ? "copy" : "move";
    if (event.dataTransfer !== null) event.dataTransfer.dropEffect = how === "move" ? "move" : "copy";
    setOver({ path: folderUnder(event) ?? path, how });
  };
  const onDrop = (event: DragEvent) => {
    setOver(undefined);
    if (!takes(event) || event.dataTransfer === null) return;
    event.preventDefault();
    void drop(event, { root, path: folderUnder(event) ?? path });
  };
  return { over, handlers: { onDragOver, onDragLeave: () => setOver(undefined), onDrop } };
}

/** Takes what is dropped, and what is pasted. */
export function DropArea({ children, ...target }: DropTarget & { readonly children: ComponentChildren }): JSX.Element {
  const { root, path } = target;
  const { over, handlers } = useDrop(target);
  const onPaste = (event: ClipboardEvent) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length === 0 || !takesFiles(target)) return;
    event.preventDefault();
    upload(
      { root, path },
      files.map((file) => ({ file, path: file.name })),
    );
  };
  return (
    <div class={over === undefined ? "drop-area" : "drop-area over"} onPaste={onPaste} {...handlers}>
      {children}
      <div class="drop-hint" aria-hidden="true">
        {over === undefined ? null : <span>{texts.dropHere[over.how](over.path === "" ? root : over.path)}</span>}
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
