import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createVenue, type Venue } from "../../src/index.js";

const SEED = "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29";

export interface Opened {
  readonly venue: Venue;
  readonly url: string;
}

const closers: (() => Promise<void>)[] = [];

/** A venue as a real client meets it: a socket on loopback, one temp root, a lasting identity. */
export async function openVenue(): Promise<Opened> {
  const stateDir = mkdtempSync(join(tmpdir(), "venue-files-clients-"));
  const venue = await createVenue({ port: 0, seed: SEED, stateDir, file: { roots: { tmp: { temp: true } } } });
  closers.push(async () => {
    await venue.close();
    rmSync(stateDir, { recursive: true });
  });
  const { url } = await venue.listen();
  return { venue, url };
}

/** Closes what {@link openVenue} opened. */
export async function closeVenues(): Promise<void> {
  await Promise.all(closers.splice(0).map((close) => close()));
}
