// A state directory that is made on Windows. What its access list says is told by `private-folder.ts`, which has a test of its own.
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import { ConfigError } from "../../../../src/config/errors.js";
import { simulateSystem } from "../../../../src/core/system.js";

const letsOthersIn = jest.fn<(folder: string) => boolean>();
jest.unstable_mockModule("../../../../src/process/private-folder.js", () => ({ letsOthersIn }));
const { openStateDir } = await import("../../../../src/venue/start/state/state-dir.js");

let base: string;
let restore: () => void;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "venue-files-test-"));
  restore = simulateSystem("win32");
  letsOthersIn.mockReset();
});
afterEach(() => {
  restore();
  rmSync(base, { recursive: true, force: true });
});

test("that others could use is refused and taken back, and what the advice says works", () => {
  letsOthersIn.mockReturnValue(true);
  const path = join(base, "above/state");
  const open = () => openStateDir(path);
  expect(open).toThrow(ConfigError);
  expect(open).toThrow(`'stateDir' cannot be used: other users of this computer could use it: ${path}`);
  expect(open).toThrow(`icacls "${path}" /inheritance:r /grant:r "`);
  expect(existsSync(path)).toBe(false);
  mkdirSync(path);
  expect(open()).toBe(path);
});

test("that is the user's own is used, and asked about once", () => {
  letsOthersIn.mockReturnValue(false);
  const path = join(base, "state");
  expect([openStateDir(path), openStateDir(path)]).toEqual([path, path]);
  expect(letsOthersIn.mock.calls).toEqual([[path]]);
});

test("elsewhere modes say it", () => {
  restore();
  const path = join(base, "state");
  expect(openStateDir(path)).toBe(path);
  expect(letsOthersIn).not.toHaveBeenCalled();
});
