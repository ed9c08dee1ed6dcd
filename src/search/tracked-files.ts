// The paths in an index of Git, which hold although a rule ignores them.

/** Larger ones are not read: about 300,000 paths. */
export const MAX_INDEX_BYTES = 33_554_432;

const HEADER_BYTES = 12;
/** Fields of an entry before its object id, and the flags behind that. */
const STAT_BYTES = 40;
const FLAGS_BYTES = 2;
/** SHA-1, SHA-256: the index does not say which. */
const ID_BYTES = [20, 32];
const EXTENDED = 0x4000;
const NAME_LENGTH = 0x0fff;

/** Paths in byte order, each a range of some bytes. */
export class TrackedFiles {
  readonly #bytes: Buffer;
  readonly #ranges: Uint32Array;

  constructor(bytes: Buffer, ranges: Uint32Array) {
    this.#bytes = bytes;
    this.#ranges = ranges;
  }

  /** Whether a file is tracked, or something below a directory is. @param path relative to the repository */
  has(path: string, isDirectory: boolean): boolean {
    const wanted = Buffer.from(isDirectory ? `${path}/` : path);
    let low = 0;
    let high = this.#ranges.length / 2;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (Buffer.compare(this.#at(middle), wanted) < 0) low = middle + 1;
      else high = middle;
    }
    const found = this.#at(low);
    return isDirectory ? found.subarray(0, wanted.length).equals(wanted) : found.equals(wanted);
  }

  #at(index: number): Buffer {
    return this.#bytes.subarray(this.#ranges[2 * index] ?? 0, this.#ranges[2 * index + 1] ?? 0);
  }
}

/** Reads an index (versions 2 to 4). @returns `undefined`: it is none, or damaged */
export function readIndex(bytes: Buffer): TrackedFiles | undefined {
  if (bytes.length < HEADER_BYTES || bytes.toString("latin1", 0, 4) !== "DIRC") return undefined;
  const version = bytes.readUInt32BE(4);
  const count = bytes.readUInt32BE(8);
  if (version < 2 || version > 4 || count > bytes.length / STAT_BYTES) return undefined;
  for (const idBytes of ID_BYTES) {
    const read = version === 4 ? readPacked(bytes, count, idBytes) : readPlain(bytes, count, idBytes);
    if (read !== undefined) return read;
  }
  return undefined;
}

/** Entries with whole paths, each filled up with NULs to a multiple of eight bytes. */
function readPlain(bytes: Buffer, count: number, idBytes: number): TrackedFiles | undefined {
  const ranges = new Uint32Array(2 * count);
  let at = HEADER_BYTES;
  for (let index = 0; index < count; index++) {
    const start = nameStart(bytes, at, idBytes);
    if (start === undefined) return undefined;
    const end = bytes.indexOf(0, start.at);
    const isSound = end > start.at && start.length === Math.min(end - start.at, NAME_LENGTH);
    if (!isSound) return undefined;
    ranges[2 * index] = start.at;
    ranges[2 * index + 1] = end;
    at += (end - at + 8) & ~7;
  }
  return new TrackedFiles(bytes, ranges);
}

/** Entries of version 4: how much of the path before is dropped, and what is added. */
function readPacked(bytes: Buffer, count: number, idBytes: number): TrackedFiles | undefined {
  const ranges = new Uint32Array(2 * count);
  const names: Buffer[] = [];
  let last: Buffer = Buffer.alloc(0);
  let at = HEADER_BYTES;
  let total = 0;
  for (let index = 0; index < count; index++) {
    const start = nameStart(bytes, at, idBytes);
    if (start === undefined) return undefined;
    let next = start.at;
    let byte = bytes[next++] ?? 0;
    let dropped = byte & 0x7f;
    while ((byte & 0x80) !== 0) {
      byte = bytes[next++] ?? 0;
      dropped = ((dropped + 1) << 7) + (byte & 0x7f);
    }
    const end = bytes.indexOf(0, next);
    if (end < 0 || dropped < 0 || dropped > last.length) return undefined;
    last = Buffer.concat([last.subarray(0, last.length - dropped), bytes.subarray(next, end)]);
    total += last.length;
    if (start.length !== Math.min(last.length, NAME_LENGTH) || total > 4 * MAX_INDEX_BYTES) return undefined;
    names.push(last);
    ranges[2 * index] = total - last.length;
    ranges[2 * index + 1] = total;
    at = end + 1;
  }
  return new TrackedFiles(Buffer.concat(names), ranges);
}

function nameStart(bytes: Buffer, entry: number, idBytes: number): { at: number; length: number } | undefined {
  const at = entry + STAT_BYTES + idBytes;
  if (at + 2 * FLAGS_BYTES > bytes.length) return undefined;
  const flags = bytes.readUInt16BE(at);
  const isExtended = (flags & EXTENDED) !== 0;
  return { at: at + (isExtended ? 2 * FLAGS_BYTES : FLAGS_BYTES), length: flags & NAME_LENGTH };
}
