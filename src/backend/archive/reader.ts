// Reads archives of all kinds: their directories, and the contents of entries. Loaded when the first archive is looked into.

import type { ArchiveEntry } from "../../core/call/archive.js";
import type { CallScope } from "../../core/call/scope.js";
import type { Place } from "../../core/errors/texts.js";
import type { OpenFile } from "../../core/ports/open-file.js";
import type { ArchiveKind } from "../../path/archive-path.js";
import type { ArchiveDirectory } from "./directory.js";
import { unpackedTooOften, withPlace } from "./fault.js";
import { type Bytes, Sequence } from "./sequence.js";
import { gunzip, readTar, tarContent } from "./tar.js";
import { readZip, zipContent } from "./zip.js";

/** Unpacked bytes of a tar that are held: contents within reach need not be unpacked anew. */
const HELD_TAR_BYTES = 33_554_432;

interface About {
  readonly kind: ArchiveKind;
  /** Named in errors. */
  readonly place: Place;
  readonly scope: CallScope;
  /** How often a packed tar may be unpacked from its start. Absent: as often as it takes. */
  readonly passes?: number;
}

/** An archive in an open file, which the owner of the reader closes. */
export class ArchiveReader {
  readonly #file: Bytes;
  readonly #about: About;
  #passes: number;
  #unpacked: Sequence | undefined;

  constructor(file: Bytes, about: About) {
    this.#file = file;
    this.#about = about;
    this.#passes = about.passes ?? Number.POSITIVE_INFINITY;
  }

  /** @throws BAD_FORMAT, TOO_LARGE */
  directory(): Promise<ArchiveDirectory> {
    const { kind, place, scope } = this.#about;
    return withPlace(place, kind === "zip" ? readZip(this.#file, scope) : readTar(this.#tar(), scope));
  }

  /** The content of a file. @throws BAD_FORMAT, TOO_LARGE when it is read */
  open(entry: ArchiveEntry): OpenFile {
    const { size, modified, packed } = entry;
    const { kind, place, scope } = this.#about;
    const content = new Sequence({
      ...{ size, crc32: packed.crc32, scope },
      from: (offset) =>
        kind === "zip" ? zipContent(this.#file, entry, offset) : tarContent(this.#tar(), entry, offset),
      beginsAnywhere: packed.method === "store",
    });
    const inside = { ...place, path: `${place.path}!/${entry.path}` };
    const read = (offset: number, length: number) => withPlace(inside, content.read(offset, length));
    return { size, modified, read, close: () => content.close() };
  }

  close(): void {
    this.#unpacked?.close();
  }

  #tar(): Bytes {
    const { kind, scope } = this.#about;
    if (kind !== "tgz") return this.#file;
    this.#unpacked ??= new Sequence({
      ...{ size: Number.POSITIVE_INFINITY, beginsAnywhere: false, held: HELD_TAR_BYTES, scope },
      from: () => {
        if (--this.#passes < 0) throw unpackedTooOften();
        return gunzip(this.#file);
      },
    });
    const unpacked = this.#unpacked;
    return { size: Number.POSITIVE_INFINITY, read: (offset, length) => unpacked.read(offset, length) };
  }
}
