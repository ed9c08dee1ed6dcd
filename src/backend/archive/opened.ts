// An archive as a whole, for whoever lists or unpacks it.

import type { ArchiveOpener } from "../../core/call/archive.js";
import { type ArchiveKind, archiveKindOf } from "../../path/archive-path.js";

/** The first bytes of a file that tell its kind. */
const HEAD_BYTES = 262;
const USTAR_AT = 257;
/** Whoever unpacks all of an archive reads directory after directory, as most writers pack; each step back costs a pass. */
const MAX_PASSES = 16;

/** @throws BAD_FORMAT, TOO_LARGE */
export const openArchive: ArchiveOpener = async (file, { name, place, scope }) => {
  const { ArchiveReader } = await import("./reader.js");
  const kind = kindByContent(await file.read(0, HEAD_BYTES)) ?? archiveKindOf(name);
  const reader = new ArchiveReader(file, { kind, place, scope, passes: MAX_PASSES });
  const contents = await reader.directory();
  return { contents, open: (entry) => reader.open(entry), close: () => reader.close() };
};

function kindByContent(head: Buffer): ArchiveKind | undefined {
  if (head.length > 1 && head.readUInt16BE(0) === 0x504b) return "zip";
  if (head.length > 1 && head.readUInt16BE(0) === 0x1f8b) return "tgz";
  return head.subarray(USTAR_AT).toString("latin1") === "ustar" ? "tar" : undefined;
}
