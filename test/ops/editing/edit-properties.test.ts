import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { etagOf } from "../../../src/core/etag.js";
import { mayCancelOut } from "../../../src/ops/editing/plan.js";
import { dispatchOn } from "../../dispatch/fake.js";
import { failureOf } from "../ground.js";
import { sha256Of } from "./edit-fixture.js";

interface Edit {
  readonly oldText: string;
  readonly newText: string;
  readonly expect: number;
}

/** The plain way: every place looked at, everything copied. @returns the new text, or the code of the failure */
function naive(text: string, edits: readonly Edit[]): { text: string } | { code: string } {
  const taken: { start: number; end: number; newText: string }[] = [];
  for (const { oldText, newText, expect: expected } of edits) {
    const starts = [...text].flatMap((_, at) => (text.slice(at).startsWith(oldText) ? [at] : []));
    if (starts.length === 0) return { code: "NO_MATCH" };
    if (starts.length !== expected) return { code: "AMBIGUOUS_MATCH" };
    for (const start of starts) taken.push({ start, end: start + oldText.length, newText });
  }
  const clash = taken.some((one) => taken.some((two) => one !== two && one.start < two.end && two.start < one.end));
  if (clash) return { code: "OVERLAPPING_EDITS" };
  let after = text;
  for (const { start, end, newText } of taken.toSorted((left, right) => right.start - left.start)) {
    after = after.slice(0, start) + newText + after.slice(end);
  }
  return { text: after };
}

const part = (maxLength: number, minLength = 0) =>
  fc.string({ unit: fc.constantFrom("a", "b", "ä", "\n"), minLength, maxLength });

/** A text and edits, most of which match. */
const cases = part(40).chain((text) => {
  const slice = fc
    .tuple(fc.nat({ max: text.length }), fc.integer({ min: 1, max: 12 }))
    .map(([start, length]) => text.slice(start, start + length) || "a");
  const oldText = fc.oneof({ weight: 5, arbitrary: slice }, { weight: 1, arbitrary: part(3, 1) });
  const edit = fc.record({ oldText, newText: part(6), expect: fc.constantFrom(1, 1, 1, 2, 3) });
  return fc.tuple(fc.constant(text), fc.array(edit, { minLength: 1, maxLength: 4 }));
});

describe("file:edit does what the plain way does", () => {
  test.each(["\n", "\r\n", "\r"])("with lines that end in %j", async (terminator) => {
    const { call, internal } = dispatchOn();
    const written = (text: string) => text.replaceAll("\n", terminator);
    await fc.assert(
      fc.asyncProperty(cases, async ([text, edits]) => {
        const content = written(text);
        await call("write", { content });
        const expected = naive(text, edits);
        const edited = call("edit", { edits });
        if ("code" in expected) expect((await failureOf(edited)).code).toBe(expected.code);
        else {
          const after = written(expected.text);
          // A text without lines has no line ending that others could be taken to have.
          const exact = text.includes("\n") ? after : expected.text;
          expect(await edited).toMatchObject({
            etag: etagOf(sha256Of(exact)),
            previousEtag: etagOf(sha256Of(content)),
          });
          expect(await call("read")).toMatchObject({ content: exact });
        }
      }),
      { numRuns: 400 },
    );
    expect(internal).toEqual([]);
  });
});

/** A text, and two edits of neighbouring parts that put the same characters there again, cut in another place. */
const recut = fc
  .string({ unit: fc.constantFrom("a", "b", "c", "\n", "\r", "\r\n", "\ufeff"), minLength: 2, maxLength: 12 })
  .chain((text) => fc.tuple(fc.constant(text), fc.array(fc.nat({ max: text.length }), { minLength: 4, maxLength: 4 })))
  .map(([text, cuts]) => {
    const [start, one, two, end] = cuts.toSorted((left, right) => left - right) as [number, number, number, number];
    const cut = (at: number) => [text.slice(start, at), text.slice(at, end)] as const;
    const [olds, news] = [cut(one), cut(two)];
    const edits = olds.map((oldText, index) => ({ oldText, newText: news[index] ?? "", expect: 1 }));
    return [text, edits.filter(({ oldText }) => oldText !== "")] as const;
  })
  .filter(([, edits]) => edits.length > 0);

test("edits that leave a text as it is are known as such without it", async () => {
  const { call, internal } = dispatchOn();
  let unchanged = 0;
  await fc.assert(
    fc.asyncProperty(recut, async ([content, edits]) => {
      await call("write", { content });
      const answer = await call("edit", { edits }).catch(() => ({}));
      const { etag, previousEtag } = answer as { etag?: string; previousEtag?: string };
      if (etag === undefined || etag !== previousEtag) return;
      unchanged++;
      expect(mayCancelOut(edits)).toBe(true);
    }),
    { numRuns: 1000 },
  );
  expect(unchanged).toBeGreaterThan(100);
  expect(internal).toEqual([]);
});
