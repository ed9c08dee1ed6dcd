import fs from "node:fs";
import { basename, dirname, join } from "node:path";
import { jest } from "@jest/globals";

/** Lets opens and looks answer to other spellings of a name, as a file system does that folds case. */
export function foldEverywhere(folds: (directory: string) => boolean = () => true): void {
  const readdir = fs.readdirSync;
  const stored = (path: unknown): unknown => {
    if (typeof path !== "string" || fs.existsSync(path)) return path;
    try {
      if (!folds(fs.realpathSync(dirname(path)))) return path;
      const name = readdir(dirname(path)).find((one) => one.toLowerCase() === basename(path).toLowerCase());
      return name === undefined ? path : join(dirname(path), name);
    } catch {
      return path;
    }
  };
  for (const call of ["openSync", "lstatSync", "renameSync", "unlinkSync", "rmdirSync"] as const) {
    const real = fs[call] as (path: unknown, ...more: unknown[]) => unknown;
    const spy = jest.spyOn(fs, call) as unknown as { mockImplementation(work: typeof real): void };
    spy.mockImplementation((path, ...more) => real(stored(path), ...more));
  }
}
