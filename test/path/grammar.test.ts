import { describe, expect, test } from "@jest/globals";
import { isPlainPath, MAX_PATH_BYTES, MAX_SEGMENT_BYTES, MAX_SEGMENTS, parsePath } from "../../src/path/grammar.js";
import {
  answer,
  BACKSLASH,
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

describe("isPlainPath: what is its own canonical form", () => {
  test.each(["a", "a.txt", "docs/a.txt", "a-b/c_d/e..f", "-", "_/0", "a.", `${"x/".repeat(600)}x`])("%j is", (text) => {
    expect(isPlainPath(text)).toBe(true);
    if (text.length < 100) expect(parsePath("r", text).text).toBe(text);
  });

  // Of some of these, too, but it need not say so.
  test.each([
    ...["", "/", "/a", "a/", "a//b", ".", "..", "./a", "a/.", "a/..", "a/../b", ".git", "a/.b", "...", " a", "a b"],
    ...["C:", "C:/a", "a\\b", "a\n", "a\0", "ä", "a\u2028", "~", "%2e%2e", "a/\u202e"],
  ])("it does not say so of %j", (text) => {
    expect(isPlainPath(text)).toBe(false);
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
