// Faults of archives, and the errors that callers get for them.

import { adapterError } from "../../core/errors/errors.js";
import { at, type Place, pathText } from "../../core/errors/texts.js";

type Reason = "damaged" | "encrypted" | "unsupported" | "too large";

/** Thrown by the readers of archives, which know no paths of roots. */
export class ArchiveFault extends Error {
  override readonly name = "ArchiveFault";
  readonly reason: Reason;

  /** @param told completes "Cannot read "<path>": " */
  constructor(reason: Reason, told: string) {
    super(told);
    this.reason = reason;
  }
}

export const damaged = (what: string): ArchiveFault =>
  new ArchiveFault("damaged", `the archive is damaged (${what}). Get it anew`);

export const encrypted = (): ArchiveFault =>
  new ArchiveFault("encrypted", "the entry is encrypted. Ask for an archive without a password");

export const unsupported = (what: string): ArchiveFault =>
  new ArchiveFault("unsupported", `${what} not supported (store and deflate are). Ask for it packed anew`);

export const tooLarge = (what: string): ArchiveFault =>
  new ArchiveFault("too large", `the archive has more than ${what}. Ask for it in parts`);

export const unpackedTooOften = (): ArchiveFault =>
  new ArchiveFault("too large", "its files lie too far from those beside them. Ask for it as a zip");

/** Result of a read at a place. @throws BAD_FORMAT, TOO_LARGE for a fault */
export async function withPlace<T>(place: Place, read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (error) {
    if (!(error instanceof ArchiveFault)) throw error;
    const { reason, message } = error;
    const told = `Cannot read "${pathText(place.path)}": ${message}`;
    throw reason === "too large"
      ? adapterError("TOO_LARGE", told, at(place))
      : adapterError("BAD_FORMAT", told, { ...at(place), reason });
  }
}
