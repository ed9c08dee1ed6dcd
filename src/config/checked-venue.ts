// The intermediate forms of a venue's configuration between parsing and completion.

import type { CheckedFile } from "./parse-file.js";
import type { StorageConfig, VenueConfig } from "./types.js";

/** A venue after schema validation; complete only if there were no problems. */
export interface CheckedVenue extends Omit<VenueConfig, "file" | "storage" | "warnings"> {
  readonly file: CheckedFile;
  readonly storage: { readonly content: StorageConfig["content"]; readonly path?: string };
}

/** A value in which any invalid part is missing. */
export type Draft<T> = T extends readonly (infer Item)[]
  ? readonly (Draft<Item> | undefined)[]
  : T extends object
    ? { readonly [Key in keyof T]?: Draft<T[Key]> | undefined }
    : T;

/** A venue that may still have problems. */
export type DraftVenue = Draft<CheckedVenue>;
