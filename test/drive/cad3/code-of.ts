/** The code of what a function throws; `undefined` if it returns. */
export function codeOf(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    // Not `instanceof Error`: that fails across the realms of the test runner.
    if (typeof error !== "object" || error === null) return error;
    return "code" in error ? error.code : error;
  }
  return undefined;
}
