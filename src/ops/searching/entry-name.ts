// Escapes names for listings of one entry a line.

import { escapeText } from "../../core/errors/texts.js";

/** A name as one line of an enumeration. Lines that begin with U+2026 say what was left out, so no name does. */
export const entryName = (name: string): string =>
  name.startsWith("…") ? `\\u{2026}${escapeText(name.slice(1))}` : escapeText(name);
