// The source of a copy, hashed while it is read: an approval is bound to what was read, and a person sees what it is.

import { createHash } from "node:crypto";
import { type EffectState, SHOWN_NAMES } from "../../core/ports/effect.js";
import type { OpenFile } from "../../core/ports/open-file.js";
import type { SourceEntry, TreeSource } from "../../core/ports/tree-source.js";
import { mapSource } from "../../ops/copying/copy-tree.js";
import { contentDiff, joinDiffs, MAX_TEXT } from "./difference.js";
import { fileState, type TargetState } from "./target-state.js";
import { shownName } from "./tree-state.js";

/** Counts, hashes and keeps what a copy reads of its source. */
export class CountedSource {
  readonly source: TreeSource;
  /** Over names, kinds, modes and contents. */
  readonly #sum = createHash("sha256");
  /** Hash of the top entry, if that is a file. */
  #sha256 = "";
  #size = 0;
  #entries = 0;
  readonly #names: string[] = [];
  /** Small files as they were read. */
  readonly #kept: { readonly below: readonly string[]; readonly content: Buffer }[] = [];
  #room = MAX_TEXT;

  constructor(given: TreeSource) {
    this.source = mapSource(given, (entry) => this.#seen(entry));
  }

  get state(): EffectState {
    const { type } = this.source.top;
    if (type === "file") return fileState(this.#sha256, this.#size);
    return { type, entries: this.#entries, names: this.#names, size: this.#size };
  }

  hash(): string {
    return this.#sum.copy().digest("hex");
  }

  /** @param path of the target @param found what it replaces */
  diff(path: string, found: TargetState): string | undefined {
    const diffs = this.#kept.map(({ below, content }) =>
      contentDiff([path, ...below].join("/"), below.length === 0 ? found : {}, content),
    );
    return joinDiffs(diffs);
  }

  #seen(entry: SourceEntry): SourceEntry {
    const { below, raw, type, mode } = entry;
    this.#sum.update(`${JSON.stringify([below, raw?.toString("hex"), type, mode])}\n`);
    if (below.length > 0) {
      this.#entries += 1;
      if (this.#names.length < SHOWN_NAMES) this.#names.push(shownName(below, type));
    }
    return { ...entry, open: () => this.#open(entry) };
  }

  async #open(entry: SourceEntry): Promise<OpenFile> {
    const { below } = entry;
    const file = await entry.open();
    const isKept = file.size <= this.#room;
    if (isKept) this.#room -= file.size;
    const pieces: Buffer[] = [];
    const sum = createHash("sha256");
    let size = 0;
    let isOpen = true;
    return {
      // The descriptor is left out, so that every byte is read here.
      ...{ size: file.size, modified: file.modified },
      read: async (offset, length, into) => {
        if (offset !== size) throw new TypeError("A copy reads each file once, from its start");
        const bytes = await file.read(offset, length, into);
        sum.update(bytes);
        if (isKept) pieces.push(Buffer.from(bytes));
        size += bytes.length;
        return bytes;
      },
      close: () => {
        file.close();
        if (!isOpen) return;
        isOpen = false;
        this.#sha256 = sum.digest("hex");
        this.#size += size;
        this.#sum.update(`${size} ${this.#sha256}\n`);
        if (isKept) this.#kept.push({ below, content: Buffer.concat(pieces) });
      },
    };
  }
}
