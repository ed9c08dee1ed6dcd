// Refuses to start on a state directory that a killed restore left incomplete.

import { statSync } from "node:fs";
import { join, resolve } from "node:path";
import { ConfigError } from "../../../config/errors.js";

/**
 * Stands while a restore gives things their names: beside a state directory that it makes, inside of one that was there, which may be a
 * volume.
 */
export const restoreMarkers = (directory: string): { readonly beside: string; readonly inside: string } => ({
  beside: `${resolve(directory)}.restoring`,
  inside: join(directory, INSIDE),
});

const INSIDE = ".restoring";

/** Whether a name in a state directory is of a restore. */
export const isOfRestore = (name: string): boolean => name === STAGED || name.startsWith(INSIDE);

/** Where a restore writes first, beside a place that it makes or inside a folder that is there. */
export const STAGED = ".restore";

/** @throws ConfigError 78 when a restore was killed while it did so */
export function requireRestored(directory: string): void {
  const markers = Object.values(restoreMarkers(directory));
  if (markers.every((marker) => statSync(marker, { throwIfNoEntry: false }) === undefined)) return;
  throw new ConfigError(["'stateDir' cannot be used: a restore into it has not ended. Run it again"], 78);
}
