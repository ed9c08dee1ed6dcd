import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { RelPath } from "../../src/core/call/path.js";
import {
  isReachableName,
  isReservedName,
  MAX_PATH_BYTES,
  MAX_SEGMENT_BYTES,
  MAX_SEGMENTS,
  parsePath,
  relPath,
} from "../../src/path/grammar.js";
import { anyCharacter } from "../any-character.js";
import {
  AT_END,
  answer,
  BACKSLASH,
  CHARACTER,
  CONTROL,
  ESCAPES,
  NOT_RELATIVE,
  NOT_UNICODE,
  NUL,
  RESERVED,
  TOO_DEEP,
  TOO_LONG,
} from "./answer.js";

describe("parsePath: what is accepted, and its canonical form", () => {
  test.each([
    { why: "the root, empty", text: "", path: "" },
    { why: "the root, slash", text: "/", path: "" },
    { why: "the root, dot", text: ".", path: "" },
    { why: "the root, dot segments", text: "/././", path: "" },
    { why: "the root, come back to", text: "a/..", path: "" },
    { why: "a name", text: "a", path: "a" },
    { why: "a leading slash", text: "/a/b", path: "a/b" },
    { why: "a trailing slash", text: "a/b/", path: "a/b" },
    { why: "empty segments", text: "a//b///c", path: "a/b/c" },
    { why: "dot segments", text: "./a/./b/.", path: "a/b" },
    { why: "a parent segment", text: "a/b/../c", path: "a/c" },
    { why: "several parent segments", text: "a/b/c/../../d", path: "a/d" },
    { why: "a parent segment at the end", text: "a/b/..", path: "a" },
    { why: "a parent segment past empty ones", text: "a/.//../b", path: "b" },
    { why: "slashes not at the start", text: ".//a", path: "a" },
    { why: "three dots", text: ".../a", path: ".../a" },
    { why: "names that start with dots", text: "..a/.b/..", path: "..a" },
    { why: "percent escapes", text: "%2e%2e/%2F/a%00", path: "%2e%2e/%2F/a%00" },
    { why: "URL characters", text: "a?b#c&d=e", path: "a?b#c&d=e" },
    { why: "wildcards", text: "*/[a]{b}", path: "*/[a]{b}" },
    { why: "a tilde", text: "~/a", path: "~/a" },
    { why: "spaces", text: " a / b ", path: " a / b " },
    { why: "a composed accent", text: "caf\u00e9", path: "caf\u00e9" },
    { why: "a decomposed accent", text: "cafe\u0301", path: "cafe\u0301" },
    { why: "an astral character", text: "😀/𝔊", path: "😀/𝔊" },
    { why: "upper case", text: "README.MD", path: "README.MD" },
    {
      why: "look-alikes of dots and slashes",
      text: "\u2024\u2024/\uff0e\uff0e/a\u2215b\uff0fc",
      path: "\u2024\u2024/\uff0e\uff0e/a\u2215b\uff0fc",
    },
    { why: "a look-alike of the backslash", text: "a\uff3cb", path: "a\uff3cb" },
    { why: "C1 controls and line separators", text: "a\u0080\u0085\u2028\u2029", path: "a\u0080\u0085\u2028\u2029" },
    { why: "a byte order mark and bidi controls", text: "\ufeffa\u202eb", path: "\ufeffa\u202eb" },
    { why: "a colon that makes no drive", text: "ab:c/:/1:", path: "ab:c/:/1:" },
    { why: "a drive form below the top", text: "a/C:/b", path: "a/C:/b" },
    { why: "a letter that is not ASCII before a colon", text: "é:", path: "é:" },
    { why: "Windows devices", text: "con/NUL.txt/a./b ", path: "con/NUL.txt/a./b " },
    { why: "property names of objects", text: "__proto__/constructor", path: "__proto__/constructor" },
  ])("$why: $text", ({ text, path }) => {
    const parsed = parsePath("r", text);
    expect(parsed.text).toBe(path);
    expect(parsed.segments).toEqual(path === "" ? [] : path.split("/"));
  });
});

describe("parsePath: what is refused", () => {
  test.each([
    ["a high surrogate alone", "a\ud800b", NOT_UNICODE],
    ["a low surrogate alone", "\udc00", NOT_UNICODE],
    ["surrogates the wrong way round", "\udc00\ud800", NOT_UNICODE],
    ["a lone surrogate after a pair", "😀\ud83d", NOT_UNICODE],
    ["NUL", "a\0", NUL],
    ["NUL alone", "\0", NUL],
    ["the first control character", "a\u0001", CONTROL],
    ["a tab", "a\tb", CONTROL],
    ["a line feed", "a\n", CONTROL],
    ["a carriage return", "\ra", CONTROL],
    ["escape", "a\u001b[0m", CONTROL],
    ["the last C0 control", "a\u001f", CONTROL],
    ["delete", "a\u007f", CONTROL],
    ["a backslash", "a\\b", BACKSLASH],
    ["a leading backslash", "\\a", BACKSLASH],
    ["a UNC path of backslashes", "\\\\server\\share", BACKSLASH],
    ["a drive with a backslash", "C:\\x", BACKSLASH],
    ["parent segments with backslashes", "..\\..\\x", BACKSLASH],
    ["a UNC path", "//server/share", NOT_RELATIVE],
    ["two slashes", "//", NOT_RELATIVE],
    ["three slashes", "///a", NOT_RELATIVE],
    ["a drive", "C:", NOT_RELATIVE],
    ["a drive with a path", "C:/x", NOT_RELATIVE],
    ["a path relative to a drive", "C:x", NOT_RELATIVE],
    ["a drive in lower case", "z:", NOT_RELATIVE],
    ["a drive after a slash", "/C:/x", NOT_RELATIVE],
    ["a drive after a dot", "./C:/x", NOT_RELATIVE],
    ["a drive after dots and slashes", "/.//./C:x", NOT_RELATIVE],
    ["a drive that the path leaves again", "C:/../a", NOT_RELATIVE],
    ["a drive the path comes to", "a/../C:/x", NOT_RELATIVE],
    ["a URL, whose scheme is one letter", "c://host/x", NOT_RELATIVE],
    ["a parent segment", "..", ESCAPES],
    ["a parent segment after a slash", "/..", ESCAPES],
    ["a parent segment with a slash", "../", ESCAPES],
    ["a way out", "../a", ESCAPES],
    ["a way out from below", "a/../../b", ESCAPES],
    ["a way out and back in", "../r/a", ESCAPES],
    ["a way out and on", "a/../../a/b/c", ESCAPES],
    ["a way out past dot segments", "./a/.//..//./..", ESCAPES],
    ["the staging directory", ".venue-files", RESERVED],
    ["below the staging directory", "/./.venue-files/x", RESERVED],
    ["the staging directory, come to", "a/../.venue-files", RESERVED],
    ["a staging name", ".venue-files-x", RESERVED],
    ["a staging name without an end", ".venue-files-", RESERVED],
    ["a staging name anywhere", "a/b/.venue-files-lock", RESERVED],
    ["below a staging name", "a/.venue-files-x/b", RESERVED],
  ])("%s", (_why, text, expected) => {
    expect(answer(text)).toBe(expected);
  });

  test.each([
    ["a longer name", ".venue-filesystem"],
    ["another extension", ".venue-files.bak"],
    ["another case", ".Venue-Files/.VENUE-FILES-x"],
    ["no dot", "venue-files/venue-files-x"],
    ["a reserved name that the path leaves again", ".venue-files/../.venue-files-x/../a"],
  ])("but not what only resembles a reserved name: %s", (_why, text) => {
    expect(answer(text)).toMatch(/^ok /);
  });

  test("says so in the fixed words, with what was asked made safe to print", () => {
    expect(() => parsePath("r", "a\0b")).toThrow("Invalid path 'a\\u{0}b': Nul character not allowed");
    expect(() => parsePath("r", "\ud800")).toThrow("Invalid path '\\u{d800}': not valid Unicode");
    expect(() => parsePath("r", "C:x")).toThrow("Path must be relative to root 'r': C:x");
    expect(() => parsePath("r", "a/../..")).toThrow("Path escapes root 'r': a/../..");
  });
});

describe("parsePath: the first match decides", () => {
  const long = "n".repeat(MAX_SEGMENT_BYTES + 1);
  const deep = "d/".repeat(MAX_SEGMENTS + 1);

  test.each([
    ["lone surrogate before NUL", "\0\ud800", NOT_UNICODE],
    ["lone surrogate before everything", `//../C:\\\0\n${long}/\ud800`, NOT_UNICODE],
    ["NUL before another control character", "a\nb\0", NUL],
    ["NUL before backslash", "\\\0", NUL],
    ["NUL before UNC", "//\0", NUL],
    ["another control character before backslash", "\\a\u007f", CONTROL],
    ["another control character before `..`", "../\n", CONTROL],
    ["backslash before UNC", "//server\\share", BACKSLASH],
    ["backslash before a drive", "C:/a\\b", BACKSLASH],
    ["backslash before `..`", "../a\\b", BACKSLASH],
    ["backslash before lengths", `${long}\\`, BACKSLASH],
    ["UNC before `..`", "//../..", NOT_RELATIVE],
    ["UNC before lengths", `//${long}`, NOT_RELATIVE],
    ["UNC before reserved", "//.venue-files", NOT_RELATIVE],
    ["a drive before `..`", "C:/../..", NOT_RELATIVE],
    ["a drive before lengths", `C:/${long}`, NOT_RELATIVE],
    ["a drive before reserved", "C:/.venue-files-x", NOT_RELATIVE],
    ["`..` before too long", `../${long}`, ESCAPES],
    ["`..` before too long a path", `../${"n".repeat(MAX_PATH_BYTES)}`, ESCAPES],
    ["`..` before too deep", `../${deep}`, ESCAPES],
    ["`..` before reserved", "../.venue-files", ESCAPES],
    ["too long before reserved", `.venue-files/${long}`, TOO_LONG],
    ["too deep before reserved", `.venue-files/${deep}`, TOO_DEEP],
  ])("%s", (_why, text, expected) => {
    expect(answer(text)).toBe(expected);
  });

  // The drive form counts on the first segment given (§10.1), so here `..` comes first.
  test.each(["../C:", "../C:/x", "/./../c:x", "a/../../C:"])("`..` before a drive the path comes to: %s", (text) => {
    expect(answer(text)).toBe(ESCAPES);
  });
});

describe("parsePath: limits", () => {
  const pathOf = (bytes: number): string => {
    const name = "n".repeat(MAX_SEGMENT_BYTES);
    const path = Array.from({ length: Math.ceil(bytes / (name.length + 1)) }, () => name).join("/");
    return path.slice(0, bytes);
  };

  test.each([
    ["a segment of 255 bytes", "n".repeat(255), true],
    ["a segment of 256 bytes", "n".repeat(256), false],
    ["a segment of 255 bytes in 85 characters", "\u20ac".repeat(85), true],
    ["a segment of 258 bytes in 86 characters", "\u20ac".repeat(86), false],
    ["a segment of 252 bytes in astral characters", "😀".repeat(63), true],
    ["a segment of 256 bytes in astral characters", "😀".repeat(64), false],
    ["a segment of 256 bytes in two-byte characters", "é".repeat(128), false],
    ["a segment of 256 bytes, not the first", `a/b/${"n".repeat(256)}/c`, false],
    ["a path of 4096 bytes", pathOf(4096), true],
    ["a path of 4097 bytes", pathOf(4097), false],
    ["a path of 4096 bytes, slashes and dots included", `/./a${"/".repeat(4092)}`, true],
    ["a path of 4097 bytes, slashes and dots included", `/./a${"/".repeat(4093)}`, false],
  ])("%s", (_why, text, accepted) => {
    expect(answer(text)).toBe(accepted ? `ok ${text.split(/[./]+/).filter(Boolean).join("/")}` : TOO_LONG);
  });

  test("512 segments, and one more", () => {
    const path = Array.from({ length: MAX_SEGMENTS }, (_, index) => (index % 10).toString()).join("/");
    expect(answer(path)).toBe(`ok ${path}`);
    expect(answer(`${path}/x`)).toBe(TOO_DEEP);
    expect(answer(`${path}/x/..`)).toBe(`ok ${path}`);
  });
});

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

/** Text in which everything the grammar knows is likely. */
const hostileText = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom("/", "/", "/", ".", "..", "../", "a", "b", "a/", "./", "//") },
      {
        weight: 1,
        arbitrary: fc.constantFrom("C:", "c:x", ":", "\\", "\0", "\n", "\u007f", "\ud83d", "\ude00", "%2e"),
      },
      {
        weight: 1,
        arbitrary: fc.constantFrom(".venue-files", ".venue-files-", "nul", "é", "e\u0301", " ", "n".repeat(250)),
      },
    ),
    { maxLength: 12 },
  )
  .map((pieces) => pieces.join(""));
const units = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 30 })
  .map((codes) => String.fromCharCode(...codes));
const anyText = fc.oneof(hostileText, units, fc.string({ unit: anyCharacter }));
/** Text of pieces that are mostly accepted. */
const politeText = fc
  .array(fc.constantFrom("", ".", "..", "a", "b", "é", "😀", "C:", "...", ".venue-files"), { maxLength: 12 })
  .map((pieces) => pieces.join("/"));

function parsed(text: string, windows: boolean): RelPath | undefined {
  return answer(text, windows).startsWith("ok ") ? parsePath("r", text, { windows }) : undefined;
}

describe("parsePath: for any text", () => {
  const forAny = (check: (path: RelPath, text: string, windows: boolean) => void): void => {
    fc.assert(
      fc.property(fc.oneof(anyText, politeText), fc.boolean(), (text, windows) => {
        const path = parsed(text, windows);
        if (path !== undefined) check(path, text, windows);
      }),
      { numRuns: 2000 },
    );
  };

  test("the canonical path is its own canonical path", () => {
    forAny((path, _text, windows) => {
      expect(parsePath("r", path.text, { windows })).toEqual(path);
      expect(parsePath("r", `/${path.text}`, { windows })).toEqual(path);
      expect(relPath(path.segments)).toEqual(path);
    });
  });

  test("no segment is empty, `.`, `..`, or holds a slash, a backslash or a control character", () => {
    forAny(({ segments, text }) => {
      expect(segments.filter((segment) => ["", ".", ".."].includes(segment))).toEqual([]);
      expect(segments.filter((segment) => /[\u0000-\u001f\u007f\\/]/.test(segment))).toEqual([]);
      expect(text).toBe(segments.join("/"));
      expect(text.isWellFormed()).toBe(true);
      expect(text).not.toMatch(/^[A-Za-z]:/);
    });
  });

  test("no path leaves the root on its way, and the segments are those of a walk", () => {
    forAny(({ segments }, text) => {
      const stack: string[] = [];
      for (const segment of text.split("/")) {
        if (segment === "" || segment === ".") continue;
        if (segment === "..") expect(stack.pop()).toBeDefined();
        else stack.push(segment);
      }
      expect(segments).toEqual(stack);
    });
  });

  test("limits hold", () => {
    forAny(({ segments, text }) => {
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_PATH_BYTES);
      expect(segments.length).toBeLessThanOrEqual(MAX_SEGMENTS);
      expect(segments.filter((segment) => Buffer.byteLength(segment) > MAX_SEGMENT_BYTES)).toEqual([]);
    });
  });

  test("what is accepted on Windows is accepted elsewhere, with the same result", () => {
    fc.assert(
      fc.property(fc.oneof(anyText, politeText), (text) => {
        const path = parsed(text, true);
        if (path !== undefined) expect(parsePath("r", text)).toEqual(path);
      }),
      { numRuns: 1000 },
    );
  });
});

describe("isReachableName: for any name", () => {
  test("agrees with the grammar about every name that can stand in a directory", () => {
    const names = fc.oneof(fc.string({ unit: anyCharacter, minLength: 1, maxLength: 20 }), hostileText);
    fc.assert(
      fc.property(
        names.filter((name) => !name.includes("/") && !["", ".", ".."].includes(name)),
        fc.boolean(),
        fc.boolean(),
        (name, top, windows) => {
          fc.pre(!isReservedName(name) && Buffer.byteLength(name) <= MAX_SEGMENT_BYTES);
          const text = top ? name : `a/${name}`;
          expect(isReachableName(name, top, windows)).toBe(answer(text, windows) === `ok ${text}`);
        },
      ),
      { numRuns: 1000 },
    );
  });
});
