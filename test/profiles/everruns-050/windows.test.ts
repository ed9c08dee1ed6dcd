import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  clip,
  countLines,
  type LineWindow,
  MAX_WINDOW_BYTES,
  windowOf,
} from "../../../src/profiles/everruns/windows.js";

const front = (text: string, offset = 0, limit = 2000): LineWindow =>
  windowOf(text, { offset, limit, repeatsFirst: false, size: Buffer.byteLength(text) });
const tail = (text: string, limit: number): LineWindow =>
  windowOf(text, { offset: undefined, limit, repeatsFirst: false, size: Buffer.byteLength(text) });
const lines = (count: number, text = (line: number) => `line ${line}`): string =>
  Array.from({ length: count }, (_, index) => `${text(index + 1)}\n`).join("");

describe("a window", () => {
  test.each([
    ["", 0, 2000, "", 0, 0, 0],
    ["a", 0, 2000, "1|a", 1, 1, 1],
    ["a\n", 0, 2000, "1|a", 1, 1, 1],
    ["\n", 0, 2000, "1|", 1, 1, 1],
    ["a\r\nb\rc\r\n", 0, 2000, "1|a\n2|b\rc", 1, 2, 2],
    ["a\r", 0, 2000, "1|a\r", 1, 1, 1],
    ["a\nb\nc\n", 1, 2000, "2|b\n3|c", 2, 3, 3],
    ["a\nb\nc\n", 3, 2000, "", 0, 0, 3],
    ["a\nb\nc\n", 99, 2000, "", 0, 0, 3],
    ["\ufeffé\n\n€", 0, 2000, "1|\ufeffé\n2|\n3|€", 1, 3, 3],
  ])("of %j from %d, %d lines, is %j", (text, offset, limit, content, start, end, totalLines) => {
    expect(front(text, offset, limit)).toEqual({
      ...{ content, bytes: Buffer.byteLength(content), start, end, totalLines },
    });
  });

  test("is cut by its limit, and tells where to go on", () => {
    expect(front(lines(5), 1, 2)).toMatchObject({ content: "2|line 2\n3|line 3", cut: "line_cap", next: 3, end: 3 });
    expect(front(lines(5), 3, 2)).toHaveProperty("cut", undefined);
  });

  test("is cut by its bytes at the end of a line, which no next window repeats", () => {
    const text = lines(2000, (line) => `${line} ${"é".repeat(40)}`);
    const { content, bytes, end, cut, next } = front(text);
    expect([cut, next]).toEqual(["size_cap", end]);
    expect(bytes).toBe(Buffer.byteLength(content));
    expect(bytes).toBeLessThanOrEqual(MAX_WINDOW_BYTES);
    expect(bytes).toBeGreaterThan(MAX_WINDOW_BYTES - 200);
    expect(content.split("\n")).toHaveLength(end);
    expect(content.endsWith("é")).toBe(true);
  });

  test("ends inside a line where much room is left, at a character", () => {
    const long = "€".repeat(30_000);
    const one = front(long);
    expect(one).toMatchObject({ start: 1, end: 1, cut: "size_cap" });
    expect(one).toHaveProperty("next", undefined);
    expect(one.content).toBe(`1|${"€".repeat(Math.floor((MAX_WINDOW_BYTES - 2) / 3))}`);
    // The line is read again from its start, unless the window begins with it.
    expect(front(`a\n${long}\nb\n`)).toMatchObject({ start: 1, end: 2, cut: "size_cap", next: 1 });
    expect(front(`a\n${long}\nb\n`, 1)).toMatchObject({ start: 2, end: 2, cut: "size_cap", next: 2 });
    expect(front(`a\n${long}\n`)).toHaveProperty("next", undefined);
    expect(front(`a\n${long}\nb\n`, 0, 2)).toHaveProperty("next", undefined);
  });

  test("of the end has the last lines that fit", () => {
    expect(tail(lines(5), 2)).toEqual({ content: "4|line 4\n5|line 5", bytes: 17, start: 4, end: 5, totalLines: 5 });
    expect(tail("a\n\nb", 2)).toMatchObject({ content: "2|\n3|b" });
    expect(tail(lines(3), 500)).toMatchObject({ start: 1, end: 3 });
    expect(tail("", 500)).toMatchObject({ content: "", start: 0, end: 0 });
    const { start, end, bytes, cut, next } = tail(
      lines(500, () => "x".repeat(1000)),
      500,
    );
    expect([end, cut, next]).toEqual([500, "size_cap", undefined]);
    expect(start).toBeGreaterThan(440);
    expect(bytes).toBeGreaterThan(MAX_WINDOW_BYTES - 1100);
    expect(tail(`a\n${"x".repeat(60_000)}`, 500)).toMatchObject({ start: 2, end: 2, cut: "size_cap" });
  });

  test("can repeat the first line", () => {
    const table = (text: string, offset: number) =>
      windowOf(text, { offset, limit: 2, repeatsFirst: true, size: Buffer.byteLength(text) });
    expect(table("h\na\nb\nc\n", 2)).toMatchObject({ content: "1|h\n3|b\n4|c", start: 3, end: 4 });
    expect(table("h\r\na\nb\n", 1)).toMatchObject({ content: "1|h\n2|a\n3|b" });
    expect(table("h\na\nb\n", 0)).toMatchObject({ content: "1|h\n2|a" });
    expect(table("h\na\n", 2)).toMatchObject({ content: "" });
    const wide = table(`${"é".repeat(40_000)}\na\nb\n`, 1);
    expect(wide).toMatchObject({ start: 2, end: 3 });
    expect(wide.bytes).toBeLessThanOrEqual(MAX_WINDOW_BYTES);
    expect(wide.content.endsWith("\n2|a\n3|b")).toBe(true);
  });
});

test("windows one after the other give every line once", () => {
  const short = fc.string({ unit: fc.constantFrom("a", "é", "€", "😀", "\r"), maxLength: 8 });
  const line = fc.oneof(short, fc.constantFrom("x".repeat(3000), "€".repeat(9000)));
  fc.assert(
    fc.property(fc.array(line, { maxLength: 60 }), fc.integer({ min: 1, max: 40 }), (given, limit) => {
      const text = given.map((one) => one.replace(/\r+$/, "")).join("\n");
      const expected = text === "" ? [] : text.replace(/\n$/, "").split("\n");
      const seen: string[] = [];
      for (let offset: number | undefined = 0; offset !== undefined; ) {
        const { content, bytes, start, end, cut, next, totalLines }: LineWindow = front(text, offset, limit);
        expect([totalLines, bytes]).toEqual([expected.length, Buffer.byteLength(content)]);
        expect(bytes).toBeLessThanOrEqual(MAX_WINDOW_BYTES);
        for (const shown of content === "" ? [] : content.split("\n")) {
          const at = shown.indexOf("|");
          seen[Number(shown.slice(0, at)) - 1] = shown.slice(at + 1);
        }
        // No call goes on where the last line of a window is cut: it is read alone.
        const again: number | undefined = cut === "size_cap" && next === undefined && start < end ? end - 1 : undefined;
        if (next !== undefined) expect(next).toBeGreaterThan(offset);
        offset = next ?? again;
      }
      expect(countLines(text, 0)).toBe(seen.length);
      // Compared by a flag: a failure would show kilobytes.
      expect(seen.every((one, at) => one === expected[at])).toBe(true);
    }),
    { numRuns: 200 },
  );
});

test("a text is clipped at a character", () => {
  expect([clip("aé", 3), clip("aé", 2), clip("😀", 3), clip("x", 0), clip("x", -1)]).toEqual(["aé", "a", "", "", ""]);
});
