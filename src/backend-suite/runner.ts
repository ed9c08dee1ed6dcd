/** The part of `expect` that the suite uses; both Jest and Vitest provide it. */
export interface Expectation {
  readonly not: Omit<Expectation, "not" | "resolves">;
  readonly resolves: { toMatchObject(expected: object): Promise<void> };
  toBe(expected: unknown): void;
  toEqual(expected: unknown): void;
  toMatchObject(expected: object): void;
  toHaveLength(length: number): void;
  toHaveProperty(name: string): void;
  toBeUndefined(): void;
  toBeLessThan(bound: number): void;
}

interface Runner {
  describe(title: string, declare: () => void): void;
  test(title: string, run: () => Promise<void>): void;
  expect: ((value: unknown) => Expectation) & { any(type: unknown): unknown };
}

/** The current test runner, taken from its globals, so that this package depends on none. */
function runner(): Runner {
  const { describe, test, expect }: Partial<Runner> = parseGlobals(globalThis);
  if (describe !== undefined && test !== undefined && expect !== undefined) return { describe, test, expect };
  throw new Error("The suite needs the globals describe, test and expect: run it in Jest, or in Vitest with globals");
}

function parseGlobals(scope: unknown): Partial<Runner> {
  return scope as Partial<Runner>;
}

export const describe: Runner["describe"] = (title, declare) => runner().describe(title, declare);
export const test: Runner["test"] = (title, run) => runner().test(title, run);
export const expect: Runner["expect"] = Object.assign((value: unknown) => runner().expect(value), {
  any: (type: unknown) => runner().expect.any(type),
});
