import { setTimeout as pause } from "node:timers/promises";
import { FileAdapterError } from "../../../src/core/errors/errors.js";
import { type Arena, inArena, type Snapshot } from "../arena.js";
import { type Engine, type Files, openFiles } from "../files.js";
import { naiveFiles } from "./naive-files.js";
import { changesOf, type Round } from "./race-rounds.js";
import { type Racer, startRacer } from "./start-racer.js";

/** What a round has come to. */
export interface Tally {
  readonly method: Racer["method"];
  calls: number;
  /** Calls that succeeded. */
  done: number;
  /** Failures by their codes. */
  readonly refused: Record<string, number>;
  /** Answers that show the outside, and changes of it. */
  escapes: number;
}

export interface RaceOptions {
  readonly engine: Engine | "naive";
  /** Name in the root of what is exchanged with the entry `spare`. */
  readonly pivot: string;
  /** At least so long, or until both outcomes have come {@link OFTEN} times… */
  readonly durationMs: number;
  /** Always as long as `durationMs`. */
  readonly isLong?: boolean;
  /** So many calls, however long they take, instead of a time. */
  readonly calls?: number;
  /** …and until this holds, but never longer than {@link LONGEST_MS}. */
  readonly until: (tally: Tally) => boolean;
}

const LONGEST_MS = 60_000;
/** Each outcome is then the answer of many exchanges in the middle of a call. test/long goes on for its time. */
const OFTEN = 16;

/** Both have happened: a call that found the inside, and one that was refused because of the link. */
export const sawBoth = ({ done, refused }: Tally): boolean => done > 0 && (refused["SYMLINK_ESCAPE"] ?? 0) > 0;

/** Makes the calls of a round while another process exchanges an entry of their path with a link to the outside. */
export async function race(round: Round, options: RaceOptions): Promise<Tally> {
  return inArena(async (arena) => {
    round.plant(arena);
    const before = arena.outsideNow();
    const { engine } = options;
    const files = engine === "naive" ? naiveFiles(arena.root) : await openFiles(arena.root, engine);
    const racer = await startRacer(arena.root, options.pivot, "spare");
    const tally: Tally = { method: racer.method, calls: 0, done: 0, refused: {}, escapes: 0 };
    try {
      await makeCalls({ arena, files, round, options, tally, before });
    } finally {
      await racer.stop();
      await files.close();
    }
    tally.escapes += changesOf(before, arena.outsideNow());
    return tally;
  });
}

async function makeCalls(ground: {
  arena: Arena;
  files: Files;
  round: Round;
  options: RaceOptions;
  tally: Tally;
  before: Snapshot;
}): Promise<void> {
  const { arena, files, round, options, tally, before } = ground;
  const maxCalls = Math.min(round.maxCalls ?? Number.POSITIVE_INFINITY, options.calls ?? Number.POSITIVE_INFINITY);
  const start = performance.now();
  const longest = options.calls === undefined ? LONGEST_MS : Number.POSITIVE_INFINITY;
  for (let elapsed = 0; elapsed < longest && tally.calls < maxCalls; elapsed = performance.now() - start) {
    const isEnough =
      options.calls === undefined && (elapsed > options.durationMs || (options.isLong !== true && cameOften(tally)));
    if (isEnough && options.until(tally)) return;
    // On one core the other process exchanges nothing while this one goes on.
    if (options.calls === undefined && !options.until(tally)) await pause(1);
    await makeCall(files, round, tally);
    round.repair?.(arena);
    // The control is over with its first escape, whenever that comes.
    if (options.engine === "naive" && changesOf(before, arena.outsideNow()) > 0) return;
  }
}

const cameOften = ({ done, refused }: Tally): boolean => done >= OFTEN && (refused["SYMLINK_ESCAPE"] ?? 0) >= OFTEN;

async function makeCall(files: Files, round: Round, tally: Tally): Promise<void> {
  try {
    const output = await round.call(files, tally.calls++);
    tally.done++;
    if (round.shows?.(output) === true) tally.escapes++;
  } catch (error) {
    if (!(error instanceof FileAdapterError)) throw error;
    tally.refused[error.code] = (tally.refused[error.code] ?? 0) + 1;
  }
}
