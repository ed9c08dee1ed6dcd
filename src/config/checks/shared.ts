// Refuses what several instances of a venue cannot share.

import { listensOnLoopback } from "../loopback.js";
import type { DraftVenue } from "../types.js";
import { type Place, placeBelow, quotedPath, report } from "./check-schema.js";

const TEMP = "each instance has a temp directory of its own";

/**
 * With `shared`, whatever only one process could see is a mistake; each problem names the key and the way out.
 *
 * @param extraRoots given by `--root`
 */
export function checkShared(venue: Place, draft: DraftVenue, extraRoots: object): void {
  const { shared, hostname, listen, drives, storage, file } = draft;
  if (shared === undefined) return;
  const own = quotedPath(placeBelow(venue, "shared"));
  if (!Object.hasOwn(draft, "seed") && !Object.hasOwn(draft, "seedFile")) {
    const inFile = quotedPath(placeBelow(venue, "seedFile"));
    report(placeBelow(venue, "seed"), `is missing: with ${own} all instances have one key. Set it or ${inFile}`);
  }
  const { store } = drives ?? {};
  if (drives !== undefined && (typeof store !== "object" || !Object.hasOwn(store, "s3"))) {
    report(placeBelow(venue, "drives", "store"), `must have s3 with ${own}: other instances see no drives elsewhere`);
  }
  if (storage?.content !== undefined && storage.content !== "s3") {
    const place = placeBelow(venue, "storage", "content");
    report(place, `must be "s3" with ${own}, and s3 beside it: other instances see no assets elsewhere`);
  }
  const advertise = placeBelow(venue, "shared", "advertise");
  if (!Object.hasOwn(shared, "advertise") && hostname !== undefined) {
    const need = "is missing: set it to the URL by which other instances reach this one, which listens";
    if (listen !== undefined) report(advertise, `${need} on a socket`);
    else if (!listensOnLoopback({ hostname })) report(advertise, `${need} off loopback`);
  }
  const roots = placeBelow(venue, "file", "roots");
  if (Object.keys(extraRoots).length > 0) {
    venue.check.problems.push(`--root needs a configuration without ${own}. Write the root there, with shared: true`);
  } else if (file?.roots !== undefined && Object.keys(file.roots).length === 0) {
    report(roots, `must be set with ${own}: ${TEMP}. Use a drive (dlfs), or say perInstance: true`);
  }
  checkRoots(roots, draft);
}

function checkRoots(roots: Place, { file }: DraftVenue): void {
  for (const [name, root] of Object.entries(file?.roots ?? {})) {
    const options = typeof root === "object" ? root : {};
    if ((typeof root === "string" || Object.hasOwn(options, "path")) && options.shared !== true) {
      const where = "where all instances run on this machine and see it; across machines use a drive (dlfs)";
      report(placeBelow(roots, name), `needs shared: true ${where}`);
    } else if (Object.hasOwn(options, "temp") && options.perInstance !== true) {
      report(placeBelow(roots, name), `needs perInstance: true, since ${TEMP}; or use a drive (dlfs)`);
    }
  }
}
