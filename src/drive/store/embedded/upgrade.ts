// Raises a store of an older format. Only the operator's command does so: venues of the older version, which may share the store,
// could not read it any more.

import { mayRun, ownToken } from "../../../process/identity.js";
import type { FormatChange } from "../cell-store.js";
import { storeUnavailable } from "../store-error.js";
import { FORMAT_VERSION, formatOf, packState, rows, setFormat, type Tables } from "../tables.js";

/** Changes the tables from one format to the next; runs inside the transaction that also notes the new format. */
export type Upgrade = (tables: Tables) => void;

/** The one at index `n` leads from format `n + 1` to the next. Empty until there is a second format. */
const UPGRADES: readonly Upgrade[] = [];

/**
 * One transaction: a process that is killed leaves the old format.
 *
 * @throws STORE_UNAVAILABLE if another process writes to a store that would be raised
 */
export function upgradeTables(tables: Tables, upgrades: readonly Upgrade[] = UPGRADES): FormatChange {
  const to = Math.max(FORMAT_VERSION, upgrades.length + 1);
  return tables.env.transactionSync(() => {
    const from = formatOf(tables.meta);
    if (from >= to) return { from, to: from };
    if (hasOtherWriters(tables)) throw storeUnavailable("a venue is using it. Stop all venues, then upgrade it");
    for (const upgrade of upgrades.slice(from - 1)) upgrade(tables);
    setFormat(tables.meta, to);
    return { from, to };
  });
}

function hasOtherWriters({ packs }: Tables): boolean {
  const own = ownToken();
  return [...rows(packs)].some(({ value }) => {
    const { isSealed, writer } = packState(value);
    return !isSealed && writer !== own && mayRun(writer);
  });
}
