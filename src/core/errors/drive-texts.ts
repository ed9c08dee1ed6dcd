// Errors that only drives have.

import { adapterError, type ErrorCode, type FileAdapterError } from "./errors.js";
import { escapeText, type Place, pathText } from "./texts.js";

const at = ({ root, path }: Place) => ({ root, path });

/** @param holder the existing name that occupies the slot */
export const nameClash = (place: Place, holder: string): FileAdapterError =>
  adapterError(
    "NAME_CLASH",
    `name clashes with "${escapeText(holder)}": names in a drive directory must differ in their first 32 bytes`,
    at(place),
  );

/** @param verb the refused action: `write` */
export const driveConflict = (place: Place, verb: string): FileAdapterError =>
  adapterError(
    "CONFLICT",
    `Cannot ${verb} "${pathText(place.path)}": the drive changed too often meanwhile`,
    at(place),
  );

/** @param drive its name, or `""` for all drives of the caller @param reason ends with advice */
export const cannotImport = (code: ErrorCode, drive: string, reason: string): FileAdapterError =>
  adapterError(code, `Cannot import ${drive === "" ? "drives" : `drive '${escapeText(drive)}'`}: ${reason}`, {
    root: drive,
    path: "",
  });

/** @param drive its name, or `""` for all drives of the caller */
export const storeUnavailable = (place: Place, drive: string): FileAdapterError =>
  adapterError(
    "STORE_UNAVAILABLE",
    `Drive store is not reachable${drive === "" ? "" : `: ${escapeText(drive)}`}`,
    at(place),
  );

export const storeDamaged = (place: Place, drive: string): FileAdapterError =>
  adapterError("STORE_DAMAGED", `Drive store is damaged: ${escapeText(drive)}:${pathText(place.path)}`, at(place));
