// Verifies that a drive, its log, and the content kept by the log can be read completely.

import type { DriveCheck } from "../../../core/ports/drive-shelf.js";
import { cellOf } from "../../cad3/encoding/cell.js";
import { toHex } from "../../cad3/ref.js";
import { viewOf } from "../../dlfs/node.js";
import type { CellStore, RootRecord } from "../../store/cell-store.js";
import { type CellScope, createCellPool, createScope, type Overlay } from "../cells.js";
import { readRange } from "../content/blob-reader.js";
import { entriesAt, readAt, type Tree } from "../content/tree-read.js";
import { undefinedIfDamaged } from "../fault.js";
import { allBooks, itemsBefore } from "../log/books.js";

export type VerifyReport = Omit<DriveCheck, "history">;

/** Maximum paths in a report. */
const MAX_NAMED = 100;
const WINDOW_BYTES = 4 * 2 ** 20;
const LOG_PAGE = 256;

export interface VerifySource {
  readonly store: CellStore;
  readonly overlay: Overlay;
  /** All roots of the owner, with their logs. */
  readonly roots: readonly RootRecord[];
  /** Called before each part is read; throwing ends the verification. */
  readonly onStep?: ((seen: VerifyReport) => void) | undefined;
}

/** Reads and checks everything in a drive. @param ref of its root */
export async function verifyDrive(
  drive: string,
  ref: Uint8Array,
  { store, overlay, roots, onStep }: VerifySource,
): Promise<DriveCheck> {
  const pool = createCellPool({ store, verifyReads: true, cacheBytes: 2 ** 20 });
  const newScope = (): CellScope => createScope(pool, overlay);
  const report = newReport();
  const verifying = { newScope, step: () => onStep?.(report) };
  await readTree(ref, report, verifying);
  return { ...report, history: await readLog(drive, roots, verifying) };
}

interface Verifying {
  readonly newScope: () => CellScope;
  readonly step: () => void;
}

type Report = { -readonly [K in keyof VerifyReport]: VerifyReport[K] } & { damaged: string[][] };

const newReport = (): Report => ({ files: 0, directories: 0, bytes: 0, damaged: [], damagedCount: 0 });

async function readTree(ref: Uint8Array, report: Report, { newScope, step }: Verifying): Promise<void> {
  /** @returns `undefined` for damage, which has then been reported */
  const readOrReport = async <T>(path: string[], read: (tree: Tree) => Promise<T>): Promise<T | undefined> => {
    step();
    const found = await undefinedIfDamaged(async () => {
      const scope = newScope();
      return read({ root: await scope.open(ref), scope });
    });
    if (found !== undefined) return found;
    report.damagedCount += 1;
    if (report.damaged.length < MAX_NAMED) report.damaged.push(path);
    return undefined;
  };
  const waiting: string[][] = [[]];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const here = path;
    const entries = await readOrReport(here, (tree) => entriesAt(tree, here));
    if (entries === undefined) continue;
    report.directories += 1;
    for (const { name, type } of entries) {
      const below = [...here, name];
      if (type === "directory") waiting.push(below);
      else {
        const size = await readOrReport(below, ({ root, scope }) =>
          readAll((range) => readAt({ root, scope }, below, range), step),
        );
        if (size === undefined) continue;
        report.files += 1;
        report.bytes += size;
      }
    }
  }
}

type ReadRange = (range: { readonly offset: number; readonly length: number }) => Promise<{ readonly size: number }>;

/** @returns the size of the file */
async function readAll(read: ReadRange, step: () => void): Promise<number> {
  for (let offset = 0; ; offset += WINDOW_BYTES) {
    step();
    const { size } = await read({ offset, length: WINDOW_BYTES });
    if (offset + WINDOW_BYTES >= size) return size;
  }
}

async function readLog(
  drive: string,
  roots: readonly RootRecord[],
  verifying: Verifying,
): Promise<DriveCheck["history"]> {
  const { newScope, step } = verifying;
  const isWhole = async (ref: Uint8Array): Promise<boolean> => {
    const report = newReport();
    const node = await newScope().open(ref);
    const view = await newScope().run(() => viewOf(node));
    if (view.kind === "directory") await readTree(ref, report, verifying);
    else if (view.kind === "file") await readAll((range) => readRange(view.data, range, newScope()), step);
    return report.damagedCount === 0;
  };
  // Many entries can keep the same node.
  const checked = new Set<string>();
  let [entries, damaged] = [0, false];
  for (let before: string | undefined; ; ) {
    step();
    const scope = newScope();
    const page = await itemsBefore(await allBooks(roots, scope), { before, limit: LOG_PAGE }, scope);
    damaged ||= page.isDamaged;
    for (const { entry, before: kept } of page.items) {
      if (entry.drive !== drive) continue;
      entries += 1;
      const ref = kept === undefined ? undefined : cellOf(kept).ref;
      if (ref === undefined || checked.has(toHex(ref))) continue;
      checked.add(toHex(ref));
      if ((await undefinedIfDamaged(() => isWhole(ref))) !== true) damaged = true;
    }
    before = page.items.at(-1)?.entry.id;
    if (page.isWhole || before === undefined) return { entries, damaged };
  }
}
