// Reads the capabilities of a token, in every notation of the supported formats.

import type { JsonObject } from "../../core/ports/adapter.js";
import { isObject } from "../../core/unknown.js";

/** Maximum capabilities of a token. */
export const MAX_ENTRIES = 32;

/** A capability as written in a token, for display. */
export interface WrittenEntry {
  readonly with: string;
  readonly can: string;
  /** Caveats; an entry with them grants nothing. */
  readonly nb?: unknown;
}

/** Whether a token's claims contain a non-empty capability list, valid or not. */
export const hasCapabilities = ({ att, cap }: JsonObject): boolean =>
  (Array.isArray(att) && att.length > 0) || (isObject(cap) && Object.keys(cap).length > 0);

/**
 * The capabilities in a token's claims, from `att` (array) or `cap` (map), in the form of `att`. An ability of a map
 * with caveats keeps them as `nb`, so that it grants no more than the same entry in `att`.
 *
 * @returns unparsed entries; `undefined` if there are more than {@link MAX_ENTRIES}
 */
export function readEntries({ att, cap }: JsonObject): readonly unknown[] | undefined {
  const entries = Array.isArray(att) ? att : isObject(cap) ? entriesOfMap(cap) : [];
  return entries.length > MAX_ENTRIES ? undefined : entries;
}

/** The entries with readable text. */
export function writtenEntries(entries: readonly unknown[]): readonly WrittenEntry[] {
  return entries.flatMap((entry) => {
    if (!isObject(entry)) return [];
    const { with: resource, can, nb } = entry;
    if (typeof resource !== "string" || typeof can !== "string") return [];
    return [{ with: resource, can, ...(nb === undefined ? {} : { nb }) }];
  });
}

function entriesOfMap(cap: JsonObject): readonly unknown[] {
  return Object.entries(cap).flatMap(([resource, abilities]): readonly unknown[] => {
    // Counts towards the limit, though it grants nothing.
    if (!isObject(abilities)) return [abilities];
    return Object.entries(abilities).map(([can, caveats]) =>
      isUnconditional(caveats) ? { with: resource, can } : { with: resource, can, nb: caveats },
    );
  });
}

const isUnconditional = (caveats: unknown): boolean =>
  Array.isArray(caveats) && caveats.some((caveat) => isObject(caveat) && Object.keys(caveat).length === 0);
