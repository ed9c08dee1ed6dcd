// Turns failures of the object store into errors for callers, and logs them.

import { describeError } from "../../../core/errors/describe-error.js";
import { FileAdapterError } from "../../../core/errors/errors.js";
import type { Log } from "../../../core/ports/log.js";
import { storeUnavailable } from "../store-error.js";

/** @throws STORE_UNAVAILABLE instead of system or library errors, which are logged */
export async function withStoreErrors<T>(log: Log, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof FileAdapterError) {
      log.error({ event: "drive.store", reason: error.message }, "The drive store failed");
      throw error;
    }
    if (error instanceof RangeError) throw error;
    log.error({ event: "drive.store", error: describeError(error) }, "The drive store failed");
    throw storeUnavailable("see the log");
  }
}
