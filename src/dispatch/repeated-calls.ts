// Results of changes that carry an `operationId`: a call that is repeated, since its answer was lost, has no second
// effect.

import { createHash, hash } from "node:crypto";
import { endWithCall } from "../core/call/end-with-call.js";
import type { CallScope } from "../core/call/scope.js";
import type { Clock } from "../core/clock.js";
import { anonymousRepeat, operationIdInUse } from "../core/errors/repeat-texts.js";
import { invalidInput } from "../core/errors/texts.js";
import type { Awaitable } from "../core/io.js";
import type { SurfaceContext } from "../core/ports/adapter.js";
import type { PlaceRequest } from "../core/ports/operation.js";
import type { UploadBody } from "../core/ports/streams.js";
import { deferred } from "../core/turns.js";
import { fieldsOf, isObject } from "../core/unknown.js";
import { stringifyExact } from "../schema/exact-json.js";

const KEPT_MS = 3_600_000;
const KEPT_BYTES = 67_108_864;
/** Bytes of an entry besides its answer. */
const ENTRY_BYTES = 512;
/** A repeated body renews the deadline after so many bytes, as an upload does. */
const RENEWAL_BYTES = 65_536;

/** One call with an `operationId`. */
interface Attempt {
  readonly id: string;
  /** Unique for each caller and id. */
  readonly key: string;
  /** SHA-256 of the operation's name and its input. */
  readonly digest: string;
  readonly scope: CallScope;
  /** The body of an upload. Its bytes belong to the input, but are known only when it has been read. */
  readonly body: UploadBody | undefined;
}

/** A place that a call was judged for. */
export interface RepeatedPlace {
  readonly request: PlaceRequest;
  /** Real segments below the root. */
  readonly real: readonly string[];
}

/** How the operation runs, and how a repeated call is judged. */
interface Steps {
  /** Runs the operation. @param transfer in place of the caller's own, where it has a body */
  run(transfer: Pick<SurfaceContext, "transfer">): Awaitable<unknown>;
  /** The places of the call, once it has run. */
  places(): readonly RepeatedPlace[];
  /** Judges the rights in the places of the first call as they are now. @throws as the call itself would */
  judge(first: readonly RepeatedPlace[]): void;
}

type Outcome = { readonly output: unknown } | { readonly error: unknown };

interface Entry {
  readonly digest: string;
  /** Monotonic milliseconds. */
  readonly until: number;
  /** Settles when the call has ended; absent once it has. */
  running?: Promise<void>;
  outcome?: Outcome;
  places?: readonly RepeatedPlace[];
  /** SHA-256 and length of the upload's body. */
  body?: BodySum | undefined;
  bytes: number;
}

interface BodySum {
  readonly sha256: string;
  readonly length: number;
}

/** The end of a call with an `operationId`, for other instances of the venue. */
export interface RepeatRecord {
  readonly outcome: Outcome;
  readonly places: readonly RepeatedPlace[];
  readonly body?: BodySum | undefined;
}

/** Calls with an `operationId` as all instances of a venue know them. */
export interface SharedRepeats {
  /**
   * Claims an id for a call; where the first call with it runs elsewhere, waits for its end.
   *
   * @returns `undefined`: the id is this call's. Else the record of the first call
   * @throws CONFLICT for another input, OUTCOME_UNKNOWN where the first call died, SHARED_STATE_UNAVAILABLE
   */
  claim(attempt: Pick<Attempt, "id" | "key" | "digest" | "scope">): Promise<RepeatRecord | undefined>;
  /** Writes the end of a claimed call; `undefined`: it had none, and can be made again. Without the engine it is written later. */
  settle(key: string, record: RepeatRecord | undefined): Promise<void>;
}

interface RepeatsOptions {
  /** Absent: the venue is one process. */
  readonly shared?: SharedRepeats | undefined;
  readonly mostBytes?: number;
}

/** Remembers the outcome of calls with an `operationId`: an hour long, in 64 MB for all callers, only in memory. */
export class Repeats {
  readonly #clock: Clock;
  readonly #shared: SharedRepeats | undefined;
  readonly #mostBytes: number;
  /** In the order in which the calls began. */
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  constructor(clock: Clock, { shared, mostBytes = KEPT_BYTES }: RepeatsOptions = {}) {
    this.#clock = clock;
    this.#shared = shared;
    this.#mostBytes = mostBytes;
  }

  /**
   * Runs a call, or answers as the first call with its id did. A repeat waits for a first call that still runs. The
   * outcome is kept from the commit on: a call that failed before it can be made again.
   *
   * @throws CONFLICT if the id belongs to another input, INVALID_INPUT for anonymous callers, and what the call throws
   */
  async runOnce(
    call: { name: string; given: Readonly<Record<string, unknown>>; context: SurfaceContext; scope: CallScope },
    steps: Steps,
  ): Promise<unknown> {
    const attempt = attemptOf(call);
    for (;;) {
      const known = this.#find(attempt.key);
      if (known === undefined) {
        const ran = await this.#runFirst(attempt, steps);
        if (ran !== undefined) return addId(ran.output, attempt.id);
        continue;
      }
      if (known.digest !== attempt.digest) throw operationIdInUse(attempt.id);
      if (known.running !== undefined) await attempt.scope.race(known.running);
      else return addId(await answerRepeat(known, attempt, steps), attempt.id);
    }
  }

  #find(key: string): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.running !== undefined || entry.until > this.#clock.monotonicMs()) return entry;
    this.#forget(key, entry);
    return undefined;
  }

  /** @returns `undefined`: the call ran on another instance, and its outcome is known now */
  async #runFirst(attempt: Attempt, steps: Steps): Promise<{ readonly output: unknown } | undefined> {
    const { key, digest } = attempt;
    const { promise: running, resolve: end } = deferred();
    const entry: Entry = { digest, until: this.#clock.monotonicMs() + KEPT_MS, running, bytes: 0 };
    this.#entries.set(key, entry);
    try {
      const first = await this.#shared?.claim(attempt);
      if (first === undefined) return { output: await this.#runClaimed(attempt, entry, steps) };
      this.#keep(entry, first);
      return undefined;
    } catch (error) {
      if (entry.outcome === undefined) this.#forget(key, entry);
      throw error;
    } finally {
      delete entry.running;
      end();
    }
  }

  async #runClaimed({ key, scope, body }: Attempt, entry: Entry, steps: Steps): Promise<unknown> {
    const summed = body === undefined ? undefined : hashBody(body);
    const ended = async (outcome: Outcome | undefined) => {
      const record = outcome && { outcome, places: steps.places(), body: summed?.sum() };
      if (record !== undefined) this.#keep(entry, record);
      await this.#shared?.settle(key, record);
    };
    try {
      const output = await steps.run(summed === undefined ? {} : { transfer: { body: summed.body } });
      await ended({ output: withoutDiff(output) });
      return output;
    } catch (error) {
      if (entry.outcome === undefined) await ended(scope.isCommitted ? { error } : undefined);
      throw error;
    }
  }

  #keep(entry: Entry, record: RepeatRecord): void {
    Object.assign(entry, record);
    entry.bytes = ENTRY_BYTES + sizeOf(record.outcome);
    this.#bytes += entry.bytes;
    for (const [key, oldest] of this.#entries) {
      const isExpired = oldest.until <= this.#clock.monotonicMs();
      if (this.#bytes <= this.#mostBytes && !isExpired) return;
      if (oldest.outcome !== undefined) this.#forget(key, oldest);
    }
  }

  #forget(key: string, entry: Entry): void {
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
  }
}

const addId = (output: unknown, operationId: string): unknown =>
  typeof output === "object" && output !== null ? { ...output, operationId } : output;

/** @throws INVALID_INPUT for callers that cannot be told apart, and for input that is not JSON */
function attemptOf(call: Parameters<Repeats["runOnce"]>[0]): Attempt {
  const { name, given, context, scope } = call;
  if (context.authentication === "public") throw anonymousRepeat();
  // Fields that identify or approve a call are not part of its digest.
  const { operationId, approval: _, ...input } = given;
  const id = String(operationId);
  const caller = context.callerDID === undefined ? ["operator"] : ["did", context.callerDID];
  const { transfer } = context;
  const body = transfer !== undefined && "body" in transfer ? transfer.body : undefined;
  return { id, key: JSON.stringify([...caller, id]), digest: digestOf(name, input), scope, body };
}

function digestOf(name: string, input: Readonly<Record<string, unknown>>): string {
  const fields = Object.entries(input).sort(([one], [other]) => (one < other ? -1 : 1));
  try {
    return hash("sha256", stringifyExact([name, fields]));
  } catch {
    throw invalidInput("The input of a call with 'operationId' must be JSON", "", "JSON");
  }
}

/** The answer to a repeated call: the answer to the first one. */
async function answerRepeat(known: Entry, attempt: Attempt, steps: Steps): Promise<unknown> {
  const { outcome, places, body: first } = known;
  if (outcome === undefined || places === undefined) throw new Error("A call that has ended has an outcome");
  steps.judge(places);
  if (attempt.body !== undefined && first !== undefined && !(await isSame(attempt.body, first, attempt.scope)))
    throw operationIdInUse(attempt.id);
  if ("error" in outcome) throw outcome.error;
  return outcome.output;
}

/** Reads no more of a body than the first one had. */
async function isSame(body: UploadBody, first: BodySum, scope: CallScope): Promise<boolean> {
  if (body.length !== undefined && body.length !== first.length) return false;
  const sum = createHash("sha256");
  let length = 0;
  let renewedAt = 0;
  for await (const chunk of endWithCall(body.chunks, scope)) {
    length += chunk.length;
    if (length > first.length) return false;
    sum.update(chunk);
    if (length - renewedAt < RENEWAL_BYTES) continue;
    scope.renew();
    renewedAt = length;
  }
  return length === first.length && sum.digest("hex") === first.sha256;
}

/** A body that is hashed while it is read. */
function hashBody(body: UploadBody): { readonly body: UploadBody; sum(): BodySum } {
  const hashing = createHash("sha256");
  let length = 0;
  const chunks = (async function* () {
    for await (const chunk of body.chunks) {
      hashing.update(chunk);
      length += chunk.length;
      yield chunk;
    }
  })();
  return { body: { ...body, chunks }, sum: () => ({ sha256: hashing.digest("hex"), length }) };
}

/** A difference shows content, so it is told only to the call that made it. */
function withoutDiff(output: unknown): unknown {
  if (!isObject(output) || !("diff" in output)) return output;
  const { diff: _, diffTruncated: __, ...rest } = output;
  return rest;
}

/** Approximate bytes in memory. */
function sizeOf(outcome: Outcome): number {
  if (!("error" in outcome)) return 2 * (JSON.stringify(outcome.output)?.length ?? 0);
  const { message = "", data } = fieldsOf(outcome.error);
  return 2 * (String(message).length + (JSON.stringify(data)?.length ?? 0));
}
