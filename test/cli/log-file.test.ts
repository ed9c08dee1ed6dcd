import { existsSync, readdirSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect } from "@jest/globals";
import { createVenue } from "../../src/index.js";
import { needs } from "../needs.js";
import { runHere } from "./in-process.js";
import { cleanUp, makeFolder } from "./process.js";

const SEED = "17".repeat(32);
const CONFIG = {
  ...{ port: 0, stateDir: "state", seed: SEED, log: { file: "venue.log" } },
  drives: { store: { path: "drives" } },
  file: { roots: { docs: "docs" } },
};
afterAll(cleanUp);

const makeVenueFolder = (): string =>
  makeFolder({ "docs/a.txt": "a\n", seed: SEED, "venue.json5": JSON.stringify(CONFIG) });

/** Files of a folder that this process holds open. */
const openIn = (folder: string): string[] =>
  readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(`${folder}/`) ? [path] : [];
    } catch {
      // Closed meanwhile.
      return [];
    }
  });

const onLinux = needs(existsSync("/proc/self/fd"), "open files are looked up in /proc");

onLinux.each([
  [0, ["ls", "docs:"]],
  [1, ["cat", "docs:none"]],
  [0, ["call", "file:list", '{"root":"docs"}']],
  [1, ["call", "file:lst", '{"root":"docs"}']],
  [64, ["call", "file:list", "{"]],
  [0, ["drive", "gc"]],
  [0, ["backup", "create", "out.backup", "--plaintext"]],
] as const)("leaves its log closed, and exits with %i: %j", async (status, args) => {
  const folder = makeVenueFolder();
  const finished = await runHere([...args, "--config", "venue.json5"], { cwd: folder, tmp: folder });
  expect(finished.status).toBe(status);
  expect(existsSync(join(folder, "venue.log"))).toBe(status !== 64);
  expect(openIn(folder)).toEqual([]);
});

onLinux("a venue of the library closes the log that its configuration names", async () => {
  const folder = makeVenueFolder();
  const venue = await createVenue(CONFIG, { baseDir: folder });
  expect(openIn(folder)).toContain(join(folder, "venue.log"));
  await venue.close();
  expect(openIn(folder)).toEqual([]);
});
