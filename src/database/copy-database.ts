// Consistent copies of LMDB databases.

import { checkHead } from "./check-pages.js";
import { dataFile, openEnvironment } from "./environment.js";
import { openGate } from "./gate.js";

/**
 * Copies an LMDB database as of one moment, also while other processes write to it.
 *
 * @param folder of the database
 * @param target an empty folder
 * @throws DamagedDatabase if that is seen at its head; other damage is in the copy, too
 */
export async function copyDatabase(folder: string, target: string): Promise<void> {
  const file = dataFile(folder);
  const gate = openGate(folder);
  try {
    const env = gate.hold(() => {
      checkHead(file);
      return openEnvironment({ path: folder, maxTables: 32, flush: false, readOnly: true });
    });
    try {
      await env.backup(target, false);
    } finally {
      await gate.hold(() => env.close());
    }
  } finally {
    await gate.close();
  }
}
