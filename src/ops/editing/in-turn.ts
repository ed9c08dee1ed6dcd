// Changes that depend on what a file holds run one after the other, so that calls which are sent together do not conflict.

import type { FileCall } from "../../core/ports/operation.js";
import { placeKey } from "../content/file-etag.js";

/**
 * Runs `work` once the earlier changes of these files have ended, in order of arrival. A file that goes by another name, or
 * that another process changes, is not waited for: there the commit finds the conflict.
 *
 * @throws ABORTED, TIMEOUT while it waits
 */
export function inTurn<T>(places: readonly [FileCall, ...FileCall[]], work: () => Promise<T>): Promise<T> {
  const { turns, access } = places[0];
  // In the same order for all, so that no two calls wait for each other.
  const keys = [...new Set(places.map(turnKey))].toSorted();
  const [first = ""] = keys;
  if (keys.length === 1 && turns.isFree(first)) return turns.run(first, work);
  const begin = async () => {
    access.scope.checkpoint();
    return work();
  };
  const run = keys.reduceRight<() => Promise<T>>((next, key) => () => turns.run(key, next), begin);
  return access.scope.race(run());
}

const turnKey = (call: FileCall): string => `${call.root.owner ?? ""} ${placeKey(call)}`;
