// Writes a zip as a stream.

import { createRequire } from "node:module";
import { PassThrough, Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { laterPackage } from "../../core/later.js";

/** Types of entries in the attributes that Unix programs read. */
const [REGULAR, DIRECTORY] = [0o100_000, 0o040_000];
const [PLAIN, EXECUTABLE] = [0o644, 0o755];
const OWNER_MAY_RUN = 0o100;

/** An entry of a new archive. */
export interface PackedEntry {
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly modified: number;
  /** Permission bits, of which only the owner's right to run it counts. */
  readonly mode: number;
  /** Absent: a directory. */
  readonly content?: AsyncIterable<Uint8Array>;
}

const loadYazl = laterPackage<typeof import("yazl")>(createRequire(import.meta.url), "yazl");

/** A zip of entries, each of which is asked for once the one before is packed. Nothing begins before the first chunk is asked for. */
export async function* pack(entries: AsyncIterable<PackedEntry>): AsyncGenerator<Uint8Array> {
  const { ZipFile } = loadYazl();
  const archive = new ZipFile();
  const out = archive.outputStream;
  if (!(out instanceof PassThrough)) throw new TypeError("A zip is written to a stream that can be destroyed");
  const stop = (error: Error): void => void out.destroy(error);
  archive.on("error", stop);
  const adding = addAll(archive, out, entries).catch(stop);
  try {
    yield* out;
  } finally {
    out.destroy();
    // Whatever the entries hold open is closed by then.
    await adding;
  }
}

async function addAll(
  archive: InstanceType<typeof import("yazl").ZipFile>,
  out: PassThrough,
  entries: AsyncIterable<PackedEntry>,
): Promise<void> {
  for await (const { name, modified, mode, content } of entries) {
    if (out.destroyed) return;
    const mtime = new UtcDate(modified);
    if (content === undefined) {
      archive.addEmptyDirectory(name, { mtime, mode: DIRECTORY | EXECUTABLE });
      continue;
    }
    const bits = (mode & OWNER_MAY_RUN) === 0 ? PLAIN : EXECUTABLE;
    const stream = Readable.from(content, { objectMode: false });
    const abandon = (): void => void stream.destroy();
    out.once("close", abandon);
    archive.addReadStream(stream, name, { mtime, mode: REGULAR | bits });
    await finished(stream);
    out.off("close", abandon);
  }
  archive.end();
}

/** A time whose fields are those of UTC: the format has the fields of a clock without its zone. */
class UtcDate extends Date {
  override getFullYear = this.getUTCFullYear;
  override getMonth = this.getUTCMonth;
  override getDate = this.getUTCDate;
  override getHours = this.getUTCHours;
  override getMinutes = this.getUTCMinutes;
  override getSeconds = this.getUTCSeconds;
}
