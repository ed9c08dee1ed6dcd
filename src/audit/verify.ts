// Verifies audit files: whether the lines of every chain are all there, in order and unaltered.

import { lstat, open, realpath } from "node:fs/promises";
import { pipeline, type Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { codeOf } from "../core/unknown.js";
import { type Checkpoint, hashOfLine, parseLine } from "./chain.js";
import { ChainCheck, type ChainReport, type Finding, type LinePlace, type VerifySignature } from "./chain-check.js";

/** A file to verify, from the oldest to the current one. */
interface AuditSource {
  readonly name: string;
  readonly lines: AsyncIterable<readonly { readonly bytes: Buffer; readonly whole: boolean }[]>;
}

export interface VerifyOptions {
  readonly verifySignature: VerifySignature;
  /** `did:key` that must have signed every checkpoint. */
  readonly did?: string | undefined;
  /** Checkpoints that must be in the files. */
  readonly expected?: readonly Checkpoint[];
}

export interface AuditReport {
  /** No line was found changed, removed, moved or added, and no chain is missing or cut. */
  readonly intact: boolean;
  readonly chains: readonly ChainReport[];
  /** In the order of the files. */
  readonly findings: readonly Finding[];
  /** Lines that a crash left unfinished. */
  readonly torn: readonly LinePlace[];
  /** Chains named in the files that ended before their first line. */
  readonly older: readonly string[];
  readonly lines: number;
}

/** Verifies files as one log. @param sources oldest first @throws what reading them throws */
export async function verifyAudit(sources: readonly AuditSource[], options: VerifyOptions): Promise<AuditReport> {
  const check = new AuditCheck(options);
  for (const { name, lines } of sources) {
    let line = 0;
    for await (const batch of lines)
      for (const { bytes, whole } of batch) check.add({ file: name, line: ++line }, bytes, whole);
  }
  return check.report();
}

class AuditCheck {
  readonly #options: VerifyOptions;
  readonly #chains = new Map<string, ChainCheck>();
  readonly #findings: Finding[] = [];
  readonly #torn: LinePlace[] = [];
  readonly #named: Checkpoint[] = [];
  #since: number | undefined;
  #lines = 0;

  constructor(options: VerifyOptions) {
    this.#options = options;
  }

  add(place: LinePlace, bytes: Buffer, whole: boolean): void {
    this.#lines++;
    const text = bytes.toString("utf8");
    const line = whole ? parseLine(text) : undefined;
    if (line === undefined && text.startsWith("{")) {
      this.#torn.push(place);
      return;
    }
    const { link } = line ?? {};
    if (line === undefined || link === undefined) {
      this.#findings.push({ verdict: "added", ...place, detail: "it belongs to no chain" });
      return;
    }
    this.#since ??= line.time;
    let chain = this.#chains.get(link.chain);
    if (chain === undefined) {
      chain = new ChainCheck(link.chain, this.#options);
      this.#chains.set(link.chain, chain);
    }
    chain.add({ place, link, line, text, hash: hashOfLine(bytes) });
  }

  report(): AuditReport {
    const findings = [...this.#findings];
    const older: string[] = [];
    for (const chain of this.#chains.values()) {
      chain.end();
      findings.push(...chain.findings);
      this.#named.push(...chain.named);
    }
    const known = new Set<string>();
    for (const named of [...this.#named, ...(this.#options.expected ?? [])]) {
      const chain = this.#chains.get(named.chain);
      const finding = chain === undefined ? this.#findMissing(named, older) : chain.findMissing(named);
      const key = `${finding?.verdict} ${named.chain}`;
      if (finding !== undefined && !known.has(key)) findings.push(finding);
      known.add(key);
    }
    const chains = [...this.#chains.values()].map((chain) => chain.report());
    return { intact: findings.length === 0, chains, findings, torn: this.#torn, older, lines: this.#lines };
  }

  /** A chain that ended before the oldest line was rotated away with the file it was in. */
  #findMissing({ chain, n, time }: Checkpoint, older: string[]): Finding | undefined {
    if (this.#since === undefined || time >= this.#since) return { verdict: "missing", chain, n };
    if (!older.includes(chain)) older.push(chain);
    return undefined;
  }
}

// Reads audit files: their lines, and the rotated files beside one.

const CHUNK_BYTES = 1_048_576;
const NEWLINE = 0x0a;
/** How compressed files begin. */
const COMPRESSED: readonly (readonly [beginning: string, program: string])[] = [
  ["1f8b", "gzip"],
  ["28b52ffd", "zstd"],
  ["fd377a58", "xz"],
  ["425a68", "bzip2"],
];

/** A line of an audit file. */
interface FileLine {
  /** Without its newline. */
  readonly bytes: Buffer;
  /** Whether it has its newline. */
  readonly whole: boolean;
}

/** A file is compressed in a way that is not read here. */
export class CompressedFile extends Error {
  override readonly name = "CompressedFile";
}

/** The lines of a file, also of one compressed by gzip, in batches as they are read. @throws CompressedFile, the system's error */
export async function* readLines(path: string): AsyncGenerator<readonly FileLine[]> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of await contentOf(path)) {
    const data = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const lines: FileLine[] = [];
    let from = 0;
    for (let end = data.indexOf(NEWLINE); end !== -1; end = data.indexOf(NEWLINE, from)) {
      lines.push({ bytes: data.subarray(from, end), whole: true });
      from = end + 1;
    }
    rest = data.subarray(from);
    yield lines;
  }
  if (rest.length > 0) yield [{ bytes: rest, whole: false }];
}

async function contentOf(path: string): Promise<AsyncIterable<Buffer>> {
  const file = await open(path);
  const { buffer } = await file.read({ buffer: Buffer.alloc(4), position: 0 }).catch(async (error: unknown) => {
    await file.close();
    throw error;
  });
  const [, program] = COMPRESSED.find(([beginning]) => buffer.toString("hex").startsWith(beginning)) ?? [];
  const stream = file.createReadStream({ start: 0, highWaterMark: CHUNK_BYTES });
  if (program === undefined) return stream;
  if (program === "gzip") return unzipped(stream, path);
  stream.destroy();
  throw new CompressedFile(`${path}: it is compressed by ${program}. Decompress it first`);
}

async function* unzipped(stream: Readable, path: string): AsyncGenerator<Buffer> {
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
  try {
    yield* pipeline(stream, gunzip, () => {});
  } catch (error) {
    // Errors of gunzip name no path.
    throw Object.assign(new Error("It cannot be decompressed"), { code: codeOf(error) || "Z_DATA_ERROR", path });
  }
}

/**
 * An audit file and the rotated ones beside it, oldest first.
 *
 * @param path the current one
 * @param withCompressed also those that another program has compressed: `<path>.2.gz`
 */
export async function listLogFiles(path: string, withCompressed = false): Promise<readonly string[]> {
  const found = [path];
  for (let age = 1; ; age++) {
    // The one that was compressed went before that which has its number now.
    const names = [`${path}.${age}`, ...(withCompressed ? [`${path}.${age}.gz`] : [])];
    const there = await Promise.all(names.map(async (name) => (await lstat(name).catch(() => undefined))?.isFile()));
    const files = names.filter((_, index) => there[index] === true);
    if (files.length === 0) return found;
    for (const file of files) found.unshift(file);
  }
}

/**
 * Orders files of one log: rotated ones oldest first, then the current one. Files that logrotate names by date
 * (`<name>-20260131`) come before the current one. Others keep their order.
 */
export function sortOldestFirst(paths: readonly string[]): readonly string[] {
  const ageOf = (path: string): number => {
    const plain = path.replace(/\.gz$/, "");
    const age = Number(/\.(\d+)$/.exec(plain)?.[1] ?? paths.some((one) => plain.startsWith(`${one}-`)));
    return plain === path ? age : age + 0.5;
  };
  return [...paths].sort((a, b) => ageOf(b) - ageOf(a));
}

/** The real path of a file. @throws the system's error */
export const realFile = (path: string): Promise<string> => realpath(path);
