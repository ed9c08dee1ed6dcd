import { expect } from "@jest/globals";
import { FileAdapterError } from "../../src/core/errors/errors.js";
import { parsePath } from "../../src/path/grammar.js";

/** The answer in one line: the canonical path, or the code and the reason. */
export function answer(text: string, windows = false): string {
  try {
    return `ok ${parsePath("r", text, { windows }).text}`;
  } catch (error) {
    if (!(error instanceof FileAdapterError)) throw error;
    expect(error.data).toEqual({ root: "r", path: text });
    const reason = error.code === "INVALID_PATH" ? ` ${error.message.slice(error.message.lastIndexOf("': ") + 3)}` : "";
    return `${error.code}${reason}`;
  }
}

export const NOT_UNICODE = "INVALID_PATH not valid Unicode";
export const NUL = "INVALID_PATH Nul character not allowed";
export const CONTROL = "INVALID_PATH control character not allowed";
export const BACKSLASH = "INVALID_PATH backslash not allowed. Use /";
export const TOO_LONG = "INVALID_PATH too long";
export const TOO_DEEP = "INVALID_PATH too deep";
export const RESERVED = "INVALID_PATH reserved name";
export const NOT_RELATIVE = "PATH_NOT_RELATIVE";
export const ESCAPES = "PATH_ESCAPES_ROOT";
