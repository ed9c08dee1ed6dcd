import type { JsonObject } from "../../core/ports/adapter.js";
import { isJsonObject } from "./strict-json.js";

/** Most entries of a token's list. */
export const MAX_ENTRIES = 32;

/** One capability as written, for people. */
export interface WrittenEntry {
  readonly with: string;
  readonly can: string;
}

/** Whether a token's claims hold a list with anything in it, whatever that is worth. */
export const hasCapabilities = ({ att, cap }: JsonObject): boolean =>
  (Array.isArray(att) && att.length > 0) || (isJsonObject(cap) && Object.keys(cap).length > 0);

/**
 * The capabilities in a token's claims, from either kind of list, in the form of `att`. Of a map, an ability whose
 * caveats do not say that there are none comes with its caveats, as `nb`, so that it grants as little as in `att`.
 *
 * @returns not yet parsed; `undefined`: more than {@link MAX_ENTRIES}
 */
export function readEntries({ att, cap }: JsonObject): readonly unknown[] | undefined {
  const entries = Array.isArray(att) ? att : isJsonObject(cap) ? entriesOfMap(cap) : [];
  return entries.length > MAX_ENTRIES ? undefined : entries;
}

/** Those entries that say something people can read. */
export function writtenEntries(entries: readonly unknown[]): readonly WrittenEntry[] {
  return entries.flatMap((entry) => {
    if (!isJsonObject(entry)) return [];
    const { with: resource, can } = entry;
    return typeof resource === "string" && typeof can === "string" ? [{ with: resource, can }] : [];
  });
}

function entriesOfMap(cap: JsonObject): readonly unknown[] {
  return Object.entries(cap).flatMap(([resource, abilities]): readonly unknown[] => {
    // Counted, though it grants nothing.
    if (!isJsonObject(abilities)) return [abilities];
    return Object.entries(abilities).map(([can, caveats]) =>
      isUnconditional(caveats) ? { with: resource, can } : { with: resource, can, nb: caveats },
    );
  });
}

const isUnconditional = (caveats: unknown): boolean =>
  Array.isArray(caveats) && caveats.some((caveat) => isJsonObject(caveat) && Object.keys(caveat).length === 0);
