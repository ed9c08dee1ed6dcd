import type { CheckedFile } from "./parse-file.js";
import type { StorageConfig, VenueConfig } from "./types.js";

/** A venue after the schema; complete only when there was no problem. */
export interface CheckedVenue extends Omit<VenueConfig, "file" | "storage" | "warnings"> {
  readonly file: CheckedFile;
  readonly storage: { readonly content: StorageConfig["content"]; readonly path?: string };
}

/** A value of which any part may be missing, because it was wrong. */
export type Draft<T> = T extends readonly (infer Item)[]
  ? readonly (Draft<Item> | undefined)[]
  : T extends object
    ? { readonly [Key in keyof T]?: Draft<T[Key]> | undefined }
    : T;

/** A venue while there may be problems. */
export type DraftVenue = Draft<CheckedVenue>;
