// Whether the tables of a store are as they were closed. Where they are not, their structure is checked before LMDB, which a
// damaged page would end with the whole process, relies on it.

import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { attempt } from "../../../core/io.js";
import { checkPages } from "../../../database/check-pages.js";
import { DamagedDatabase } from "../../../database/damaged-database.js";
import { dataFile } from "../../../database/environment.js";
import { mayRun, ownToken } from "../../../process/identity.js";
import { storeDamaged } from "../checks.js";

/** State in which the tables were closed, or who has them open. */
const MARK = "closed";
export const TABLE_NAMES = ["meta", "cells", "chunks", "roots", "retired", "keys", "packs"] as const;

const markOf = (index: string): string | undefined => attempt(() => readFileSync(join(index, MARK), "utf8"));
const setMark = (index: string, text: string): void =>
  void attempt(() => writeFileSync(join(index, MARK), text, { mode: 0o600 }));

function stateOf(index: string): string | undefined {
  const stat = attempt(() => statSync(dataFile(index), { bigint: true }));
  return stat && `${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`;
}

/** Where a process in another container has them open, they are checked too. */
function isOpenHere(mark: string): boolean {
  const place = (token: string): string => token.split(" ", 2).join(" ");
  return mayRun(mark) && place(mark) === place(ownToken());
}

/**
 * Checks the structure of the tables, unless they are as they were closed. The caller keeps others from changing them.
 * @param index their folder
 * @param tables their names
 * @throws STORE_DAMAGED; system errors
 */
export function checkIndex(index: string, tables: readonly string[] = TABLE_NAMES): void {
  const mark = markOf(index);
  const state = stateOf(index);
  if (mark !== undefined && (mark === state || isOpenHere(mark))) return;
  const size = attempt(() => statSync(dataFile(index)).size) ?? 0;
  if (size === 0) {
    if (mark !== undefined) throw storeDamaged("its index is empty");
    return;
  }
  try {
    checkPages(dataFile(index), tables);
  } catch (error) {
    if (!(error instanceof DamagedDatabase)) throw error;
    throw storeDamaged("its index is not what was written. Restore a backup of it");
  }
}

/** Notes that this process has them open. @returns notes how they were closed */
export function markOpen(index: string): () => void {
  const own = ownToken();
  if (!isOpenHere(markOf(index) ?? "")) setMark(index, own);
  return () => {
    if (markOf(index) === own) setMark(index, stateOf(index) ?? "");
  };
}
