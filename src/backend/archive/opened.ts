// An archive as a whole, for whoever lists or unpacks it.

import type { ArchiveOpener } from "../../core/call/archive.js";
import type { OpenFile } from "../../core/ports/open-file.js";
import { type ArchiveKind, archiveKindOf } from "../../path/archive-path.js";
import { toArchiveError } from "./fault.js";

/** The first bytes of a file that tell its kind. */
const HEAD_BYTES = 262;
const USTAR_AT = 257;
/** Whoever unpacks all of an archive reads directory after directory, as most writers pack; each step back costs a pass. */
const MAX_PASSES = 16;

/** @throws BAD_FORMAT, TOO_LARGE */
export const openArchive: ArchiveOpener = async (file, { name, place, scope }) => {
  const { ArchiveReader } = await import("./reader.js");
  const kind = kindByContent(await file.read(0, HEAD_BYTES)) ?? archiveKindOf(name);
  const reader = new ArchiveReader(kind, file, scope, MAX_PASSES);
  const told = (error: unknown, path: string): never => {
    throw toArchiveError(error, { ...place, path });
  };
  const contents = await reader.directory().catch((error: unknown) => told(error, place.path));
  return {
    contents,
    open(entry): OpenFile {
      const content = reader.content(entry);
      const path = `${place.path}!/${entry.path}`;
      const read = (offset: number, length: number) =>
        content.read(offset, length).catch((error: unknown) => told(error, path));
      return { size: entry.size, modified: entry.modified, read, close: () => content.close() };
    },
    close: () => reader.close(),
  };
};

function kindByContent(head: Buffer): ArchiveKind | undefined {
  if (head.length > 1 && head.readUInt16BE(0) === 0x504b) return "zip";
  if (head.length > 1 && head.readUInt16BE(0) === 0x1f8b) return "tgz";
  return head.subarray(USTAR_AT).toString("latin1") === "ustar" ? "tar" : undefined;
}
