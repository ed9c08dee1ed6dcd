import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { brokenBytes, brokenLength, brokenText } from "../../../src/ops/content/broken-text.js";
import { useGround } from "../ground.js";

const latin1 = (text: string): Buffer => Buffer.from(text, "latin1");

test("bytes that are partly UTF-8 become a text and come back", () => {
  const pieces = fc.constantFrom<readonly number[]>(
    ...[[0x41], [0x0a], [0xe9], [0xff], [0x80], [0xc3, 0xa9], [0xe2, 0x82, 0xac], [0xf0, 0x9f, 0x98, 0x80]],
    ...[
      [0xe2, 0x82],
      [0xed, 0xa0, 0x80],
      [0xc0, 0xaf],
      [0xf4, 0x90, 0x80, 0x80],
      [0xef, 0xbf, 0xbd],
      [0xf0, 0x8f],
    ],
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 12 }), (all) => {
      const bytes = Buffer.from(all.flat());
      const text = brokenText(bytes);
      expect(brokenBytes(text)).toEqual(bytes);
      expect(brokenLength(text)).toBe(bytes.length);
      // The same characters as a decoder that replaces what is none.
      const shown = text.toWellFormed().replace(/\ufffd+/g, "\ufffd");
      expect(shown).toBe(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes).replace(/\ufffd+/g, "\ufffd"));
    }),
    { numRuns: 500 },
  );
});

test("millions of bad bytes take no object each", () => {
  const text = "\udce9a".repeat(4_000_000);
  const startedMs = Date.now();
  expect(brokenBytes(text).equals(latin1("\xe9a".repeat(4_000_000)))).toBe(true);
  expect(Date.now() - startedMs).toBeLessThan(5_000);
}, 120_000);

describe("file:edit of a file in which some bytes are no UTF-8", () => {
  const ground = useGround();

  test("leaves those as they are", async () => {
    const parts = ["caf", "\xe9\xa0", "\nsecond line\n", "\xff", "last\n"];
    ground.put("f", latin1(parts.join("")));
    const output = await ground.run("edit", { path: "f", oldText: "second line", newText: "2nd" });
    expect(ground.get("f")).toEqual(latin1(parts.join("").replace("second line", "2nd")));
    expect(output).toMatchObject({ firstChangedLine: 2, size: latin1(parts.join("")).length - 8 });
    expect(output.diff).toContain(" caf\ufffd\ufffd\n-second line\n+2nd\n");
    expect(output.diff?.isWellFormed()).toBe(true);
  });

  test("finds text beyond ASCII, and adds some, where the rest is UTF-8", async () => {
    const before = Buffer.concat([Buffer.from("naïve — 😀\n"), Buffer.of(0xfe, 0x0a), Buffer.from("日本\n")]);
    ground.put("f", before);
    const edits = [
      { oldText: "日本", newText: "Ελλάδα" },
      { oldText: "😀", newText: "😁😁" },
    ];
    await ground.run("edit", { path: "f", edits });
    const after = [Buffer.from("naïve — 😁😁\n"), Buffer.of(0xfe, 0x0a), Buffer.from("Ελλάδα\n")];
    expect(ground.get("f")).toEqual(Buffer.concat(after));
  });

  test("adds nothing beyond ASCII where they may be another encoding, until that is named", async () => {
    ground.put("f", latin1("h\xf4tel\n"));
    const input = { path: "f", oldText: "tel", newText: "pital géant" };
    expect(await ground.fail("edit", input)).toMatchObject({
      code: "NOT_TEXT",
      message: "File is not valid UTF-8 text. Pass its encoding, such as latin1",
    });
    expect(ground.get("f")).toEqual(latin1("h\xf4tel\n"));
    await ground.run("edit", { ...input, encoding: "windows-1252" });
    expect(ground.get("f")).toEqual(latin1("h\xf4pital g\xe9ant\n"));
  });

  test("keeps a byte order mark and CRLF around them", async () => {
    const before = Buffer.concat([Buffer.from("\ufeffone\r\n"), latin1("tw\xf6\r\nthree\r\n")]);
    ground.put("f", before);
    await ground.run("edit", { path: "f", oldText: "one\n", newText: "1\nand a half\n" });
    expect(ground.get("f").toString("latin1")).toBe(
      before.toString("latin1").replace("one\r\n", "1\r\nand a half\r\n"),
    );
  });

  test("shows nearest lines that can be sent", async () => {
    ground.put("f", latin1("the qu\xefck brown fox\n"));
    const { code, data } = await ground.fail("edit", { path: "f", oldText: "the quack brown fox", newText: "" });
    expect(code).toBe("NO_MATCH");
    expect(JSON.stringify(data)).not.toMatch(/\\ud/i);
  });
});

describe("file:edit puts new text among the bytes of any encoding", () => {
  const ground = useGround();
  const chars = { "utf-8": "aé€😀\n", "utf-16le": "aé😀\n", latin1: "aé\n", shift_jis: "aア表\n", gb18030: "a中€\n" };
  const forms = Object.entries(chars);

  test.each(forms)("%s", async (encoding, letters) => {
    const iconv = await import("iconv-lite");
    const encode = (text: string): Buffer => iconv.encode(text, encoding);
    const part = fc.string({ unit: fc.constantFrom(...letters), maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(part, part, part, part, async (one, two, three, four) => {
        ground.put("f", encode(`${one}[1]${two}[2]${three}`));
        const edits = [
          { oldText: "[2]", newText: one },
          { oldText: "[1]", newText: four },
        ];
        const { size } = await ground.run("edit", { path: "f", edits, encoding });
        const expected = encode(`${one}${four}${two}${one}${three}`);
        expect(ground.get("f")).toEqual(expected);
        expect(size).toBe(expected.length);
      }),
      { numRuns: 60 },
    );
  });
});
