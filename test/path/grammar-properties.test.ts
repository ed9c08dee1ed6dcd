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
import { answer } from "./answer.js";

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
