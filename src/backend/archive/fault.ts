// Faults of archives, and the errors that callers get for them.

import { adapterError, type FileAdapterError } from "../../core/errors/errors.js";
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

/** Error of a caller for a fault. @returns any other error as it is */
export function toArchiveError(error: unknown, place: Place): unknown {
  if (!(error instanceof ArchiveFault)) return error;
  const { reason, message } = error;
  const told = `Cannot read "${pathText(place.path)}": ${message}`;
  if (reason === "too large") return adapterError("TOO_LARGE", told, at(place));
  return badFormat(told, place, reason);
}

const badFormat = (told: string, place: Place, reason: Reason): FileAdapterError =>
  adapterError("BAD_FORMAT", told, { ...at(place), reason });
