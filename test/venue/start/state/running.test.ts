import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "@jest/globals";
import { ConfigError } from "../../../../src/config/errors.js";
import { announceRunning, runningFile, runningVenues } from "../../../../src/venue/start/state/running.js";

const base = mkdtempSync(join(tmpdir(), "running-"));
afterAll(() => rmSync(base, { recursive: true }));

const RUNNING = { pid: process.pid, url: "http://localhost:1", did: "did:key:z6Mk" };

describe("the file by which commands find a venue", () => {
  test("is there while it runs", () => {
    const takeAway = announceRunning(runningFile(base, "one"), RUNNING);
    expect([...runningVenues(base).values()]).toEqual([RUNNING]);
    takeAway();
    expect(runningVenues(base).size).toBe(0);
  });

  test("that cannot be written is a mistake in 'stateDir' that says what to do, and leaves nothing behind", () => {
    const taken = runningFile(base, "two");
    mkdirSync(taken, { recursive: true });
    const below = join(base, "file");
    writeFileSync(below, "x");
    for (const [path, code] of [
      [taken, "EISDIR"],
      [runningFile(below, "three"), "ENOTDIR"],
    ] as const) {
      const announce = () => announceRunning(path, RUNNING);
      expect(announce).toThrow(ConfigError);
      expect(announce).toThrow(`'stateDir' cannot be used: running.json cannot be written there (${code}): `);
      expect(announce).toThrow("Make room, or set 'stateDir' to another folder");
    }
    expect(readdirSync(join(taken, ".."))).toEqual(["running.json"]);
    expect(readFileSync(below, "utf8")).toBe("x");
  });
});
