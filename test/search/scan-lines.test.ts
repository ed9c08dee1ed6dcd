import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { RE2JS } from "re2js";
import type { FoundLine, LineQuery, Scan, ScanJob } from "../../src/core/call/scan.js";
import { compileExpression } from "../../src/search/scan-expression.js";
import { type LineMatcher, literalMatcher, scanLines } from "../../src/search/scan-lines.js";

const JOB: Omit<ScanJob, "bytes"> = {
  ...{ afterLine: 0, most: 1000, mostChars: 1e9, before: 0, after: 0, firstOnly: false },
};

function compiled(query: LineQuery): LineMatcher {
  const matcher = compileExpression(query);
  if ("reason" in matcher) throw new Error(matcher.reason);
  return matcher;
}

function scan(text: string, matcher: LineMatcher, job: Partial<ScanJob> = {}): Exclude<Scan, "binary"> {
  const made = scanLines({ ...JOB, bytes: Buffer.from(text), ...job }, matcher);
  if (made === "binary") throw new Error("not text");
  if ("count" in made) return made;
  for (;;) {
    const { done, value } = made.next();
    if (done === true && value !== "binary") return value;
  }
}

/** Lines as one would cut them who has time. */
function linesOf(text: string): string[] {
  const all = text.replace(/^\ufeff/, "").split("\n");
  const last = all.pop() ?? "";
  return [...all.map((line) => line.replace(/\r$/, "")), ...(last === "" ? [] : [last])];
}

/** What is to be found, line by line. */
function expected(text: string, isMatch: (line: string) => boolean, job: Omit<ScanJob, "bytes">) {
  const lines = linesOf(text);
  const hits = lines.flatMap((line, at) => (at + 1 > job.afterLine && isMatch(line) ? [at + 1] : []));
  const shown = new Set(Array.from({ length: job.afterLine === 0 ? 0 : job.afterLine + job.after }, (_, at) => at + 1));
  const told = hits.slice(0, job.most).map((line, index): FoundLine => {
    const before: string[] = [];
    for (let at = Math.max(1, line - job.before); at < line; at++) if (!shown.has(at)) before.push(lines[at - 1] ?? "");
    const after: string[] = [];
    const until = Math.min(hits[index + 1] ?? Number.POSITIVE_INFINITY, line + job.after + 1, lines.length + 1);
    for (let at = line + 1; at < until; at++) after.push(lines[at - 1] ?? "");
    for (let at = 1; at < line + 1 + after.length; at++) shown.add(at);
    return {
      ...{ line, text: lines[line - 1] ?? "" },
      ...(before.length === 0 ? {} : { before }),
      ...(after.length === 0 ? {} : { after }),
    };
  });
  return { count: hits.length, lines: told };
}

const CHARS = ["a", "b", "A", "B", "k", "\u212a", "s", "\u017f", "ß", "K", "0", "_", " ", "-", "\r", "\ufeff", "😀"];
const anyLine = fc.string({ unit: fc.constantFrom(...CHARS), maxLength: 6 });
const anyEnd = fc.constantFrom("\n", "\n", "\r\n", "\n\n");
/** Sometimes long enough to be looked at in blocks. */
const anyText = fc
  .tuple(
    fc.constantFrom("", "", "\ufeff"),
    fc.array(fc.tuple(anyLine, anyEnd), { maxLength: 12 }),
    fc.constantFrom(0, 0, 3000, 9000),
    fc.array(fc.tuple(anyLine, anyEnd), { maxLength: 6 }),
    anyLine,
  )
  .map(([bom, head, filler, tail, last]) => {
    const text = (lines: typeof head) => lines.flat().join("");
    return `${bom}${text(head)}${`${"z".repeat(299)}\n`.repeat(filler / 300)}${text(tail)}${last}`;
  });
const anyJob = fc.record({
  afterLine: fc.constantFrom(0, 0, 0, 1, 3, 12),
  most: fc.constantFrom(1, 2, 1000),
  mostChars: fc.constant(1e9),
  before: fc.constantFrom(0, 0, 1, 3),
  after: fc.constantFrom(0, 0, 1, 3),
  firstOnly: fc.constant(false),
});

describe("lines of a text are found as one by one", () => {
  test("by an expression", () => {
    const atom = fc.constantFrom(
      ...["a", "b", "k", "s", ".", "[^a]", "[a-k]", "\\w", "\\W", "\\s", "\\S", "\\d", "\\D", "^", "$", "\\b", "\\B"],
      ...[
        "\\A",
        "\\z",
        "(?i:ak)",
        "(?m)^",
        "(?-m:^)",
        "(?s:.)",
        "ab",
        "a b",
        "[[:upper:]]",
        "\\pL",
        "\\x{212a}",
        "\\r",
      ],
      ...["\\Qa.\\E", "\\n", "(?:)", "z"],
    );
    const some = fc.tuple(atom, fc.constantFrom("", "", "", "*", "+", "?", "{2}", "*?"));
    const one = fc
      .tuple(fc.array(some, { minLength: 1, maxLength: 4 }), fc.constantFrom("", "", "|b", "|^$"))
      .map(([parts, more]) => `${parts.map(([a, q]) => (q === "" ? a : `(?:${a})${q}`)).join("")}${more}`);
    fc.assert(
      fc.property(anyText, one, fc.boolean(), anyJob, (text, pattern, ignoreCase, job) => {
        const re = RE2JS.compile(pattern, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
        const found = scan(text, compiled({ pattern, literal: false, ignoreCase }), job);
        expect(found).toEqual(expected(text, (line) => re.test(line), job));
      }),
      { numRuns: 400 },
    );
  });

  test("by a text, in any case too", () => {
    fc.assert(
      fc.property(anyText, anyLine, fc.boolean(), anyJob, (text, pattern, ignoreCase, job) => {
        fc.pre(pattern !== "");
        const re = RE2JS.compile(RE2JS.quote(pattern), ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
        const matcher = ignoreCase ? compiled({ pattern, literal: true, ignoreCase }) : literalMatcher(pattern);
        expect(scan(text, matcher, job)).toEqual(expected(text, (line) => re.test(line), job));
      }),
      { numRuns: 200 },
    );
  });
});

/** Stretches of lines that matches take, each line once. */
function stretches(text: string, re: RegExp): { line: number; endLine: number; text: string }[] {
  const bare = text.replace(/^\ufeff/, "").replaceAll("\r\n", "\n");
  const lines = bare.split("\n");
  const lineAt = (at: number) => bare.slice(0, at).split("\n").length;
  const found: { line: number; endLine: number; text: string }[] = [];
  for (const { 0: match, index } of bare.matchAll(re)) {
    if (index >= bare.length) continue;
    const line = lineAt(index);
    const endLine = lineAt(Math.max(index, index + match.length - 1));
    if (line > (found.at(-1)?.endLine ?? 0))
      found.push({ line, endLine, text: lines.slice(line - 1, endLine).join("\n") });
  }
  return found;
}

test("matches across lines are found as by the engine of JavaScript, and counted once a line", () => {
  const part = fc.constantFrom("a", "b", "\\n", "\\n", "[^a]", "[ab]", "(?:a\\n)*", "b?", "^", "$", "(?:b|\\nb)", "0");
  const pattern = fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join(""));
  fc.assert(
    fc.property(anyText, pattern, anyJob, (any, pattern, { afterLine, most }) => {
      // In JavaScript a lone carriage return ends lines.
      const text = any.replace(/\r+(?!\n)/g, "r").replace(/\r+\n/g, "\r\n");
      const matcher = compiled({ pattern, literal: false, ignoreCase: false, multiline: true });
      const found = scan(text, matcher, { afterLine, most });
      const all = stretches(text, new RegExp(pattern, "gmu")).filter(({ line }) => line > afterLine);
      const told = all
        .slice(0, most)
        .map(({ line, endLine, text }) => ({ line, text, ...(endLine > line ? { endLine } : {}) }));
      expect(found.count).toBe(all.length);
      expect(found.lines.map(({ cut: _, text: __, ...rest }) => rest)).toEqual(
        told.map(({ text: _, ...rest }) => rest),
      );
      for (const [at, { text }] of told.entries())
        expect(found.lines[at]?.text === text || found.lines[at]?.cut).toBe(true);
    }),
    { numRuns: 300 },
  );
});

test("a scan rests now and then, and may end at the first hit", () => {
  const bytes = Buffer.from("x\n".repeat(10_000));
  const made = scanLines({ ...JOB, bytes }, literalMatcher("x"));
  if (made === "binary" || "count" in made) throw new Error("It does not rest");
  let rests = 0;
  while (made.next().done !== true) rests++;
  expect(rests).toBeGreaterThan(5);
  expect(scan("x\nx\n", literalMatcher("x"), { firstOnly: true })).toEqual({
    count: 1,
    lines: [{ line: 1, text: "x" }],
  });
});

test("a text is cut in whole characters, and holds on to no more than is told", () => {
  const text = `${"😀".repeat(500)}hit${"😀".repeat(500)}`;
  const [line] = scan(text, literalMatcher("hit")).lines;
  expect(line?.cut).toBe(true);
  expect(line?.text).toMatch(/^(?:😀)+hit(?:😀)+$/u);
  expect(line?.text.length).toBeLessThanOrEqual(400);
});

test("as many characters are told as are wanted, and all hits counted", () => {
  const { count, lines } = scan(`${"x".repeat(99)}\n`.repeat(100), literalMatcher("x"), { mostChars: 1000 });
  expect(count).toBe(100);
  expect(lines).toHaveLength(11);
});

test.each(["releaseTheHandle", "über", "eeee", "a", "eZ", "return true;", "snake_case_name"])(
  "bytes are excluded only if they do not hold the whole text: %s",
  (literal) => {
    const { excludes } = literalMatcher(literal);
    const [first, ...others] = [...literal];
    const without = [others.join(""), `${others.join("")}${first}`].filter((text) => !text.includes(literal));
    const texts = [literal, `x${literal}y`, `${others.join("")} ${literal}`, `${literal}${literal}`];
    expect(texts.map((text) => excludes?.(Buffer.from(text)))).toEqual(texts.map(() => false));
    expect(without.map((text) => excludes?.(Buffer.from(text)))).toEqual(without.map(() => true));
  },
);
