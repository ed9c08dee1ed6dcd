// Pages and slides that a call asks for.

import type { PageRange } from "../../core/call/documents.js";

/** A range within the pages that there are; none: all of them. */
export function clamped(
  { first, last = Number.POSITIVE_INFINITY }: PageRange = { first: 1 },
  count: number,
): { readonly first: number; readonly last: number } {
  return { first: Math.min(first, count), last: Math.min(last, count) };
}
