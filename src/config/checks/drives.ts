// Warns of drives that would not last.

import { isLoopbackHost } from "../loopback.js";
import type { VenueConfig } from "../types.js";
import { type Place, placeBelow, quotedPath } from "./check-schema.js";

/** Whether drives are lost when the venue stops. */
export const forgetsDrives = ({ drives, seed, seedFile, stateDir }: VenueConfig): boolean =>
  drives.store === "memory" ||
  (drives.store === undefined && (stateDir === false || (seed === undefined && seedFile === undefined)));

/** Warns if drives of configured roots will not persist although `drives.store` was not set to memory. */
export function* warnOfDrives(venue: Place, config: VenueConfig): Generator<string> {
  const { store: kept } = config.drives;
  if (typeof kept === "object" && "s3" in kept) yield* warnOfPlainText(venue, kept.s3.endpoint);
  if (kept === "memory" || !forgetsDrives(config)) return;
  const hasDrives = Object.values(config.file.roots).some(({ kind }) => kind === "dlfs");
  if (!hasDrives) return;
  const [seed, file, store] = [["seed"], ["seedFile"], ["drives", "store"]].map((keys) =>
    quotedPath(keys.reduce<Place>(placeBelow, venue)),
  );
  const ways = config.stateDir === false ? `${store} to a path, or` : `${seed} or ${file}, or ${store}`;
  yield `Drives are kept in memory and will not survive: set ${ways} to "memory" if that is meant`;
}

/** Warns about plain HTTP: all traffic but the secret access key is readable, including encrypted owner keys. */
function* warnOfPlainText(venue: Place, endpoint: string | undefined): Generator<string> {
  if (endpoint === undefined || !endpoint.startsWith("http:")) return;
  const { hostname } = new URL(endpoint);
  if (isLoopbackHost(hostname)) return;
  const place = quotedPath(["drives", "store", "s3", "endpoint"].reduce<Place>(placeBelow, venue));
  yield `Drives travel unencrypted: make ${place} begin with https:`;
}
