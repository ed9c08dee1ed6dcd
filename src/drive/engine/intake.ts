import { missingCell } from "../assemble.js";
import { blobLayout } from "../blob.js";
import { parseCell } from "../parse-cell.js";
import type { ParsedBlob, ParsedCell } from "../parsed.js";
import { badFormat } from "../reader.js";
import { hashOfRef, sha3, toHex } from "../ref.js";
import type { PutCell } from "./blob-writer.js";

/**
 * Takes in the cells of a value from elsewhere, in any order. Parts of long blobs, which is most of what comes, go on
 * as soon as something that belongs to the value asks for them; trees are kept until all is there.
 */
export interface Intake {
  /** Says what the value is: whose branches are wanted. @throws BAD_FORMAT */
  begin(top: Uint8Array): Promise<void>;
  /** @param bytes kept @throws BAD_FORMAT, UNSUPPORTED_CELL */
  add(bytes: Uint8Array): Promise<void>;
  /**
   * All cells but parts of blobs that belong to the value, by hash.
   *
   * @param reread finds a cell that has been put already
   * @throws MISSING_CELL
   */
  finish(reread: (hash: string) => Promise<Uint8Array | undefined>): Promise<ReadonlyMap<string, Uint8Array>>;
}

/** What is asked of a cell: that it is a part of a blob and so long, or nothing. */
type Expected = number | undefined;

interface Wish {
  readonly hash: string;
  readonly expected: Expected;
}

export function createIntake(put: PutCell): Intake {
  /** Belong to the value and are kept. */
  const kept = new Map<string, Uint8Array>();
  /** Belong to the value and have been put; their lengths as blobs. */
  const passed = new Map<string, number>();
  /** Nobody has asked for them yet. */
  const idle = new Map<string, Uint8Array>();
  const wanted = new Map<string, Expected[]>();
  /** Have been put as a part of a blob, and are wanted as something else too. */
  const again = new Set<string>();

  const grant = async (wishes: Wish[]): Promise<void> => {
    for (let wish = wishes.pop(); wish !== undefined; wish = wishes.pop()) {
      const { hash, expected } = wish;
      const known = kept.get(hash);
      const length = passed.get(hash);
      const here = idle.get(hash);
      if (known !== undefined) checkBlob(parseCell(known), expected);
      else if (length !== undefined) {
        if (expected === undefined) again.add(hash);
        else if (expected !== length) throw badFormat("a part of a blob has a wrong length");
      } else if (here !== undefined) {
        idle.delete(hash);
        wishes.push(...(await take(wish, here)));
      } else wanted.set(hash, [...(wanted.get(hash) ?? []).filter((other) => other !== expected), expected]);
    }
  };
  const take = async ({ hash, expected }: Wish, bytes: Uint8Array): Promise<Wish[]> => {
    const cell = parseCell(bytes);
    checkBlob(cell, expected);
    if (expected === undefined) kept.set(hash, bytes);
    else {
      passed.set(hash, expected);
      await put(hash, bytes);
    }
    return wishesOf(cell);
  };
  return {
    begin: (top) => grant(wishesOf(parseCell(top))),
    async add(bytes) {
      const hash = toHex(sha3(bytes));
      if (kept.has(hash) || passed.has(hash)) return;
      const expected = wanted.get(hash);
      if (expected === undefined) {
        // What belongs to nothing is checked too.
        parseCell(bytes);
        idle.set(hash, bytes);
        return;
      }
      wanted.delete(hash);
      const cell = parseCell(bytes);
      for (const length of expected) checkBlob(cell, length);
      await grant(await take({ hash, expected: expected.includes(undefined) ? undefined : expected[0] }, bytes));
    },
    async finish(reread) {
      for (const hash of wanted.keys()) throw missingCell(hash);
      for (const hash of again) {
        const bytes = await reread(hash);
        if (bytes === undefined) throw missingCell(hash);
        kept.set(hash, bytes);
      }
      return kept;
    },
  };
}

function checkBlob(cell: ParsedCell, expected: Expected): void {
  if (expected === undefined) return;
  if (cell.kind !== "blob" || cell.isText) throw badFormat("a part of a blob is no blob");
  if (cell.length !== expected) throw badFormat("a part of a blob has a wrong length");
}

/** What a cell asks for. */
function wishesOf(cell: ParsedCell): Wish[] {
  if (cell.kind === "blob" && !cell.isText) return blobWishes(cell);
  return cell.refs.flatMap(({ bytes, cell: below }) =>
    // A short top of a long blob stands in what holds it.
    below === undefined ? [{ hash: toHex(hashOfRef(bytes)), expected: undefined }] : wishesOf(below),
  );
}

function blobWishes({ content, length, refs }: ParsedBlob): Wish[] {
  if (content !== undefined) return [];
  const { children, childBytes, lastBytes } = blobLayout(length);
  return refs.flatMap(({ bytes, cell }, place) => {
    const expected = place < children - 1 ? childBytes : lastBytes;
    if (cell === undefined) return [{ hash: toHex(hashOfRef(bytes)), expected }];
    checkBlob(cell, expected);
    return cell.kind === "blob" ? blobWishes(cell) : [];
  });
}
