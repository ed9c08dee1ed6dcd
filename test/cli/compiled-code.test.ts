import { spawnSync } from "node:child_process";
import { chownSync, cpSync, existsSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import module from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "@jest/globals";
import { cleanUp, makeFolder } from "./process.js";

afterAll(cleanUp);

const PACKAGE = fileURLToPath(new URL("../../", import.meta.url));
/** Node 20 does not. */
const CAN_KEEP = "enableCompileCache" in module;

/** A copy of the package, as far as `--version` needs it. */
function installed(): string {
  const folder = makeFolder();
  for (const name of ["package.json", "dist/cli.js", "dist/cli/main.js", "dist/bundle"]) {
    cpSync(join(PACKAGE, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(PACKAGE, "node_modules"), join(folder, "node_modules"));
  return folder;
}

function startIn(folder: string, env: Readonly<Record<string, string>> = {}) {
  const { NODE_COMPILE_CACHE: _, NODE_V8_COVERAGE: __, ...own } = process.env;
  const options = { encoding: "utf8", env: { ...own, ...env } } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, "dist/cli.js"), "--version"], options);
  return { status, stdout, stderr };
}

/** Files of compiled code, with the times of their last change. */
function keptIn(folder: string): Readonly<Record<string, number>> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => join(parentPath, name));
  return Object.fromEntries(paths.map((path) => [path, statSync(path).mtimeMs]));
}

const FINE = { status: 0, stdout: expect.stringMatching(/^venue-files \d|^\d/), stderr: "" };

describe("compiled code of the program", () => {
  test("is kept in the package for the next start, which uses it as it is, and nobody else may write there", () => {
    const folder = installed();
    const kept = join(folder, ".compiled");
    expect(startIn(folder)).toEqual(FINE);
    expect(existsSync(kept)).toBe(CAN_KEEP);
    const first = CAN_KEEP ? keptIn(kept) : {};
    expect(Object.keys(first).length > 1).toBe(CAN_KEEP);
    expect(startIn(folder)).toEqual(FINE);
    expect(CAN_KEEP ? keptIn(kept) : {}).toEqual(first);
    expect(CAN_KEEP ? statSync(kept).mode & 0o777 : 0o700).toBe(0o700);
  });

  test("that cannot be kept stops nothing", () => {
    const folder = installed();
    writeFileSync(join(folder, ".compiled"), "");
    expect(startIn(folder)).toEqual(FINE);
  });

  test("that is damaged is made again", () => {
    const folder = installed();
    const kept = join(folder, ".compiled");
    startIn(folder);
    const files = Object.keys(CAN_KEEP ? keptIn(kept) : {});
    for (const file of files) writeFileSync(file, "damaged");
    expect(startIn(folder)).toEqual(FINE);
    expect(files.filter((file) => statSync(file).size === "damaged".length)).toEqual([]);
  });

  test("is kept nowhere else than where Node is told, and not where Node is told not to", () => {
    const folder = installed();
    const elsewhere = makeFolder();
    expect(startIn(folder, { NODE_COMPILE_CACHE: elsewhere })).toEqual(FINE);
    expect(Object.keys(keptIn(elsewhere)).length > 0).toBe(CAN_KEEP);
    rmSync(join(folder, ".compiled"), { recursive: true, force: true });
    expect(startIn(folder, { NODE_DISABLE_COMPILE_CACHE: "1" })).toEqual(FINE);
    expect(Object.keys(existsSync(join(folder, ".compiled")) ? keptIn(join(folder, ".compiled")) : {})).toEqual([]);
  });

  test("is not kept in a package of another user", () => {
    const folder = installed();
    const description = join(folder, "package.json");
    try {
      chownSync(description, 12_345, 12_345);
    } catch {
      // Only root gives files away; then the package is still one's own.
    }
    const isOwn = statSync(description).uid === process.geteuid?.();
    expect(startIn(folder)).toEqual(FINE);
    expect(existsSync(join(folder, ".compiled"))).toBe(isOwn && CAN_KEEP);
  });
});
