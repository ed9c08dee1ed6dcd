// Roots with and without a journal, in one process.
import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFileAdapter } from "venue-files";

export const DURABILITIES = ["none", "flush"];

/**
 * Two roots that are compared are one folder: how long a file system takes to make a file depends on the folder.
 * @returns `{ path, call(op, input), at(root, name), close() }`; roots `on-none`, `off-none`, `on-flush`, `off-flush`
 */
export async function openHome() {
  const path = mkdtempSync(join(tmpdir(), "venue-files-bench-history-"));
  const roots = {};
  for (const durability of DURABILITIES) {
    const folder = join(path, durability);
    mkdirSync(folder);
    for (const journal of ["on", "off"]) roots[`${journal}-${durability}`] = { path: folder, journal, durability };
  }
  const adapter = await createFileAdapter({ roots, stateDir: join(path, "state") });
  return {
    path,
    at: (root, name = "") => join(roots[root].path, name),
    call: (op, input) => adapter.invoke(`file:${op}`, input),
    close: () => adapter.close(),
  };
}
