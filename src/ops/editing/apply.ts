// Orders, checks and applies replacements in a text.

import type { Replacement } from "./match.js";

/** A replacement with the 0-based edit that it belongs to. */
export interface Planned extends Replacement {
  readonly edit: number;
}

/** Sorts by position; replacements with the same start are in the order of their ends. */
export const sortByPosition = (planned: readonly Planned[]): readonly Planned[] =>
  planned.toSorted((left, right) => left.start - right.start || left.end - right.end);

/** The first two that overlap; adjacent ones do not. @param ordered sorted by {@link sortByPosition} */
export function findOverlap(ordered: readonly Planned[]): readonly [Planned, Planned] | undefined {
  for (const [index, next] of ordered.entries()) {
    const previous = ordered[index - 1];
    if (previous !== undefined && next.start < previous.end) return [previous, next];
  }
  return undefined;
}

/** Length of the text after the replacements, in characters. */
export const lengthAfter = (text: string, ordered: readonly Replacement[]): number =>
  ordered.reduce((length, { start, end, text: added }) => length + added.length - (end - start), text.length);

/** @param ordered by position, not overlapping */
export function applyReplacements(text: string, ordered: readonly Replacement[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const { start, end, text: added } of ordered) {
    parts.push(text.slice(at, start), added);
    at = end;
  }
  parts.push(text.slice(at));
  return parts.join("");
}

/** First position at which two texts differ; `undefined`: they are equal. @param from they are equal up to here */
export function firstDifference(before: string, after: string, from: number): number | undefined {
  if (before === after) return undefined;
  const most = Math.min(before.length, after.length);
  let at = from;
  while (at < most && before.charCodeAt(at) === after.charCodeAt(at)) at++;
  return at;
}
