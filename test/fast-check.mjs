// fast-check as tests import it (jest.config.js): the same random values in each run, so that what fails is due to a change.
// `PROPERTY_SEED=random` takes others, a number those of a failure; `PROPERTY_RUNS=10` takes ten times as many.
import fc from "../node_modules/fast-check/lib/fast-check.js";

const { PROPERTY_SEED = "20261124", PROPERTY_RUNS = "1" } = process.env;
const times = Number(PROPERTY_RUNS);

if (PROPERTY_SEED !== "random") fc.configureGlobal({ seed: Number(PROPERTY_SEED) });

/** Failures of long runs are shown as they are found: to look for smaller ones takes long. */
const assert = (property, { numRuns = 100, ...options } = {}) =>
  fc.assert(property, { ...options, numRuns: numRuns * times, ...(times > 1 ? { endOnFailure: true } : {}) });

export * from "../node_modules/fast-check/lib/fast-check.js";
export { assert };
export default { ...fc, assert };
