import { spawnSync } from "node:child_process";
import { describe, expect, test } from "@jest/globals";

/** Stands in for calls of node:fs as a suite of a worker does, and then is the next suite. */
const WORKER = `
  import fs from "node:fs";
  import { tmpdir } from "node:os";
  import { join } from "node:path";
  import ${JSON.stringify(new URL("environment.mjs", import.meta.url).href)};
  const folder = fs.mkdtempSync(join(tmpdir(), "venue-files-environment-"));
  const files = ["a", "b", "c"].map((name) => join(folder, name));
  for (const file of files) fs.writeFileSync(file, "");
  const [one, two, three] = files;
  const real = { ...fs };
  const missing = () => Object.assign(new Error("missing"), { code: "ENOENT", syscall: "lstat" });
  fs.lstat = (path, ...rest) => rest.at(-1)(missing());
  fs.lstatSync = () => undefined;
  fs.unlinkSync = fs.copyFileSync = () => { throw missing(); };
  fs.rmSync(join(folder, "x"), { force: true });
  await fs.promises.rm(join(folder, "x"), { force: true });
  try { fs.cpSync(join(folder, "x"), join(folder, "y")); } catch {}
  Object.assign(fs, { lstat: real.lstat, lstatSync: real.lstatSync, unlinkSync: real.unlinkSync, copyFileSync: real.copyFileSync });
  fs.cpSync(one, join(folder, "d"));
  await fs.promises.rm(one);
  await new Promise((done) => fs.rm(two, done));
  fs.rmSync(three);
  console.log(fs.readdirSync(folder).join());
  for (const name of fs.readdirSync(folder)) fs.unlinkSync(join(folder, name));
  fs.rmdirSync(folder);
`;

describe("a suite that stands in for calls of node:fs", () => {
  test("leaves none behind for the next one in how trees are removed and copied", () => {
    const args = ["--no-warnings", "--experimental-vm-modules", "--input-type=module", "--eval", WORKER];
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
    expect([stdout, stderr]).toEqual(["d\n", ""]);
  });
});
