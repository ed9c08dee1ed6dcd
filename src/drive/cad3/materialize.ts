// Loads all branches of a value.

import { fold, partsOf } from "./encoding/cell.js";
import { LazyValue } from "./lazy.js";
import { CadMap, map } from "./maps/hash-map.js";
import { CadIndex, index } from "./maps/index-map.js";
import { Signed } from "./signed.js";
import type { Value } from "./value.js";

/** Wraps a value, since `fold` does not allow null as a result. */
interface Whole {
  readonly value: Value;
}

/**
 * Loads all branches of a value.
 *
 * @returns the value itself if nothing had to be loaded
 * @throws MISSING_CELL and the errors of `decode`
 */
export function materialize(value: Value): Value {
  const { value: whole } = fold<Whole>(value, {
    parts: (part) => (part instanceof LazyValue ? undefined : partsOf(part, true)),
    known: () => undefined,
    make: (part, of) => ({ value: makeWhole(part, (below) => of(below).value) }),
  });
  return whole;
}

type WholeOf = (value: Value) => Value;

function makeWhole(value: Value, of: WholeOf): Value {
  if (value instanceof LazyValue) return value.whole();
  if (value instanceof CadMap) return isWhole(value.parts(true), of) ? value : map(wholeEntries(value, of));
  if (value instanceof CadIndex) return isWhole(value.parts(true), of) ? value : index(wholeEntries(value, of));
  if (value instanceof Signed) {
    const { publicKey, signature } = value;
    return of(value.value) === value.value ? value : new Signed(publicKey, signature, of(value.value));
  }
  if (Array.isArray(value)) return isWhole(value, of) ? value : Array.from(value, of);
  return value;
}

function isWhole(parts: Iterable<Value>, of: WholeOf): boolean {
  for (const part of parts) if (of(part) !== part) return false;
  return true;
}

function* wholeEntries<K extends Value>(entries: Iterable<[K, Value]>, of: WholeOf): Generator<[K, Value]> {
  for (const [key, value] of entries) yield [key, of(value)];
}
