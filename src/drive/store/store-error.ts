// The errors of drive stores: STORE_UNAVAILABLE, STORE_DAMAGED and NO_SPACE.

import { adapterError, type FileAdapterError } from "../../core/errors/errors.js";

/** @param why reason for the operator; contains no paths, keys or hashes */
export const storeUnavailable = (why: string): FileAdapterError =>
  adapterError("STORE_UNAVAILABLE", `Drive store cannot be used: ${why}`);

/** @param what description of the damaged item */
export const storeDamaged = (what: string): FileAdapterError =>
  adapterError("STORE_DAMAGED", `Drive store is damaged: ${what}`);

export const storeFull = (): FileAdapterError => adapterError("NO_SPACE", "No space left for the drive store");
