// Warns of drives that would not last, and of contents that travel unencrypted.

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
  if (kept === "memory" || !forgetsDrives(config)) return;
  const hasDrives = Object.values(config.file.roots).some(({ kind }) => kind === "dlfs");
  if (!hasDrives) return;
  const [seed, file, store] = [["seed"], ["seedFile"], ["drives", "store"]].map((keys) =>
    quotedPath(placeBelow(venue, ...keys)),
  );
  const ways = config.stateDir === false ? `${store} to a path, or` : `${seed} or ${file}, or ${store}`;
  yield `Drives are kept in memory and will not survive: set ${ways} to "memory" if that is meant`;
}

/** Warns about plain HTTP: all traffic but the secret access key is readable, including encrypted owner keys. */
export function* warnOfPlainText(venue: Place, { drives, storage }: VenueConfig): Generator<string> {
  const { store } = drives;
  const buckets = [
    { what: "Drives", keys: ["drives", "store", "s3"], s3: typeof store === "object" && "s3" in store && store.s3 },
    { what: "Assets", keys: ["storage", "s3"], s3: storage.content === "s3" && storage.s3 },
  ];
  for (const { what, keys, s3 } of buckets) {
    if (s3 === false || s3.endpoint?.startsWith("http:") !== true || isLoopbackHost(new URL(s3.endpoint).hostname))
      continue;
    const place = quotedPath(placeBelow(venue, ...keys, "endpoint"));
    yield `${what} travel unencrypted: make ${place} begin with https:`;
  }
}
