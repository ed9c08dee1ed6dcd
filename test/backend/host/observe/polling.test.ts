import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { TreeObservation } from "../../../../src/backend/host/observe/tree-observation.js";
import type { Observer, SeenChange } from "../../../../src/core/ports/changes/observer.js";
import { Jail } from "../../../../src/jail/jail.js";
import { Locks } from "../../../../src/jail/staging/locks.js";
import { watchDirectory } from "../../../../src/jail/watch.js";

/** As long as a round of polling and the collecting of what it found take at most while it is quick. */
const ROUND_MS = 2000;
const COLLECT_MS = 40;

let dir: string;
let jail: Jail;
let seen: string[];
let looks: string[];
let opened: TreeObservation[];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "venue-files-polling-"));
  jail = new Jail({ path: dir, readOnly: false, crossDevice: false, io: "sync" }, new Locks());
  [seen, looks, opened] = [[], [], []];
  jest.useFakeTimers({ doNotFake: ["setImmediate", "nextTick", "queueMicrotask"] });
});
afterEach(async () => {
  for (const one of opened) one.close();
  jest.useRealTimers();
  await jail.close();
  rmSync(dir, { recursive: true, force: true });
});

const observer: Observer = {
  changed: ({ type, path, entryType }: SeenChange) =>
    void seen.push(`${type} ${path.join("/")}${entryType === "directory" ? "/" : ""}`),
  knows: () => false,
  isBusy: () => false,
  ignores: () => false,
  beginLook: () => {
    looks.push("begun");
    return () => void looks.push("ended");
  },
  lost: () => void seen.push("lost"),
};

/** Observes the whole root. @param most directories that are watched; the others are polled */
async function observe(most: number): Promise<TreeObservation> {
  let left = most;
  const watch: typeof watchDirectory = (directory, onEvent) =>
    left-- > 0 ? watchDirectory(directory, onEvent) : undefined;
  const place = { path: [], recursive: true };
  const observation = new TreeObservation(() => jail, place, { observer, onClosed: () => {}, watch });
  opened.push(observation);
  await observation.ready;
  return observation;
}

/** Lets one round of polling pass. @returns what it told, sorted */
async function round(observation: TreeObservation): Promise<string[]> {
  seen.length = 0;
  await jest.advanceTimersByTimeAsync(ROUND_MS);
  await observation.ready;
  await jest.advanceTimersByTimeAsync(COLLECT_MS);
  await observation.ready;
  return seen.toSorted();
}

describe("directories beyond the number that can be watched", () => {
  test("are polled: whatever others change in them is told once, with nothing lost", async () => {
    for (const name of ["a", "b", "b/old"]) mkdirSync(join(dir, name));
    for (const name of ["changed", "gone", "same"]) writeFileSync(join(dir, "b", name), "1");
    const observation = await observe(1);
    writeFileSync(join(dir, "b/changed"), "22");
    rmSync(join(dir, "b/gone"));
    writeFileSync(join(dir, "a/made"), "");
    renameSync(join(dir, "b/old"), join(dir, "b/new"));
    mkdirSync(join(dir, "b/deep/er"), { recursive: true });
    writeFileSync(join(dir, "b/deep/er/file"), "");
    expect(await round(observation)).toEqual([
      "created a/made",
      "created b/deep/",
      "created b/deep/er/",
      "created b/deep/er/file",
      "created b/new/",
      "deleted b/gone",
      "deleted b/old/",
      "modified b/changed",
    ]);
    expect(await round(observation)).toEqual([]);
    // What came meanwhile is polled too.
    writeFileSync(join(dir, "b/deep/er/file"), "3");
    expect(await round(observation)).toEqual(["modified b/deep/er/file"]);
    expect(observation.isComplete).toBe(true);
  });

  test("lose none of thousands of changes between two looks", async () => {
    mkdirSync(join(dir, "many"));
    const observation = await observe(1);
    const names = Array.from({ length: 3000 }, (_, index) => `many/${index}`);
    for (const name of names) writeFileSync(join(dir, name), "");
    expect(await round(observation)).toEqual(names.map((name) => `created ${name}`).toSorted());
    for (const name of names) rmSync(join(dir, name));
    expect(await round(observation)).toEqual(names.map((name) => `deleted ${name}`).toSorted());
  });

  test("cost one look in each round while nothing changes, and none where all are watched", async () => {
    mkdirSync(join(dir, "a"));
    writeFileSync(join(dir, "a/file"), "");
    const watched = await observe(10);
    expect(jest.getTimerCount()).toBe(0);
    watched.close();
    const looks = jest.spyOn(jail.sys, "lstat");
    const observation = await observe(1);
    looks.mockClear();
    await jest.advanceTimersByTimeAsync(ROUND_MS - 1);
    expect(looks).not.toHaveBeenCalled();
    await jest.advanceTimersByTimeAsync(1);
    await observation.ready;
    expect(looks).toHaveBeenCalledTimes(1);
    expect(jest.getTimerCount()).toBe(1);
    observation.close();
    expect(jest.getTimerCount()).toBe(0);
  });

  test("have been looked at once what a look has found is told", async () => {
    mkdirSync(join(dir, "a"));
    const observation = await observe(1);
    expect([observation.isPolled, looks]).toEqual([true, []]);
    writeFileSync(join(dir, "a/file"), "");
    await jest.advanceTimersByTimeAsync(ROUND_MS);
    await observation.ready;
    expect([seen, looks]).toEqual([[], ["begun"]]);
    await jest.advanceTimersByTimeAsync(COLLECT_MS);
    await observation.ready;
    expect([seen, looks]).toEqual([["created a/file"], ["begun", "ended"]]);
  });

  test("say so where they hold more than is looked at", async () => {
    for (const name of ["a", "b"]) {
      mkdirSync(join(dir, name));
      for (let index = 0; index < 10_001; index++) writeFileSync(join(dir, name, `${index}`), "");
    }
    mkdirSync(join(dir, "c"));
    const observation = await observe(1);
    expect(observation.isComplete).toBe(false);
    await round(observation);
    expect([observation.isComplete, looks]).toEqual([false, ["begun"]]);
    rmSync(join(dir, "a"), { recursive: true });
    await round(observation);
    await round(observation);
    expect([observation.isComplete, looks.at(-1)]).toEqual([true, "ended"]);
  });
});
