import { adapterError, FileAdapterError } from "../../core/errors/errors.js";
import {
  cannotImport,
  contentTooLarge,
  driveConflict,
  existsNotDirectory,
  invalidPath,
  isADirectory,
  nameClash,
  notADirectory,
  notEmpty,
  notFound,
  type Place,
  quotaExceeded,
  readOnlyRoot,
  storeDamaged,
  storeUnavailable,
} from "../../core/errors/texts.js";

/** What was being done to a drive when it failed. */
export interface DriveDeed {
  /** The requested place. */
  readonly place: Place;
  readonly drive: string;
  /** `write`, `append`, `create`, `delete`, `read`. */
  readonly verb: string;
}

/**
 * What a caller is told of a failure of the tree or the store. Those name no place, so whatever names one already, or is
 * not about drives, stays as it is.
 */
export function asCallerError(error: unknown, deed: DriveDeed): unknown {
  if (!(error instanceof FileAdapterError) || Object.hasOwn(error.data, "root")) return error;
  const { place, drive, verb } = deed;
  const refusal = verb === "import" ? asRefusal(error, drive) : undefined;
  if (refusal !== undefined) return refusal;
  switch (error.code) {
    case "NOT_FOUND":
      return notFound(place);
    case "EXISTS":
      return existsNotDirectory(place);
    case "NOT_EMPTY":
      return notEmpty(place);
    case "NOT_A_DIRECTORY":
      return notADirectory(place);
    case "IS_A_DIRECTORY":
      return isADirectory(place);
    case "INVALID_PATH":
      return invalidPath(place, error.message.endsWith("too long") ? "too long" : "too deep");
    case "NAME_CLASH":
      return nameClash(place, holderIn(error.message));
    case "TOO_LARGE":
      return contentTooLarge(place, numberIn(error, "size"), numberIn(error, "limit"));
    case "QUOTA_EXCEEDED":
    case "LIMIT":
      return quotaExceeded(place, useIn(error));
    case "CONFLICT":
      return driveConflict(place, verb);
    // The key of the caller cannot be opened, so nothing can be signed.
    case "KEY_REQUIRED":
    case "READ_ONLY_ROOT":
      return readOnlyRoot(place);
    case "STORE_UNAVAILABLE":
      return storeUnavailable(place, drive);
    case "STORE_DAMAGED":
      return sayingWhere(error, deed);
    case "MISSING_CELL":
    case "BAD_FORMAT":
    case "UNSUPPORTED_CELL":
    case "FUTURE_TIME":
      return storeDamaged(place, drive);
    default:
      return error;
  }
}

/** What is wrong with what comes, and what to do about it. */
const REMEDIES: Partial<Readonly<Record<FileAdapterError["code"], string>>> = {
  BAD_FORMAT: "It is damaged, or no export of drives: export it again",
  UNSUPPORTED_CELL: "Only drives can be imported, without anything else",
  MISSING_CELL: "A part is missing: give all files of one export, in their order, or export it again",
  LIMIT: "Import drive by drive, or have 'drives.limits' raised",
  FUTURE_TIME: "Correct the clock of the machine that wrote it, or of this one, and export it again",
  READ_ONLY_ROOT: "Run the venue with the 'seed' or 'seedFile' that it had when they were made",
  KEY_REQUIRED: "Name the drive it goes into, and with 'from' which one, or import the key that signed it",
};

function asRefusal({ code, message }: FileAdapterError, drive: string): FileAdapterError | undefined {
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
  return cannotImport(code, drive, `${message}. ${remedy}`);
}

/** Where a tree is walked, what is damaged can lie below the requested place: that stands in the text. */
function sayingWhere({ data, message }: FileAdapterError, { place, drive }: DriveDeed): FileAdapterError {
  if (data["drive"] !== drive) return storeDamaged(place, drive);
  return adapterError("STORE_DAMAGED", message, { root: place.root, path: place.path });
}

/** The name between the quotes, which was made safe for a message already. */
const holderIn = (message: string): string => /^name clashes with "(.*)": names/s.exec(message)?.[1] ?? "";

function useIn(error: FileAdapterError) {
  const { unit } = error.data;
  return {
    used: numberIn(error, "used"),
    limit: numberIn(error, "limit"),
    unit: typeof unit === "string" ? unit : error.code === "LIMIT" ? "entries" : "bytes",
    requested: numberIn(error, "requested"),
  };
}

/** A number of the error's data, or that after the same word in its text, or the first one there; else 0. */
function numberIn({ data, message }: FileAdapterError, name: string): number {
  const given = data[name];
  if (typeof given === "number") return given;
  const found = new RegExp(`${name === "size" ? "" : `${name} `}(\\d+)`).exec(message);
  return found?.[1] === undefined ? 0 : Number(found[1]);
}
