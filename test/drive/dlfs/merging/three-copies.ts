import { hashOf } from "../../../../src/drive/cad3/encoding/cell.js";
import type { Value } from "../../../../src/drive/cad3/value.js";
import { checkNode } from "../../../../src/drive/dlfs/check-node.js";
import { merge } from "../../../../src/drive/dlfs/merge.js";
import { dir, directoryOf, file, tombstone } from "../../../../src/drive/dlfs/node.js";

/** Numbers below a limit, the same in every run. */
type Pick = (below: number) => number;

function pickFrom(seed: number): Pick {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Around what counted once, the ends of embedded keys, of one byte of depth, and of what counts now. */
const LENGTHS = [1, 2, 31, 32, 33, 63, 64, 65, 100, 127, 128, 137, 138, 139, 200, 253, 254, 255];
const UNITS = ["n", "é", "漢", "😀"];

/** A name of 1 to 255 bytes; all share their beginnings. */
function nameOf(pick: Pick): string {
  const length = pick(2) === 0 ? (LENGTHS[pick(LENGTHS.length)] ?? 1) : 1 + pick(255);
  const unit = pick(4) === 0 ? (UNITS[pick(UNITS.length)] ?? "n") : "n";
  const end = pick(3) === 0 ? "" : String.fromCharCode(97 + pick(4));
  const units = Math.max(0, Math.floor((length - end.length) / Buffer.byteLength(unit)));
  return unit.repeat(units) + end || "n";
}

/** A name is always of one kind: what takes the place of a directory forgets what was in it, and then the order counts. */
const isDirectory = (name: string): boolean => name.length % 3 === 0;

function copyOf(names: readonly string[], pick: Pick, depth = 2): Value {
  const chosen = names.filter((name) => pick(2) === 0 && (depth > 0 || !isDirectory(name)));
  return dir(
    chosen.map((name): [string, Value] => [name, isDirectory(name) ? copyOf(names, pick, depth - 1) : leafOf(pick)]),
    pick(6),
  );
}

const leafOf = (pick: Pick): Value =>
  pick(3) === 0 ? tombstone(pick(6)) : file(Buffer.from("xyz"[pick(3)]?.repeat(1 + 150 * pick(2)) ?? ""), pick(6));

const ORDERS = [
  [0, 1, 2],
  [0, 2, 1],
  [1, 0, 2],
  [1, 2, 0],
  [2, 0, 1],
  [2, 1, 0],
] as const;

/** Merges three random copies in every order, that many times. @returns how many had names that share 32 bytes */
export function mergeThree(times: number, seed: number): number {
  let alike = 0;
  for (let time = 0; time < times; time += 1) {
    const pick = pickFrom(seed + time);
    const names = [...new Set(Array.from({ length: 2 + pick(8) }, () => nameOf(pick)))];
    const copies = Array.from({ length: 3 }, () => copyOf(names, pick));
    const roots = ORDERS.map((order) =>
      order.map((at) => copies[at] ?? null).reduce((one, other) => merge(one, other)),
    );
    const [root = null] = roots;
    if (new Set(roots.map(hashOf)).size > 1) throw new Error(`The order counts: seed ${seed + time}`);
    // From the right, too.
    const [a = null, b = null, c = null] = copies;
    if (hashOf(merge(a, merge(b, c))) !== hashOf(root)) throw new Error(`Which come first counts: seed ${seed + time}`);
    checkNode(root);
    const starts = [...directoryOf(root).entries].map(([name]) => Buffer.from(String(name)).toString("hex", 0, 32));
    if (starts.some((start, at) => start.length === 64 && starts.indexOf(start) < at)) alike += 1;
  }
  return alike;
}
