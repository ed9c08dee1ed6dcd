import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { useGround } from "../ops/ground.js";

const ground = useGround({
  journal: true,
  root: { journal: "on", journalQuota: { bytes: 1_000_000, entries: 1_000, days: 30 } },
  publicCaps: [{ with: "file://r/", can: "crud" }],
});
const somebody = { callerDID: "did:key:z6MkSomebody" };

// Small ones are kept in the journal, large ones in the trash.
test.each([
  ["small", 60_000],
  ["large", 200_000],
])("a caller who writes much pushes out what it keeps itself: %s files", async (name, size) => {
  const [theirs, loud] = [`${name} of somebody`, `${name} of the operator`];
  for (const content of ["x".repeat(size), "new"]) await ground.run("write", { path: theirs, content }, somebody);
  await ground.run("delete", { path: theirs }, somebody);
  for (let round = 0; round < 30; round++) {
    await ground.run("write", { path: loud, content: `${round}`.padEnd(size, "x") });
  }
  const isFirstKept = async (): Promise<boolean | undefined> => {
    const { entries } = await ground.run("history", { path: loud, limit: 100 });
    return entries.findLast(({ before }) => before !== null)?.undoable;
  };
  for (let left = 200; left > 0 && (await isFirstKept()) !== false; left--) await pause(50);
  expect(await isFirstKept()).toBe(false);
  await ground.run("undo", { last: 2 }, somebody);
  expect(ground.get(theirs)).toHaveLength(size);
});
