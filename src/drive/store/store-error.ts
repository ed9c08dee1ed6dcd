import { adapterError, type FileAdapterError } from "../../core/errors/errors.js";

/** @param why in words, for the operator; without places, keys and hashes */
export const storeUnavailable = (why: string): FileAdapterError =>
  adapterError("STORE_UNAVAILABLE", `Drive store cannot be used: ${why}`);

/** @param what is not as it was stored, in words */
export const storeDamaged = (what: string): FileAdapterError =>
  adapterError("STORE_DAMAGED", `Drive store is damaged: ${what}`);
