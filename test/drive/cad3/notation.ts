import { readFileSync } from "node:fs";
import { map } from "../../../src/drive/cad3/maps/hash-map.js";
import { type CadIndex, index } from "../../../src/drive/cad3/maps/index-map.js";
import { sign } from "../../../src/drive/cad3/signed.js";
import { type Keyword, keyword, type Value } from "../../../src/drive/cad3/value.js";

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** Reads one of the files of golden vectors. */
export function parseVectors<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), "utf8")) as T;
}

export const fromHex = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, "hex"));
export const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

/** n bytes, byte i = i mod 251. */
export const pattern = (length: number): Uint8Array => {
  const bytes = new Uint8Array(length);
  for (let place = 0; place < length; place += 1) bytes[place] = place % 251;
  return bytes;
};

/** Bytes that look random and are the same every time. */
export function scrambled(length: number, seed: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let state = seed;
  for (let place = 0; place < length; place += 1) {
    state = Number((BigInt(state) * 1103515245n + 12345n) % 2147483648n);
    bytes[place] = (state >> 16) & 255;
  }
  return bytes;
}

/** The value that a vector writes in the notation of the README beside it. */
export function parseValue(json: unknown): Value {
  const value = json as Json;
  if (value === null || typeof value !== "object") return value;
  if (isList(value)) return value.map(parseValue);
  const name = Object.keys(value).find((key) => Object.hasOwn(FORMS, key)) ?? "";
  const form = FORMS[name];
  if (form === undefined) throw new Error(`Unknown notation: ${name}`);
  return form(value[name] ?? null, value);
}

const isList = (json: Json): json is readonly Json[] => Array.isArray(json);

type Form = (main: Json, all: { readonly [name: string]: Json }) => Value;

const FORMS: Readonly<Record<string, Form>> = {
  int: (text) => BigInt(String(text)),
  repeat: (pair) => (isList(pair) ? String(pair[0]).repeat(Number(pair[1])) : ""),
  kw: (name) => keyword(String(name)),
  blob: (hex) => fromHex(String(hex)),
  text: (text) => new Uint8Array(Buffer.from(String(text))),
  zeros: (length) => new Uint8Array(Number(length)),
  pat: (length) => pattern(Number(length)),
  lcg: (length, { seed }) => scrambled(Number(length), Number(seed)),
  range: (count) => Array.from({ length: Number(count) }, (_, place) => place),
  map: (entries) => map(parsePairs(entries)),
  mapRange: (count) => map(Array.from({ length: Number(count) }, (_, place): [Value, Value] => [place, place])),
  index: (entries, { without }) => lessKeys(index(parsePairs(entries)), without),
  indexRule: (count, { dropEvery }) =>
    ruleIndex(Number(count), dropEvery === undefined ? undefined : Number(dropEvery)),
  dir: (entries, { utime, meta }) => [
    index(parsePairs(entries)),
    null,
    parseValue(meta ?? null),
    parseValue(utime ?? 0),
  ],
  file: (data, { utime, meta }) => [null, parseValue(data), parseValue(meta ?? null), parseValue(utime ?? 0)],
  tombstone: (utime) => [null, null, null, parseValue(utime)],
  signed: (value, { seed }) => sign(parseValue(value), fromHex(String(seed))),
};

type Key = string | Uint8Array | Keyword;

/** Entries of a map or an index; what is no key of an index is refused there. */
function parsePairs(json: Json): [Key, Value][] {
  return isList(json) ? json.map((pair) => (pair as readonly Json[]).map(parseValue) as [Key, Value]) : [];
}

function lessKeys(all: CadIndex, without: Json | undefined): CadIndex {
  const keys = without !== undefined && isList(without) ? without : [];
  return keys.reduce((rest: CadIndex, key) => rest.without(String(key)), all);
}

/** n names in the order of the rule, less every d-th. */
export function ruleIndex(count: number, dropEvery?: number): CadIndex {
  const name = (place: number) => `dir/${((place * 7919) % count).toString(36)}-f.txt`;
  let result = index(Array.from({ length: count }, (_, place): [string, Value] => [name(place), place]));
  for (let place = 0; dropEvery !== undefined && place < count; place += dropEvery)
    result = result.without(name(place));
  return result;
}
