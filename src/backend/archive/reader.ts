// Reads archives of all kinds: their directories, and the contents of entries. Loaded when the first archive is looked into.

import type { ArchiveEntry } from "../../core/call/archive.js";
import type { CallScope } from "../../core/call/scope.js";
import type { ArchiveKind } from "../../path/archive-path.js";
import type { ArchiveDirectory } from "./directory.js";
import { unpackedTooOften } from "./fault.js";
import { type Bytes, Sequence } from "./sequence.js";
import { gunzip, readTar, tarContent } from "./tar.js";
import { readZip, zipContent } from "./zip.js";

/** Unpacked bytes of a tar that are held: contents within reach need not be unpacked anew. */
const HELD_TAR_BYTES = 33_554_432;

/** An archive in an open file, which the owner of the reader closes. */
export class ArchiveReader {
  readonly #kind: ArchiveKind;
  readonly #file: Bytes;
  readonly #scope: CallScope;
  /** How often a packed tar may be unpacked from its start. */
  #passes: number;
  #unpacked: Sequence | undefined;

  constructor(kind: ArchiveKind, file: Bytes, scope: CallScope, passes = Number.POSITIVE_INFINITY) {
    this.#kind = kind;
    this.#file = file;
    this.#scope = scope;
    this.#passes = passes;
  }

  /** @throws ArchiveFault */
  directory(): Promise<ArchiveDirectory> {
    return this.#kind === "zip" ? readZip(this.#file, this.#scope) : readTar(this.#tar(), this.#scope);
  }

  /** The content of a file, which the caller closes. @throws ArchiveFault, when it is read too */
  content(entry: ArchiveEntry): Sequence {
    const { size, packed } = entry;
    const isZip = this.#kind === "zip";
    return new Sequence({
      ...{ size, crc32: packed.crc32, scope: this.#scope },
      from: (offset) => (isZip ? zipContent(this.#file, entry, offset) : tarContent(this.#tar(), entry, offset)),
      beginsAnywhere: packed.method === "store",
    });
  }

  close(): void {
    this.#unpacked?.close();
  }

  #tar(): Bytes {
    if (this.#kind !== "tgz") return this.#file;
    this.#unpacked ??= new Sequence({
      ...{ size: Number.POSITIVE_INFINITY, beginsAnywhere: false, held: HELD_TAR_BYTES, scope: this.#scope },
      from: () => {
        if (--this.#passes < 0) throw unpackedTooOften();
        return gunzip(this.#file);
      },
    });
    const unpacked = this.#unpacked;
    return { size: Number.POSITIVE_INFINITY, read: (offset, length) => unpacked.read(offset, length) };
  }
}
