// Adds the nodes at the path, before and after, to a note of a change for the log.

import { type Awaitable, after } from "../../../core/io.js";
import { cellOf } from "../../cad3/encoding/cell.js";
import { lazyRef } from "../../cad3/open.js";
import { isBranch } from "../../cad3/ref.js";
import type { Value } from "../../cad3/value.js";
import { viewOf } from "../../dlfs/node.js";
import { heldAt } from "../content/tree-read.js";
import type { Noted } from "../log/entry.js";
import type { Draft } from "../owner-queue.js";
import { putNew } from "../write-set.js";

/** A noted change, with the roots before and after it. */
export type Moment = Omit<Noted, "drive" | "kept">;

interface NotedGround {
  readonly drive: string;
  readonly draft: Draft;
  /** The first and the last root of the change, of which all cells are stored, or will be. */
  readonly ends: readonly (Value | undefined)[];
}

/** The nodes at the path of a noted change, by their Refs. Waits only where cells have to be read or put. */
export function resolveNote({ note, before, after, reason, ticket }: Moment, ground: NotedGround): Awaitable<Noted> {
  const old = reason === undefined ? nodeOfNote(before, note.path, ground) : undefined;
  return both(old, nodeOfNote(after, note.path, ground), (was, is) => {
    const kept = was !== undefined && note.addition === undefined ? (note.before?.size ?? 0) : 0;
    return { drive: ground.drive, note, before: was, after: is, kept, reason, ticket };
  });
}

const both = <A, B, R>(one: Awaitable<A>, other: Awaitable<B>, join: (one: A, other: B) => R): Awaitable<R> =>
  after(one, (first) => after(other, (second) => join(first, second)));

function nodeOfNote(
  root: Value | undefined,
  path: readonly string[],
  { draft, ends }: NotedGround,
): Awaitable<Value | undefined> {
  const { scope } = draft;
  if (root === undefined) return undefined;
  const found = scope.run(() => {
    const held = heldAt({ value: root }, path);
    if (held === undefined) return undefined;
    const ref = held.valueRef ?? cellOf(held.value).ref;
    const isInEnd = (): boolean =>
      ends.some((end) => end === root || (end !== undefined && heldAt({ value: end }, path) === held));
    return { value: held.value, ref, isStored: isEmbeddedFile(held.value, ref) || isInEnd() };
  });
  return after(found, (held) => {
    if (held === undefined) return undefined;
    const node = lazyRef(held.ref, scope.source);
    if (held.isStored) return node;
    // A node between two steps of a change is in no root.
    return putNew(held.value, draft).then(() => node);
  });
}

/** The entry of the log embeds the node, and the content was put when it was written. */
const isEmbeddedFile = (node: Value, ref: Uint8Array): boolean => !isBranch(ref) && viewOf(node).kind === "file";
