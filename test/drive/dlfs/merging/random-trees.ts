import fc from "fast-check";
import type { Value } from "../../../../src/drive/cad3/value.js";
import { dir, file, tombstone } from "../../../../src/drive/dlfs/node.js";

const SHARED = "names that share 32 bytes and more ";

/** What random trees are made of. Times are few, so that ties come up. */
export interface TreeKind {
  /** Names of anything. */
  readonly any?: readonly string[];
  /** Names of directories only. */
  readonly directories?: readonly string[];
  /** Names of files and tombstones only. */
  readonly files?: readonly string[];
  readonly metadata?: boolean;
}

/** Names that say what they are the names of; long ones too, so that entries are branches. */
export const STEADY: TreeKind = {
  directories: ["d", `d${"1".repeat(60)}`],
  files: ["a", "e\u0301", `f${"2".repeat(90)}`],
};
export const FREE: TreeKind = { any: ["a", "b", "\u{1f600}", `c${"3".repeat(90)}`] };
/** Names that share 32 bytes; among them the longest. */
export const LONG: TreeKind = { any: ["a", SHARED, `${SHARED}1`, SHARED.padEnd(254, "x"), SHARED.padEnd(255, "x")] };

const utime = fc.nat({ max: 6 });
const content = fc.constantFrom("", "x", "y", "z", "long content ".repeat(12)).map((text) => Buffer.from(text));

/** Random roots of this kind. @param depth of directories below the root */
export function trees(kind: TreeKind, depth = 2): fc.Arbitrary<Value> {
  const { any = [], directories = [], files = [], metadata = false } = kind;
  const meta = metadata ? fc.constantFrom<Value>(null, null, "m", new Uint8Array(150)) : fc.constant<Value>(null);
  const fileNode = fc.tuple(content, utime, meta).map((parts): Value => file(...parts));
  const grave = utime.map((at): Value => tombstone(at));
  const leaf = fc.oneof({ weight: 2, arbitrary: fileNode }, { weight: 1, arbitrary: grave });
  const below = depth === 0 ? undefined : trees(kind, depth - 1);
  const entry = fc.oneof(
    ...named(any, below === undefined ? leaf : fc.oneof(leaf, below)),
    ...(below === undefined ? [] : named(directories, below)),
    ...named(files, leaf),
  );
  return fc.tuple(fc.array(entry, { maxLength: 5 }), utime, meta).map((parts): Value => dir(...parts));
}

const named = (names: readonly string[], node: fc.Arbitrary<Value>): fc.Arbitrary<[string, Value]>[] =>
  names.length === 0 ? [] : [fc.tuple(fc.constantFrom(...names), node)];
