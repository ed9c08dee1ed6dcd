// Paths of keys in a configuration, as messages show them.

import { escapeText } from "../core/errors/texts.js";

/** Keys and array indexes from the top of a config to one value. */
export type KeyPath = readonly (string | number)[];

/** Formats a key path for messages: `auth.public.caps[0].with`. */
export function keyText(path: KeyPath): string {
  return path
    .map((key, index) => (typeof key === "number" ? `[${key}]` : `${index === 0 ? "" : "."}${escapeText(key)}`))
    .join("");
}
