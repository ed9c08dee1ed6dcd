// Chance that is the same in each run, as that of test/fast-check.mjs: what fails is due to a change. `PROPERTY_SEED=random` takes another.
const { PROPERTY_SEED = "20261124" } = process.env;

/** @returns gives whole numbers below `end` */
export function chance(): (end: number) => number {
  let state = PROPERTY_SEED === "random" ? Math.floor(Math.random() * 2 ** 32) : Number(PROPERTY_SEED);
  // Mulberry32.
  return (end) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * end);
  };
}
