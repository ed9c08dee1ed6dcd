import { utimesSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "@jest/globals";
import { cleanUp, makeFolder, run } from "../process.js";

afterAll(cleanUp);

test.each([
  ["Asia/Kolkata", "2026-07-01 05:30:09"],
  ["America/New_York", "2026-06-30 20:00:09"],
  ["UTC", "2026-07-01 00:00:09"],
])("times are those of the terminal's zone: %s", async (TZ, expected) => {
  const folder = makeFolder({ "docs/a.txt": "a" });
  const time = Date.UTC(2026, 6, 1, 0, 0, 9) / 1000;
  utimesSync(join(folder, "docs/a.txt"), time, time);
  const look = (...args: readonly string[]) => run([...args, "--root", "d=docs"], { cwd: folder, env: { TZ } });
  expect((await look("stat", "d:a.txt")).stdout).toContain(`modified  ${expected}\n`);
  expect((await look("ls", "-l", "d:")).stdout).toContain(` ${expected.slice(0, 16)} a.txt\n`);
});
