import { chmodSync } from "node:fs";

const NOBODY = 65_534;

/**
 * Does something with no more rights than anybody has: as root, permission bits forbid nothing. Calls run in this
 * process, so the whole process is someone else meanwhile.
 * @param dir host directory that nobody may pass through
 */
export async function asNobody<T>(dir: string, work: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return work();
  chmodSync(dir, 0o755);
  process.seteuid?.(NOBODY);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
  }
}
