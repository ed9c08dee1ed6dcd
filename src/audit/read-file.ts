// Reads audit files: their lines, and the rotated files beside one.

import { createReadStream } from "node:fs";
import { lstat, realpath } from "node:fs/promises";

const CHUNK_BYTES = 1_048_576;
const NEWLINE = 0x0a;

/** A line of an audit file. */
export interface FileLine {
  /** Without its newline. */
  readonly bytes: Buffer;
  /** Offset of its first byte. */
  readonly offset: number;
  /** Whether it has its newline. */
  readonly whole: boolean;
}

/** The lines of a file, from a line's offset on, in batches as they are read. @throws the system's error */
export async function* readLines(path: string, start = 0): AsyncGenerator<readonly FileLine[]> {
  let rest: Buffer = Buffer.alloc(0);
  let offset = start;
  const stream: AsyncIterable<Buffer> = createReadStream(path, { start, highWaterMark: CHUNK_BYTES });
  for await (const chunk of stream) {
    const data = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const lines: FileLine[] = [];
    let from = 0;
    for (let end = data.indexOf(NEWLINE); end !== -1; end = data.indexOf(NEWLINE, from)) {
      lines.push({ bytes: data.subarray(from, end), offset: offset + from, whole: true });
      from = end + 1;
    }
    rest = data.subarray(from);
    offset += from;
    yield lines;
  }
  if (rest.length > 0) yield [{ bytes: rest, offset, whole: false }];
}

/** An audit file and the rotated ones beside it, oldest first. @param path the current one */
export async function listLogFiles(path: string): Promise<readonly string[]> {
  const found = [path];
  for (let age = 1; (await lstat(`${path}.${age}`).catch(() => undefined))?.isFile() === true; age++) {
    found.unshift(`${path}.${age}`);
  }
  return found;
}

/** Orders files of one log: rotated ones oldest first, then the current one. Others keep their order. */
export function sortOldestFirst(paths: readonly string[]): readonly string[] {
  const ageOf = (path: string): number => Number(/\.(\d+)$/.exec(path)?.[1] ?? 0);
  return [...paths].sort((a, b) => ageOf(b) - ageOf(a));
}

/** The real path of a file. @throws the system's error */
export const realFile = (path: string): Promise<string> => realpath(path);
