import type { FileOutputs } from "../../src/schema/types.js";
import type { ShellGround } from "./ground.js";

export type Change = FileOutputs["file:history"]["entries"][number];

/** The entries of the root `r`, oldest first. */
export async function changesIn({ adapter }: ShellGround): Promise<readonly Change[]> {
  const { entries } = await adapter.invoke("file:history", { root: "r", limit: 500 });
  return [...entries].reverse();
}

/** Forgets nothing, but leaves out what was there before. */
export async function changesBy(ground: ShellGround, work: () => Promise<unknown>): Promise<readonly Change[]> {
  const before = new Set((await changesIn(ground)).map(({ id }) => id));
  await work();
  return (await changesIn(ground)).filter(({ id }) => !before.has(id));
}

/** What happened to which path: `new a`, `was a`, `now a`, `b > a`. */
export function told({ path, from, before, after }: Change): string {
  if (from !== undefined) return `${from} > ${path}`;
  if (before === null) return `new ${path}`;
  return after === null ? `was ${path}` : `now ${path}`;
}
