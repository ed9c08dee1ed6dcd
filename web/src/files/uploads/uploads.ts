// The queue of uploads: three at a time, each with progress; it goes on while one walks about.

import { signal } from "@preact/signals";
import { venuePath } from "../../api/base.js";
import { read } from "../../api/call.js";
import { ApiError } from "../../api/errors.js";
import { online, token } from "../../api/http.js";
import { joinPath, nameOf, parentOf } from "../../ui/format.js";
import { ClashAsker, freeName } from "../actions/clash.js";
import { refreshFolder } from "../actions/delete.js";
import type { FileToUpload } from "./dropped.js";

export type UploadState = "waiting" | "running" | "paused" | "done" | "failed" | "skipped" | "cancelled";

export interface Upload {
  readonly id: number;
  readonly root: string;
  readonly path: string;
  readonly file: File;
  readonly state: UploadState;
  readonly sent: number;
  readonly error?: ApiError;
}

export const uploads = signal<readonly Upload[]>([]);
const MOST_AT_ONCE = 3;
let nextId = 0;
const running = new Map<number, XMLHttpRequest>();
const askers = new Map<number, ClashAsker>();

/** Puts files into the queue. */
export function upload(target: { readonly root: string; readonly path: string }, files: readonly FileToUpload[]): void {
  const asker = new ClashAsker(files.length > 1);
  const added = files.map(({ file, path }): Upload => {
    nextId += 1;
    askers.set(nextId, asker);
    return { id: nextId, root: target.root, path: joinPath(target.path, path), file, state: "waiting", sent: 0 };
  });
  uploads.value = [...uploads.value, ...added];
  pump();
}

const update = (id: number, change: Partial<Upload>): void => {
  uploads.value = uploads.value.map((one) => (one.id === id ? { ...one, ...change } : one));
};

function pump(): void {
  const active = uploads.value.filter(({ state }) => state === "running").length;
  const next = uploads.value.filter(({ state }) => state === "waiting").slice(0, Math.max(0, MOST_AT_ONCE - active));
  for (const one of next) void begin(one);
}

async function begin(one: Upload, condition: "new" | "replace" = "new"): Promise<void> {
  update(one.id, { state: "running", sent: 0 });
  try {
    await send(one, condition);
    settle(one, { state: "done", sent: one.file.size });
    refreshFolder(one.root, parentOf(one.path));
  } catch (error) {
    const told = error instanceof ApiError ? error : new ApiError("PAGE", String(error));
    const state = uploads.value.find(({ id }) => id === one.id)?.state;
    if (state !== "running") pump();
    else if (condition === "new" && (told.status === 412 || told.code === "ALREADY_EXISTS")) await resolveClash(one);
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
  if (answer === "skip") settle(one, { state: "skipped" });
  else if (answer === "replace") await begin(one, "replace");
  else {
    const name = await freeName({ root: one.root, path: parentOf(one.path) }, nameOf(one.path));
    const path = joinPath(parentOf(one.path), name);
    update(one.id, { path });
    await begin({ ...one, path });
  }
}

/** Sends one file; XMLHttpRequest, since fetch tells no progress. Replaces only the version that is there now. */
async function send({ id, root, path, file }: Upload, condition: "new" | "replace"): Promise<void> {
  const { etag } = condition === "replace" ? await read("file:stat", { root, path, hash: true }) : { etag: undefined };
  await new Promise<void>((resolve, reject) => {
    const call = new XMLHttpRequest();
    running.set(id, call);
    const place = [root, ...path.split("/")].map(encodeURIComponent).join("/");
    call.open("PUT", `${venuePath}/api/v1/files/${place}?parents=true`);
    if (token.value !== undefined) call.setRequestHeader("authorization", `Bearer ${token.value}`);
    if (condition === "new") call.setRequestHeader("if-none-match", "*");
    else if (etag !== undefined) call.setRequestHeader("if-match", `"${etag}"`);
    call.upload.onprogress = ({ loaded }) => update(id, { sent: Math.min(loaded, file.size) });
    call.onerror = () => {
      online.value = false;
      reject(new ApiError("OFFLINE", "The connection broke."));
    };
    call.onabort = () => reject(new ApiError("ABORTED", "Stopped."));
    call.onload = () => (call.status < 300 ? resolve() : reject(failureOf(call)));
    call.send(file);
  });
}

function failureOf(call: XMLHttpRequest): ApiError {
  const requestId = call.getResponseHeader("x-request-id") ?? "";
  let told: { error?: string; errorCode?: string; errorData?: Record<string, unknown> } = {};
  try {
    told = JSON.parse(call.responseText);
  } catch {
    // A proxy's answer: the status says enough.
  }
  return new ApiError(
    told.errorCode ?? `HTTP_${call.status}`,
    told.error ?? `The venue answered ${call.status}.`,
    call.status,
    told.errorData ?? {},
    requestId,
  );
}

function stop(id: number, state: UploadState): void {
  update(id, { state });
  running.get(id)?.abort();
  running.delete(id);
  pump();
}

export const pause = (id: number): void => stop(id, "paused");
export const cancel = (id: number): void => stop(id, "cancelled");

/** Begins one again: after a pause, a failure or a broken connection. */
export function retry(id: number): void {
  uploads.value = uploads.value.map((one) =>
    one.id === id ? { ...one, state: "waiting", sent: 0, error: undefined } : one,
  ) as readonly Upload[];
  pump();
}

export function retryFailed(): void {
  for (const { id, state } of uploads.value) if (state === "failed") retry(id);
}

/** Forgets all that have ended well or by choice. */
export function clearDone(): void {
  uploads.value = uploads.value.filter(({ state }) => ["waiting", "running", "paused", "failed"].includes(state));
}
