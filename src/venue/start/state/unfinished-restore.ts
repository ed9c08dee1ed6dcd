// Refuses to start on a state directory that a killed restore left incomplete.

import { statSync } from "node:fs";
import { resolve } from "node:path";
import { ConfigError } from "../../../config/errors.js";

/** Stands beside a state directory while a restore gives things their names. */
export const restoreMarker = (directory: string): string => `${resolve(directory)}.restoring`;

/** @throws ConfigError 78 when a restore was killed while it did so */
export function requireRestored(directory: string): void {
  if (statSync(restoreMarker(directory), { throwIfNoEntry: false }) === undefined) return;
  throw new ConfigError(["'stateDir' cannot be used: a restore into it has not ended. Run it again"], 78);
}
