import { expect } from "@jest/globals";
import type { Kind, VenueGround } from "./venue-ground.js";

/** Ids of the newest entries, or of their groups, newest first, down to a known one. */
async function unitsSince({ invoke }: VenueGround, root: Kind, known: string | undefined): Promise<string[]> {
  const { entries } = await invoke("file:history", { root, limit: 500 });
  const end = entries.findIndex(({ id }) => id === known);
  const fresh = end < 0 ? entries : entries.slice(0, end);
  return [...new Set(fresh.map(({ id, group }) => group ?? id))];
}

/** @returns what undoes the undos, newest first */
async function undoAll({ invoke }: VenueGround, units: readonly string[]): Promise<string[]> {
  const undos: string[] = [];
  for (const id of units) {
    const { group, id: one } = await invoke("file:undo", { id });
    undos.unshift(group ?? one ?? "");
  }
  return undos;
}

/** Makes changes, undoes them, makes them again and undoes them again, and compares the trees. */
export async function undoAndRedo(ground: VenueGround, kind: Kind, change: () => Promise<void>): Promise<void> {
  const first = await ground.snapshot(kind);
  const known = (await ground.invoke("file:history", { root: kind, limit: 1 })).entries[0]?.id;
  await change();
  const last = await ground.snapshot(kind);
  const undos = await undoAll(ground, await unitsSince(ground, kind, known));
  expect(await ground.snapshot(kind)).toEqual(first);
  const redos = await undoAll(ground, undos);
  expect(await ground.snapshot(kind)).toEqual(last);
  await undoAll(ground, redos);
  expect(await ground.snapshot(kind)).toEqual(first);
}
