// oc:checksums of ownCloud, by which sync clients compare files: what is known of files that were sent here.

import { element, type Markup } from "../xml/write.js";

export const OWNCLOUD = "http://owncloud.org/ns";
export const CHECKSUMS = "checksums";
/** An entry takes some 300 bytes. */
const MOST = 20_000;

/** Checksums by the tag of a version stamp, so that none outlives its content; the oldest are forgotten first. */
export class Checksums {
  readonly #known = new Map<string, string>();

  put(tag: string, text: string): void {
    this.#known.delete(tag);
    this.#known.set(tag, text);
    if (this.#known.size <= MOST) return;
    for (const oldest of this.#known.keys()) {
      this.#known.delete(oldest);
      return;
    }
  }

  /** The property of a file. `undefined`: its checksums are not known */
  of(tag: string | undefined): Markup | undefined {
    const text = tag === undefined ? undefined : this.#known.get(tag);
    if (text === undefined) return undefined;
    return element("o:checksums", element("o:checksum", text), { "xmlns:o": OWNCLOUD });
  }
}
