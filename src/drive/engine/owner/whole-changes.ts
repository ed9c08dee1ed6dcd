// What the log and others are told of changes of whole drives: one entry for each drive.

import type { DriveMaker, EntryChange, EntryState } from "../../../core/ports/changes/change.js";
import { cellOf } from "../../cad3/encoding/cell.js";
import { lazyRef } from "../../cad3/open.js";
import type { Value } from "../../cad3/value.js";
import { directoryOf } from "../../dlfs/node.js";
import type { LogTicket } from "../log/entry.js";
import type { Draft } from "../owner-queue.js";

/** A drive with its roots before and after a change; `undefined`: there is no drive. */
export interface WholeChange {
  readonly drive: string;
  readonly before: Value | undefined;
  readonly after: Value | undefined;
}

/** Notes changes of whole drives in a draft, and tells of those of the last draft. */
export interface WholeChanges {
  note(draft: Draft, changes: readonly WholeChange[]): Promise<void>;
  tell(): void;
}

export function createWholeChanges(maker: DriveMaker | undefined): WholeChanges {
  let noted: { readonly drive: string; readonly change: EntryChange; readonly ticket: LogTicket }[] = [];
  return {
    async note({ scope, notes }, changes) {
      noted = [];
      if (maker === undefined) return;
      if (changes.length > 1) maker.beginGroup();
      const stateOf = async (root: Value | undefined): Promise<EntryState | null> =>
        root === undefined ? null : { size: 0, modified: Number((await scope.run(() => directoryOf(root))).utime) };
      const held = (root: Value | undefined): Value | undefined => root && lazyRef(cellOf(root).ref, scope.source);
      for (const { drive, before, after } of changes) {
        const change: EntryChange = {
          action: before === undefined ? "created" : after === undefined ? "deleted" : "modified",
          ...{ kind: "directory", path: [], before: await stateOf(before), after: await stateOf(after) },
        };
        const ticket: LogTicket = {};
        const note = { ...maker.originIn(drive), ...change };
        notes.push({ drive, note, before: held(before), after: held(after), kept: 0, ticket });
        noted.push({ drive, change, ticket });
      }
    },
    tell() {
      for (const { drive, change, ticket } of noted) {
        maker?.changed(drive, ticket.id === undefined ? change : { ...change, id: ticket.id });
      }
    },
  };
}
