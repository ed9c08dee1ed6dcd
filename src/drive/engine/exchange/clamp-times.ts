// Sets times ahead of the clock to now: nodes with such times would win every merge, and no import accepts them.

import type { Value } from "../../cad3/value.js";
import { viewOf } from "../../dlfs/node.js";
import { createTurn } from "../../turn.js";
import type { CellScope } from "../cells.js";
import { entriesOf } from "../content/differences.js";
import type { EngineParts, OwnerQueue } from "../owner-queue.js";

/** How many times were set, by drive; deleted drives are among them. */
export type Clamped = ReadonlyMap<string, number>;

/** @param drive the only one to look at; absent: all of the owner @throws STORE_DAMAGED, CONFLICT, READ_ONLY_ROOT */
export async function clampTimes(
  drive: string | undefined,
  { queue, parts }: { readonly queue: OwnerQueue; readonly parts: EngineParts },
): Promise<Clamped> {
  return queue.change(drive ?? "", async (draft) => {
    const counts = new Map<string, number>();
    for (const [name, root] of draft.drives) {
      if (typeof name !== "string" || root === null || (drive !== undefined && name !== drive)) continue;
      const clamping = { scope: draft.scope, latest: BigInt(parts.clock.nowMs()), turn: createTurn(), count: 0 };
      const next = await clamped(root, clamping);
      if (clamping.count === 0) continue;
      counts.set(name, clamping.count);
      draft.drives = draft.drives.with(name, next);
    }
    return counts;
  });
}

interface Clamping {
  readonly scope: CellScope;
  readonly latest: bigint;
  readonly turn: () => Promise<void> | undefined;
  count: number;
}

/** @returns the node itself where nothing in it is late; an entry can be later than its directory */
async function clamped(node: Value, clamping: Clamping): Promise<Value> {
  const { scope, latest, turn } = clamping;
  await turn();
  const view = await scope.run(() => viewOf(node));
  const isLate = view.utime > latest;
  const utime = isLate ? latest : view.utime;
  if (isLate) clamping.count += 1;
  if (view.kind === "tombstone") return isLate ? [null, null, view.metadata, utime] : node;
  if (view.kind === "file") return isLate ? [null, view.data, view.metadata, utime] : node;
  let { entries } = view;
  for (const { key, value } of await entriesOf(entries, scope)) {
    const next = await clamped(value, clamping);
    if (next !== value) entries = await scope.run(() => entries.with(key, next));
  }
  return entries === view.entries && !isLate ? node : [entries, null, view.metadata, utime];
}
