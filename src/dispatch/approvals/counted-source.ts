// The source of a copy, hashed while it is read: an approval is bound to what was read, and a person sees what it is.

import { createHash } from "node:crypto";
import { type EffectState, SHOWN_NAMES } from "../../core/ports/effect.js";
import type { OpenFile } from "../../core/ports/open-file.js";
import type { SourceEntry, TreeSource } from "../../core/ports/tree-source.js";
import { mapSource } from "../../ops/copying/copy-tree.js";
import { contentDiff, joinDiffs, MAX_TEXT, type TargetState } from "./target-state.js";
import { shownName } from "./tree-state.js";

/** A small file as it was read. */
interface Kept {
  readonly below: readonly string[];
  readonly content: Buffer;
}

/** Counts, hashes and keeps what a copy reads of its source. */
export class CountedSource {
  readonly source: TreeSource;
  /** Bytes read so far. */
  size = 0;
  /** Whether somebody may be asked: otherwise contents pass by, so that the system can share or copy them. */
  isRead = true;
  readonly #sum = createHash("sha256");
  #entries = 0;
  readonly #names: string[] = [];
  #kept: Kept[] = [];
  #room = MAX_TEXT;

  constructor(given: TreeSource) {
    this.source = mapSource(given, (entry) => this.#seen(entry));
  }

  /** What is in a tree cannot be read again. */
  get isSpent(): boolean {
    return this.#entries > 0;
  }

  get state(): EffectState {
    const { type } = this.source.top;
    return { type, ...(type === "file" ? {} : { entries: this.#entries, names: this.#names }), size: this.size };
  }

  /** Hash over names, kinds, modes and contents; of a file the content is left to whoever copies it. */
  hash(): string {
    return this.#sum.copy().digest("hex");
  }

  /** @param path of the target @param found what it replaces */
  diff(path: string, found: TargetState): string | undefined {
    const diffs = this.#kept.map(({ below, content }) =>
      contentDiff([path, ...below].join("/"), below.length === 0 ? found : {}, content, false),
    );
    return joinDiffs(diffs);
  }

  #seen(entry: SourceEntry): SourceEntry {
    const { below, type } = entry;
    this.#add(entry);
    if (below.length > 0) {
      this.#entries += 1;
      if (this.#names.length < SHOWN_NAMES) this.#names.push(shownName(below, type));
    }
    return { ...entry, open: () => this.#open(entry) };
  }

  #add({ below, raw, type, mode }: SourceEntry): void {
    this.#sum.update(`${JSON.stringify([below, raw?.toString("hex"), type, mode])}\n`);
  }

  async #open(entry: SourceEntry): Promise<OpenFile> {
    const { below } = entry;
    const isTop = below.length === 0;
    const file = await entry.open();
    // The top is opened again where the copy is tried again.
    this.size = isTop ? file.size : this.size + file.size;
    if (!this.isRead) return file;
    if (isTop) this.#kept = [];
    const isKept = file.size <= (isTop ? MAX_TEXT : this.#room);
    if (isKept && !isTop) this.#room -= file.size;
    const pieces: Buffer[] = [];
    const sum = createHash("sha256");
    let size = 0;
    let isOpen = true;
    return {
      // Without the descriptor: all that is copied is read here.
      ...{ size: file.size, modified: file.modified },
      async read(offset, length, into) {
        if (offset !== size) throw new TypeError("A copy reads each file once, from its start");
        const bytes = await file.read(offset, length, into);
        if (!isTop) sum.update(bytes);
        if (isKept) pieces.push(Buffer.from(bytes));
        size += bytes.length;
        return bytes;
      },
      close: () => {
        file.close();
        if (!isOpen) return;
        isOpen = false;
        if (!isTop) this.#sum.update(`${size} ${sum.digest("hex")}\n`);
        if (isKept) this.#kept.push({ below, content: Buffer.concat(pieces) });
      },
    };
  }
}
