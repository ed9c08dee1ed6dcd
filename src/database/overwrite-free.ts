// Overwrites what a database holds no longer: what was removed stays in free pages until others take them, and what lay beside
// it on a page may stay beside it.

import { yieldToLoop } from "../core/io.js";
import type { SharedDatabase, Table } from "./shared-database.js";

/** Rows of one transaction. */
const BATCH = 64;
/** Bytes of a page beside its value; values of at most this size share pages with others. */
const HEAD_BYTES = 96;
const SMALL_BYTES = 2_048;
const FILLER = "filler ";
/** Transactions after which pages can be taken that one of them has freed. */
const TURNS = 3;

/**
 * Nothing that was removed before can be read from the file of the database afterwards. Others may use it meanwhile; what they
 * still read stays.
 * @throws Error if it cannot be written
 */
export async function overwriteFree({ env, images: table, meta: room }: Overwritten): Promise<void> {
  await fill(env, room);
  await rewrite(env, table);
  await fill(env, room);
}

interface Overwritten {
  readonly env: SharedDatabase;
  /** Its values were removed. */
  readonly images: Table;
  /** Takes rows that are removed again. */
  readonly meta: Table;
}

/** Takes all free pages, and gives them back. */
async function fill(env: SharedDatabase, room: Table): Promise<void> {
  const value = Buffer.alloc(statOf(env, "pageSize") - HEAD_BYTES);
  const most = statOf(env, "lastPageNumber") + BATCH;
  try {
    for (let turn = 0; turn < TURNS; turn++) room.transactionSync(() => room.putSync(keyOf(0), Buffer.of(turn)));
    for (let done = 0; done < most; done += BATCH) {
      const before = statOf(env, "lastPageNumber");
      env.transactionSync(() => {
        for (let index = 1; index <= BATCH; index++) room.putSync(keyOf(done + index), value);
      });
      // Where the file gets longer, none is left.
      if (statOf(env, "lastPageNumber") - before >= BATCH / 2) break;
      await yieldToLoop();
    }
  } finally {
    await removeFillers(env, room);
  }
}

/** Also those of a process that died. */
async function removeFillers(env: SharedDatabase, room: Table): Promise<void> {
  const [start, end] = [Buffer.from(FILLER), Buffer.from(`${FILLER}~`)];
  for (;;) {
    const keys = [...room.getKeys({ start, end, limit: BATCH })];
    if (keys.length === 0) return;
    env.transactionSync(() => keys.forEach((key) => void room.removeSync(key)));
    env.resetReadTxn();
    await yieldToLoop();
  }
}

/** Puts all rows that share pages on new ones. */
async function rewrite(env: SharedDatabase, table: Table): Promise<void> {
  for (let start: Buffer | undefined; ; ) {
    const from = start === undefined ? {} : { start, exclusiveStart: true };
    const keys = [...table.getKeys({ ...from, limit: BATCH })];
    env.transactionSync(() => {
      for (const key of keys) {
        const value = table.get(key);
        if (value !== undefined && value.length <= SMALL_BYTES) table.putSync(key, value);
      }
    });
    env.resetReadTxn();
    start = keys.at(-1);
    if (keys.length < BATCH) return;
    await yieldToLoop();
  }
}

const keyOf = (index: number): Buffer => Buffer.from(`${FILLER}${String(index).padStart(10, "0")}`);

function statOf(env: SharedDatabase, name: string): number {
  env.resetReadTxn();
  return Number(Reflect.get(env.getStats(), name));
}
