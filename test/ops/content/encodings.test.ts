import { symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { codecOf, decodeText, encodeText, isEncodingName } from "../../../src/ops/content/encoding.js";
import { linesAt, plainText, terminatorsIn, withTerminator } from "../../../src/ops/content/terminators.js";
import { useBed } from "../../profiles/everruns/bed.js";
import { failure, useGround } from "../ground.js";
import { etagOfContent } from "./etags.js";

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

const MARKED = hex("fffe 6100 e900 0a00");

describe("file:read in another encoding", () => {
  const ground = useGround({ roots: { old: { temp: true, encoding: "latin1" } } });

  test("knows UTF-16 by its mark, and keeps the mark", async () => {
    ground.put("file", MARKED);
    const etag = etagOfContent(MARKED);
    expect(await ground.run("read", { path: "file" })).toEqual({
      ...{ content: "\ufeffaé\n", encoding: "utf-16le", size: 8, mime: "text/plain", etag },
    });
    expect(await ground.run("read", { path: "file", offset: 2, length: 3 })).toMatchObject({
      ...{ content: "a", encoding: "utf-16le", offset: 2, length: 2, nextOffset: 4 },
    });
    expect(await ground.run("read", { path: "file", offset: 3 })).toMatchObject({ content: "é\n", offset: 4 });
    ground.put("a.json", hex("feff 007b 007d"));
    expect(await ground.run("read", { path: "a.json", mode: "json" })).toMatchObject({ value: {} });
  });

  test("takes a name at its word", async () => {
    ground.put("file", hex("c3a9 80"));
    expect(await ground.run("read", { path: "file" })).toMatchObject({ encoding: "base64" });
    expect(await ground.run("read", { path: "file", encoding: "latin1" })).toMatchObject({ content: "Ã©\u0080" });
    expect(await ground.run("read", { path: "file", encoding: "Windows-1252" })).toMatchObject({
      ...{ content: "Ã©€", encoding: "windows-1252" },
    });
    ground.put("file", MARKED);
    expect(await ground.run("read", { path: "file", encoding: "utf-8" })).toMatchObject({ encoding: "base64" });
  });

  test("never shows what is not there", async () => {
    ground.put("file", hex("61 81"));
    const input = { path: "file", encoding: "windows-1252" };
    expect(await ground.run("read", input)).toMatchObject({ content: "YYE=", encoding: "base64" });
    expect(await ground.fail("read", { ...input, mode: "text" })).toEqual(
      failure(
        "NOT_TEXT",
        "File is not valid windows-1252 text. Pass its encoding, such as latin1, or mode: bytes",
        "file",
      ),
    );
    ground.put("file", Buffer.from(`a${"\0"}b`, "utf16le"));
    expect(await ground.run("read", { path: "file", encoding: "utf-16le" })).toMatchObject({ encoding: "base64" });
    expect(await ground.run("read", { path: "file", encoding: "utf-16le", mode: "text" })).toMatchObject({
      content: "a\0b",
    });
  });

  test("starts with a whole character, wherever a range starts", async () => {
    ground.put("file", Buffer.concat([Buffer.alloc(1000, "x "), hex("93fa 967b 93fa 0a"), Buffer.from("end")]));
    const input = { path: "file", encoding: "shift_jis" };
    expect(await ground.run("read", { ...input, offset: 1001, length: 4 })).toMatchObject({
      content: "本",
      offset: 1002,
    });
    expect(await ground.run("read", { ...input, offset: 1003, length: 1 })).toMatchObject({
      content: "日",
      offset: 1004,
    });
  });

  test("is that of its root unless another is named", async () => {
    const place = { root: "old", path: "file" };
    await ground.adapter.invoke("file:write", { ...place, bytes: "6Qo=" });
    const encodingOf = async (more: object) => {
      const { content, encoding } = await ground.adapter.invoke("file:read", { ...place, ...more });
      return [content, encoding];
    };
    expect(await encodingOf({})).toEqual(["é\n", "latin1"]);
    expect(await encodingOf({ line: 1 })).toEqual(["é\n", "latin1"]);
    expect(await encodingOf({ encoding: "utf-8" })).toEqual(["6Qo=", "base64"]);
  });
});

describe("encodings that are written", () => {
  const hex = (bytes: Buffer): string => bytes.toString("hex");
  const utf16le = (text: string): Buffer => Buffer.from(`\ufeff${text}`, "utf16le");
  const utf16be = (text: string): Buffer => utf16le(text).swap16();
  const writer = { caps: [{ with: "file://r/", can: "crud/write" }] };
  const noWay = (encoding: string) =>
    failure(
      "NOT_TEXT",
      `The file's encoding, ${encoding}, has no way to write the new text. Use characters it has, or write bytes (base64)`,
      "file",
    );

  describe("text that is written to a root with an encoding", () => {
    const ground = useGround({ root: { encoding: "latin1" }, limits: { maxWriteBytes: 8 } });
    const bytes = (): string => hex(ground.get("file"));

    test("has it, and reads back as it was given", async () => {
      expect(await ground.run("write", { path: "file", content: "é\n" })).toMatchObject({ written: 2 });
      expect(await ground.run("append", { path: "file", content: "ü\n" })).toMatchObject({ appended: 2, size: 4 });
      expect(bytes()).toBe("e90afc0a");
      expect(await ground.run("read", { path: "file" })).toMatchObject({ content: "é\nü\n" });
      await ground.run("write", { path: "file", value: ["é"] });
      expect(await ground.run("read", { path: "file", mode: "json" })).toMatchObject({ value: ["é"] });
      await ground.run("patch", { patch: "*** Begin Patch\n*** Add File: new\n+é\n*** End Patch\n" });
      expect(hex(ground.get("new"))).toBe("e90a");
    });

    test("is refused where it has no way to write it, and nothing is changed", async () => {
      ground.put("file", "old");
      for (const name of ["write", "append"]) {
        expect(await ground.fail(name, { path: "file", content: "日本" })).toEqual(noWay("latin1"));
        expect(await ground.fail(name, { path: "file", value: "日本" })).toEqual(noWay("latin1"));
        expect(await ground.fail(name, { path: "file", content: "\ud800" })).toMatchObject({ code: "INVALID_INPUT" });
      }
      expect(ground.get("file").toString()).toBe("old");
    });

    test("is measured by its bytes; base64 stays as it is", async () => {
      await ground.run("write", { path: "file", content: "éééééééé" });
      expect(await ground.fail("write", { path: "file", content: "ééééééééé" })).toMatchObject({ code: "TOO_LARGE" });
      expect(bytes()).toBe("e9".repeat(8));
      await ground.run("write", { path: "file", bytes: "w6k=" });
      expect(bytes()).toBe("c3a9");
    });
  });

  describe("text that is written to a root in UTF-16", () => {
    const ground = useGround({ root: { encoding: "utf-16" }, roots: { be: { temp: true, encoding: "utf-16be" } } });

    test("starts with a mark where its order would not be known without one", async () => {
      for (const content of ["é", "\ufeffé"]) {
        await ground.run("write", { path: "file", content });
        await ground.run("append", { path: "file", content: "!" });
        expect(ground.get("file")).toEqual(utf16le("é!"));
      }
      const place = { root: "be", path: "file" };
      await ground.adapter.invoke("file:write", { ...place, content: "é" });
      expect(await ground.adapter.invoke("file:append", { ...place, content: "!" })).toMatchObject({ size: 4 });
      expect(await ground.adapter.invoke("file:read", { ...place })).toMatchObject({ content: "é!" });
    });

    test("is not added to a file that is none", async () => {
      ground.put("file", "ab");
      expect(await ground.fail("append", { path: "file", content: "c" })).toEqual(
        failure("NOT_TEXT", "File is not valid utf-16 text. Pass its encoding, or add bytes (base64)", "file"),
      );
      expect(ground.get("file").toString()).toBe("ab");
    });
  });

  describe("text that is added to a file with a byte order mark", () => {
    const ground = useGround({ limits: { maxWriteBytes: 12 } });

    test("goes on in its encoding, also where the append is repeated or has a condition", async () => {
      for (const encode of [utf16le, utf16be]) {
        ground.put("file", encode("é\n"));
        expect(await ground.run("append", { path: "file", content: "ende\n" })).toMatchObject({
          appended: 10,
          size: 16,
        });
        expect(ground.get("file")).toEqual(encode("é\nende\n"));
        const again = { path: "file", content: "ende\n", expectedSize: 6 };
        expect(await ground.run("append", again)).toMatchObject({ appended: 0, alreadyApplied: true, size: 16 });
        const { etag = "" } = await ground.run("read", { path: "file" });
        expect(await ground.run("append", { path: "file", value: 1, ifMatch: etag })).toMatchObject({ appended: 2 });
        expect(await ground.run("read", { path: "file" })).toMatchObject({ content: "\ufeffé\nende\n1" });
      }
    });

    test("has the limit of its bytes", async () => {
      ground.put("file", utf16le("é"));
      expect(await ground.fail("append", { path: "file", content: "1234567" })).toMatchObject({ code: "TOO_LARGE" });
      expect(ground.get("file")).toEqual(utf16le("é"));
    });

    test("is refused if the file ends inside a character; bytes are not", async () => {
      ground.put("file", utf16le("é").subarray(0, 3));
      expect(await ground.fail("append", { path: "file", content: "x" })).toMatchObject({
        code: "NOT_TEXT",
        message: "File is not valid utf-16le text. Pass its encoding, or add bytes (base64)",
      });
      expect(await ground.run("append", { path: "file", bytes: "AA==" })).toMatchObject({ appended: 1, size: 4 });
      expect(ground.get("file")).toEqual(utf16le("é"));
    });

    test("tells a caller that may not read nothing of what the file holds", async () => {
      const answers = [];
      for (const before of [utf16le("é"), utf16le("é").subarray(0, 3), Buffer.from("text"), Buffer.from("abc")]) {
        ground.put("file", before);
        const answer = await ground.run("append", { path: "file", content: "ende\n" }, writer);
        answers.push({ ...answer, size: answer.size - before.length });
      }
      expect(new Set(answers.map((one) => JSON.stringify(one)))).toEqual(
        new Set([JSON.stringify({ appended: 5, created: false, size: 5 })]),
      );
    });
  });

  describe("text that is added to a file with a byte order mark on a drive", () => {
    const bed = useBed({ kind: "drive" });

    test("goes on in its encoding", async () => {
      const call = (name: string, input: object) =>
        bed.adapter.invoke(`file:${name}`, { root: "r", path: "file", ...input }, bed.context);
      await call("write", { bytes: utf16be("é\n").toString("base64") });
      expect(await call("append", { content: "e\n" })).toMatchObject({ appended: 4, size: 10 });
      expect(await call("append", { content: "e\n", expectedSize: 6 })).toMatchObject({ alreadyApplied: true });
      expect(await call("read", {})).toMatchObject({ content: "\ufeffé\ne\n", encoding: "utf-16be" });
    });
  });

  describe("text for a file in another encoding", () => {
    const ground = useGround({ limits: { maxWriteBytes: 4_000_000 } });
    const windows = Buffer.from("na\xefve \x80 1\n", "latin1");
    const refused = (encoding: string) =>
      failure("NOT_TEXT", `File is not valid UTF-8 text. Pass its encoding, such as ${encoding}`, "file", {
        next: { option: "encoding" },
      });

    test("is not put behind it in UTF-8, and is in the encoding that is named", async () => {
      ground.put("file", windows);
      expect(await ground.fail("append", { path: "file", content: "é\n" })).toEqual(refused("latin1"));
      expect(await ground.fail("append", { path: "file", value: "é" })).toEqual(refused("latin1"));
      await ground.run("append", { path: "file", content: "é €\n", encoding: "windows-1252" });
      await ground.run("append", { path: "file", content: "ascii\n" });
      expect(ground.get("file")).toEqual(Buffer.concat([windows, Buffer.from("\xe9 \x80\nascii\n", "latin1")]));
      expect(await ground.fail("append", { path: "file", content: "日", encoding: "latin1" })).toEqual(noWay("latin1"));
      expect(await ground.fail("append", { path: "file", content: "x", encoding: "nothing" })).toMatchObject({
        code: "INVALID_INPUT",
      });
    });

    test("is not put behind UTF-16 without a mark, and is where that is named", async () => {
      for (const encoding of ["utf-16le", "utf-16be"] as const) {
        const encode = (text: string) => (encoding === "utf-16le" ? utf16le(text) : utf16be(text)).subarray(2);
        ground.put("file", encode("log\n"));
        expect(await ground.fail("append", { path: "file", content: "x" })).toEqual(refused("utf-16le"));
        await ground.run("append", { path: "file", content: "x é", encoding });
        expect(ground.get("file")).toEqual(encode("log\nx é"));
      }
    });

    test("goes behind UTF-8 of any length, also where some of it is damaged", async () => {
      const wide = Buffer.from("日本語\n".repeat(120_000));
      for (const before of [wide, Buffer.concat([Buffer.of(0xff), wide]), wide.subarray(0, -2), Buffer.alloc(0)]) {
        ground.put("file", before);
        await ground.run("append", { path: "file", content: "é" });
        expect(ground.get("file")).toEqual(Buffer.concat([before, Buffer.from("é")]));
      }
      ground.put("file", Buffer.concat([Buffer.from("x".repeat(2_000_000)), Buffer.of(0xe9)]));
      expect(await ground.fail("append", { path: "file", content: "é" })).toEqual(refused("latin1"));
    });

    test("that takes its place says so", async () => {
      const hint = (was: string) => `The file was ${was} and is utf-8 now. Pass encoding to keep it`;
      ground.put("file", windows);
      const other = await ground.run("write", { path: "file", content: "naïve 2\n" });
      expect(other).toMatchObject({ written: 9, hint: hint("in another encoding (latin1?)") });
      for (const encode of [utf16le, utf16be]) {
        ground.put("file", encode("a"));
        const name = encode === utf16le ? "utf-16le" : "utf-16be";
        expect((await ground.run("write", { path: "file", value: ["b"] })).hint).toBe(hint(name));
      }
    });

    test("says nothing where nothing of the kind happens", async () => {
      const told = async (before: Buffer | undefined, input: object, context?: object) => {
        if (before !== undefined) ground.put("file", before);
        const { hint } = await ground.run("write", { path: "file", content: "é", ...input }, context);
        return hint;
      };
      expect(await told(undefined, {})).toBeUndefined();
      expect(await told(Buffer.from("é"), {})).toBeUndefined();
      expect(await told(Buffer.from("e"), {})).toBeUndefined();
      expect(await told(windows, { content: "e" })).toBeUndefined();
      expect(await told(windows, { encoding: "windows-1252", content: "€" })).toBeUndefined();
      expect(bytesOf()).toBe("80");
      expect(await told(Buffer.of(0, 0xff, 0x80), {})).toBeUndefined();
      expect(await told(windows, { content: undefined, bytes: "w6k=" })).toBeUndefined();
      expect(await told(windows, {}, writer)).toBeUndefined();
    });

    const bytesOf = (): string => hex(ground.get("file"));
  });

  const links = useGround();
  test("what a link leads to is told of to those alone who may read it there", async () => {
    const caps = [
      { with: "file://r/", can: "crud/write" },
      { with: "file://r/open/", can: "crud/read" },
    ];
    for (const name of ["write", "append"] as const) {
      links.put("secret/f", Buffer.from("caf\xe9\n", "latin1"));
      links.put("open/keep", "");
      symlinkSync("../secret/f", join(links.dir, `open/${name}`));
      const input = { path: `open/${name}`, content: "é\n" };
      expect(Object.keys(await links.run(name, input, { caps }))).not.toContain("hint");
      expect(links.get("secret/f").toString().endsWith("é\n")).toBe(true);
    }
  });
});

describe("terminators of a text", () => {
  test.each([
    ["", []],
    ["a", []],
    ["a\nb\n", ["\n"]],
    ["a\r\nb\r\n", ["\r\n"]],
    ["a\rb\r", ["\r"]],
    ["a\r\nb\r\nc\n", ["\r\n", "\n"]],
    ["\r\r\n", ["\r", "\r\n"]],
    ["a\r\nb\n", ["\r\n", "\n"]],
    ["a\r\nb\r\nc\n\nd\r", ["\r\n", "\n", "\r"]],
    ["\n\r", ["\n", "\r"]],
    ["a\r\nb\rc\r", ["\r", "\r\n"]],
  ])("%j are %j, the most frequent first, then the first", (text, expected) => {
    expect(terminatorsIn(text)).toEqual(expected);
  });

  test("become one", () => {
    expect(withTerminator("\r\n", "a\nb\rc\r\nd")).toBe("a\r\nb\r\nc\r\nd");
    expect(withTerminator("\r", "\n\r\n\r")).toBe("\r\r\r");
  });
});

describe("the newline-normalised view", () => {
  const anyText = fc.string({ unit: fc.constantFrom("a", "\r", "\n", "\r\n", "😀"), maxLength: 40 });

  test("leads back to the original from everywhere", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const plain = plainText(text);
        expect(plain.text).toBe(withTerminator("\n", text));
        let at = 0;
        for (let index = 0; index <= plain.text.length; index++) {
          expect(plain.original(index)).toBe(at);
          at += text.startsWith("\r\n", at) ? 2 : 1;
        }
      }),
    );
  });

  test("lines are counted as a read of lines does", () => {
    fc.assert(
      fc.property(anyText, fc.array(fc.nat()), (text, seeds) => {
        const positions = seeds.map((seed) => seed % (text.length + 1)).toSorted((left, right) => left - right);
        expect(linesAt(positions, text)).toEqual(positions.map((one) => text.slice(0, one).split("\n").length));
      }),
    );
  });
});
