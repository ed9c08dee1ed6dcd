// Open files: what was read, what was typed, and which version it is based on. Buffers outlive their views.

import { signal } from "@preact/signals";
import { keepsDrafts } from "../api/base.js";
import { change, read } from "../api/call.js";
import { who } from "../api/catalogue.js";
import { type ApiError, asApiError } from "../api/errors.js";
import { personOf } from "../api/labels.js";
import { mayChange } from "../files/roots.js";
import { dropDraft, dropDraftsOf, findDraft, keepDraft } from "./drafts.js";
import { lastChange } from "./last-change.js";

/** The notice above the text. */
export type BufferNotice =
  /** `current`: etag of the file when the draft was restored. */
  | { readonly kind: "restored"; readonly isOlder: boolean; readonly current: string }
  | { readonly kind: "changed"; readonly by: string }
  | { readonly kind: "deleted"; readonly by: string }
  | { readonly kind: "moved"; readonly by: string; readonly root: string; readonly path: string }
  | { readonly kind: "reloaded"; readonly by: string }
  | { readonly kind: "denied" };

const MARK = "\ufeff";
const DRAFT_MS = 300;

export class Buffer {
  readonly did: string;
  readonly root: string;
  readonly path: string;
  readonly isDirty = signal(false);
  readonly isSaving = signal(false);
  readonly notice = signal<BufferNotice | undefined>(undefined);
  /** Grows when the text is loaded anew, so that the editor shows it. */
  readonly revision = signal(0);
  /** Text of the version `etag`, without its byte order mark. */
  base = "";
  etag = "";
  encoding = "utf-8";
  hasMark = false;
  size = 0;
  mime = "";
  /** The editor's own state, kept while another file is on screen. */
  editorState: unknown;
  /** The view before another version is shown: its text, the position of the cursor, and the line on top. */
  place:
    | {
        readonly text: string;
        readonly at: number;
        readonly top: number;
        /** Pixels of the line on top that were out of view. */
        readonly above: number;
        readonly hasFocus: boolean;
      }
    | undefined;
  /** The text as it is now. */
  text: () => string = () => this.base;
  /** The position of the cursor in the file. */
  position: () => number = () => 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #ready: Promise<void> | undefined;

  constructor(did: string, root: string, path: string) {
    this.did = did;
    this.root = root;
    this.path = path;
  }

  /** Reads the file once, however many wait for it. @throws as {@link load} */
  ready(): Promise<void> {
    this.#ready ??= this.load();
    return this.#ready;
  }

  /** Reads the file. Text that was typed stays. @throws ApiError `NOT_TEXT`, `TOO_LARGE`, … */
  async load(): Promise<void> {
    const [version, draft] = await Promise.all([readText(this), findDraft(this)]);
    this.take(version);
    if (draft === undefined || draft.text === this.base) return;
    const current = this.etag;
    [this.base, this.etag] = [draft.base, draft.etag];
    this.notice.value = { kind: "restored", isOlder: draft.etag !== current, current };
    this.show(draft.text);
    this.isDirty.value = true;
  }

  /** Makes a version the base of the text, and shows it. */
  take(version: ReadText): void {
    this.rebase(version);
    this.show(this.base);
    this.isDirty.value = false;
  }

  /** Makes a version the base of the text; the text stays. */
  rebase({ content, etag, encoding, size, mime }: ReadText): void {
    this.hasMark = content.startsWith(MARK);
    this.base = this.hasMark ? content.slice(1) : content;
    [this.etag, this.encoding, this.size, this.mime] = [etag, encoding, size, mime];
  }

  /** Shows another text. */
  show(text: string): void {
    this.text = () => text;
    this.editorState = undefined;
    this.revision.value += 1;
  }

  /** Told by the editor at each change. */
  typed(isDirty: boolean): void {
    this.isDirty.value = isDirty;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.keep(), DRAFT_MS);
  }

  /** Keeps the text as a draft, or drops the draft of a text that is saved. */
  async keep(): Promise<void> {
    clearTimeout(this.#timer);
    if (!this.isDirty.value) return dropDraft(this);
    const { did, root, path, base, etag } = this;
    await keepDraft({ did, root, path, base, etag, text: this.text(), time: Date.now() });
  }

  /**
   * Saves under the version it is based on.
   * @param isNew the file is gone, and is made again
   * @throws ApiError, `CONFLICT` if there is another by now
   */
  async save(isNew = false): Promise<void> {
    const text = this.text();
    this.isSaving.value = true;
    try {
      const { etag } = await (isNew ? create(this, text) : write(this, text));
      this.base = text;
      this.etag = etag ?? "";
      this.isDirty.value = this.text() !== text;
      this.notice.value = undefined;
      await this.keep();
    } finally {
      this.isSaving.value = false;
    }
  }

  /** Discards the typed text. */
  async discard(): Promise<void> {
    this.show(this.base);
    this.isDirty.value = false;
    this.notice.value = undefined;
    await dropDraft(this);
  }
}

export interface ReadText {
  readonly content: string;
  readonly etag: string;
  readonly encoding: string;
  readonly size: number;
  readonly mime: string;
}

/** @throws ApiError */
export async function readText({ root, path }: { readonly root: string; readonly path: string }): Promise<ReadText> {
  const {
    content = "",
    etag = "",
    encoding = "utf-8",
    size,
    mime,
  } = await read("file:read", { root, path, mode: "text" });
  return { content, etag, encoding, size, mime };
}

const create = ({ root, path, hasMark }: Buffer, text: string): Promise<{ readonly etag?: string }> =>
  change("file:write", { root, path, content: hasMark ? MARK + text : text, ifNoneMatch: "*", parents: true });

/** Encoding and byte order mark stay: what is not plain UTF-8 is written by an edit of the whole. */
function write(buffer: Buffer, text: string): Promise<{ readonly etag?: string }> {
  const { root, path, encoding, etag, base, hasMark } = buffer;
  const condition = etag === "" ? {} : { ifMatch: etag };
  if (/^utf-?8$/i.test(encoding) || base === "") {
    return change("file:write", { root, path, content: hasMark ? MARK + text : text, ...condition });
  }
  if (base === text) return Promise.resolve({ etag });
  return change("file:edit", { root, path, oldText: base, newText: text, encoding, ...condition });
}

const buffers = new Map<string, Buffer>();
const keyOf = (did: string, root: string, path: string): string => JSON.stringify([did, root, path]);

/** The buffer of a file for the signed-in caller; each caller has its own. */
export function bufferOf(root: string, path: string): Buffer {
  const did = who.value?.did ?? "";
  const key = keyOf(did, root, path);
  const known = buffers.get(key);
  if (known !== undefined) return known;
  const buffer = new Buffer(did, root, path);
  buffers.set(key, buffer);
  return buffer;
}

/** Forgets a buffer that has nothing unsaved, so that the next view reads the file again. */
export function release(buffer: Buffer): void {
  if (!buffer.isDirty.value && !buffer.isSaving.value) buffers.delete(keyOf(buffer.did, buffer.root, buffer.path));
}

export const unsavedCount = (): number =>
  [...buffers.values()].filter(({ isDirty, did }) => isDirty.value && did === who.value?.did).length;

/** Forgets all that the caller has typed. */
export async function discardDrafts(): Promise<void> {
  const did = who.value?.did ?? "";
  for (const [key, buffer] of buffers) if (buffer.did === did) buffers.delete(key);
  await dropDraftsOf(did);
}

/** Looks whether the file is still the version that the text is based on. @returns the failure, if any */
export async function refresh(buffer: Buffer): Promise<ApiError | undefined> {
  if (buffer.isSaving.value || buffer.etag === "") return undefined;
  const { root, path, notice } = buffer;
  try {
    const { exists, etag } = await read("file:stat", { root, path, hash: true });
    if (buffer.isSaving.value) return undefined;
    // The notice of an older draft already tells of this version.
    if (notice.value?.kind === "restored" && notice.value.current === etag) return undefined;
    if (etag === buffer.etag) {
      const kind = notice.value?.kind ?? "";
      const isOver =
        kind === "deleted" || kind === "moved" || (kind === "denied" && mayChange(root, path, "crud/write"));
      if (isOver) notice.value = undefined;
    } else if (exists) await showChange(buffer, etag);
    else await showGone(buffer);
    return undefined;
  } catch (error) {
    const failure = asApiError(error);
    if (failure.code === "NOT_FOUND") await showGone(buffer);
    else if (failure.code === "CAPABILITY_DENIED") notice.value = { kind: "denied" };
    return failure;
  }
}

/** Shows another version, or if text was typed, a notice of it. */
async function showChange(buffer: Buffer, etag: string | undefined): Promise<void> {
  const last = await lastChange(buffer);
  const by = last?.after?.etag === etag && last !== undefined ? personOf(last.actor) : "";
  const version = buffer.isDirty.value ? undefined : await readText(buffer);
  if (buffer.isSaving.value) return;
  if (version === undefined || buffer.isDirty.value) buffer.notice.value = { kind: "changed", by };
  else {
    buffer.take(version);
    buffer.notice.value = { kind: "reloaded", by };
  }
}

async function showGone(buffer: Buffer): Promise<void> {
  const { root, path, notice } = buffer;
  if (notice.value?.kind === "deleted" || notice.value?.kind === "moved") return;
  const last = await lastChange(buffer);
  const by = last === undefined ? "" : personOf(last.actor);
  const isMoved = last?.op === "move" && last.from === path && (last.fromRoot ?? last.root) === root;
  if (isMoved) notice.value = { kind: "moved", by, root: last.root, path: last.path };
  else notice.value = { kind: "deleted", by: last?.op === "delete" ? by : "" };
}

/** Moves the typed text along to the new path of the file. */
export async function carryTo(buffer: Buffer, root: string, path: string): Promise<void> {
  const { did, base, etag } = buffer;
  if (buffer.isDirty.value) await keepDraft({ did, root, path, base, etag, text: buffer.text(), time: Date.now() });
  await buffer.discard();
}

let isReloading = false;

/** Keeps all that was typed, so that the page may be loaded again; where nothing is kept on disk the browser asks first. */
export async function keepAll(): Promise<void> {
  await Promise.all([...buffers.values()].map((buffer) => buffer.keep()));
  isReloading = keepsDrafts;
}

/** A tab that is closed or hidden keeps what was typed a moment before. */
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") for (const buffer of buffers.values()) void buffer.keep();
});
addEventListener("beforeunload", (event) => {
  for (const buffer of buffers.values()) void buffer.keep();
  if (unsavedCount() > 0 && !isReloading) event.preventDefault();
});
