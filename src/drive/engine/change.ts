// One change of a drive: reads and edits its tree in memory, and stores new cells as they are made.

import type { Awaitable } from "../../core/io.js";
import type { NotUndoable } from "../../core/ports/changes/journal.js";
import { blobCell, CHUNK_BYTES } from "../cad3/blob.js";
import { cellOf } from "../cad3/encoding/cell.js";
import { index } from "../cad3/maps/index-map.js";
import { type Cell, hashOfRef, isBranch, toHex } from "../cad3/ref.js";
import { BLOB_TAG } from "../cad3/scalar.js";
import type { Value } from "../cad3/value.js";
import { createDrive, deleteDrive } from "../dlfs/lifetime.js";
import { invalidPath } from "../dlfs/name.js";
import { directoryNode, fileNode, laterTime, metadataFor, type Node, tombstone, viewOf } from "../dlfs/node.js";
import { replaceAt } from "../dlfs/tree-path.js";
import { alreadyExists, isADirectory, notEmpty, notFound } from "../error.js";
import type { CellScope } from "./cells.js";
import { type BlobEdge, createBlobWriter, edgeOf, NO_EDGE, type PutCell } from "./content/blob-writer.js";
import { compareTrees, type Difference, withContentOf } from "./content/differences.js";
import { nodeWith, placeIn, requireOutside, type StampedSlot, slotFor } from "./content/slot.js";
import { entriesAt, knownSize, readAt, statAt, type Tree, viewAt } from "./content/tree-read.js";
import type {
  DriveChange,
  DriveContent,
  DriveEntry,
  DriveLimits,
  DriveMoment,
  DriveRead,
  DriveStat,
} from "./drives.js";
import { withExplainedErrors } from "./fault.js";
import type { LogNote, LogTicket } from "./log/entry.js";
import type { Moment } from "./owner/resolve-note.js";
import { checkSize, dataOf, stagedPieces } from "./stage-content.js";

export interface ChangeOptions {
  readonly drive: string;
  /** Clock time in ms since the epoch. */
  readonly at: number;
  readonly scope: CellScope;
  readonly put: PutCell;
  readonly limits: DriveLimits;
  /** The value in the map of drives under this name; nil if none. */
  readonly previous: Value;
  /** Whether that value is the root of a deleted drive. */
  readonly isDeleted: boolean;
}

/** A tree after one step of a change. */
interface Edited {
  readonly root: Value;
  /** Bytes of files after the step minus before; NaN: not known. */
  readonly added: number;
}

/** The effects of one change on a drive; they take effect when the owner's root is swapped. */
export class DriveEdit implements DriveChange {
  readonly #options: ChangeOptions;
  #root: Value | undefined;
  /** Root of the deleted drive, if it is one. */
  #deleted: Value | undefined;
  #isOpen = true;
  readonly noted: Moment[] = [];
  /** Bytes of all files after the change minus before; NaN: not known. */
  #addedBytes = 0;

  constructor(options: ChangeOptions) {
    this.#options = options;
    const { previous, isDeleted } = options;
    if (isDeleted) [this.#deleted, this.#addedBytes] = [previous, Number.NaN];
    else if (previous !== null) this.#root = previous;
  }

  /** The changed root, which may be that of a deleted drive; `undefined` if there was never one. */
  get root(): Value | undefined {
    return this.#root ?? this.#deleted;
  }

  /** Bytes of all files after the change minus before; `undefined`: they have to be counted. */
  get addedBytes(): number | undefined {
    return Number.isNaN(this.#addedBytes) ? undefined : this.#addedBytes;
  }

  before = (): DriveChange => new DriveEdit(this.#options);
  moment = (): DriveMoment => ({ root: this.#root });

  note(note: LogNote, { root: before }: DriveMoment, { root: after }: DriveMoment, reason?: NotUndoable): LogTicket {
    const ticket = {};
    this.noted.push({ note, before, after, reason, ticket });
    return ticket;
  }

  async restore(path: readonly string[], ref: Uint8Array): Promise<void> {
    const { scope } = this.#options;
    const node = await this.#guarded(path, () => scope.open(ref));
    return this.#edit(path, (root) => {
      const slot = this.#slotFor(root, path);
      const view = viewOf(node);
      if (slot.live !== undefined) throw alreadyExists(path);
      if (view.kind === "tombstone") throw notFound(path);
      return { root: this.#place(slot, nodeWith(view, slot.stamp)), added: Number.NaN };
    });
  }

  async holdsContentOf(ref: Uint8Array | undefined): Promise<boolean> {
    return this.#guarded([], async ({ root, scope }) => {
      let isSame = true;
      const then = ref === undefined ? undefined : await scope.open(ref);
      // A drive without entries is as good as none.
      const differs = ({ path }: Difference): boolean => {
        isSame &&= path.length === 0;
        return isSame;
      };
      await compareTrees(then, root, { scope, path: [], differs, isDeep: true });
      return isSame;
    });
  }

  async putBack(ref: Uint8Array | undefined): Promise<void> {
    return this.#guarded([], async ({ root, scope }) => {
      this.#addedBytes = Number.NaN;
      if (ref !== undefined) {
        this.#root = await withContentOf(root ?? (await this.#writable()), await scope.open(ref), this.#options);
      } else if (root !== undefined) {
        this.#deleted = await scope.run(() => deleteDrive(root, this.#options));
        this.#root = undefined;
      }
    });
  }

  /** Ends the change; later calls have no effect. */
  release(): void {
    this.#isOpen = false;
  }

  stat = (path: readonly string[]): Promise<DriveStat | undefined> => this.#guarded(path, (tree) => statAt(tree, path));
  entries = (path: readonly string[]): Promise<readonly DriveEntry[]> =>
    this.#guarded(path, (tree) => entriesAt(tree, path));
  readFile(path: readonly string[], offset: number, length: number, into?: Buffer): Promise<DriveRead> {
    return this.#guarded(path, (tree) => readAt(tree, path, { offset, length, into }));
  }

  writeFile = (path: readonly string[], content: DriveContent, modified?: number): Promise<void> =>
    this.#put(path, content, metadataFor(modified));
  appendFile = (path: readonly string[], content: DriveContent): Promise<void> => this.#put(path, content, undefined);

  setTime(path: readonly string[], modified: number): Promise<void> {
    return this.#edit(path, (root) => {
      const slot = this.#fileSlot(root, path);
      if (slot.live?.kind !== "file") throw notFound(path);
      const node = fileNode(slot.live.data, slot.stamp, metadataFor(modified));
      return { root: this.#place(slot, node), added: 0 };
    });
  }

  async makeDirectory(path: readonly string[]): Promise<boolean> {
    if (path.length === 0) return false;
    let isNew = false;
    await this.#edit(path, (root) => {
      const slot = this.#slotFor(root, path);
      isNew = slot.live === undefined;
      if (slot.live?.kind === "directory") return { root, added: 0 };
      if (slot.live !== undefined) throw alreadyExists(path);
      return { root: this.#place(slot, directoryNode(index([]), slot.stamp)), added: 0 };
    });
    return isNew;
  }

  async remove(path: readonly string[], { recursive }: { readonly recursive: boolean }): Promise<boolean> {
    if (path.length === 0) throw invalidPath("", "the root cannot be deleted");
    const live = await this.#guarded(path, ({ root, scope }) =>
      scope.run(() => (root === undefined ? undefined : viewAt(root, path))),
    );
    if (live === undefined) return false;
    if (live.kind === "directory" && !recursive && (await this.entries(path)).length > 0) throw notEmpty(path);
    await this.#edit(path, (root) => {
      const slot = this.#slotFor(root, path);
      const added = -knownSize(slot.live, this.#options.scope);
      return { root: this.#place(slot, tombstone(slot.stamp)), added };
    });
    return true;
  }

  /** Both places get the same timestamp. */
  async move(from: readonly string[], to: readonly string[]): Promise<void> {
    requireOutside(from, to);
    return this.#edit(to, (root) => {
      const source = viewAt(root, from);
      if (source === undefined) throw notFound(from);
      const target = this.#slotFor(root, to);
      if (target.live !== undefined) throw alreadyExists(to);
      const stamp = laterTime(target.stamp, this.#slotFor(root, from).stamp);
      const copied = this.#place({ ...target, stamp }, nodeWith(source, stamp));
      const slot = this.#slotFor(copied, from);
      return { root: replaceAt(slot.path, [slot.name, tombstone(stamp)], stamp), added: 0 };
    });
  }

  async #put(path: readonly string[], content: DriveContent, metadata: Value | undefined): Promise<void> {
    const isAppend = metadata === undefined;
    if (path.length === 0) throw isADirectory(path);
    const edge = isAppend ? await this.#edgeOf(path) : NO_EDGE;
    const isWhole = "staged" in content && edge === NO_EDGE;
    if (isWhole) checkSize(path, content.size, this.#options.limits);
    const { top, length } = isWhole
      ? { top: content.staged, length: content.size }
      : await this.#write(path, content, edge);
    const { scope } = this.#options;
    if (isBranch(top.ref)) scope.sizes.set(toHex(hashOfRef(top.ref)), length);
    return this.#edit(path, (root) => {
      const slot = this.#fileSlot(root, path);
      return {
        root: this.#place(slot, fileNode(dataOf(top, scope), slot.stamp, metadata ?? null)),
        added: length - knownSize(slot.live, scope),
      };
    });
  }

  /** Where an append begins. */
  #edgeOf(path: readonly string[]): Promise<BlobEdge> {
    return this.#guarded(path, async ({ scope }) => {
      const root = await this.#writable();
      const { live } = await scope.run(() => this.#fileSlot(root, path));
      return live?.kind === "file" ? edgeOf(cellOf(live.data).ref, scope) : NO_EDGE;
    });
  }

  /** Appends content after an existing edge. */
  async #write(path: readonly string[], content: DriveContent, edge: BlobEdge): Promise<{ top: Cell; length: number }> {
    const { drive, limits, put, scope } = this.#options;
    if (content instanceof Uint8Array && content.length <= CHUNK_BYTES && edge === NO_EDGE) {
      this.#checkOpen();
      checkSize(path, content.length, limits);
      const top = blobCell(BLOB_TAG, content);
      if (isBranch(top.ref))
        await withExplainedErrors({ drive, path }, () => put(toHex(hashOfRef(top.ref)), top.bytes));
      return { top, length: content.length };
    }
    const writer = createBlobWriter(edge, put);
    for await (const piece of content instanceof Uint8Array ? [content] : stagedPieces(content, scope)) {
      this.#checkOpen();
      checkSize(path, writer.length + piece.length, limits);
      await withExplainedErrors({ drive, path }, () => writer.write(piece));
    }
    const top = await withExplainedErrors({ drive, path }, () => writer.finish());
    return { top, length: writer.length };
  }

  #fileSlot(root: Value, path: readonly string[]): StampedSlot {
    const slot = this.#slotFor(root, path);
    if (slot.live?.kind === "directory") throw isADirectory(path);
    return slot;
  }

  #slotFor = (root: Value, path: readonly string[]): StampedSlot => slotFor(root, path, this.#options);
  #place = (slot: StampedSlot, node: Node): Node => placeIn(slot, node, this.#options);

  /** Changes the root; repeated if the root has changed meanwhile. */
  #edit(path: readonly string[], change: (root: Value) => Edited): Promise<void> {
    return this.#guarded(path, async ({ scope }) => {
      for (;;) {
        const before = this.#root;
        const root = before ?? (await this.#writable());
        const after = await scope.run(() => change(root));
        this.#checkOpen();
        if (this.#root !== before) continue;
        if (after.root !== root) this.#root = after.root;
        this.#addedBytes += after.added;
        return;
      }
    });
  }

  /** The root to change; creates a drive that does not exist. */
  async #writable(): Promise<Value> {
    return this.#root ?? this.#options.scope.run(() => createDrive(this.#deleted ?? null, this.#options));
  }

  #guarded<T>(path: readonly string[], work: (tree: Tree) => Awaitable<T>): Promise<T> {
    const { drive, scope } = this.#options;
    return withExplainedErrors({ drive, path }, async () => {
      this.#checkOpen();
      return work({ root: this.#root, scope });
    });
  }

  #checkOpen(): void {
    if (!this.#isOpen) throw new TypeError("The change of the drive is over");
  }
}
