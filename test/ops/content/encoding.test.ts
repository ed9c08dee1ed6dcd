import { createRequire } from "node:module";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { codecOf, decodeText, encodeText, isEncodingName } from "../../../src/ops/content/encoding.js";

const hex = (text: string) => Buffer.from(text.replaceAll(" ", ""), "hex");

describe("the text of a file", () => {
  const files: readonly [string, string, string | undefined, object][] = [
    ["UTF-8", "61 c3a9 0d0a", undefined, { text: "aé\r\n", encoding: "utf-8", bom: false }],
    ["UTF-8 with a mark", "efbbbf 61", undefined, { text: "a", encoding: "utf-8", bom: true }],
    ["UTF-8 with two marks", "efbbbf efbbbf 61", undefined, { text: "\ufeffa", encoding: "utf-8", bom: true }],
    ["nothing", "", undefined, { text: "", encoding: "utf-8", bom: false }],
    [
      "a replacement character that is really there",
      "efbfbd",
      undefined,
      { text: "\ufffd", encoding: "utf-8", bom: false },
    ],
    ["UTF-16, little end first", "fffe 6100 0a00", undefined, { text: "a\n", encoding: "utf-16le", bom: true }],
    ["UTF-16, big end first", "feff 0061 d83d de00", undefined, { text: "a😀", encoding: "utf-16be", bom: true }],
    ["a mark and nothing else", "fffe", undefined, { text: "", encoding: "utf-16le", bom: true }],
    ["UTF-16 by name", "6100", "utf-16le", { text: "a", encoding: "utf-16le", bom: false }],
    ["UTF-16 by name, with its mark", "feff 0061", "UTF-16BE", { text: "a", encoding: "utf-16be", bom: true }],
    ["UTF-16 of whichever kind its mark says", "feff 0061", "utf-16", { text: "a", encoding: "utf-16be", bom: true }],
    ["Latin-1 by name", "61 e9 85", "latin1", { text: "aé\u0085", encoding: "latin1", bom: false }],
    ["Latin-1, whatever it looks like", "c3a9", "ISO-8859-1", { text: "Ã©", encoding: "iso-8859-1", bom: false }],
    ["Windows by name", "61 80 9f", "windows-1252", { text: "a€Ÿ", encoding: "windows-1252", bom: false }],
    ["Japanese by name", "93fa 967b 0a", "shift_jis", { text: "日本\n", encoding: "shift_jis", bom: false }],
  ];
  test.each(files)("is read and written back: %s", (_, bytes, encoding, expected) => {
    const decoded = decodeText(hex(bytes), encoding);
    expect(decoded).toEqual(expected);
    if (decoded !== undefined) expect(encodeText(decoded.text, decoded)?.equals(hex(bytes))).toBe(true);
  });

  const broken: readonly [string, string, string | undefined][] = [
    ["Latin-1 that nobody named", "61 e9", undefined],
    ["a code point cut short", "e282", undefined],
    ["a surrogate in UTF-8", "eda080", undefined],
    ["UTF-16 cut inside a unit", "fffe 61", undefined],
    ["half a surrogate pair", "fffe 3dd8", undefined],
    ["UTF-16 where UTF-8 was named", "fffe 6100", "utf-8"],
    ["UTF-16 with the mark of the other end", "feff 0061", "utf-16le"],
    ["UTF-16 without a mark, of unsaid kind", "0061", "utf-16"],
    ["a byte that the encoding has no use for", "81", "windows-1252"],
    ["another such byte, which stands for U+FFFD in the table", "9d", "windows-1252"],
    ["a character cut short", "93", "shift_jis"],
    ["more than one way to write the same", "fa4a", "shift_jis"],
  ];
  test.each(broken)("is none: %s", (_, bytes, encoding) => {
    expect(decodeText(hex(bytes), encoding)).toBeUndefined();
  });

  test("is written back only where every character has bytes", () => {
    expect(encodeText("€", { encoding: "latin1", bom: false })).toBeUndefined();
    expect(encodeText("日", { encoding: "windows-1252", bom: false })).toBeUndefined();
    expect(encodeText("\ufffd", { encoding: "windows-1252", bom: false })).toBeUndefined();
    for (const encoding of ["utf-8", "utf-16le", "utf-16be"]) {
      expect(encodeText("\ud83d", { encoding, bom: false })).toBeUndefined();
    }
    expect(encodeText("a", { encoding: "latin1", bom: true })).toBeUndefined();
  });

  test("comes back byte for byte or not at all, whatever the bytes", () => {
    const names = [undefined, "utf-16le", "utf-16be", "latin1", "windows-1252", "gb18030", "euc-jp", "koi8-r", "big5"];
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), fc.constantFrom(...names), (some, name) => {
        const bytes = Buffer.from(some);
        const decoded = decodeText(bytes, name);
        if (decoded === undefined) return;
        expect(decoded.text.isWellFormed()).toBe(true);
        expect(encodeText(decoded.text, decoded)?.equals(bytes)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("names of encodings", () => {
  test.each(["utf-8", "UTF8", "utf-16", "utf-16le", "ucs-2", "latin1", "windows-1252", "Shift_JIS", "gb18030"])(
    "are known: %s",
    (name) => expect(isEncodingName(name)).toBe(true),
  );

  test.each([
    "",
    "utf-9",
    "base64",
    "hex",
    "utf-7",
    "utf-7-imap",
    "utf-32",
    "ucs-4le",
    "cesu-8",
    "__proto__",
    "a".repeat(50),
  ])("are not for text, or not known: %j", (name) => expect(isEncodingName(name)).toBe(false));

  test("stand for encodings in which a line feed, and nothing else, is the byte 0x0a at a multiple of its length", () => {
    const iconv: typeof import("iconv-lite") = createRequire(import.meta.url)("iconv-lite");
    iconv.encodingExists("utf-8");
    const names = Object.keys((iconv as unknown as { encodings: object }).encodings).filter(isEncodingName);
    expect(names.length).toBeGreaterThan(300);
    const wrong: unknown[] = [];
    for (const name of names) {
      const codec = codecOf(Buffer.of(0xfe, 0xff), name) ?? codecOf(Buffer.alloc(0), name);
      const feed = codec?.encode("\n");
      expect([name, feed?.length, feed?.indexOf(10)]).toEqual([name, codec?.unit, codec?.bigEndian === true ? 1 : 0]);
      for (let lead = 0x80; lead < 0x100 && codec?.unit === 1; lead++) {
        const text = codec.decode(Buffer.of(lead, 10));
        if (text?.endsWith("\n") === false) wrong.push([name, lead, text]);
      }
    }
    expect(wrong).toEqual([]);
  });
});
