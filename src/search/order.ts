// The order of walks, on paths.

import { compareCodePoints } from "../path/order.js";

/** Compares two paths in walk order, which is pre-order: a directory, then its content, then its next sibling. */
export function compareVisits(a: readonly string[], b: readonly string[]): number {
  const shared = Math.min(a.length, b.length);
  for (let at = 0; at < shared; at++) {
    const order = compareNames(a[at] ?? "", b[at] ?? "");
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

const compareNames = (a: string, b: string): number =>
  a === b ? 0 : compareCodePoints(a.toLowerCase(), b.toLowerCase()) || compareCodePoints(a, b);

/** Whether `path` is `directory` or lies below it. */
export const isWithin = (directory: readonly string[], path: readonly string[]): boolean =>
  directory.length <= path.length && directory.every((name, at) => path[at] === name);
