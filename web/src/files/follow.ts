// Shows what others change in the folder on screen, where the venue tells.

import { type FileEvent, follow } from "../api/events.js";
import { isUnfinished } from "./uploads/unfinished.js";

/** Events of a busy folder become one look a second. */
const LOOK_MS = 1000;

/** @returns what ends it */
export function followFolder(root: string, path: string, changed: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = follow([`files:${root}${path === "" ? "" : `/${path}`}`], (event) => {
    const isOther = event.name === "overflow" || isDirectlyIn(path, event.data as FileEvent);
    // The parts of an upload from here come many times a second; the folder changes when the file is whole.
    if (!isOther || isUnfinished(root, (event.data as FileEvent | null)?.path)) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      changed();
    }, LOOK_MS);
  });
  return () => {
    clearTimeout(timer);
    stop();
  };
}

function isDirectlyIn(folder: string, { path, from }: FileEvent): boolean {
  return [path, from].some((one) => one !== undefined && one.slice(0, Math.max(0, one.lastIndexOf("/"))) === folder);
}
