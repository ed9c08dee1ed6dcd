// Calls with an `operationId` of all instances: a row each, inserted before the effect, with the sealed end of the call.

import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { FileAdapterError } from "../../core/errors/errors.js";
import { operationIdInUse, outcomeUnknown } from "../../core/errors/repeat-texts.js";
import { internalError } from "../../core/errors/texts.js";
import type { Shared } from "../../core/ports/shared.js";
import type { RepeatRecord, SharedRepeats } from "../../dispatch/repeated-calls.js";
import { stringifyExact } from "../../schema/exact-json.js";
import { Owed } from "./owed.js";

const TABLE = "repeat";
const POLL_MS = 250;
const MOST_BYTES = 262_144;
/** Ends that wait for the engine; with more, the oldest stay unknown elsewhere. */
const MOST_WAITING = 10_000;

/**
 * Expired rows go a few at a time; an open one stays for a day, as its call may run that long. A claim takes an open row of its
 * own instance, too: no call runs there, or it would wait. What the engine hears late of an earlier claim does nothing to this one.
 */
const CLAIM = `WITH expired AS (
    DELETE FROM repeat WHERE key IN (SELECT key FROM repeat WHERE until < now() AND key <> $1 ORDER BY until LIMIT 20)
  ), mine AS (
    INSERT INTO repeat AS r (key, digest, owner, claim, until) VALUES ($1, $2, $3, $4, now() + interval '1 day')
    ON CONFLICT (key) DO UPDATE
      SET digest = excluded.digest, owner = excluded.owner, claim = excluded.claim, sealed = NULL, until = excluded.until
      WHERE r.until < now() OR (r.owner = $3 AND r.sealed IS NULL)
    RETURNING 1
  )
  SELECT EXISTS (SELECT FROM mine) AS mine, r.digest, r.owner, r.sealed FROM (SELECT) one LEFT JOIN repeat r ON r.key = $1`;

const OPEN = "WHERE key = $1 AND claim = $2 AND sealed IS NULL";
const RELEASE = `DELETE FROM repeat ${OPEN}`;
const SETTLE = `UPDATE repeat SET sealed = $3, until = now() + interval '1 hour' ${OPEN}`;

interface ClaimRow {
  readonly mine: boolean;
  /** `null` beside `mine: false`: another instance inserted the row at the same moment. */
  readonly digest: string | null;
  readonly owner: number | null;
  readonly sealed: Uint8Array | null;
}

export function createSharedRepeats(shared: Shared): SharedRepeats {
  const seal = shared.sealed(TABLE);
  const hashOf = shared.mac(TABLE);
  const isLive = (owner: number) =>
    owner === shared.self.number || shared.peers().some(({ number, live }) => number === owner && live);
  const owed = new Owed(MOST_WAITING);
  /** Claims of calls that run, by their rows. */
  const claims = new Map<string, string>();
  return {
    async claim({ id, key, digest, scope }) {
      const row = hashOf(key);
      const word = randomUUID();
      const values = [row, hashOf(digest), shared.self.number, word];
      await owed.pay(row);
      for (;;) {
        const [found] = await shared.query<ClaimRow>(CLAIM, values).catch((error: unknown) => {
          // The engine may hear of it all the same; nobody else could make the call then.
          owed.owe(row, () => shared.query(RELEASE, [row, word]));
          throw error;
        });
        if (found === undefined) throw new Error("A claim answers with one row");
        if (found.mine) return void claims.set(row, word);
        if (found.digest !== null && found.digest !== hashOf(digest)) throw operationIdInUse(id);
        if (found.sealed !== null) return read(seal.open(row, found.sealed)) ?? unknown(id);
        if (found.owner !== null && !isLive(found.owner)) throw outcomeUnknown(id);
        await scope.race(pause(POLL_MS));
      }
    },
    async settle(key, record) {
      const row = hashOf(key);
      const text = record && written(record);
      const word = claims.get(row);
      claims.delete(row);
      const write = () =>
        text === undefined
          ? shared.query(RELEASE, [row, word])
          : shared.query(SETTLE, [row, word, seal.seal(row, Buffer.from(text))]);
      await write().catch(() => owed.owe(row, write));
    },
  };
}

function unknown(id: string): never {
  throw outcomeUnknown(id);
}

/** Empty: the end is too long to be kept, or is no JSON. */
function written({ outcome, ...others }: RepeatRecord): string {
  const kept = "error" in outcome ? { error: plainOf(outcome.error) } : { output: outcome.output };
  try {
    const text = stringifyExact({ ...others, outcome: kept });
    return Buffer.byteLength(text) > MOST_BYTES ? "" : text;
  } catch {
    return "";
  }
}

/** The cause of an error that nobody foresaw is in the log of its instance alone. */
function plainOf(error: unknown) {
  return error instanceof FileAdapterError ? { code: error.code, message: error.message, data: error.data } : {};
}

function read(bytes: Buffer | undefined): RepeatRecord | undefined {
  if (bytes === undefined || bytes.length === 0) return undefined;
  const record = JSON.parse(bytes.toString());
  const { error } = record.outcome;
  if (error === undefined) return record;
  const { code, message, data } = error;
  const told = code === undefined ? internalError("") : new FileAdapterError(code, message, data);
  return { ...record, outcome: { error: told } };
}
