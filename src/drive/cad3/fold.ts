// Bottom-up computation over nested values, safe for any nesting depth.

import type { Value } from "./value.js";

/** Computes a result for a value from the results of its parts. `T` is never null or undefined. */
export interface Fold<T> {
  /** The parts of a value; `undefined` for a value without parts. */
  parts(value: Value): Iterable<Value> | undefined;
  /** A result available without computing. */
  known(value: Value): T | undefined;
  make(value: Value, of: (part: Value) => T): T;
}

/**
 * Maximum nesting handled by recursion. Recursion is faster, but values can nest deeper than the call stack, and each
 * index may add 64 frames.
 */
const MAX_RECURSION = 16;

/**
 * Computes a result for a value from the results of its parts, once per object.
 *
 * @throws RangeError if a value contains itself
 */
export function fold<T>(root: Value, task: Fold<T>): T {
  const results = new Map<Value, T>();
  let depth = 0;
  const of = (value: Value): T => {
    const result = results.get(value) ?? task.known(value);
    if (result !== undefined) return result;
    if (task.parts(value) === undefined) return task.make(value, of);
    if (depth === MAX_RECURSION) return foldDeep(value, task, { results, of });
    depth += 1;
    const made = task.make(value, of);
    depth -= 1;
    results.set(value, made);
    return made;
  };
  return of(root);
}

interface Progress<T> {
  readonly results: Map<Value, T>;
  readonly of: (part: Value) => T;
}

/** Computes parts before their containers, with an explicit stack. */
function foldDeep<T>(root: Value, task: Fold<T>, { results, of }: Progress<T>): T {
  const open = new Set<Value>();
  const stack = [root];
  let last = root;
  while (stack.length > 0) {
    last = stack.at(-1) ?? root;
    const waiting = results.has(last) || open.has(last) ? [] : waitingParts(last, task, results);
    if (waiting.some((part) => part === last || open.has(part))) throw new RangeError("A value contains itself");
    if (waiting.length > 0) {
      open.add(last);
      for (const part of waiting) stack.push(part);
      continue;
    }
    if (!results.has(last)) results.set(last, task.make(last, of));
    open.delete(last);
    stack.pop();
  }
  return of(last);
}

function waitingParts<T>(value: Value, task: Fold<T>, results: ReadonlyMap<Value, T>): Value[] {
  const waiting: Value[] = [];
  for (const part of task.parts(value) ?? []) {
    if (results.has(part) || task.parts(part) === undefined || task.known(part) !== undefined) continue;
    waiting.push(part);
  }
  return waiting;
}
