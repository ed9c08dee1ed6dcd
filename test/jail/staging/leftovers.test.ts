import fs from "node:fs";
import { join } from "node:path";
import { afterEach, expect, jest, test } from "@jest/globals";
import { expectClosedSoon, inArena, openDescriptors, staged } from "../arena.js";
import { type Files, openFiles } from "../files.js";

afterEach(() => {
  jest.restoreAllMocks();
});

/** Deletes a directory that the system will not let go of for so many attempts. @returns how often it was asked */
async function deleteBusy(files: Files, attempts: number): Promise<() => number> {
  const { rmdirSync } = fs;
  let asked = 0;
  jest.spyOn(fs, "rmdirSync").mockImplementation((path) => {
    if (String(path).includes("/fd/") && ++asked <= attempts) {
      throw Object.assign(new Error("EBUSY"), { code: "EBUSY", syscall: "rmdir" });
    }
    rmdirSync(path);
  });
  expect(await files.invoke("delete", { path: "dir", recursive: true })).toMatchObject({ deleted: true });
  return () => asked;
}

const gone = async (root: string): Promise<void> => {
  while ((staged(root) ?? []).length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
};

test("entries that could not be purged from staging are purged later, while the root is open", () =>
  inArena(async ({ root }) => {
    const files = await openFiles(root);
    const before = openDescriptors();
    const asked = await deleteBusy(files, 10);
    expect(staged(root)?.length).toBeGreaterThan(0);
    expect(fs.existsSync(join(root, "dir"))).toBe(false);
    await gone(root);
    expect(asked()).toBeGreaterThan(10);
    await expectClosedSoon(before);
    await files.close();
    expect(staged(root)).toBeUndefined();
  }));

test("closing a root does not wait for the next attempt", () =>
  inArena(async ({ root }) => {
    const files = await openFiles(root);
    await deleteBusy(files, 6);
    expect(staged(root)?.length).toBeGreaterThan(0);
    await files.close();
    expect(staged(root)).toBeUndefined();
  }));
