// Roots that cannot keep what they should.

import type { RootFacts } from "../core/ports/operation.js";

/** Warnings about roots that should keep replaced or deleted content and cannot. */
export async function warningsOfLacks(roots: readonly RootFacts[]): Promise<readonly string[]> {
  const found = await Promise.all(roots.map(async ({ name, lack }) => ({ name, lack: await lack?.() })));
  return found.flatMap(({ name, lack }) => {
    if (lack === undefined || lack.reason === "off") return [];
    const what = lack.reason === "no_trash" ? "what is deleted" : "what is replaced or deleted";
    return [`Root '${name}' does not keep ${what}, so that nobody can take it back: ${lack.why}`];
  });
}
