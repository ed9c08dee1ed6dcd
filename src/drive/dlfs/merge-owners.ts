// Merges of whole drive maps and of owner maps, with signatures.

import { encode, isSameValue } from "../cad3/encoding/cell.js";
import { LazyValue } from "../cad3/lazy.js";
import { CadMap, map } from "../cad3/maps/hash-map.js";
import { sameBytes, toHex } from "../cad3/ref.js";
import { PUBLIC_KEY_BYTES } from "../cad3/scalar.js";
import { Signed, sign, verify } from "../cad3/signed.js";
import type { Value } from "../cad3/value.js";
import { driveError } from "../error.js";
import { runSteps, STEP, type Steps, stepOf } from "../steps.js";
import { type MergeOptions, type MergeStepsOptions, mergeSteps } from "./merge.js";
import { notANode, openValue } from "./node.js";

/** Available Ed25519 seeds (32 bytes each), by the hex digits of their public keys. */
export type Seeds = ReadonlyMap<string, Uint8Array> | Readonly<Record<string, Uint8Array>>;

export interface MergeOwnersOptions extends MergeOptions {
  readonly seeds?: Seeds | undefined;
}

/**
 * Merges two maps of drives by name. A nil drive gives way to one that is not nil.
 *
 * @param a our own map, with the newest local changes; null counts as empty
 * @param b the other map; null counts as empty
 * @throws BAD_FORMAT, MISSING_CELL, LIMIT
 */
export const mergeDrives = (a: Value, b: Value, options: MergeOptions = {}): CadMap =>
  runSteps(mergeDrivesSteps(a, b, options));

/** Like {@link mergeDrives}, as steps: callers can yield to other work between them and fetch the cells they need. */
export function* mergeDrivesSteps(a: Value, b: Value, options: MergeStepsOptions = {}): Steps<CadMap> {
  let drives = yield* stepOf(() => mapOf(a));
  const others = yield* stepOf(() => mapOf(b));
  for (const [name, theirs] of others) {
    const ours = drives.get(name);
    const isNew = ours === undefined || ours === null;
    const root = isNew ? theirs : theirs === null ? ours : yield* mergeSteps(ours, theirs, options);
    if (root !== ours) drives = drives.with(name, root);
    yield STEP;
  }
  return drives;
}

/**
 * Merges two maps from account keys to signed maps of drives. Entries not signed by the key they are stored under are
 * silently dropped on both sides; callers that need to know count them beforehand. Ours that could be signed only with a
 * key that is not here stay as they are.
 *
 * @param own our own map; null counts as empty
 * @param other the other map; null counts as empty
 * @returns existing signatures are kept; only maps that differ from both sides are signed anew
 * @throws KEY_REQUIRED if that is so of all that the other map has
 * @throws BAD_FORMAT, MISSING_CELL, LIMIT
 */
export function mergeOwners(own: Value, other: Value, { seeds = {}, ...options }: MergeOwnersOptions = {}): CadMap {
  let owners = map(verifiedEntries(own));
  let [taken, kept] = [0, 0];
  for (const [key, theirs] of verifiedEntries(other)) {
    const ours = owners.get(key);
    const merged = ours === undefined ? theirs : mergeSigned(ours, theirs, { key, seeds, options });
    if (merged === undefined) kept += 1;
    else {
      taken += 1;
      owners = owners.with(key, merged);
    }
  }
  if (kept > 0 && taken === 0)
    throw driveError("KEY_REQUIRED", "Cannot merge the drives of an owner: the key to sign them is not at hand");
  return owners;
}

function* verifiedEntries(owners: Value): Generator<[Uint8Array, Value]> {
  for (const [key, value] of mapOf(owners)) {
    if (key instanceof Uint8Array && isSignedBy(value, key)) yield [key, value];
  }
}

function isSignedBy(value: Value, key: Uint8Array): boolean {
  if (!(value instanceof Signed || value instanceof LazyValue) || !verify(value)) return false;
  // Compared by its cell: a value that is not loaded has nothing else.
  return sameBytes(encode(value).subarray(1, 1 + PUBLIC_KEY_BYTES), key);
}

interface Signing {
  readonly key: Uint8Array;
  readonly seeds: Seeds;
  readonly options: MergeOptions;
}

/** @returns `undefined` if the seed to sign the merge is not at hand */
function mergeSigned(ours: Value, theirs: Value, { key, seeds, options }: Signing): Value | undefined {
  const [own, other] = [drivesIn(ours), drivesIn(theirs)];
  if (isSameValue(own, other)) return ours;
  const drives = mergeDrives(own, other, options);
  if (isSameValue(drives, own)) return ours;
  if (isSameValue(drives, other)) return theirs;
  const seed = seedOf(seeds, toHex(key));
  const signed = seed === undefined ? undefined : sign(drives, seed);
  // Signing with another key's seed would produce an entry that everyone rejects.
  return signed !== undefined && sameBytes(signed.publicKey, key) ? signed : undefined;
}

function drivesIn(signed: Value): Value {
  const value = openValue(signed);
  if (!(value instanceof Signed)) throw notANode("the drives of an owner are signed");
  return value.value;
}

function seedOf(seeds: Seeds, publicKey: string): Uint8Array | undefined {
  if (seeds instanceof Map) return seeds.get(publicKey);
  return Object.entries(seeds).find(([hex]) => hex === publicKey)?.[1];
}

function mapOf(value: Value): CadMap {
  const entries = openValue(value);
  if (entries === null) return map([]);
  if (!(entries instanceof CadMap)) throw notANode("drives and owners are maps");
  return entries;
}
