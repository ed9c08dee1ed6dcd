// Detects native libraries.

import { createRequire } from "node:module";

/** Whether a native library is installed for this machine and can be loaded. */
export function isLoadable(name: string): boolean {
  try {
    createRequire(import.meta.url)(name);
    return true;
  } catch {
    return false;
  }
}
