// Verifies audit files: whether the lines of every chain are all there, in order and unaltered.

import { createReadStream } from "node:fs";
import { lstat, realpath } from "node:fs/promises";
import { type Checkpoint, hashOfLine } from "./chain.js";
import { ChainCheck, type ChainReport, type Finding, type LinePlace, type VerifySignature } from "./chain-check.js";
import { parseLine } from "./line.js";

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

/** A line of an audit file. */
interface FileLine {
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

/**
 * Orders files of one log: rotated ones oldest first, then the current one. Those that logrotate names by their date
 * (`<name>-20260131`) come before the current one. Others keep their order.
 */
export function sortOldestFirst(paths: readonly string[]): readonly string[] {
  const ageOf = (path: string): number =>
    Number(/\.(\d+)$/.exec(path)?.[1] ?? paths.some((one) => path.startsWith(`${one}-`)));
  return [...paths].sort((a, b) => ageOf(b) - ageOf(a));
}

/** The real path of a file. @throws the system's error */
export const realFile = (path: string): Promise<string> => realpath(path);
