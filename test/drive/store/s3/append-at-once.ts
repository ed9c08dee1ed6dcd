import { expect } from "@jest/globals";
import { append, logOf, type Venue } from "./bucket.js";

/** Two venues append to one file until each has done so many times. Neither fails, loses anything or starves. */
export async function appendAtOnce(venues: Readonly<Record<"near" | "far", Venue>>, times: number): Promise<void> {
  // Each knows the drive before they meet.
  for (const venue of [venues.near, venues.far]) await append(venue, "-;");
  const done = { near: [] as string[], far: [] as string[] };
  const failures: unknown[] = [];
  // Whoever is ahead goes on, so that the other is never alone.
  const all = async (who: "near" | "far"): Promise<void> => {
    const isGoingOn = (): boolean => Math.min(done.near.length, done.far.length) < times && failures.length === 0;
    for (let at = 0; isGoingOn(); at += 1) {
      try {
        await append(venues[who], `${who} ${at};`);
        done[who].push(`${who} ${at}`);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all([all("near"), all("far")]);
  expect(failures).toEqual([]);
  const written = (await logOf(venues.near)).split(";").slice(2, -1);
  expect(written.sort()).toEqual([...done.near, ...done.far].sort());
  const counts = [done.near.length, done.far.length];
  expect(Math.min(...counts)).toBeGreaterThanOrEqual(Math.max(...counts) / 4);
}
