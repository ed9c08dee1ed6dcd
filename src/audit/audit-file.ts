// The audit sink that writes JSON lines to a file, linked to a chain with signed checkpoints.

import { settleWithin } from "../core/turns.js";
import { AuditChain, type AuditSigner, CHAIN_BYTES, type Checkpoint, type SealedLine } from "./chain.js";
import { CheckpointStore, checkpointFolder } from "./checkpoints.js";
import type { AuditRecord, AuditSink } from "./record.js";
import { openRotatingFile, type RotatingFile, type RotationOptions } from "./rotating-file.js";

export interface AuditFileOptions extends RotationOptions {
  readonly signer: AuditSigner;
  /** Where the newest checkpoint of each chain is kept. Absent: nowhere. */
  readonly stateDir?: string | undefined;
}

/** A checkpoint is due this long after the first record it covers, in milliseconds. */
const CHECKPOINT_MS = 60_000;

/** Longest wait for a slow disk before records are read, in milliseconds. */
const WRITTEN_MS = 200;

/**
 * Opens an audit file. Each line names the SHA-256 of the one before, and each 1,000 records, each minute with records
 * and the end have a signed checkpoint, so that later changes show: `verifyAudit`.
 *
 * Records that cannot be written are queued up to a limit; beyond it the newest are lost, and the next line counts them.
 *
 * @param onError called with the first failure of every series; at worst records are lost, calls never fail
 * @throws the system's error when the file cannot be opened
 */
export async function openAuditFile(
  path: string,
  onError: (error: unknown) => void,
  { signer, stateDir, ...options }: AuditFileOptions,
): Promise<AuditFile> {
  const file = await openRotatingFile(path, onError, options);
  const folder = stateDir === undefined ? undefined : checkpointFolder(stateDir, file.name);
  const store = folder === undefined ? undefined : new CheckpointStore(folder);
  const others = (await store?.listUnnamed()) ?? [];
  return new AuditFile({ file, folder, store, others, signer, onError });
}

interface Parts {
  readonly file: RotatingFile;
  readonly folder: string | undefined;
  readonly store: CheckpointStore | undefined;
  readonly others: readonly Checkpoint[];
  readonly signer: AuditSigner;
  readonly onError: (error: unknown) => void;
}

/** An audit file that is rotated by renaming when it is full. */
export class AuditFile implements AuditSink {
  readonly #parts: Parts;
  readonly #chain: AuditChain;
  readonly #named: Readonly<Record<string, number>>;
  #timer: NodeJS.Timeout | undefined;
  /** Checkpoints not yet in the file. */
  #unwritten = 0;
  #lost = 0;
  #dropping = false;
  #saving: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#chain = new AuditChain(parts.signer, parts.others);
    this.#named = Object.fromEntries(parts.others.map(({ chain, n }) => [chain, n]));
  }

  /** Number of records lost since the file was opened. */
  get lost(): number {
    return this.#lost;
  }

  /** Id of this process in the file. */
  get chain(): string {
    return this.#chain.id;
  }

  /** Real path of the file; `undefined` for a device or pipe, which cannot be read again. */
  get path(): string | undefined {
    const { file } = this.#parts;
    return file.isRegular ? file.name : undefined;
  }

  /** Its folder in the state directory. */
  get stateFolder(): string | undefined {
    return this.#parts.folder;
  }

  write(record: AuditRecord): void {
    if (this.#closing !== undefined) {
      this.#lost++;
      return;
    }
    const json = JSON.stringify(record);
    if (Buffer.byteLength(json) + CHAIN_BYTES > this.#parts.file.room) {
      this.#drop();
      return;
    }
    if (this.#parts.file.idle) this.#dropping = false;
    for (const line of this.#chain.add(json)) this.#append(line);
    this.#timer ??= setTimeout(() => this.#checkpointDue(), CHECKPOINT_MS).unref();
  }

  /** Resolves when what was recorded so far is in the file, or after 200 ms. */
  written(): Promise<void> {
    return settleWithin(this.#parts.file.settled(), WRITTEN_MS);
  }

  /** Finds out before the next record whether somebody has renamed or removed the file. */
  look(): void {
    this.#parts.file.look();
  }

  /** Writes the queued records, waiting five seconds at most; what is not written by then is lost. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #checkpointDue(): void {
    this.#timer = undefined;
    if (this.#chain.unsigned > 0) this.#append(this.#chain.checkpoint());
  }

  #append({ text, checkpoint }: SealedLine): void {
    const { file } = this.#parts;
    if (checkpoint === undefined) {
      file.append(text);
      return;
    }
    this.#unwritten++;
    // Kept only once it is in the file: otherwise a crash would look like a cut.
    file.append(text, () => {
      this.#unwritten--;
      this.#saving = this.#save(checkpoint);
    });
  }

  async #save(checkpoint: Checkpoint & { readonly end: boolean }): Promise<void> {
    const { store, onError } = this.#parts;
    try {
      await store?.save({ ...checkpoint, named: this.#named });
      if (checkpoint.end) await store?.prune();
    } catch (error) {
      onError(error);
    }
  }

  #drop(): void {
    this.#lost++;
    this.#chain.countLost();
    if (this.#dropping) return;
    this.#dropping = true;
    this.#parts.onError(new Error("Audit records are being lost: the disk does not keep up"));
  }

  async #close(): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#chain.started) this.#append(this.#chain.checkpoint({ end: true }));
    const lost = await this.#parts.file.close();
    await this.#saving;
    this.#lost += lost - this.#unwritten;
  }
}
