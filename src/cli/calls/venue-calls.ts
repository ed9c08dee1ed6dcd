// The interface of calls that commands make, wherever the venue runs.

import type { FileOutputs, WriteInput } from "../../schema/types.js";

/** A write whose content comes as a stream. */
export type Upload = Pick<WriteInput, "root" | "path" | "parents" | "ifNoneMatch">;

/** Runs operations on a venue: one opened in this process, or one that runs elsewhere. */
export interface VenueCalls {
  /**
   * Runs an operation to its end.
   *
   * @param operation dispatch name or catalogue path
   * @param input as parsed from JSON
   * @throws FileAdapterError for a failure of the operation, Unavailable if the venue cannot be asked
   */
  run(operation: string, input: unknown): Promise<unknown>;
  /** Names of the operations there are: `file:read`. */
  operations(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** Calls that file commands make. */
export interface FileCalls extends VenueCalls {
  /** Writes a file in one step, of any size. @throws as {@link run} */
  upload(input: Upload, content: AsyncIterable<Uint8Array>): Promise<FileOutputs["file:write"]>;
}
