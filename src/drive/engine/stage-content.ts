// Stores content before the change that uses it.

import { escapeText } from "../../core/errors/texts.js";
import { parseCell } from "../cad3/encoding/parse-cell.js";
import type { LazyValue } from "../cad3/lazy.js";
import { lazyCell } from "../cad3/open.js";
import type { Cell } from "../cad3/ref.js";
import { driveError } from "../error.js";
import { type CellScope, callStore } from "./cells.js";
import { readRange } from "./content/blob-reader.js";
import { createBlobWriter, NO_EDGE } from "./content/blob-writer.js";
import type { DriveLimits, StagedContent } from "./drives.js";
import type { EngineParts } from "./owner-queue.js";
import { putTo } from "./write-set.js";

/** Stores content durably without changing any drive. */
export async function stageContent(
  content: AsyncIterable<Uint8Array>,
  { store, limits }: Pick<EngineParts, "store" | "limits">,
): Promise<StagedContent> {
  const batch = store.batch();
  const put = putTo(batch);
  const writer = createBlobWriter(NO_EDGE, (hash, bytes) => put(Buffer.from(hash, "hex"), bytes));
  for await (const piece of content) {
    checkSize([], writer.length + piece.length, limits);
    await writer.write(piece);
  }
  const staged = await writer.finish();
  await callStore(() => batch.flush());
  return { staged, size: writer.length };
}

const PIECE_BYTES = 2 ** 20;

export async function* stagedPieces({ staged, size }: StagedContent, scope: CellScope): AsyncGenerator<Uint8Array> {
  const data = dataOf(staged, scope);
  for (let offset = 0; offset < size; offset += PIECE_BYTES) {
    yield (await readRange(data, { offset, length: PIECE_BYTES }, scope)).bytes;
  }
}

/** A blob whose cells have been stored. */
export const dataOf = ({ bytes, ref }: Cell, { source }: CellScope): LazyValue =>
  lazyCell(parseCell(bytes), ref, source);

/**
 * @param path for the message
 * @throws TOO_LARGE
 */
export function checkSize(path: readonly string[], size: number, { maxFileBytes: limit }: DriveLimits): void {
  if (size <= limit) return;
  const text = `File too large: ${size} bytes, limit ${limit}: ${escapeText(path.join("/"))}`;
  throw driveError("TOO_LARGE", text, { size, limit });
}
