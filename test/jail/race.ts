import { FileAdapterError } from "../../src/core/errors.js";
import { type Arena, inArena } from "./arena.js";
import { type Engine, type Files, withFiles } from "./files.js";
import { changesOf, type Round, type Tally } from "./race-rounds.js";
import { startRacer } from "./start-racer.js";

export interface RaceOptions {
  readonly engine: Engine;
  /** Name in the root of what is exchanged with the entry `spare`. */
  readonly pivot: string;
  readonly durationMs: number;
}

/** Makes the calls of a round while another process exchanges an entry of their path with a link to the outside. */
export async function race(round: Round, options: RaceOptions): Promise<Tally> {
  return inArena(async (arena) => {
    round.plant(arena);
    const before = arena.outsideNow();
    const tally = await withFiles(arena.root, (files) => raced(arena, files, { round, options }), {
      engine: options.engine,
    });
    tally.escapes += changesOf(before, arena.outsideNow());
    return tally;
  });
}

async function raced(
  arena: Arena,
  files: Files,
  { round, options }: { round: Round; options: RaceOptions },
): Promise<Tally> {
  const tally: Tally = { calls: 0, done: 0, refused: {}, escapes: 0 };
  const racer = await startRacer(arena.root, options.pivot, "spare");
  try {
    const end = performance.now() + options.durationMs;
    const maxCalls = round.maxCalls ?? Number.POSITIVE_INFINITY;
    while (tally.calls < maxCalls && performance.now() < end) {
      await one(files, round, tally);
      round.repair?.(arena);
    }
  } finally {
    await racer.stop();
  }
  return tally;
}

async function one(files: Files, round: Round, tally: Tally): Promise<void> {
  try {
    const output = await round.call(files, tally.calls++);
    tally.done++;
    if (round.shows?.(output) === true) tally.escapes++;
  } catch (error) {
    if (!(error instanceof FileAdapterError)) throw error;
    tally.refused[error.code] = (tally.refused[error.code] ?? 0) + 1;
  }
}
