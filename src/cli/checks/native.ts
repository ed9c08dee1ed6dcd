// Detects native libraries.

import { createRequire } from "node:module";
import { works } from "../../core/io.js";

/** Whether a native library is installed for this machine and can be loaded. */
export const isLoadable = (name: string): boolean => works(() => createRequire(import.meta.url)(name));
