import { describe, expect, test } from "@jest/globals";
import { cleanOutput } from "../../../src/profiles/everruns/bash.js";

const clean = (text: string, most = 1000) => cleanOutput(Buffer.from(text), most);

describe("output of a command", () => {
  test.each([
    ["plain\nlines\n", "plain\nlines\n"],
    ["\u001b[1;31mred\u001b[0m \u001b[2K\u001b[?25lx", "red x"],
    ["\u001b]0;title\u0007a\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\", "alink"],
    ["\u001b(Ba\u001b7b\u001bMc", "abc"],
    ["a\u001b", "a"],
    ["a\u001b[", "a"],
    ["\u001b]never ends", ""],
    ["10%\r50%\r100%\ndone\n", "100%\ndone\n"],
    ["10%\r50%\r", "50%"],
    ["windows\r\nlines\r\n", "windows\nlines\n"],
    ["a\r\r\nb", "a\nb"],
  ])("%j is read as %j", (text, expected) => {
    expect(clean(text)).toBe(expected);
  });

  test("is cut in its middle, with a fifth of its room before the marker", () => {
    const text = `${"a".repeat(500)}${"m".repeat(4000)}${"z".repeat(900)}`;
    expect(clean(text, 1000)).toBe(`${"a".repeat(200)}\n... [4400 bytes left out] ...\n${"z".repeat(800)}`);
    expect(clean(text, text.length)).toBe(text);
  });

  test("keeps characters whole where it is cut", () => {
    for (let extra = 0; extra < 4; extra++) {
      const cut = clean(`${"x".repeat(extra)}${"😀".repeat(1000)}`, 1000);
      expect(cut).not.toContain("\ufffd");
      const [head = "", left = "", tail = ""] = cut.split(/\n\.\.\. \[(\d+) bytes left out\] \.\.\.\n/);
      expect(Buffer.byteLength(head)).toBeLessThanOrEqual(200);
      expect(Buffer.byteLength(tail)).toBeLessThanOrEqual(800);
      expect(Buffer.byteLength(head) + Number(left) + Buffer.byteLength(tail)).toBe(4000 + extra);
    }
  });

  test("bytes that are no text are shown as such", () => {
    expect(cleanOutput(Buffer.from([0x61, 0xff, 0x62]), 100)).toBe("a\ufffdb");
  });
});
