// The store for one machine: LMDB tables plus append-only pack files, shared by any number of local processes.

import { join } from "node:path";
import { describeError } from "../../../core/errors/describe-error.js";
import { type Log, silentLog } from "../../../core/ports/log.js";
import { Turns } from "../../../core/turns.js";
import { mayRun } from "../../../process/identity.js";
import { sameBytes } from "../../cad3/ref.js";
import type {
  CellBatch,
  CellStore,
  CollectOptions,
  CollectReport,
  FormatChange,
  KeyRecords,
  Pin,
  RootRecord,
  TakeCell,
} from "../cell-store.js";
import { checkOpen, checkOwner, checkRoot, withStoreErrors } from "../checks.js";
import { createLiveBatches, createPins, type LiveBatches } from "../live-batches.js";
import {
  createEmbeddedKeys,
  formatOf,
  logKey,
  nextNumber,
  openTables,
  packState,
  rootRecord,
  rows,
  stamped,
  type Tables,
  uintBytes,
  upgradeTables,
  usedBytesOf,
  usedKey,
  usedRow,
} from "../tables.js";
import { Committer, EmbeddedBatch } from "./batch.js";
import type { CollectParts } from "./collect.js";
import { collectEmbedded, forgetRetired } from "./collect.js";
import { makeFolder, refuseNetwork } from "./make-folder.js";
import { PackWriter } from "./pack-writer.js";
import { PackReader, readCells } from "./read-cells.js";

export interface EmbeddedOptions {
  /** A dedicated folder on a local disk, created if missing. */
  readonly path: string;
  readonly log?: Log;
  /** Current time in milliseconds since 1970. */
  readonly now?: () => number;
  /** Whether acknowledged writes survive a power loss. If false, they survive only the end of the process. */
  readonly flush?: boolean;
  /** Packs are sealed at this size in bytes. */
  readonly packBytes?: number;
}

/** Maximum time (ms) that a reader works on a replaced root. */
const RETIRED_MS = 7 * 86_400_000;

interface Parts extends Pick<CollectParts, "folder" | "tables" | "packs" | "reader" | "now"> {
  readonly log: Log;
}

/**
 * Opens the store for one machine; several processes may open it at once.
 *
 * @throws STORE_UNAVAILABLE if it cannot be opened, has a newer format version or is on a network file system;
 * STORE_DAMAGED if the structure of its index is damaged
 */
export async function openEmbeddedStore(options: EmbeddedOptions): Promise<CellStore> {
  const { path: folder, log = silentLog, now = Date.now, flush = true, packBytes } = options;
  const open = async () => {
    makeFolder(join(folder, "packs"));
    refuseNetwork(folder);
    const tables = openTables(folder, flush);
    const packs = new PackWriter({ folder, tables, flush, rollBytes: packBytes });
    try {
      await adoptPacks(tables, packs, log);
      // For stores that are never collected.
      await forgetRetired(tables, now() - RETIRED_MS);
    } catch (error) {
      await packs.close().catch(() => undefined);
      await tables.env.close();
      throw error;
    }
    return new EmbeddedStore({ folder, tables, packs, reader: new PackReader(folder), log, now });
  };
  return withStoreErrors(log, open, { isToldElsewhere: true });
}

/** Takes over the packs of dead processes. A damaged pack does not prevent reading the others. */
async function adoptPacks(tables: Tables, packs: PackWriter, log: Log): Promise<void> {
  for (const { key, value } of rows(tables.packs)) {
    const { isSealed, writer } = packState(value);
    if (isSealed || mayRun(writer)) continue;
    try {
      await packs.adopt(key.readUInt32BE());
    } catch (error) {
      log.error({ event: "drive.pack", error: describeError(error) }, "A pack of the drive store is damaged");
    }
  }
}

class EmbeddedStore implements CellStore {
  readonly format: number;
  readonly keys: KeyRecords;
  readonly #parts: Parts;
  readonly #committer: Committer;
  readonly #batches: LiveBatches;
  readonly #pins = createPins();
  readonly #collections = new Turns();
  #isOpen = true;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.format = formatOf(parts.tables.meta);
    this.#committer = new Committer(parts.tables, parts.packs);
    this.#batches = createLiveBatches(parts.now);
    const commit = <T>(job: () => T): Promise<T> => this.#run(() => this.#committer.run(job));
    this.keys = createEmbeddedKeys(parts.tables, commit);
  }

  getMany(hashes: readonly Uint8Array[], take?: TakeCell): Promise<(Uint8Array | undefined)[]> {
    const { tables, reader } = this.#parts;
    const checkGoesOn = (): void => checkOpen(this.#isOpen);
    return this.#run(() => readCells(hashes, { tables, reader, checkGoesOn, take }));
  }

  batch(): CellBatch {
    checkOpen(this.#isOpen);
    const { tables, packs, now } = this.#parts;
    const live = this.#batches.begin();
    const batch = new EmbeddedBatch({ tables, packs, committer: this.#committer, live, now });
    const end = <T>(last: () => T): Promise<T> =>
      this.#run(async () => {
        const result = await batch.write(last);
        live.end();
        return result;
      });
    return {
      put: (hash, bytes) => {
        checkOpen(this.#isOpen);
        const waiting = batch.put(hash, bytes);
        return waiting === undefined ? undefined : this.#run(() => waiting);
      },
      flush: () => end(() => undefined),
      commit: async (owner, expected, bytes, hint) => {
        checkOwner(owner);
        checkRoot(bytes);
        return end(() => this.#swap(owner, expected, { ...hint, bytes }));
      },
    };
  }

  root(owner: string): Promise<RootRecord | undefined> {
    return this.#run(async () => {
      checkOwner(owner);
      const { env, roots, meta } = this.#parts.tables;
      env.resetReadTxn();
      const key = Buffer.from(owner, "hex");
      const row = roots.get(key);
      if (row === undefined) return undefined;
      const usedBytes = usedBytesOf(meta.get(usedKey(key)), row);
      return { ...rootRecord(row), usedBytes, log: meta.get(logKey(key)) };
    });
  }

  /** Only inside a transaction. */
  #swap(
    owner: string,
    expected: RootRecord | null,
    { bytes, usedBytes, log }: Pick<RootRecord, "bytes" | "usedBytes" | "log">,
  ): RootRecord | "conflict" {
    const { roots, retired, meta } = this.#parts.tables;
    const key = Buffer.from(owner, "hex");
    const row = roots.get(key);
    const present = row === undefined ? undefined : rootRecord(row);
    if (present?.version !== expected?.version) return "conflict";
    if (present !== undefined && sameBytes(present.bytes, bytes) && log === undefined) return present;
    const version = nextNumber(meta, "versions");
    if (present !== undefined) {
      const until = Buffer.concat([uintBytes(this.#parts.now()), uintBytes(version)]);
      retired.putSync(until, Buffer.from(present.bytes));
    }
    const next = stamped(version, bytes);
    roots.putSync(key, next);
    if (usedBytes !== undefined) meta.putSync(usedKey(key), usedRow(version, usedBytes));
    if (log !== undefined) meta.putSync(logKey(key), Buffer.from(log));
    return { ...rootRecord(next), usedBytes, log: log === undefined ? meta.get(logKey(key)) : Buffer.from(log) };
  }

  async *owners(): AsyncIterable<string> {
    checkOpen(this.#isOpen);
    for (const { key } of rows(this.#parts.tables.roots)) {
      checkOpen(this.#isOpen);
      yield key.toString("hex");
    }
  }

  async pin(owner: string): Promise<Pin> {
    return this.#pins.add(await this.root(owner));
  }

  /** Collections run one at a time. */
  collect(options: CollectOptions): Promise<CollectReport> {
    const { tables, packs, reader, folder, now } = this.#parts;
    const checkGoesOn = (): void => checkOpen(this.#isOpen);
    const parts = { tables, packs, reader, folder, now, checkGoesOn, batches: this.#batches, pins: this.#pins };
    return this.#run(() => this.#collections.run("", () => collectEmbedded(parts, options)));
  }

  upgrade(): Promise<FormatChange> {
    return this.#run(async () => upgradeTables(this.#parts.tables));
  }

  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    await this.#collections.run("", async () => undefined);
    await this.#committer.idle();
    const { packs, reader, tables } = this.#parts;
    reader.close();
    await packs.close();
    await tables.env.close();
  }

  #run<T>(act: () => Promise<T>): Promise<T> {
    return withStoreErrors(this.#parts.log, async () => {
      checkOpen(this.#isOpen);
      return act();
    });
  }
}
