// Stores content before the change that uses it.

import { escapeText } from "../../core/errors/texts.js";
import { driveError } from "../error.js";
import { callStore } from "./cells.js";
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

/**
 * @param path for the message
 * @throws TOO_LARGE
 */
export function checkSize(path: readonly string[], size: number, { maxFileBytes: limit }: DriveLimits): void {
  if (size <= limit) return;
  const text = `File too large: ${size} bytes, limit ${limit}: ${escapeText(path.join("/"))}`;
  throw driveError("TOO_LARGE", text, { size, limit });
}
