// Exports drives as files of cells.

import { branchRefs } from "../../cad3/encoding/assemble.js";
import { encode } from "../../cad3/encoding/cell.js";
import { parseCell } from "../../cad3/encoding/parse-cell.js";
import { checkLimit } from "../../cad3/limits.js";
import { map } from "../../cad3/maps/hash-map.js";
import { index } from "../../cad3/maps/index-map.js";
import { hashOfRef, sameBytes, toHex, vlqLength, writeVlq } from "../../cad3/ref.js";
import { keyword } from "../../cad3/scalar.js";
import { Signed } from "../../cad3/signed.js";
import type { Value } from "../../cad3/value.js";
import { notANode } from "../../dlfs/node.js";
import { driveError } from "../../error.js";
import { createTurn } from "../../turn.js";
import { type CellScope, createScope } from "../cells.js";
import { newCells } from "../new-cells.js";
import type { EngineParts } from "../owner-queue.js";
import { drivesOf, type OwnerState, signedDrives } from "../state.js";
import { createCellReader, type ReadCell } from "./stored-cells.js";

export interface ExportOptions {
  /**
   * Scope and form of an export: all drives, signed (default), one drive, or all drives in the form a peer keeps them.
   */
  readonly top?: "signed" | "drive" | "owners" | "region";
  /** Name of the drive, for `top: "drive"`. */
  readonly drive?: string;
  /** For `top: "region"`. */
  readonly region?: "dlfs" | "fs";
  /** Splits the export into files of about this many bytes; at least 1 MiB. */
  readonly partBytes?: number;
}

/** A chunk of an export. */
export interface ExportPiece {
  /** Index of its file. Reading the last file requires all others. */
  readonly part: number;
  readonly bytes: Uint8Array;
}

const MIN_PART_BYTES = 2 ** 20;

export interface ExportSource {
  readonly did: string;
  readonly state: OwnerState;
  readonly parts: EngineParts;
}

/** @throws NOT_FOUND if there is nothing to export, LIMIT, MISSING_CELL, BAD_FORMAT, STORE_UNAVAILABLE */
export async function* exportPieces(source: ExportSource, options: ExportOptions): AsyncGenerator<ExportPiece> {
  const { partBytes } = options;
  if (partBytes !== undefined && !(partBytes >= MIN_PART_BYTES)) throw new RangeError("A part has at least 1 MiB");
  const { state, parts } = source;
  const extra = new Map(state.merged);
  const scope = createScope(parts.pool, { find: (hash) => extra.get(hash) });
  const top = await topOf(source, options, scope);
  const turn = createTurn();
  for (const { hash, bytes } of newCells(top, scope.has)) {
    extra.set(hash, bytes);
    await turn();
  }
  const read = createCellReader(createScope(parts.pool, { find: (hash) => extra.get(hash) }));
  const first = await scope.run(() => encode(top));
  const cells = { read, maxCells: parts.limits.maxImportCells };
  if (partBytes !== undefined) return yield* splitIntoParts(first, partBytes, walk(first, true, cells));
  yield { part: 0, bytes: first };
  for await (const bytes of walk(first, false, cells)) yield { part: 0, bytes: frame(bytes) };
}

async function topOf(source: ExportSource, options: ExportOptions, scope: CellScope): Promise<Value> {
  const { top = "signed", drive, region = "dlfs" } = options;
  if (top === "drive") {
    const root = drive === undefined ? undefined : (await drivesOf(source.state, scope)).get(drive);
    if (root === undefined || root === null) throw driveError("NOT_FOUND", "There is no such drive to export");
    return root;
  }
  const signed = await signedOf(source, scope);
  if (top === "signed") return signed;
  const owners = map([[signed.publicKey, signed]]);
  return top === "owners" ? owners : index([[keyword(region), owners]]);
}

/** Reuses the existing signature if a single root holds everything. */
async function signedOf({ did, state, parts: { keys } }: ExportSource, scope: CellScope): Promise<Signed> {
  if (state.drives === undefined) throw driveError("NOT_FOUND", "There are no drives to export");
  const drives = await scope.open(state.drives);
  for (const [account, { bytes }] of state.roots) {
    if (!sameBytes(signedDrives(bytes, account), state.drives)) continue;
    const cell = parseCell(bytes);
    if (cell.kind !== "signed") throw notANode("a root is signed");
    return new Signed(new Uint8Array(cell.publicKey), new Uint8Array(cell.signature), drives);
  }
  return (await keys.create(did)).sign(drives);
}

const childrenOf = (bytes: Uint8Array): string[] => branchRefs(parseCell(bytes)).map((ref) => toHex(hashOfRef(ref)));

/** The cells below a top, each at its first occurrence: before its own branches, or after them. @throws LIMIT */
async function* walk(
  top: Uint8Array,
  isChildrenFirst: boolean,
  { read, maxCells }: { readonly read: ReadCell; readonly maxCells: number },
): AsyncGenerator<Uint8Array> {
  const met = new Set<string>();
  const open = [{ bytes: top, children: childrenOf(top) }];
  for (let last = open.at(-1); last !== undefined; last = open.at(-1)) {
    const hash = last.children.shift();
    if (hash === undefined) {
      open.pop();
      if (isChildrenFirst && open.length > 0) yield last.bytes;
    } else if (!met.has(hash)) {
      met.add(hash);
      checkLimit(met.size, maxCells, "cells");
      const bytes = await read(hash, last.children);
      if (!isChildrenFirst) yield bytes;
      open.push({ bytes, children: childrenOf(bytes) });
    }
  }
}

function frame(bytes: Uint8Array): Uint8Array {
  const framed = new Uint8Array(vlqLength(bytes.length) + bytes.length);
  framed.set(bytes, writeVlq(framed, 0, bytes.length));
  return framed;
}

/** Splits cells into files. The last file begins with the top cell and is written last, so one part is buffered. */
async function* splitIntoParts(
  top: Uint8Array,
  partBytes: number,
  cells: AsyncIterable<Uint8Array>,
): AsyncGenerator<ExportPiece> {
  let part = 0;
  let kept: Uint8Array[] = [];
  let keptBytes = 0;
  for await (const bytes of cells) {
    const framed = frame(bytes);
    if (keptBytes + framed.length + top.length > partBytes) {
      for (const piece of kept) yield { part, bytes: piece };
      part += 1;
      kept = [];
      keptBytes = 0;
    }
    kept.push(framed);
    keptBytes += framed.length;
  }
  yield { part, bytes: top };
  for (const piece of kept) yield { part, bytes: piece };
}
