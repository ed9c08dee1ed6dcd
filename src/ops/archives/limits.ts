// Bounds of archives that are made or unpacked.

import { adapterError, type FileAdapterError } from "../../core/errors/errors.js";
import { at, type Place } from "../../core/errors/texts.js";

const MAX_ENTRIES = 100_000;
const MAX_BYTES = 2_147_483_648;

/** Counts entries and the bytes in them. */
export class Tally {
  entries = 0;
  bytes = 0;
  readonly #place: Place;

  /** @param place named in errors */
  constructor(place: Place) {
    this.#place = place;
  }

  /** @throws TOO_LARGE */
  add(bytes: number): void {
    this.entries += 1;
    this.bytes += bytes;
    if (this.entries > MAX_ENTRIES) throw this.#tooLarge("entries", MAX_ENTRIES);
    if (this.bytes > MAX_BYTES) throw this.#tooLarge("bytes of content", MAX_BYTES);
  }

  #tooLarge(unit: string, limit: number): FileAdapterError {
    const told = `An archive with more than ${limit} ${unit} is not made or unpacked. Take parts of it`;
    return adapterError("TOO_LARGE", told, { ...at(this.#place), limit });
  }
}
