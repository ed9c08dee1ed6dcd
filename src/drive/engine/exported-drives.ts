// Recognises the drives in an export.

import { yieldToLoop } from "../../core/io.js";
import { parseCell } from "../cad3/encoding/parse-cell.js";
import type { ParsedCell, ParsedIndex, ParsedMap } from "../cad3/encoding/parsed.js";
import { textOf } from "../cad3/encoding/parsed.js";
import { checkLimit } from "../cad3/limits.js";
import { HASH_BYTES, refOf, toHex } from "../cad3/ref.js";
import { Keyword, NIL_TAG } from "../cad3/scalar.js";
import { notANode } from "../dlfs/node.js";
import { driveError } from "../error.js";
import type { ImportCells } from "./exchange/stored-cells.js";
import { signedDrives } from "./state.js";

/** The drives of an export. */
export interface Found {
  /** Refs of the maps of drives, by the hex public key that signed them. */
  readonly signed: readonly SignedDrives[];
  /** Ref of the single unsigned drive. */
  readonly root: Uint8Array | undefined;
  /** Entries with a bad signature. */
  readonly refused: number;
}

export interface SignedDrives {
  readonly account: string;
  readonly drives: Uint8Array;
}

/** A drive of an import, with its Ref. */
export interface NamedDrive {
  readonly name: string;
  readonly root: Uint8Array;
}

/** Maximum owners, and drives in all maps together. */
const MAX_NAMED = 10_000;
const OWNERS_PER_TURN = 32;

/**
 * Distinguishes the four kinds of export by the shape of the top cell.
 * @param top its encoding, checked
 * @throws BAD_FORMAT, LIMIT
 */
export async function findDrives(top: Uint8Array, cells: ImportCells): Promise<Found> {
  const cell = parseCell(top);
  if (cell.kind === "vector") return { signed: [], root: refOf(top), refused: 0 };
  if (cell.kind === "signed") return { signed: [readSigned(top, toHex(cell.publicKey))], root: undefined, refused: 0 };
  if (cell.kind === "map") return findInOwners(cell, cells);
  if (cell.kind !== "index") throw notANode("it is neither a drive nor drives");
  const signed: SignedDrives[] = [];
  let [regions, refused] = [0, 0];
  for await (const [key, value] of entriesOf(cell, cells)) {
    const name = parseCell(await cells.read(key));
    if (name.kind !== "scalar" || !(name.value instanceof Keyword) || !REGIONS.has(name.value.name)) continue;
    const owners = parseCell(await cells.read(value));
    if (owners.kind !== "map") continue;
    const found = await findInOwners(owners, cells);
    regions += 1;
    signed.push(...found.signed);
    refused += found.refused;
  }
  if (regions === 0) throw notANode("a region holds owners");
  return { signed, root: undefined, refused };
}

const REGIONS: ReadonlySet<string> = new Set(["dlfs", "fs"]);

async function findInOwners(owners: ParsedMap, cells: ImportCells): Promise<Found> {
  checkLimit(owners.count, MAX_NAMED, "owners");
  const signed: SignedDrives[] = [];
  let [refused, seen] = [0, 0];
  for await (const [key, value] of entriesOf(owners, cells)) {
    seen += 1;
    if (seen % OWNERS_PER_TURN === 0) await yieldToLoop();
    const account = parseCell(await cells.read(key));
    const bytes = await cells.read(value);
    try {
      signed.push(readSigned(bytes, accountOf(account)));
    } catch {
      refused += 1;
    }
  }
  return { signed, root: undefined, refused };
}

function accountOf(cell: ParsedCell): string {
  if (cell.kind !== "blob" || cell.isText || cell.content?.length !== HASH_BYTES) throw notSigned();
  return toHex(cell.content);
}

const notSigned = (): Error => driveError("BAD_FORMAT", "The signature of the drives is not good");

function readSigned(bytes: Uint8Array, account: string): SignedDrives {
  try {
    return { account, drives: signedDrives(bytes, account) };
  } catch {
    throw notSigned();
  }
}

/**
 * The non-nil drives of some maps.
 * @throws BAD_FORMAT, LIMIT
 */
export async function drivesIn(signed: readonly SignedDrives[], cells: ImportCells): Promise<NamedDrive[]> {
  const found: NamedDrive[] = [];
  let seen = 0;
  for (const { drives } of signed) {
    const cell = parseCell(await cells.read(drives));
    if (cell.kind !== "map") throw notANode("drives are a map");
    seen += cell.count;
    checkLimit(seen, MAX_NAMED, "drives");
    for await (const [key, root] of entriesOf(cell, cells)) {
      const name = parseCell(await cells.read(key));
      if (name.kind !== "blob" || !name.isText) throw notANode("names of drives are strings");
      if (root[0] !== NIL_TAG) found.push({ name: name.content === undefined ? "" : textOf(name.content), root });
    }
  }
  return found;
}

type EntryRefs = readonly [key: Uint8Array, value: Uint8Array];

/** The entries of a map or an index, in order. */
async function* entriesOf(cell: ParsedMap | ParsedIndex, cells: ImportCells): AsyncGenerator<EntryRefs> {
  const refs = cell.refs.map(({ bytes }) => bytes);
  const entries = cell.kind === "index" ? Number(cell.hasOwn) : cell.hashes.length;
  for (let place = 0; place < 2 * entries; place += 2) {
    const [key, value] = [refs[place], refs[place + 1]];
    if (key !== undefined && value !== undefined) yield [key, value];
  }
  for (let place = 2 * entries; place < refs.length; place += 1) {
    const ref = refs[place];
    const below = ref === undefined ? undefined : parseCell(await cells.read(ref, refs.slice(place + 1)));
    if (below?.kind === "map" || below?.kind === "index") yield* entriesOf(below, cells);
  }
}
