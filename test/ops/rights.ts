import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "@jest/globals";

const NOBODY = 65_534;
const isRoot = process.geteuid?.() === 0;

/**
 * Does something with no more rights than anybody has: as root, permission bits forbid nothing. Calls run in this
 * process, so the whole process is someone else meanwhile.
 * @param dir host directory that nobody may pass through
 */
export async function asNobody<T>(dir: string, work: () => Promise<T>): Promise<T> {
  if (!isRoot) chmodSync(dir, 0o555);
  else {
    chmodSync(dir, 0o755);
    process.seteuid?.(NOBODY);
  }
  try {
    return await work();
  } finally {
    if (isRoot) process.seteuid?.(0);
    else chmodSync(dir, 0o755);
  }
}

/** Does something while the process may not write a file: as root, only an immutable one is safe from it. */
export async function whileFixed<T>(path: string, work: () => Promise<T>): Promise<T> {
  const [fix, loosen] = isRoot ? (["chattr +i", "chattr -i"] as const) : (["chmod 0444", "chmod 0644"] as const);
  execFileSync("sh", ["-c", `${fix} "$1"`, "sh", path], { stdio: "ignore" });
  try {
    return await work();
  } finally {
    execFileSync("sh", ["-c", `${loosen} "$1"`, "sh", path]);
  }
}

/** A test that needs {@link whileFixed}, which some file systems do not offer to root. */
export const testFixed: typeof test = canBeFixed() ? test : (test.skip as typeof test);

function canBeFixed(): boolean {
  if (!isRoot) return true;
  const dir = mkdtempSync(join(tmpdir(), "venue-files-fixed-"));
  try {
    writeFileSync(join(dir, "file"), "");
    for (const flag of ["+i", "-i"]) execFileSync("chattr", [flag, join(dir, "file")], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  } finally {
    rmSync(dir, { recursive: true });
  }
}
