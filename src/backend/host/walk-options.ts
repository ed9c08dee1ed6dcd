// Options of walks in a host directory.

import type { Access, WalkOptions } from "../../core/ports/backend.js";

export interface HostWalkOptions extends WalkOptions {
  readonly access: Pick<Access, "scope" | "policy">;
  /** Fail if a directory cannot be read, instead of skipping it. */
  readonly strict?: boolean;
  /** Reserved names are no others. */
  readonly keepsReserved?: boolean;
  /** Called for each entry that could not be examined, or not be entered for it is no directory any more. */
  readonly missed?: (below: readonly string[], name: string) => void;
}

export type EntryOptions = {
  readonly [Key in keyof Required<HostWalkOptions>]: HostWalkOptions[Key] | undefined;
} & Pick<HostWalkOptions, "visit" | "sizes" | "access">;

/** Written out: objects made by spreads need not share a shape, and then each entry is slow to visit. */
export function writtenOut(options: HostWalkOptions): EntryOptions {
  const { visit, visitDenied, unreadable, vanished, exhausted, missed, sizes } = options;
  const { versions, rules, content, access, strict, keepsReserved } = options;
  return {
    visit,
    visitDenied,
    unreadable,
    vanished,
    exhausted,
    missed,
    sizes,
    versions,
    rules,
    content,
    access,
    strict,
    keepsReserved,
  };
}
