import { expect, test } from "@jest/globals";
import { ContentBytes } from "../../../src/core/content-bytes.js";
import { putJson } from "../../../src/surfaces/streams/json-bytes.js";

/** The inside of a JSON string, put into one buffer after the other. */
function put(content: ContentBytes, pieceBytes: number, offset = 0): string {
  const pieces: Buffer[] = [];
  for (let from = 0; from < content.bytes.length; ) {
    const into = Buffer.alloc(offset + pieceBytes);
    const { taken, put } = putJson(content, { from, into, at: offset });
    expect(taken).toBeGreaterThan(0);
    pieces.push(into.subarray(offset, offset + put));
    from += taken;
  }
  return Buffer.concat(pieces).toString("utf8");
}

const ASCII = String.fromCharCode(...Array.from({ length: 128 }, (_, code) => code));

test.each([
  [
    "every ASCII character at every place of a word",
    Array.from({ length: 9 }, (_, n) => "x".repeat(n) + ASCII).join(""),
  ],
  ["each character before, between and behind others", [...ASCII].map((one) => `a${one}bc${one}${one}`).join("")],
  ["text of several bytes a character", "Größe – “naïve” 中文 🙂 \u2028\u2029\u007f\u0080\ufeff".repeat(40)],
  ["nothing to escape", "plain text ".repeat(100)],
  ["nothing else", '"\\\n\u0000'.repeat(100)],
])("text is escaped as JSON.stringify does: %s", (_name, text) => {
  const content = new ContentBytes(Buffer.from(text), "utf-8");
  const expected = JSON.stringify(text).slice(1, -1);
  for (const bytes of [8, 9, 11, 13, 14, 15, 23, 64, 100_000])
    for (const at of [0, 1, 3]) expect(put(content, bytes, at)).toBe(expected);
});

test("base64 is that of the whole, whatever the size of the pieces", () => {
  for (const length of [1, 2, 3, 4, 100, 1001]) {
    const bytes = Buffer.from(Array.from({ length }, (_, index) => (index * 37) & 255));
    for (const piece of [8, 10, 400, 10_000]) {
      expect(put(new ContentBytes(bytes, "base64"), piece)).toBe(bytes.toString("base64"));
    }
  }
});
