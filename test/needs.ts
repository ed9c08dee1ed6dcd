import { describe, test } from "@jest/globals";

/**
 * A test that only some machines can run. Where it cannot, it is skipped and the reason is printed.
 *
 * @param reason what is missing, in words
 */
export function needs(possible: boolean, reason: string): typeof test {
  if (possible) return test;
  console.warn(`Skipped: ${reason}`);
  return test.skip as typeof test;
}

/** The same for several tests. */
export function describeWhere(possible: boolean, reason: string): typeof describe {
  if (possible) return describe;
  console.warn(`Skipped: ${reason}`);
  return describe.skip as typeof describe;
}
