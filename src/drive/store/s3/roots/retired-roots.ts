// Removal of roots whose writers are gone.

import { describeError } from "../../../../core/errors/describe-error.js";
import type { RootRecord } from "../../cell-store.js";
import type { OwnerRoots } from "./owner-roots.js";
import { rootKey } from "./root-reader.js";
import type { WriterIdOptions } from "./writer-id.js";
import { GONE_MS, type WriterId } from "./writer-id.js";

/** Root objects of dead writers that are included in a root of this process. */
export interface RetiredRoots {
  /** Records that this process's root for an owner includes these roots. */
  add(owner: string, records: readonly RootRecord[]): void;
  /** Removes the roots of dead writers. */
  sweep(): Promise<void>;
  /** Like `sweep`, but only if so many are waiting that they slow readers down. */
  sweepMany(): Promise<void>;
  /** Whether no removal is in flight. */
  isDone(): boolean;
}

const MANY = 4;
const MAX_OWNERS = 10_000;

export interface RetiredOptions extends WriterIdOptions {
  readonly roots: OwnerRoots;
  readonly writer: WriterId;
}

export function createRetiredRoots({ client, roots, writer, now, log }: RetiredOptions): RetiredRoots {
  const waiting = new Map<string, readonly RootRecord[]>();
  let isDone = true;
  const living = async (): Promise<Set<string>> => {
    const names = new Set<string>();
    for await (const { key, modifiedAt } of client.objects("writers/")) {
      // An unreadable time counts as the current time.
      if (!(modifiedAt < now() - GONE_MS)) names.add(key.slice("writers/".length));
    }
    return names;
  };
  const sweepOwner = async (owner: string, records: readonly RootRecord[], alive: ReadonlySet<string>) => {
    const mayGo = new Map(
      records
        .filter(({ writer: name }) => name !== writer.current() && (writer.isFormer(name) || !alive.has(name)))
        .map(({ writer: name, version }) => [name, version]),
    );
    if (mayGo.size === 0) return;
    // Read after the writers were found dead, so that nothing can have been written since.
    for (const { record } of await roots.all(owner)) {
      if (mayGo.get(record.writer) !== record.version) continue;
      await client.remove(rootKey(owner, record.writer));
      roots.forget(owner, record.writer);
    }
  };
  const sweep = async (): Promise<void> => {
    if (waiting.size === 0) return;
    const all = [...waiting];
    waiting.clear();
    try {
      const alive = await living();
      for (const [owner, records] of all) await sweepOwner(owner, records, alive);
    } catch (error) {
      isDone = false;
      log.warn({ event: "drive.retired", error: describeError(error) }, "Old roots of the drive store stay");
    }
  };
  return {
    add(owner, records) {
      if (records.length === 0) waiting.delete(owner);
      else if (waiting.size < MAX_OWNERS || waiting.has(owner)) waiting.set(owner, records);
    },
    sweep,
    isDone: () => isDone,
    async sweepMany() {
      if ([...waiting.values()].some((records) => records.length >= MANY)) await sweep();
    },
  };
}
