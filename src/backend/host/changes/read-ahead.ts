// Reads the files of a walk by a thread, ahead of their delivery in the order of the walk.

import type { CallScope } from "../../../core/call/scope.js";
import { type Io, isPending } from "../../../core/io.js";
import type { WalkContent, WalkEntry, WalkOptions } from "../../../core/ports/backend.js";
import type { Name } from "../../../jail/directory.js";
import { NO_FOLLOW_PATH, type Pinned } from "../../../jail/handles.js";
import type { Jail } from "../../../jail/jail.js";
import type { NativeCalls } from "../../../jail/native/calls.js";
import { readBatch } from "../../../jail/reading/batch-reader.js";
import { NOT_REGULAR, TOO_LARGE } from "../../../jail/reading/read-regular.js";
import { type Reading, ReadThread } from "../../../jail/reading/read-thread.js";
import { BATCH_FILES, type Slot } from "../../../jail/reading/slot.js";
import { closeNow } from "../../../jail/sys.js";
import type { FileTaker } from "./read-whole.js";

/** Files that a walk reads by itself before it asks for the thread: starting one takes as long as some thousand files. */
const WORTH_A_THREAD = 512;
/** Most directories of a batch, each of which holds a descriptor. */
const BATCH_FOLDERS = 16;

type Content = NonNullable<WalkOptions["content"]>;

/** Files of one directory. */
interface Folder {
  /** The directory of the walk. */
  readonly from: Pinned;
  /** A handle on it that lives as long as the batch. */
  readonly fd: number;
  readonly names: string[];
}

/** Files that are read together. */
class Batch {
  readonly slot: Slot;
  readonly folders: Folder[] = [];
  readonly entries: WalkEntry[] = [];
  /** Absent: it is read in this thread, at once. */
  reading: Reading | undefined;

  constructor(slot: Slot) {
    this.slot = slot;
  }

  /** Whether the file has been added; not without another descriptor. */
  add(calls: NativeCalls, directory: Pinned, { name, entry }: { name: string; entry: WalkEntry }): boolean {
    let folder = this.folders.at(-1);
    if (folder?.from !== directory) {
      const fd = calls.open(directory.fd, ".", NO_FOLLOW_PATH);
      if (fd === undefined) return false;
      folder = { from: directory, fd, names: [] };
      this.folders.push(folder);
    }
    folder.names.push(name);
    this.entries.push(entry);
    return true;
  }

  get isFull(): boolean {
    return this.entries.length === BATCH_FILES || this.folders.length === BATCH_FOLDERS;
  }

  close(): void {
    for (const { fd } of this.folders) closeNow(fd);
  }
}

interface ReadAheadParts {
  readonly scope: CallScope;
  readonly content: Content;
  readonly taker: FileTaker;
  /** For tests. */
  readonly thread?: ReadThread | undefined;
}

/** Passes files to the content callback of a walk in order; some of them later than it is asked to. */
export class ReadAhead {
  readonly #jail: Jail;
  readonly #parts: ReadAheadParts;
  readonly #thread: ReadThread;
  #files = 0;
  /** Being filled. */
  #batch: Batch | undefined;
  /** Being read, or waiting for those before them. */
  readonly #queue: Batch[] = [];

  constructor(jail: Jail, parts: ReadAheadParts) {
    this.#jail = jail;
    this.#parts = parts;
    this.#thread = parts.thread ?? ReadThread.shared;
  }

  *take(directory: Pinned, name: Name, entry: WalkEntry): Io<"on" | "stop"> {
    const calls = this.#jail.sys.native?.calls;
    const { raw } = name;
    const isOrdinary = typeof raw === "string" && directory.fd >= 0 && this.#parts.taker.mayRead(directory);
    const isNow = this.#parts.content.atOnce === true || ++this.#files <= WORTH_A_THREAD;
    if (calls === undefined || !isOrdinary || isNow) {
      return yield* this.#takeNow(directory, name, entry);
    }
    if (this.#batch === undefined) {
      let slot = this.#thread.slot();
      while (slot === undefined && this.#queue.length > 0) {
        if ((yield* this.#deliverFirst()) === "stop") return "stop";
        slot = this.#thread.slot();
      }
      if (slot === undefined) return yield* this.#takeNow(directory, name, entry);
      this.#batch = new Batch(slot);
    }
    if (!this.#batch.add(calls, directory, { name: raw, entry })) return yield* this.#takeNow(directory, name, entry);
    return this.#batch.isFull ? yield* this.#send(calls) : "on";
  }

  /** Delivers everything. */
  *finish(): Io<"on" | "stop"> {
    const calls = this.#jail.sys.native?.calls;
    if (calls !== undefined && this.#batch !== undefined && (yield* this.#send(calls)) === "stop") return "stop";
    while (this.#queue.length > 0) if ((yield* this.#deliverFirst()) === "stop") return "stop";
    return "on";
  }

  /** Drops what has not been delivered. */
  close(): void {
    const dropped = [...this.#queue.splice(0), ...(this.#batch === undefined ? [] : [this.#batch])];
    this.#batch = undefined;
    for (const batch of dropped) {
      // The thread uses the descriptors until it answers: their numbers must not come to stand for others.
      if (batch.reading === undefined || batch.reading.isSettled) this.#close(batch);
      else this.#jail.trackBackground(batch.reading.settled.then(() => this.#close(batch)));
    }
  }

  #close(batch: Batch): void {
    batch.close();
    this.#thread.free(batch.slot);
  }

  /** In this thread, after those that wait. */
  *#takeNow(directory: Pinned, name: Name, entry: WalkEntry): Io<"on" | "stop"> {
    if ((yield* this.finish()) === "stop") return "stop";
    const taken = yield* this.#parts.taker.take(directory, name, this.#parts.content.maxBytes);
    return yield* this.#pass(entry, taken);
  }

  *#pass(entry: WalkEntry, taken: WalkContent | undefined): Io<"on" | "stop"> {
    if (taken === undefined) return "on";
    const passed = this.#parts.content.take(entry, taken);
    return isPending(passed) ? ((yield passed) as "on" | "stop") : passed;
  }

  *#send(calls: NativeCalls): Io<"on" | "stop"> {
    const { scope, content } = this.#parts;
    const batch = this.#batch;
    if (batch === undefined) return "on";
    this.#queue.push(batch);
    this.#batch = undefined;
    const files = { folders: batch.folders, maxBytes: content.maxBytes };
    batch.reading = this.#thread.read(files, batch.slot);
    if (batch.reading === undefined) for (const _ of readBatch(calls, files, batch.slot)) yield* scope.breathe();
    this.#thread.look();
    while (this.#queue[0] !== undefined && this.#queue[0].reading?.isSettled !== false) {
      if ((yield* this.#deliverFirst()) === "stop") return "stop";
    }
    return "on";
  }

  *#deliverFirst(): Io<"on" | "stop"> {
    const batch = this.#queue[0];
    if (batch === undefined) return "on";
    if (batch.reading?.isSettled === false) yield batch.reading.settled;
    const step = yield* this.#deliver(batch);
    this.#queue.shift();
    this.#close(batch);
    return step;
  }

  *#deliver({ slot, folders, entries, reading }: Batch): Io<"on" | "stop"> {
    const { scope, taker, content } = this.#parts;
    let file = 0;
    let at = 0;
    for (const { fd, from, names } of folders) {
      for (const name of names) {
        yield* scope.breathe();
        const entry = entries[file];
        const count = reading?.isLost === true ? undefined : slot.counts[file];
        file++;
        if (entry === undefined || count === NOT_REGULAR) continue;
        let taken: WalkContent | undefined;
        if (count === TOO_LARGE) taken = "too large";
        else if (count !== undefined && count >= 0) {
          taken = slot.bytes.subarray(at, at + count);
          at += count;
        } else {
          const directory = { fd, path: `/proc/self/fd/${fd}`, stat: from.stat };
          taken = yield* taker.take(directory, { name, raw: name, type: "file" }, content.maxBytes);
        }
        if ((yield* this.#pass(entry, taken)) === "stop") return "stop";
      }
    }
    return "on";
  }
}
