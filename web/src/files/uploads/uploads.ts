// The queue of uploads: three at a time, each with progress; it goes on while one walks about.

import { signal } from "@preact/signals";
import { change, read } from "../../api/call.js";
import { ApiError, asApiError } from "../../api/errors.js";
import { joinPath, nameOf, parentOf } from "../../ui/format.js";
import { refreshFolder } from "../actions/delete.js";
import { ClashAsker, freeName } from "../actions/name-conflict.js";
import type { FileToUpload } from "./dropped.js";
import { dropParts, goesInParts, moveIntoPlace, partPathOf, sendParts } from "./parts.js";
import { sendFile } from "./sending.js";
import { dropUnfinished, keepUnfinished, unfinished } from "./unfinished.js";

export type UploadState =
  | "waiting"
  | "running"
  | "paused"
  | "done"
  | "failed"
  | "skipped"
  | "cancelled"
  /** Begun before the page was loaded anew: it needs the file again. */
  | "unfinished";

export interface Upload {
  readonly id: number;
  readonly root: string;
  readonly path: string;
  readonly size: number;
  /** Absent: it has to be chosen again. */
  readonly file?: File;
  /** Where its parts are gathered; absent: it is sent as a whole. */
  readonly part?: string;
  readonly state: UploadState;
  readonly sent: number;
  readonly error?: ApiError;
}

type Condition = "new" | "replace";

export const uploads = signal<readonly Upload[]>([]);
const MAX_AT_ONCE = 3;
let nextId = 0;
const running = new Map<number, AbortController>();
const askers = new Map<number, ClashAsker>();

/** Puts files into the queue. */
export function upload(target: { readonly root: string; readonly path: string }, files: readonly FileToUpload[]): void {
  const asker = new ClashAsker(files.length > 1);
  for (const { file, path } of files) add(target.root, joinPath(target.path, path), file, asker);
  pump();
}

function add(root: string, path: string, file: File, asker: ClashAsker): void {
  nextId += 1;
  askers.set(nextId, asker);
  const parts = goesInParts(root, path, file.size) ? { part: partPathOf(path, file) } : {};
  const others = uploads.value.filter((one) => one.state !== "unfinished" || one.part !== parts.part);
  uploads.value = [...others, { id: nextId, root, path, size: file.size, file, ...parts, state: "waiting", sent: 0 }];
}

/** Shows uploads begun before the page was loaded anew. */
export async function findUnfinished(): Promise<void> {
  const known = new Set(uploads.value.map(({ part }) => part));
  for (const { root, path, part, size } of unfinished()) {
    if (known.has(part)) continue;
    const found = await read("file:stat", { root, path: part }).catch(() => undefined);
    if (found?.exists !== true) {
      if (found !== undefined) dropUnfinished({ root, part });
      continue;
    }
    nextId += 1;
    const one: Upload = { id: nextId, root, path, part, size, state: "unfinished", sent: found.size ?? 0 };
    uploads.value = [...uploads.value, one];
  }
}

/** Goes on with an upload that was begun before. @returns whether it is that file */
export function goOn({ id, root, path, part }: Upload, file: File): boolean {
  if (partPathOf(path, file) !== part) return false;
  uploads.value = uploads.value.filter((one) => one.id !== id);
  add(root, path, file, new ClashAsker(false));
  pump();
  return true;
}

const update = (id: number, change: Partial<Upload>): void => {
  uploads.value = uploads.value.map((one) => (one.id === id ? { ...one, ...change } : one));
};

function pump(): void {
  const active = uploads.value.filter(({ state }) => state === "running").length;
  const next = uploads.value.filter(({ state }) => state === "waiting").slice(0, Math.max(0, MAX_AT_ONCE - active));
  for (const one of next) void begin(one);
}

async function begin(one: Upload, condition: Condition = "new"): Promise<void> {
  update(one.id, { state: "running" });
  const abort = new AbortController();
  running.set(one.id, abort);
  try {
    await send(one, condition, abort.signal);
    settle(one, { state: "done", sent: one.size });
    refreshFolder(one.root, parentOf(one.path));
  } catch (error) {
    const told = asApiError(error);
    const state = uploads.value.find(({ id }) => id === one.id)?.state;
    const isClash = told.code === "ALREADY_EXISTS" || (one.part === undefined && told.status === 412);
    if (state !== "running" || abort.signal.aborted) pump();
    else if (condition === "new" && isClash) await resolveClash(one);
    else settle(one, { state: "failed", error: told });
  }
}

function settle({ id }: Upload, change: Partial<Upload>): void {
  running.delete(id);
  update(id, change);
  pump();
}

async function resolveClash(one: Upload): Promise<void> {
  const answer = (await askers.get(one.id)?.ask(nameOf(one.path))) ?? "skip";
  if (answer === "skip") {
    settle(one, { state: "skipped" });
    giveUp(one);
  } else if (answer === "replace") await begin(one, "replace");
  else {
    const name = await freeName({ root: one.root, path: parentOf(one.path) }, nameOf(one.path));
    const path = joinPath(parentOf(one.path), name);
    update(one.id, { path });
    await begin({ ...one, path });
  }
}

/** Sends one file. Replaces only the version that is there now. */
async function send(one: Upload, condition: Condition, abort: AbortSignal): Promise<void> {
  const { id, root, path, file, part } = one;
  if (file === undefined) throw new ApiError("PAGE", "The file is not there.");
  // A folder that is called as the root has to be there, or its name is taken for that of the root.
  if (path.startsWith(`${root}/`)) await change("file:mkdir", { root, path: root });
  const replaced = condition === "replace" ? await read("file:stat", { root, path, hash: true }) : undefined;
  const onSent = (sent: number) => update(id, { sent });
  if (part === undefined) {
    const known: Record<string, string> = replaced?.hash === undefined ? {} : { "if-match": `"${replaced.hash}"` };
    const headers = condition === "new" ? { "if-none-match": "*" } : known;
    await sendFile({ method: "PUT", root, path, body: file, headers, signal: abort, onProgress: onSent });
    return;
  }
  // Told before all of it was sent; the move asks again.
  if (condition === "new" && (await read("file:stat", { root, path })).exists)
    throw new ApiError("ALREADY_EXISTS", `${path} exists already.`);
  const place = { root, path, part };
  keepUnfinished(place, file.size);
  await sendParts(place, file, { signal: abort, onSent });
  await moveIntoPlace(place, replaced);
  dropUnfinished(place);
}

/** Removes the parts of an upload that does not go on. */
function giveUp({ root, part }: Upload): void {
  if (part === undefined) return;
  dropUnfinished({ root, part });
  void dropParts({ root, part }).catch(() => {});
}

function stop(id: number, state: UploadState): void {
  update(id, { state });
  running.get(id)?.abort();
  running.delete(id);
  pump();
}

export const pause = (id: number): void => stop(id, "paused");

export function cancel(id: number): void {
  stop(id, "cancelled");
  const one = uploads.value.find((other) => other.id === id);
  if (one !== undefined) giveUp(one);
}

/** Begins one again: after a pause, a failure or a broken connection. One in parts goes on where it was. */
export function retry(id: number): void {
  uploads.value = uploads.value.map((one) => {
    if (one.id !== id) return one;
    const { error: _, ...rest } = one;
    return { ...rest, state: "waiting", sent: one.part === undefined ? 0 : one.sent };
  });
  pump();
}

export function retryFailed(): void {
  for (const { id, state } of uploads.value) if (state === "failed") retry(id);
}

/** Forgets all that have ended well or by choice. */
export function clearDone(): void {
  uploads.value = uploads.value.filter(
    ({ state }) => !(["done", "skipped", "cancelled"] as readonly UploadState[]).includes(state),
  );
}
