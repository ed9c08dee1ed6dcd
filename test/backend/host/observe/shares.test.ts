// What one caller watches leaves room for others.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { Jail } from "../../../../src/jail/jail.js";
import { Locks } from "../../../../src/jail/staging/locks.js";
import { type DirectoryWatch, watchDirectory } from "../../../../src/jail/watch.js";
import { useGround } from "../../../ops/ground.js";

const SHARE = 2048;
const [ANN, BOB] = ["did:key:ann", "did:key:bob"];

const on = useGround({ publicCaps: [{ with: "file://", can: "crud/read" }] });
let jail: Jail;
let held: (DirectoryWatch | undefined)[];
beforeEach(() => {
  jail = new Jail({ path: on.dir, readOnly: false, crossDevice: false, io: "sync" }, new Locks());
  held = [];
});
afterEach(async () => {
  for (const one of held) one?.close();
  await jail.close();
});

/** Watches one more directory. */
const take = (caller?: string): boolean => {
  const watch = watchDirectory(jail.top, () => {}, caller);
  held.push(watch);
  return watch !== undefined;
};
const takeShare = (): void => {
  for (let count = 0; count < SHARE; count += 1) take(ANN);
};

test("a caller has a quarter of what can be watched, others and the operator have the rest", () => {
  takeShare();
  expect(held).not.toContain(undefined);
  expect([take(ANN), take(BOB), take()]).toEqual([false, true, true]);
  for (const one of [held[0], held[0]]) one?.close();
  expect([take(ANN), take(ANN)]).toEqual([true, false]);
});

test("a caller whose quarter is taken is told to watch less, and its places are looked at", async () => {
  takeShare();
  const callers = [["a", { callerDID: ANN }], ["b", { callerDID: BOB }], ["c"]] as const;
  const answers = callers.map(async ([path, context]) => {
    mkdirSync(join(on.dir, path));
    const { cursor } = await on.run("watch", { path }, context);
    const { complete, hint } = await on.run("watch", { path, cursor }, context);
    return { complete, hint };
  });
  expect(await Promise.all(answers)).toEqual([
    { complete: false, hint: expect.stringMatching(/every few seconds.*: watch less of it$/) },
    { complete: true },
    { complete: true },
  ]);
});
