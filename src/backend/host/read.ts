// Reads a range of a file, or the state of an entry.

import type { Io } from "../../core/io.js";
import type { Access, CurrentState, ReadBytes, ReadRange } from "../../core/ports/backend.js";
import { type Pinned, READ } from "../../jail/handles.js";
import type { Jail } from "../../jail/jail.js";
import { closeNow } from "../../jail/sys.js";
import { kindOf, stateOf } from "./changes/report.js";
import { stampPart } from "./open.js";
import type { Arrival } from "./root.js";

interface Reading {
  /** Chooses the range to read once the size is known. */
  readonly plan: (size: number) => ReadRange;
  readonly access: Access;
}

export function* readFile({ handles, sys }: Jail, file: Pinned, { plan, access }: Reading): Io<ReadBytes> {
  const range = plan(file.stat.size);
  const fd = yield* handles.reopen(file, READ);
  try {
    const parts: Buffer[] = [];
    let done = 0;
    // Requesting one byte more than expected detects the end in the same call; a growing file is read up to the
    // range.
    let expected = Math.max(0, Math.min(range.length, file.stat.size - range.offset));
    for (;;) {
      const buffer = Buffer.allocUnsafe(Math.min(range.length - done, expected + 1));
      const count = buffer.length === 0 ? 0 : yield* sys.read(fd, buffer, 0, range.offset + done);
      if (count > 0) parts.push(buffer.subarray(0, count));
      done += count;
      // Fewer bytes than requested are the end only where the file is known to end.
      const isEnd = count < buffer.length && (count === 0 || range.offset + done >= file.stat.size);
      if (isEnd || done >= range.length) break;
      expected = 65_536;
      yield* access.scope.breathe();
    }
    const bytes = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
    const size = Math.max(file.stat.size, bytes.length === 0 ? 0 : range.offset + bytes.length);
    return { bytes, size, ...stampPart(file.stat) };
  } finally {
    closeNow(fd);
  }
}

/** The state of the entry that a walk has reached. */
export function* currentState({ found }: Arrival): Io<CurrentState | undefined> {
  if (found.state !== "found") return undefined;
  const { stat } = found.object;
  return { ...stateOf(stat), kind: kindOf(stat) };
}
