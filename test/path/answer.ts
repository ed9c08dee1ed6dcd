import { expect } from "@jest/globals";
import { FileAdapterError } from "../../src/core/errors/errors.js";
import { escapeText } from "../../src/core/errors/texts.js";
import { parsePath } from "../../src/path/grammar.js";

/** The answer in one line: the canonical path, or the code and the reason. */
export function answer(text: string, windows = false): string {
  try {
    return `ok ${parsePath("r", text, { windows }).text}`;
  } catch (error) {
    if (!(error instanceof FileAdapterError)) throw error;
    const { hint, ...place } = error.data as Record<string, unknown>;
    expect(place).toEqual({ root: "r", path: text });
    if (hint !== undefined) expectHint(String(hint), text, windows);
    const reason = error.code === "INVALID_PATH" ? ` ${error.message.slice(error.message.lastIndexOf("': ") + 3)}` : "";
    return `${error.code}${reason}`;
  }
}

/** A path with backslashes is told with slashes, which works when it is taken. */
function expectHint(hint: string, text: string, windows: boolean): void {
  const { text: meant } = parsePath("r", text.replaceAll("\\", "/"), { windows });
  expect([windows, text.includes("\\"), hint]).toEqual([true, true, `Pass path: "${escapeText(meant)}"`]);
}

export const NOT_UNICODE = "INVALID_PATH not valid Unicode";
export const NUL = "INVALID_PATH Nul character not allowed";
export const CONTROL = "INVALID_PATH control character not allowed";
export const BACKSLASH = "INVALID_PATH backslash not allowed. Use /";
export const CHARACTER = 'INVALID_PATH < > : " | ? * not allowed in names on Windows';
export const AT_END = "INVALID_PATH dot or space not allowed at the end of a name on Windows";
export const TOO_LONG = "INVALID_PATH too long";
export const TOO_DEEP = "INVALID_PATH too deep";
export const RESERVED = "INVALID_PATH reserved name";
export const NOT_RELATIVE = "PATH_NOT_RELATIVE";
export const ESCAPES = "PATH_ESCAPES_ROOT";
