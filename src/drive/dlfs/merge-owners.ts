import { cellOf, encode } from "../cad3/encoding/cell.js";
import { LazyValue } from "../cad3/lazy.js";
import { CadMap, map } from "../cad3/maps/hash-map.js";
import { sameBytes, toHex } from "../cad3/ref.js";
import { PUBLIC_KEY_BYTES } from "../cad3/scalar.js";
import type { Value } from "../cad3/value.js";
import { driveError } from "../error.js";
import { looking, runSteps, STEP, type Steps } from "../steps.js";
import { type MergeOptions, mergeSteps } from "./merge.js";
import { notANode, opened } from "./node.js";
import { Signed, sign, verify } from "./signed.js";

/** The seeds at hand, 32 bytes each, by the hex digits of their public keys. */
export type Seeds = ReadonlyMap<string, Uint8Array> | Readonly<Record<string, Uint8Array>>;

export interface MergeOwnersOptions extends MergeOptions {
  readonly seeds?: Seeds | undefined;
}

/**
 * Merges two maps of drives by name. A drive that is nil gives way to one that is not.
 *
 * @param a our own map, the one with the newest local changes; null counts as empty
 * @param b the other map; null counts as empty
 * @throws BAD_FORMAT, MISSING_CELL, LIMIT
 */
export const mergeDrives = (a: Value, b: Value, options: MergeOptions = {}): CadMap =>
  runSteps(mergeDrivesSteps(a, b, options));

/** As {@link mergeDrives}, for those who let others run between its steps and fetch what it looks into. */
export function* mergeDrivesSteps(a: Value, b: Value, options: MergeOptions = {}): Steps<CadMap> {
  let drives = yield* looking(() => mapOf(a));
  const others = yield* looking(() => mapOf(b));
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
 * Merges two maps from account keys to signed maps of drives. An entry that is not signed by the key it stands under is
 * left out, on either side and without a word; count them before, where somebody wants to know.
 *
 * @param own our own map; null counts as empty
 * @param other the other map; null counts as empty
 * @returns signatures that were there stay as they are; only what differs from both sides is signed anew
 * @throws KEY_REQUIRED when the seed for that is not at hand
 * @throws BAD_FORMAT, MISSING_CELL, LIMIT
 */
export function mergeOwners(own: Value, other: Value, { seeds = {}, ...options }: MergeOwnersOptions = {}): CadMap {
  let owners = map(verifiedEntries(own));
  for (const [key, theirs] of verifiedEntries(other)) {
    const ours = owners.get(key);
    owners = owners.with(key, ours === undefined ? theirs : mergeSigned(ours, theirs, { key, seeds, options }));
  }
  return owners;
}

function* verifiedEntries(owners: Value): Generator<[Uint8Array, Value]> {
  for (const [key, value] of mapOf(owners)) {
    if (key instanceof Uint8Array && isSignedBy(value, key)) yield [key, value];
  }
}

function isSignedBy(value: Value, key: Uint8Array): boolean {
  if (!(value instanceof Signed || value instanceof LazyValue) || !verify(value)) return false;
  // By its cell: of a value that is not at hand there is nothing else.
  return sameBytes(encode(value).subarray(1, 1 + PUBLIC_KEY_BYTES), key);
}

interface Signing {
  readonly key: Uint8Array;
  readonly seeds: Seeds;
  readonly options: MergeOptions;
}

function mergeSigned(ours: Value, theirs: Value, { key, seeds, options }: Signing): Value {
  const [own, other] = [drivesIn(ours), drivesIn(theirs)];
  if (sameValue(own, other)) return ours;
  const drives = mergeDrives(own, other, options);
  if (sameValue(drives, own)) return ours;
  if (sameValue(drives, other)) return theirs;
  const seed = seedOf(seeds, toHex(key));
  const signed = seed === undefined ? undefined : sign(drives, seed);
  // The seed of another key would make an entry that nobody accepts.
  if (signed !== undefined && sameBytes(signed.publicKey, key)) return signed;
  throw driveError("KEY_REQUIRED", "Cannot merge the drives of an owner: the key to sign them is not at hand");
}

function drivesIn(signed: Value): Value {
  const value = opened(signed);
  if (!(value instanceof Signed)) throw notANode("the drives of an owner are signed");
  return value.value;
}

function seedOf(seeds: Seeds, publicKey: string): Uint8Array | undefined {
  if (seeds instanceof Map) return seeds.get(publicKey);
  return Object.entries(seeds).find(([hex]) => hex === publicKey)?.[1];
}

const sameValue = (one: Value, other: Value): boolean => sameBytes(cellOf(one).ref, cellOf(other).ref);

function mapOf(value: Value): CadMap {
  const entries = opened(value);
  if (entries === null) return map([]);
  if (!(entries instanceof CadMap)) throw notANode("drives and owners are maps");
  return entries;
}
