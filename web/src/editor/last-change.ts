// Looks up in the history who changed an open file, and what became of it.

import { read } from "../api/call.js";
import { offers } from "../api/catalogue.js";
import type { HistoryEntry } from "../api/operations.js";

/** The newest entry of a path; `undefined` on any failure. */
export async function lastChange({
  root,
  path,
}: {
  readonly root: string;
  readonly path: string;
}): Promise<HistoryEntry | undefined> {
  if (!offers("file:history")) return undefined;
  const page = await read("file:history", { root, path, limit: 1 }).catch(() => undefined);
  return page?.entries[0];
}
