// A database (LMDB) that several processes use at once.

import { existsSync, mkdirSync } from "node:fs";
import { ABORT } from "lmdb";
import { checkPages } from "./check-pages.js";
import { dataFile, openEnvironment } from "./environment.js";
import { type Gate, openGate } from "./gate.js";
import { Room } from "./room.js";

/** Range of keys and its order. */
export interface KeyRange {
  /** The first key, included. */
  readonly start?: Buffer;
  /** Where it ends, excluded. */
  readonly end?: Buffer;
  /** Leaves the first key out. */
  readonly exclusiveStart?: boolean;
  readonly reverse?: boolean;
  readonly limit?: number;
  /** `false`: what is committed meanwhile is seen. */
  readonly snapshot?: boolean;
}

// The published types name these, not those of lmdb: its declarations do not compile where libraries are checked.

/** A table of keys and values, both bytes. */
export interface Table {
  get(key: Buffer): Buffer | undefined;
  doesExist(key: Buffer): boolean;
  getKeys(range?: KeyRange): Iterable<Buffer>;
  getRange(range?: KeyRange): Iterable<{ readonly key: Buffer; readonly value: Buffer }>;
  getStats(): object;
  putSync(key: Buffer, value: Buffer): void;
  removeSync(key: Buffer): boolean;
  transactionSync<T>(action: () => T): T;
}

/** A database that holds tables. */
export interface SharedDatabase extends Table {
  openDB(options: typeof BINARY & { readonly name: string }): Table;
  resetReadTxn(): void;
  /** Forgets readers of processes that have ended. */
  readerCheck(): number;
  /** A line for each reader, which begins with the id of its process. Whoever has read once is one until it closes. */
  readerList(): string;
  close(): Promise<void>;
}

export interface SharedDatabaseOptions {
  /** Most tables. */
  readonly maxTables: number;
  /** Whether a commit is on disk when it returns; otherwise a power failure loses the newest ones. */
  readonly flush: boolean;
  /** The structure of the file is checked first; names that its tables may have, or what checks the folder. */
  readonly check?: readonly string[] | ((folder: string) => void);
}

const BINARY = { encoding: "binary", keyEncoding: "binary" } as const;

/**
 * Opens a database for several processes. Keys and values are bytes; a commit is seen by all when the call returns.
 * LMDB's asynchronous transactions must not be used.
 *
 * @param folder is made if it is missing
 * @throws Error if the file is found damaged
 */
export function openShared(folder: string, { maxTables, flush, check }: SharedDatabaseOptions): SharedDatabase {
  mkdirSync(folder, { recursive: true });
  const gate = openGate(folder);
  try {
    return gate.hold(() => {
      const file = dataFile(folder);
      if (typeof check === "function") check(folder);
      else if (check !== undefined && existsSync(file)) checkPages(file, check);
      const env = openEnvironment({ path: folder, maxTables, flush });
      return gated(env, gate, new Room(file));
    });
  } catch (error) {
    void gate.close();
    throw error;
  }
}

/**
 * Opens a database with tables, which are made if they are missing. Nothing stays open where that fails.
 * @throws as {@link openShared}, and the system's error if there is no room for them
 */
export function openDatabase<Name extends string>(
  folder: string,
  names: readonly Name[],
  options: Omit<SharedDatabaseOptions, "maxTables">,
): { readonly env: SharedDatabase } & Readonly<Record<Name, Table>> {
  const env = openShared(folder, { ...options, maxTables: names.length + 1 });
  try {
    const tables = Object.fromEntries(names.map((name) => [name, env.openDB({ ...BINARY, name })])) as Record<
      Name,
      Table
    >;
    return { env, ...tables };
  } catch (error) {
    void env.close();
    throw error;
  }
}

/** Makes whatever changes the database hold the gate, and see to it that there is room for it on the disk. */
function gated(env: SharedDatabase, gate: Gate, room: Room): SharedDatabase {
  const [openDB, close] = [env.openDB, env.close];
  let isClosed = false;
  guardChanges(env, gate, room);
  return Object.assign(env, {
    openDB(...args: Parameters<typeof openDB>) {
      const table = gate.hold(() => {
        room.make();
        return Reflect.apply(openDB, env, args);
      });
      guardChanges(table, gate, room);
      return table;
    },
    async close() {
      if (isClosed) return;
      isClosed = true;
      await gate.hold(() => Reflect.apply(close, env, []));
      room.close();
      await gate.close();
    },
  });
}

/** Single changes outside a transaction are transactions of their own, begun by the same method. */
function guardChanges(table: Table, gate: Gate, room: Room): void {
  const { transactionSync, putSync, removeSync } = table;
  Object.assign(table, {
    transactionSync(action: () => unknown, ...flags: unknown[]) {
      const inRoom = (): unknown => {
        const result = action();
        if (result !== ABORT) room.make();
        return result;
      };
      return room.counting(() => gate.hold(() => Reflect.apply(transactionSync, table, [inRoom, ...flags])));
    },
    putSync(key: Buffer, value: Buffer) {
      return room.counting(() => {
        room.count(key, value);
        return Reflect.apply(putSync, table, [key, value]);
      });
    },
    removeSync(key: Buffer) {
      return room.counting(() => {
        room.count(key);
        return Reflect.apply(removeSync, table, [key]);
      });
    },
  });
}
