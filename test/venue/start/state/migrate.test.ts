import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { checkFormat } from "../../../../src/venue/start/state/format.js";
import { lockMigration, type Migration, migrateState } from "../../../../src/venue/start/state/migrate.js";
import { announceRunning, runningFile } from "../../../../src/venue/start/state/running.js";

const CHILD = fileURLToPath(new URL("migration-child.mjs", import.meta.url));

let folder: string;
let state: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "venue-files-test-"));
  state = join(folder, "state");
  mkdirSync(join(state, "tokens"), { recursive: true });
  for (const name of ["a", "b", "c"]) writeFileSync(join(state, "tokens", name), `${name} of format 1\n`);
  writeFileSync(join(state, "other"), "other");
  writeFileSync(join(state, "format"), "1\n");
});
afterEach(() => rmSync(folder, { recursive: true }));

const read = (...names: string[]): string => readFileSync(join(state, ...names), "utf8");
const rewrites = (to: number): Migration => ({
  changes: ["tokens", "missing"],
  run(directory) {
    for (const name of ["a", "b", "c"]) writeFileSync(join(directory, "tokens", name), `${name} of format ${to}\n`);
  },
});
const migrate = (...migrations: Migration[]) =>
  migrateState(state, { migrations, formatOf: () => checkFormat(state, migrations.length + 1) });

test("goes through every format, after a copy of what each step changes", () => {
  migrate(rewrites(2), rewrites(3));
  expect([read("format"), read("tokens", "a"), read("other")]).toEqual(["3\n", "a of format 3\n", "other"]);
  expect(readdirSync(state).sort()).toEqual(["format", "format-1.bak", "format-2.bak", "other", "tokens"]);
  expect([read("format-1.bak", "tokens", "b"), read("format-2.bak", "tokens", "b")]).toEqual([
    "b of format 1\n",
    "b of format 2\n",
  ]);
  expect(readdirSync(join(state, "format-1.bak"))).toEqual(["tokens"]);
});

test("makes a new copy when an old state was put back", () => {
  migrate(rewrites(2));
  writeFileSync(join(state, "format"), "1\n");
  writeFileSync(join(state, "tokens", "a"), "later");
  migrate(rewrites(2));
  expect(read("format-1.bak", "tokens", "a")).toBe("later");
});

test("what fails is of no format that a version reads, and goes on from there", () => {
  const failing: Migration = {
    changes: ["tokens"],
    run(directory) {
      writeFileSync(join(directory, "tokens", "a"), "half");
      throw new Error("no space left");
    },
  };
  expect(() => migrate(failing)).toThrow("no space left");
  expect(read("format")).toBe("1>2\n");
  // What this version says of a state that a newer one was migrating.
  expect(() => checkFormat(state)).toThrow(
    `'stateDir' cannot be used: it is on the way to format 2, and this version knows 1. Use a newer version: ${state}`,
  );
  migrate(rewrites(2));
  expect([read("format"), read("tokens", "a"), read("format-1.bak", "tokens", "a")]).toEqual([
    "2\n",
    "a of format 2\n",
    "a of format 1\n",
  ]);
});

test("nothing is migrated below a venue that runs", () => {
  const stop = announceRunning(runningFile(state, "files"), { pid: process.pid, did: "did:web:files.example" });
  expect(() => migrate(rewrites(2))).toThrow(
    `it is of format 1, and a venue of an older version uses it (files, process ${process.pid}). Stop that one first`,
  );
  expect([read("format"), read("tokens", "a")]).toEqual(["1\n", "a of format 1\n"]);
  stop();
  migrate(rewrites(2));
  expect(read("format")).toBe("2\n");
});

test("one process migrates at a time", () => {
  const held = lockMigration(state);
  expect(() => lockMigration(state, 1)).toThrow("another process is bringing it to a new format");
  held.release();
  lockMigration(state, 1).release();
  writeFileSync(join(state, "format.lock"), "not a process");
  lockMigration(state, 2).release();
  expect(readdirSync(state)).not.toContain("format.lock");
});

test("killed in any call of the file system, and again while it goes on: the state is old or new, never half", () => {
  const { stdout, stderr } = spawnSync(process.execPath, [CHILD, state, "rounds"], { encoding: "utf8" });
  expect(stderr).toBe("");
  const rounds = JSON.parse(stdout) as { killed: Look; killedAgain: Look; after: Look }[];
  expect(rounds.length).toBeGreaterThan(200);
  for (const { killed, killedAgain, after } of rounds) {
    for (const { format, tokens, copies } of [killed, killedAgain]) {
      // Between two formats it is read by no version, and the copy is whole.
      if (format === "1>2") expect(copies[0]).toEqual([1, 1, 1]);
      else if (format === "2>3") expect(copies[1]).toEqual([2, 2, 2]);
      else expect(tokens).toEqual([Number(format), Number(format), Number(format)]);
    }
    expect(after).toEqual({
      format: "3",
      tokens: [3, 3, 3],
      copies: [
        [1, 1, 1],
        [2, 2, 2],
      ],
    });
  }
  expect(new Set(rounds.map(({ killed }) => killed.format))).toEqual(new Set(["1", "1>2", "2", "2>3", "3"]));
});

test("killed by a signal, the next process goes on in spite of the lock", () => {
  for (const call of [9, 13, 20]) {
    const { signal } = spawnSync(process.execPath, [CHILD, state, "kill", String(call)]);
    expect(signal).toBe("SIGKILL");
  }
  migrate(rewrites(2), rewrites(3));
  expect([read("format"), read("tokens", "c")]).toEqual(["3\n", "c of format 3\n"]);
  expect(readdirSync(state).sort()).toEqual(["format", "format-1.bak", "format-2.bak", "other", "tokens"]);
});

interface Look {
  readonly format: string;
  readonly tokens: readonly number[];
  readonly copies: readonly (readonly number[])[];
}
