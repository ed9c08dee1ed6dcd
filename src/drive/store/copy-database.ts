import { open } from "lmdb";

/**
 * Copies an LMDB database as of one moment, also while other processes write to it.
 *
 * @param folder of the database
 * @param target an empty folder
 */
export async function copyDatabase(folder: string, target: string): Promise<void> {
  const env = open({ path: folder, noSubdir: false, readOnly: true, maxDbs: 32 });
  try {
    await env.backup(target, false);
  } finally {
    await env.close();
  }
}
