// Moves into the trash that this process is about to make, in a file beside the tables: one short write for each, where
// a transaction of its own would take longer than the whole change.

import { randomBytes } from "node:crypto";
import {
  closeSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { attempt } from "../core/io.js";
import { mayRun, ownToken } from "../drive/store/embedded/process-token.js";
import type { PendingRow } from "./rows.js";

const PREFIX = "pending-";
const CHECK_CHARS = 8;
/** Files with more than this (bytes) are cut as soon as nothing of them is under way. */
const MAX_BYTES = 262_144;

/** Notes of processes that died, and how to forget them. */
export interface LeftNotes {
  readonly rows: readonly [id: string, row: PendingRow][];
  /** Called once what they tell is settled. */
  forget(): void;
}

export class PendingLog {
  readonly #folder: string;
  readonly #open = new Set<string>();
  #file: { readonly fd: number; readonly path: string; readonly headBytes: number } | undefined;
  #bytes = 0;

  /**
   * Makes the file at once: it tells others that this process has the journal open.
   * @param folder of the journal
   */
  constructor(folder: string) {
    this.#folder = folder;
    this.#file = attempt(() => this.#create());
  }

  /** @throws system errors; the change counts as begun all the same */
  begin(id: string, row: PendingRow): void {
    this.#open.add(id);
    this.#file ??= this.#create();
    const line = Buffer.from(lineOf({ id, row }));
    const written = writeSync(this.#file.fd, line);
    if (written === line.length) {
      this.#bytes += written;
      return;
    }
    // The next line must not go on this one.
    ftruncateSync(this.#file.fd, this.#file.headBytes + this.#bytes);
    throw Object.assign(new Error("The note was cut short"), { code: "ENOSPC" });
  }

  /** Whether a change was begun and has not ended. */
  has(id: string): boolean {
    return this.#open.has(id);
  }

  /** It was not done, or its entry is written. Notes that stay do no harm: their entries are there. */
  end(id: string): void {
    if (this.#open.delete(id) && this.#open.size === 0 && this.#bytes > MAX_BYTES) this.#cut();
  }

  close(): void {
    const file = this.#file;
    if (file === undefined) return;
    this.#file = undefined;
    closeSync(file.fd);
    // With notes that are still open it tells the next process what was under way.
    if (this.#open.size === 0) attempt(() => unlinkSync(file.path));
  }

  /** Takes over the notes of dead processes, so that nobody else settles them too. */
  takeOver(): LeftNotes {
    const rows: [string, PendingRow][] = [];
    const taken: string[] = [];
    const names = attempt(() => readdirSync(this.#folder)) ?? [];
    for (const name of names.filter((one) => one.startsWith(PREFIX))) {
      const path = join(this.#folder, name);
      if (path === this.#file?.path) continue;
      const [head, ...notes] = attempt(() => readFileSync(path, "utf8").split("\n").slice(0, -1)) ?? [];
      const { process } = decodeLine<{ process: string }>(head) ?? {};
      if (process !== undefined && mayRun(process)) continue;
      // A process that has just made its file has not yet written its name.
      if (process === undefined && notes.length === 0) continue;
      const mine = join(this.#folder, newName());
      if (attempt(() => renameSync(path, mine) ?? true) === undefined) continue;
      taken.push(mine);
      for (const note of notes) {
        const known = decodeLine<{ id: string; row: PendingRow }>(note);
        if (known !== undefined) rows.push([known.id, known.row]);
      }
    }
    return { rows, forget: () => taken.forEach((path) => void attempt(() => unlinkSync(path))) };
  }

  #create() {
    const path = join(this.#folder, newName());
    const fd = openSync(path, "ax", 0o600);
    return { fd, path, headBytes: writeSync(fd, lineOf({ process: ownToken() })) };
  }

  #cut(): void {
    if (this.#file === undefined) return;
    ftruncateSync(this.#file.fd, this.#file.headBytes);
    this.#bytes = 0;
  }
}

/** Whether a running process has the journal in a folder open. */
export const hasLiveNotes = (folder: string): boolean =>
  (attempt(() => readdirSync(folder)) ?? [])
    .filter((name) => name.startsWith(PREFIX))
    .some((name) => {
      const [head] = attempt(() => readFileSync(join(folder, name), "utf8").split("\n", 1)) ?? [];
      const { process } = decodeLine<{ process: string }>(head) ?? {};
      return process !== undefined && mayRun(process);
    });

const newName = (): string => `${PREFIX}${randomBytes(8).toString("hex")}`;

/** A checksum before each line: the last one of a process that died may be cut short. JSON holds no line break. */
function lineOf(value: unknown): string {
  const json = JSON.stringify(value);
  return `${checkOf(json)} ${json}\n`;
}

function decodeLine<T>(line: string | undefined): T | undefined {
  if (line === undefined) return undefined;
  const json = line.slice(CHECK_CHARS + 1);
  return line.slice(0, CHECK_CHARS) === checkOf(json) ? (JSON.parse(json) as T) : undefined;
}

const checkOf = (text: string): string => crc32(text).toString(16).padStart(CHECK_CHARS, "0");
