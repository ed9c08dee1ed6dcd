import { buffer } from "node:stream/consumers";
import { type Entry, fromBuffer } from "yauzl";
import { ZipFile } from "yazl";

/** An entry as another reader finds it. */
export interface FoundEntry {
  readonly name: string;
  readonly content: Buffer;
  readonly modified: number;
  /** The fields of its clock, read as those of UTC. */
  readonly dosTime: number;
  /** Type and permission bits. */
  readonly mode: number;
}

/** Reads a zip by another implementation. */
export async function readZip(bytes: Buffer): Promise<FoundEntry[]> {
  const zip = await new Promise<import("yauzl").ZipFile>((resolve, reject) =>
    fromBuffer(bytes, { lazyEntries: true }, (error, file) => (error ? reject(error) : resolve(file))),
  );
  const found: FoundEntry[] = [];
  const contentOf = (entry: Entry): Promise<Buffer> =>
    new Promise((resolve, reject) =>
      zip.openReadStream(entry, (error, stream) => (error ? reject(error) : resolve(buffer(stream)))),
    );
  await new Promise<void>((resolve, reject) => {
    zip.on("entry", (entry: Entry) => {
      void contentOf(entry).then((content) => {
        found.push({
          name: entry.fileName,
          content,
          modified: entry.getLastModDate({ timezone: "UTC" }).getTime(),
          dosTime: entry.getLastModDate({ timezone: "UTC", forceDosFormat: true }).getTime(),
          mode: entry.externalFileAttributes >>> 16,
        });
        zip.readEntry();
      }, reject);
    });
    zip.on("end", resolve);
    zip.on("error", reject);
    zip.readEntry();
  });
  return found;
}

export interface GivenEntry {
  readonly name: string;
  /** Absent: a directory. */
  readonly content?: string | Buffer;
  readonly mode?: number;
  readonly modified?: Date;
}

/** Makes a zip. */
export async function zipOf(entries: readonly GivenEntry[]): Promise<Buffer> {
  const zip = new ZipFile();
  for (const { name, content, mode, modified } of entries) {
    const options = { ...(mode === undefined ? {} : { mode }), ...(modified === undefined ? {} : { mtime: modified }) };
    if (content === undefined) zip.addEmptyDirectory(name, options);
    // Empty ones are stored, as packing thousands takes seconds.
    else zip.addBuffer(Buffer.from(content), name, { ...options, compress: content.length > 0 });
  }
  zip.end();
  return buffer(zip.outputStream);
}
