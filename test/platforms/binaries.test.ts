// What `npm install` brings for systems that no test here runs on: read off the lockfile.
import { readFileSync } from "node:fs";
import { expect, test } from "@jest/globals";

interface Locked {
  readonly version: string;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly optional?: true;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const lock = JSON.parse(readFileSync(new URL("../../package-lock.json", import.meta.url), "utf8"));
const packages = lock.packages as Readonly<Record<string, Locked>>;
const SYSTEMS = ["win32-x64", "win32-arm64", "darwin-x64", "darwin-arm64"];
/** Packages with binaries, and the systems that have none: there the package does without. */
const WITH_BINARIES: [string, string, readonly string[]][] = [
  ["koffi", "@koromix/koffi-", []],
  ["lmdb", "@lmdb/lmdb-", []],
  ["msgpackr-extract", "@msgpackr-extract/msgpackr-extract-", ["win32-arm64"]],
];

test.each(WITH_BINARIES)("%s has its binary for Windows and macOS", (name, prefix, without) => {
  const listed = packages[`node_modules/${name}`]?.optionalDependencies ?? {};
  const found = SYSTEMS.filter((system) => {
    const binary = `${prefix}${system}`;
    const locked = packages[`node_modules/${binary}`];
    if (locked === undefined) return false;
    const [os, cpu] = system.split("-");
    expect(locked).toMatchObject({ os: [os], cpu: [cpu], optional: true, version: listed[binary] });
    return true;
  });
  expect(found).toEqual(SYSTEMS.filter((system) => !without.includes(system)));
});
