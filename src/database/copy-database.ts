// Consistent copies of LMDB databases.

import { open } from "lmdb";
import { openGate } from "./gate.js";

/**
 * Copies an LMDB database as of one moment, also while other processes write to it.
 *
 * @param folder of the database
 * @param target an empty folder
 */
export async function copyDatabase(folder: string, target: string): Promise<void> {
  const gate = openGate(folder);
  const env = gate.hold(() => open({ path: folder, noSubdir: false, readOnly: true, maxDbs: 32 }));
  try {
    await env.backup(target, false);
  } finally {
    await gate.hold(() => env.close());
    await gate.close();
  }
}
