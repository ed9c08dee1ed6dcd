// Notices that another caller has changed an open file: by events where there are any, else by looking.

import { type FileEvent, follow, isLive } from "../api/events.js";
import { online } from "../api/http.js";
import { type Buffer, refresh } from "./buffers.js";

const LOOK_MS = 5000;

/** @returns what ends it */
export function followBuffer(buffer: Buffer): () => void {
  const look = () => {
    if (document.visibilityState === "visible" && online.value) void refresh(buffer);
  };
  const stop = follow([`files:${buffer.root}/${buffer.path}`], ({ name, data }) => {
    if (name === "overflow") look();
    const { path, from } = (data ?? {}) as FileEvent;
    if (path === buffer.path || from === buffer.path) void refresh(buffer);
  });
  const timer = setInterval(() => {
    if (!isLive.value) look();
  }, LOOK_MS);
  const stopOnline = online.subscribe((isOnline) => {
    if (isOnline) look();
  });
  addEventListener("focus", look);
  return () => {
    stop();
    stopOnline();
    clearInterval(timer);
    removeEventListener("focus", look);
  };
}
