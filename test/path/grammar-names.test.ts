import { describe, expect, test } from "@jest/globals";
import { isReachableName, isReservedName } from "../../src/path/grammar.js";
import { AT_END, answer, BACKSLASH, CHARACTER, ESCAPES, NOT_RELATIVE, RESERVED, TOO_LONG } from "./answer.js";

describe("parsePath: on Windows hosts", () => {
  const devices = [
    "con",
    "PRN",
    "aux",
    "nul",
    "CONIN$",
    "conout$",
    "com0",
    "COM1",
    "com9",
    "lpt1",
    "LPT9",
    "com¹",
    "LPT²",
    "com³",
  ];
  test.each([
    ...devices.flatMap((name) => [
      [name, RESERVED],
      [`a/${name}.txt`, RESERVED],
      [`${name}/b`, RESERVED],
    ]),
    ["a:b", NOT_RELATIVE],
    ["ab:c", CHARACTER],
    ["a/b:stream", CHARACTER],
    ["a/C:", CHARACTER],
    ["sub/x<y/z", CHARACTER],
    ...[...'<>|?*"'].map((sign) => [`a${sign}b`, CHARACTER]),
    ["a.", AT_END],
    ["a ", AT_END],
    ["...", AT_END],
    ["a./b", AT_END],
    ["a /b", AT_END],
    ["sub\\b.txt", BACKSLASH],
    [".\\a.txt", BACKSLASH],
    ["a\\..\\..\\b", ESCAPES],
    ["C:\\w\\a.txt", NOT_RELATIVE],
    ["\\\\server\\share", NOT_RELATIVE],
    ["\\\\?\\C:\\x", NOT_RELATIVE],
    ["a\\nul", RESERVED],
    ["console", "ok console"],
    ["com", "ok com"],
    ["com10", "ok com10"],
    ["a.con", "ok a.con"],
    ["nulls.txt", "ok nulls.txt"],
    [" a", "ok  a"],
    ["./a/../.b", "ok .b"],
    ["../ab:", ESCAPES],
    [`${"n".repeat(256)}:`, TOO_LONG],
  ])("%j: %s", (text, expected) => {
    expect(answer(String(text), true)).toBe(expected);
  });

  // Windows ignores spaces between a device's name and its extension.
  test.each(["nul .txt", "COM1  .log"])("%j is a device too", (text) => {
    expect(answer(text, true)).toBe(RESERVED);
  });
});

describe("isReservedName", () => {
  test.each([
    { name: ".venue-files", fold: false, expected: true },
    { name: ".venue-files-", fold: false, expected: true },
    { name: ".venue-files-x", fold: false, expected: true },
    { name: ".venue-filesx", fold: false, expected: false },
    { name: ".Venue-Files", fold: false, expected: false },
    { name: ".Venue-Files", fold: true, expected: true },
    { name: ".VENUE-FILES-X", fold: true, expected: true },
    { name: ".VENUE-FILES-X", fold: false, expected: false },
    { name: "a.venue-files-x", fold: true, expected: false },
  ])("$name (fold: $fold): $expected", ({ name, fold, expected }) => {
    expect(isReservedName(name, fold)).toBe(expected);
  });
});

describe("isReachableName", () => {
  test.each([
    { name: "a", top: true, windows: false, expected: true },
    { name: "caf\u00e9 😀", top: true, windows: false, expected: true },
    { name: "...", top: true, windows: false, expected: true },
    { name: "a\\b", top: false, windows: false, expected: false },
    { name: "a\nb", top: false, windows: false, expected: false },
    { name: "a\u007f", top: false, windows: false, expected: false },
    { name: "a\ud800", top: false, windows: false, expected: false },
    { name: "C:", top: true, windows: false, expected: false },
    { name: "c:x", top: true, windows: false, expected: false },
    { name: "C:", top: false, windows: false, expected: true },
    { name: "C:", top: false, windows: true, expected: false },
    { name: "nul", top: false, windows: true, expected: false },
    { name: "nul", top: false, windows: false, expected: true },
  ])("$name (top: $top, windows: $windows): $expected", ({ name, top, windows, expected }) => {
    expect(isReachableName(name, top, windows)).toBe(expected);
  });

  // Possible where a file system counts UTF-16 units, as on macOS and Windows.
  test("a name longer than the grammar allows is not reachable", () => {
    expect(isReachableName("\u20ac".repeat(86), false)).toBe(false);
  });
});
