import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createFileAdapter } from "venue-files";
import { temporaryDirectory } from "../lifetime.mjs";

export const DURABILITIES = ["none", "flush"];

/**
 * Roots with and without a journal, in one process. Two that are compared are one folder: how long a file system takes to make a file
 * depends on the folder.
 *
 * @returns `{ path, call(op, input), at(root, name) }`; roots `on-none`, `off-none`, `on-flush`, `off-flush`
 */
export async function openHome() {
  const path = temporaryDirectory();
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
  };
}
