// The two errors of drive stores: STORE_UNAVAILABLE and STORE_DAMAGED.

import { adapterError, type FileAdapterError } from "../../core/errors/errors.js";

/** @param why reason for the operator; contains no paths, keys or hashes */
export const storeUnavailable = (why: string): FileAdapterError =>
  adapterError("STORE_UNAVAILABLE", `Drive store cannot be used: ${why}`);

/** @param what description of the damaged item */
export const storeDamaged = (what: string): FileAdapterError =>
  adapterError("STORE_DAMAGED", `Drive store is damaged: ${what}`);
