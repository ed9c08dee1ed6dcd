// Turns failures of drives and stores into errors for callers.

import { adapterError, FileAdapterError } from "../../core/errors/errors.js";
import {
  at,
  contentTooLarge,
  escapeText,
  existsNotDirectory,
  invalidPath,
  isADirectory,
  notADirectory,
  notEmpty,
  notFound,
  type Place,
  pathText,
  quotaExceeded,
  readOnlyRoot,
} from "../../core/errors/texts.js";

export interface DriveDeed {
  readonly place: Place;
  readonly drive: string;
  /** `write`, `append`, `create`, `delete` or `read`. */
  readonly verb: string;
}

/**
 * The caller's error for a failure of the tree or the store. Errors that already name a place, or do not concern
 * drives, are returned unchanged.
 */
export function toCallerError(error: unknown, deed: DriveDeed): unknown {
  if (!(error instanceof FileAdapterError) || Object.hasOwn(error.data, "root")) return error;
  const { place, drive, verb } = deed;
  const refusal = verb === "import" ? toRefusal(error, drive) : undefined;
  if (refusal !== undefined) return refusal;
  const named = BY_CODE[error.code];
  if (named !== undefined) return named(place);
  switch (error.code) {
    case "INVALID_PATH":
      if (error.message.startsWith("Invalid drive name")) return adapterError(error.code, error.message, at(place));
      return invalidPath(place, error.message.endsWith("too long") ? "too long" : "too deep");
    case "NOT_SUPPORTED":
      return adapterError(error.code, error.message, at(place));
    case "TOO_LARGE":
      return contentTooLarge(place, numberIn(error, "size"), numberIn(error, "limit"));
    case "QUOTA_EXCEEDED":
    case "LIMIT":
      return quotaExceeded(place, useIn(error));
    case "CONFLICT":
      return adapterError(
        "CONFLICT",
        `Cannot ${verb} "${pathText(place.path)}": the drive changed too often meanwhile`,
        at(place),
      );
    case "STORE_UNAVAILABLE":
      return adapterError(
        "STORE_UNAVAILABLE",
        `Drive store is not reachable${drive === "" ? "" : `: ${escapeText(drive)}`}`,
        at(place),
      );
    case "STORE_DAMAGED":
      return withLocation(error, deed);
    case "MISSING_CELL":
    case "BAD_FORMAT":
    case "UNSUPPORTED_CELL":
    case "FUTURE_TIME":
      return storeDamaged(place, drive);
    default:
      return error;
  }
}

/** Errors that need nothing but a place. */
const BY_CODE: Partial<Readonly<Record<FileAdapterError["code"], (place: Place) => FileAdapterError>>> = {
  NOT_FOUND: notFound,
  EXISTS: existsNotDirectory,
  NOT_EMPTY: notEmpty,
  NOT_A_DIRECTORY: notADirectory,
  IS_A_DIRECTORY: isADirectory,
  READ_ONLY_ROOT: readOnlyRoot,
  // The owner's key cannot be opened, so nothing can be signed.
  KEY_REQUIRED: readOnlyRoot,
};

/** Advice per error code, for imported data that is not accepted. */
const REMEDIES: Partial<Readonly<Record<FileAdapterError["code"], string>>> = {
  BAD_FORMAT: "It is damaged, or no export of drives: export it again",
  UNSUPPORTED_CELL: "Only drives can be imported, without anything else",
  MISSING_CELL: "A part is missing: give all files of one export, in their order, or export it again",
  LIMIT: "Import drive by drive, or have 'drives.limits' raised",
  FUTURE_TIME:
    "Correct the clock of the machine that wrote it, or of this one. What was written under a wrong clock is repaired there by 'venue-files drive verify --clamp-times'; then export it again",
  READ_ONLY_ROOT: "Run the venue with the 'seed' or 'seedFile' that it had when they were made",
  KEY_REQUIRED: "Name the drive it goes into, and with 'from' which one, or import the key that signed it",
};

function toRefusal({ code, message }: FileAdapterError, drive: string): FileAdapterError | undefined {
  const place = { root: drive, path: "" };
  if (code === "INVALID_PATH") return adapterError(code, message, place);
  if (code === "NOT_FOUND")
    return adapterError(
      code,
      `${notFound(place).message}. The export has no such drive: name one of its own with 'from'`,
      place,
    );
  const remedy = REMEDIES[code];
  if (remedy === undefined || code === "EXISTS") return undefined;
  const what = drive === "" ? "drives" : `drive '${escapeText(drive)}'`;
  return adapterError(code, `Cannot import ${what}: ${message}. ${remedy}`, place);
}

const storeDamaged = (place: Place, drive: string): FileAdapterError =>
  adapterError("STORE_DAMAGED", `Drive store is damaged: ${escapeText(drive)}:${pathText(place.path)}`, at(place));

/** During a walk, damage can lie below the requested place; the text then says where. */
function withLocation({ data, message }: FileAdapterError, { place, drive }: DriveDeed): FileAdapterError {
  if (data["drive"] !== drive) return storeDamaged(place, drive);
  return adapterError("STORE_DAMAGED", message, { root: place.root, path: place.path });
}

function useIn(error: FileAdapterError) {
  const { unit } = error.data;
  return {
    used: numberIn(error, "used"),
    limit: numberIn(error, "limit"),
    unit: typeof unit === "string" ? unit : error.code === "LIMIT" ? "entries" : "bytes",
    requested: numberIn(error, "requested"),
  };
}

/**
 * A number from the error's data, else the number after that word in its text, else the first number in the text, else
 * 0.
 */
function numberIn({ data, message }: FileAdapterError, name: string): number {
  const given = data[name];
  if (typeof given === "number") return given;
  const found = new RegExp(`${name === "size" ? "" : `${name} `}(\\d+)`).exec(message);
  return found?.[1] === undefined ? 0 : Number(found[1]);
}
