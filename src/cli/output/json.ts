// JSON for a terminal.

import { stringifyExact } from "../../schema/exact-json.js";

/** JSON of one line. Control characters that JSON leaves as they are, which terminals obey, are escaped. */
export const jsonText = (value: unknown): string =>
  stringifyExact(value).replace(/[\u007f-\u009f]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
