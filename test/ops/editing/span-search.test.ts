import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { plainText } from "../../../src/ops/content/terminators.js";
import { type Edit, EditMatcher, spansOf } from "../../../src/ops/editing/match.js";
import { occurrencesOf } from "../../../src/ops/editing/text-search.js";

describe("a text across terminators", () => {
  const LONG = "z".repeat(10_000);
  const unit = fc.constantFrom("a", "b", "\r", "\n", "\r\n", "😀");
  const text = fc.string({ unit, maxLength: 60 });
  const needle = fc.string({ unit: fc.constantFrom("a", "b", "\n"), minLength: 1, maxLength: 5 });

  test("is found where the normalised view holds it", () => {
    fc.assert(
      fc.property(text, needle, (short, what) => {
        // In a short text it is left to the view.
        const where = short + LONG;
        const view = plainText(where);
        const { count, starts } = occurrencesOf(what, view.text, 1000);
        const spans = starts.map((at) => ({ start: view.original(at), end: view.original(at + what.length) }));
        const found = spansOf(what, where, 1000);
        fc.pre(found !== undefined);
        expect(found).toEqual({ count, spans });
      }),
      { numRuns: 5000 },
    );
  });

  test("is left to the view where it has no line but empty ones, or one that is everywhere", () => {
    expect(spansOf("\n\n", "a\r\n\r\n", 10)).toBeUndefined();
    expect(spansOf(`a\n${"b\n".repeat(50)}`, "a\r\nb\n".repeat(200), 10)).toBeUndefined();
    expect(spansOf("b\na", `a\r\nb\ra${LONG}`, 10)).toEqual({ count: 1, spans: [{ start: 3, end: 6 }] });
  });
});

describe("an edit of a file with mixed line ends", () => {
  const LINES = 5000;
  const textOf = (...ends: readonly string[]): string =>
    Array.from({ length: LINES }, (_, at) => `line ${at} of a file with text in it${ends[at % ends.length]}`).join("");
  const EDITS: readonly (readonly [string, Edit])[] = [
    ["of one line", { oldText: "line 4000 of a", newText: "x", expect: 1 }],
    [
      "of several lines",
      { oldText: `line 4000 of a file with text in it\nline 4001 of a file`, newText: "x\ny", expect: 1 },
    ],
    ["of many places", { oldText: "0 of a file with text in it\n", newText: "x\n", expect: LINES / 10 }],
    ["that matches nothing", { oldText: "line 4000 of a file with text in it\nline 4002", newText: "x", expect: 1 }],
  ];

  /** Characters that are gone through or copied while something is done. */
  function charactersIn(work: () => void): number {
    const { indexOf, includes, replace, replaceAll, charCodeAt } = String.prototype;
    let count = 0;
    const end = (text: string, from: number, found: number): number => (found < 0 ? text.length : found + 1) - from;
    Object.assign(String.prototype, {
      indexOf(this: string, part: string, from = 0) {
        const found = indexOf.call(this, part, from);
        count += end(this, from, found);
        return found;
      },
      includes(this: string, part: string) {
        count += end(this, 0, indexOf.call(this, part));
        return includes.call(this, part);
      },
      replace(this: string, ...given: Parameters<typeof replace>) {
        count += 2 * this.length;
        return replace.apply(this, given);
      },
      replaceAll(this: string, ...given: Parameters<typeof replaceAll>) {
        count += 2 * this.length;
        return replaceAll.apply(this, given);
      },
      charCodeAt(this: string, at: number) {
        count++;
        return charCodeAt.call(this, at);
      },
    });
    try {
      work();
    } finally {
      Object.assign(String.prototype, { indexOf, includes, replace, replaceAll, charCodeAt });
    }
    return count;
  }

  test.each(EDITS)("%s goes through at most three times the text that one with uniform ends does", (_, edit) => {
    const work = (text: string): number => charactersIn(() => void new EditMatcher(text).match(edit));
    const uniform = work(textOf("\n"));
    expect(uniform).toBeGreaterThan(textOf("\n").length);
    expect(work(textOf("\n", "\r\n")) / uniform).toBeLessThan(3);
    expect(work(textOf("\r\n", "\n", "\r", "\n")) / uniform).toBeLessThan(3);
  });
});
