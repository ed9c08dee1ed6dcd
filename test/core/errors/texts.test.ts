import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { FileAdapterError } from "../../../src/core/errors/errors.js";
import * as texts from "../../../src/core/errors/texts.js";
import { anyCharacter } from "../../any-character.js";

describe("text of a caller in a message", () => {
  const table: readonly [string, string, string][] = [
    ["a line break", "a\nb", "a\\u{a}b"],
    ["a carriage return", "\r", "\\u{d}"],
    ["NUL", "\u0000", "\\u{0}"],
    ["an escape sequence", "\u001b[31m", "\\u{1b}[31m"],
    ["DEL", "\u007f", "\\u{7f}"],
    ["the next-line control", "\u0085", "\\u{85}"],
    ["the last C1 control", "\u009f", "\\u{9f}"],
    ["line and paragraph separators", "\u2028\u2029", "\\u{2028}\\u{2029}"],
    ["bidi overrides", "\u202a\u202e", "\\u{202a}\\u{202e}"],
    ["bidi isolates", "\u2066\u2069", "\\u{2066}\\u{2069}"],
    ["bidi marks", "\u200e\u200f\u061c", "\\u{200e}\\u{200f}\\u{61c}"],
    ["a high surrogate alone", "a\ud83db", "a\\u{d83d}b"],
    ["a low surrogate alone", "\ude00", "\\u{de00}"],
    ["surrogates the wrong way round", "\ude00\ud83d", "\\u{de00}\\u{d83d}"],
  ];
  test.each(table)("shows %s", (_, text, shown) => {
    expect(texts.escapeText(text)).toBe(shown);
  });

  test.each([["grüße 😀"], ["a b"], ["\u00a0"], ["e\u0301"], ["שלום"], ["\\u{a}"], ["👩‍👩‍👧"], [""]])(
    "leaves %j as it is",
    (text) => {
      expect(texts.escapeText(text)).toBe(text);
    },
  );
});

describe("a path in a message", () => {
  test.each([[""], ["a"], ["x".repeat(200)], ["😀".repeat(200)]])("is whole up to 200 characters: %s", (path) => {
    expect(texts.pathText(path)).toBe(path === "" ? "/" : path);
  });

  test("is shortened in the middle beyond that, between characters", () => {
    expect(texts.pathText(`${"a".repeat(150)}${"b".repeat(51)}`)).toBe(
      `${"a".repeat(100)}…${"a".repeat(48)}${"b".repeat(51)}`,
    );
    expect(texts.pathText("😀".repeat(201))).toBe(`${"😀".repeat(100)}…${"😀".repeat(99)}`);
    expect(texts.pathText(`${"a".repeat(99)}\n${"b".repeat(300)}`)).toBe(`${"a".repeat(99)}\\u{a}…${"b".repeat(99)}`);
  });
});

const at = (path: string, root = "r") => ({ root, path });

/** Every text that names a place, with the start that is specified. */
const PLACED: readonly [string, (place: texts.Place) => FileAdapterError, string, string][] = [
  [
    "INVALID_PATH",
    (place) => texts.invalidPath(place, "too long"),
    "Invalid path 'a/b': too long",
    "Invalid path '/': too long",
  ],
  [
    "PATH_NOT_RELATIVE",
    texts.pathNotRelative,
    "Path must be relative to root 'r': a/b",
    "Path must be relative to root 'r': /",
  ],
  ["PATH_ESCAPES_ROOT", texts.pathEscapesRoot, "Path escapes root 'r': a/b", "Path escapes root 'r': /"],
  ["SYMLINK_ESCAPE", texts.symlinkEscape, "Path escapes root via symlink: a/b", "Path escapes root via symlink: /"],
  [
    "DANGLING_SYMLINK",
    texts.danglingSymlink,
    "Path resolves through dangling symlink: a/b",
    "Path resolves through dangling symlink: /",
  ],
  [
    "OTHER_DEVICE",
    texts.otherDevice,
    "Path is on another file system: a/b (root option crossDevice)",
    "Path is on another file system: / (root option crossDevice)",
  ],
  ["READ_ONLY_ROOT", texts.readOnlyRoot, "Root 'r' is read-only", "Root 'r' is read-only"],
  ["NOT_FOUND", texts.notFound, "Not found: r:a/b", "Not found: r:/"],
  [
    "NOT_A_DIRECTORY",
    texts.notADirectory,
    "Not a directory: a/b. Read it with file:read, or choose another path",
    "Not a directory: /. Read it with file:read, or choose another path",
  ],
  [
    "IS_A_DIRECTORY",
    texts.isADirectory,
    "Not a regular file: a/b. It is a directory: list it with file:list",
    "Not a regular file: /. It is a directory: list it with file:list",
  ],
  [
    "ALREADY_EXISTS",
    texts.alreadyExists,
    "Already exists: a/b. 'to' is the whole new path, name included; overwrite: true replaces a file",
    "Already exists: /. 'to' is the whole new path, name included; overwrite: true replaces a file",
  ],
  ["NOT_A_FILE", texts.notAFile, "Not a regular file: a/b", "Not a regular file: /"],
  [
    "PARENT_MISSING",
    texts.parentMissing,
    "Parent directory does not exist: a/b. Pass parents: true or call file:mkdir",
    "Parent directory does not exist: /. Pass parents: true or call file:mkdir",
  ],
  [
    "EXISTS_NOT_DIRECTORY",
    texts.existsNotDirectory,
    "Path exists and is not a directory: a/b",
    "Path exists and is not a directory: /",
  ],
  [
    "NOT_EMPTY",
    texts.notEmpty,
    "Directory not empty: a/b (pass recursive: true)",
    "Directory not empty: / (pass recursive: true)",
  ],
  ["HARD_LINKED", texts.hardLinked, "File has other hard links: a/b", "File has other hard links: /"],
  [
    "NOT_JSON",
    (place) => texts.notJson(place, "unexpected end"),
    "File is not valid JSON: unexpected end",
    "File is not valid JSON: unexpected end",
  ],
  [
    "TOO_LARGE",
    (place) => texts.tooLargeToRead(place, 9, 5, "Use offset and length"),
    "File is too large to read in one call: 9 bytes, limit 5. Use offset and length",
    "File is too large to read in one call: 9 bytes, limit 5. Use offset and length",
  ],
  [
    "TOO_LARGE",
    (place) => texts.contentTooLarge(place, 9, 5),
    "Content too large: 9 bytes, limit 5",
    "Content too large: 9 bytes, limit 5",
  ],
  ["ASSET_NOT_FOUND", (place) => texts.assetNotFound(place, "ref"), "Asset not found: ref", "Asset not found: ref"],
  [
    "ASSET_NO_CONTENT",
    (place) => texts.assetNoContent(place, "ref"),
    "Asset has no content: ref",
    "Asset has no content: ref",
  ],
  ["PERMISSION_DENIED", texts.permissionDenied, "Permission denied: r:a/b", "Permission denied: r:/"],
  ["NO_SPACE", texts.noSpace, "No space left: r:a/b", "No space left: r:/"],
  ["IO_ERROR", (place) => texts.ioError(place, "EIO"), "I/O error EIO: r:a/b", "I/O error EIO: r:/"],
];

describe("an error of a place", () => {
  test.each(PLACED)("%s has its text, and prints the root as a slash", (code, make, text, ofRoot) => {
    expect([make(at("a/b")).code, make(at("a/b")).message]).toEqual([code, text]);
    expect(make(at("")).message).toBe(ofRoot);
    expect(make(at("")).data).toMatchObject(at(""));
  });

  test.each(PLACED)("%s shortens a long path in its text, and has it whole in its data", (_, make, text) => {
    const path = `${"long/".repeat(800)}x`;
    expect(make(at(path)).message).toBe(text.replaceAll("a/b", texts.pathText(path)));
    expect(make(at(path)).data).toMatchObject(at(path));
  });

  test("names the place as it is in its data, and in one line in its text", () => {
    const any = fc.string({ unit: anyCharacter, maxLength: 20 });
    fc.assert(
      fc.property(fc.constantFrom(...PLACED.map(([, make]) => make)), any, any, (make, root, path) => {
        const { message, data } = make(at(path, root));
        expect(message).not.toMatch(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u);
        expect(data).toMatchObject(at(path, root));
      }),
      { numRuns: 500 },
    );
  });

  test("has the sizes in its data", () => {
    expect(texts.contentTooLarge(at("a"), 9, 5).data).toEqual({ root: "r", path: "a", size: 9, limit: 5 });
    expect(texts.tooLargeToRead(at("a"), 9, 5, "").data).toEqual({ root: "r", path: "a", size: 9, limit: 5 });
  });

  test("says what to do when there are too many open files", () => {
    expect(texts.ioError(at("a"), "EMFILE").message).toBe(
      "I/O error EMFILE: r:a. The server has too many open files: raise its limit",
    );
    expect(texts.ioError(at("a"), "EMFILE").data).toEqual({ root: "r", path: "a", systemCode: "EMFILE" });
  });
});

describe("other errors", () => {
  const others: readonly [FileAdapterError, string, string, object][] = [
    [texts.unknownOperation("x"), "UNKNOWN_OPERATION", "Unknown file operation: x", {}],
    [texts.unknownRoot("x", ["a", "b"]), "UNKNOWN_ROOT", "Unknown root 'x'. Configured: [a, b]", { root: "x" }],
    [texts.unknownRoot("x", []), "UNKNOWN_ROOT", "Unknown root 'x'. Configured: []", { root: "x" }],
    [texts.rootDelete("r"), "ROOT_DELETE", "Refusing to delete the root itself", { root: "r", path: "" }],
    [texts.timedOut(30_000), "TIMEOUT", "Operation timed out after 30000 ms", {}],
    [texts.aborted(), "ABORTED", "Operation cancelled", {}],
    [texts.internalError("id"), "INTERNAL", "Internal error (id)", {}],
    [texts.invalidInput("m", "/p", "e"), "INVALID_INPUT", "m", { pointer: "/p", expected: "e" }],
  ];
  test.each(others)("%s", (error, code, message, data) => {
    expect({ code: error.code, message: error.message, data: error.data }).toEqual({ code, message, data });
  });
});
