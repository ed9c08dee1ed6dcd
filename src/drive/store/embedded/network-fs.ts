// Rejects network file systems.

import { statfsSync } from "node:fs";
import { storeUnavailable } from "../store-error.js";

/**
 * File system types of NFS, SMB (three kinds), AFS, Coda, Ceph, Lustre, GPFS and OCFS2, where locks and memory maps are
 * unreliable.
 */
const NETWORK_TYPES = new Set([
  0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x5346414f, 0x73757245, 0x00c36400, 0x0bd00bd0, 0x47504653, 0x7461636f,
]);

/** @throws STORE_UNAVAILABLE if the folder is known to be on a network file system */
export function refuseNetwork(folder: string, typeOf = (path: string): number => statfsSync(path).type): void {
  // The type is a signed number on some systems.
  if (NETWORK_TYPES.has(typeOf(folder) >>> 0))
    throw storeUnavailable("it is on a network file system; use a local disk or an object store");
}
