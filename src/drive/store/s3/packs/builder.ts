// Builds packs for upload.

import { randomBytes } from "node:crypto";
import { CellBuffer } from "../../cell-buffer.js";
import { PACK_HEADER, packEnd, startDigest, TRAILER_BYTES } from "../../embedded/pack-format.js";
import { bloomOf, type PackInfo, type PackKind } from "./manifest.js";

/** A pack ready for upload. */
export interface BuiltPack {
  readonly info: PackInfo;
  readonly bytes: Buffer;
  /** Its footer entries, as encoded in the pack. */
  readonly footer: Buffer;
}

const SALT_BYTES = 16;
/** A pack is closed when its cells reach this size in bytes. */
export const PACK_CELL_BYTES = 16 << 20;

export class PackBuilder extends CellBuffer {
  constructor() {
    super(PACK_HEADER);
  }

  /** Consumes the builder. The pack is unique even if another has the same cells: see decision 41. */
  build(kind: PackKind): BuiltPack {
    const { entries, content } = this;
    const salt = randomBytes(SALT_BYTES);
    const digest = startDigest().update(content.subarray(PACK_HEADER.length)).update(salt);
    const end = packEnd(entries, content.length + SALT_BYTES, digest);
    const bytes = Buffer.concat([content, salt, end]);
    this.free();
    const footer = Buffer.from(end.subarray(0, end.length - TRAILER_BYTES));
    const id = end.toString("hex", end.length - TRAILER_BYTES + 12, end.length - 4);
    const filter = bloomOf(
      entries.map(({ hash }) => hash),
      entries.length,
    );
    return { info: { id, kind, count: entries.length, size: bytes.length, filter }, bytes, footer };
  }
}
