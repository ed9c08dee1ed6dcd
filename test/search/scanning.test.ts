import { isUtf8 } from "node:buffer";
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { afterEach, describe, expect, test } from "@jest/globals";
import { rgPath } from "@vscode/ripgrep";
import fc from "fast-check";
import { RE2JS } from "re2js";
import type { FoundLine, LineQuery, LineScanner, Scan, ScanJob } from "../../src/core/call/scan.js";
import { FileAdapterError } from "../../src/core/errors/errors.js";
import { compileExpression } from "../../src/search/scan-expression.js";
import { type LineMatcher, literalMatcher, scanLines } from "../../src/search/scan-lines.js";
import { ScanPool } from "../../src/search/scan-pool.js";
import { useGround } from "../ops/ground.js";

describe("the same as ripgrep", () => {
  const ground = useGround();

  interface Search {
    readonly pattern: string;
    /** The same for ripgrep, whose classes are those of Unicode. */
    readonly theirs: string;
    readonly literal: boolean;
    readonly ignoreCase: boolean;
  }

  /** `path:line:text` of every line that ripgrep finds in what we take for text. */
  function ripgrep({ theirs, literal, ignoreCase }: Search, isText: (path: string) => boolean): string[] {
    const flags = [literal ? "-F" : "--engine=default", ignoreCase ? "-i" : "--case-sensitive"];
    const { stdout, status, stderr } = spawnSync(
      rgPath,
      [
        ...["--no-config", "--hidden", "--no-ignore", "--no-heading", "--with-filename", "--null", "--line-number"],
        ...["--text", "--crlf", "--sort=path", "--color=never", ...flags, "-e", theirs, "--", "./"],
      ],
      { cwd: ground.dir, encoding: "buffer" },
    );
    if (status !== 0 && status !== 1) throw new Error(stderr.toString());
    const found: string[] = [];
    // As latin1, in which no byte is lost.
    for (const [, path = "", line, text = ""] of stdout
      .toString("latin1")
      .matchAll(/\.\/([^\0]*)\0(\d+):([^\n]*)\n/g)) {
      const bytes = Buffer.from(text.replace(/\r$/, ""), "latin1");
      if (isText(path) && isUtf8(bytes)) found.push(`${path}:${line}:${bytes.toString()}`);
    }
    return found;
  }

  async function ours({ theirs: _, ...search }: Search): Promise<string[]> {
    const found = await ground.run("grep", { ...search, ignore: "none", limit: 2000, timeoutMs: 60_000 });
    expect(found.complete).toBe(true);
    // Of lines that are not UTF-8 the engines read the bad bytes differently.
    const whole = (found.matches ?? []).filter(({ text }) => !text.includes("\ufffd"));
    return whole.map(({ path, line, text }) => `${path}:${line}:${text}`);
  }

  const CHARS = ["a", "b", "A", "B", "k", "K", "\u212a", "s", "\u017f", "ß", "é", "É", "0", "_", " ", "-", "(", "😀"];
  const line = fc.string({ unit: fc.constantFrom(...CHARS), maxLength: 8 }).map((text) => Buffer.from(text));
  const odd = fc.constantFrom(Buffer.of(0), Buffer.of(0xff), Buffer.of(0xc3), Buffer.from("a".repeat(390)));
  const part = fc.oneof({ weight: 12, arbitrary: line }, { weight: 1, arbitrary: odd });
  const end = fc.constantFrom("\n", "\n", "\r\n").map((text) => Buffer.from(text));
  const content = fc
    .tuple(
      fc.constantFrom("", "", "\ufeff").map((text) => Buffer.from(text)),
      fc.array(fc.tuple(part, end), { maxLength: 8 }),
      fc.constantFrom(0, 0, 0, 20),
      line,
    )
    .map(([bom, lines, fill, last]) =>
      // Enough lines that blocks of them are looked at.
      Buffer.concat([bom, ...lines.flat(), Buffer.from(`${"z".repeat(150)}\n`.repeat(fill)), last]),
    );
  const tree = fc.dictionary(fc.constantFrom("a", "b.c", "d/e", "d/f/g", ".h", "i"), content, {
    minKeys: 1,
    maxKeys: 4,
  });

  /** What both engines read alike: ours first. */
  const atom = fc.constantFrom<readonly [string, string]>(
    ...[
      "a",
      "b",
      "ab",
      "k",
      "s",
      "ß",
      "\\x{212a}",
      "[a-k]",
      "[^a]",
      ".",
      "^",
      "$",
      "\\(",
      "-",
      "(?i:é)",
      "[[:alpha:]]",
    ].map((same) => [same, same] as const),
    ["\\w", "[0-9A-Za-z_]"],
    ["\\W", "[^0-9A-Za-z_]"],
    ["\\d", "[0-9]"],
    ["\\s", "[\\t ]"],
    ["\\S", "[^\\t ]"],
  );
  const piece = fc.tuple(atom, fc.constantFrom("", "", "*", "+", "?", "{2}"));
  const expression = fc
    .tuple(fc.array(piece, { minLength: 1, maxLength: 4 }), fc.constantFrom("", "|b", "|^$"))
    .map(([parts, more]) => {
      const side = (at: 0 | 1) => parts.map(([both, many]) => `(?:${both[at]})${many}`).join("") + more;
      return { pattern: side(0), theirs: side(1), literal: false };
    });
  const literal = fc
    .string({ unit: fc.constantFrom(...CHARS), minLength: 1, maxLength: 3 })
    .map((pattern) => ({ pattern, theirs: pattern, literal: true }));
  const search = fc
    .tuple(fc.oneof({ weight: 3, arbitrary: expression }, literal), fc.boolean())
    .map(([what, ignoreCase]): Search => ({ ...what, ignoreCase }));

  test("what is found is what ripgrep finds in the same files", async () => {
    await fc.assert(
      fc.asyncProperty(tree, search, async (files, what) => {
        for (const name of ground.names()) rmSync(`${ground.dir}/${name}`, { recursive: true });
        for (const [path, bytes] of Object.entries(files)) ground.put(path, bytes);
        const isText = (path: string): boolean => {
          const bytes = files[path] ?? Buffer.of();
          return !bytes.subarray(0, 8192).includes(0) && (isUtf8(bytes) || !bytes.includes(0));
        };
        expect((await ours(what)).sort()).toEqual(ripgrep(what, isText).sort());
      }),
      { numRuns: 60 },
    );
  });
});

describe("scanned lines", () => {
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
    const shown = new Set(
      Array.from({ length: job.afterLine === 0 ? 0 : job.afterLine + job.after }, (_, at) => at + 1),
    );
    const told = hits.slice(0, job.most).map((line, index): FoundLine => {
      const before: string[] = [];
      for (let at = Math.max(1, line - job.before); at < line; at++)
        if (!shown.has(at)) before.push(lines[at - 1] ?? "");
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
    const part = fc.constantFrom(
      "a",
      "b",
      "\\n",
      "\\n",
      "[^a]",
      "[ab]",
      "(?:a\\n)*",
      "b?",
      "^",
      "$",
      "(?:b|\\nb)",
      "0",
    );
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
});

const LONG_MS = 20_000;
const query = (pattern: string, more: Partial<LineQuery> = {}): LineQuery => ({
  ...{ pattern, literal: false, ignoreCase: false },
  ...more,
});
const job = (text: string): ScanJob => ({
  ...{ bytes: Uint8Array.from(Buffer.from(text)), afterLine: 0, most: 10, mostChars: 1000, before: 0, after: 0 },
  firstOnly: false,
});
/** Which takes an automaton with so many states that none is kept for long. */
const SLOW = { pattern: "(?:a|b)*a(?:a|b){400}[cd]", text: ababs(100_000) };

function ababs(length: number): string {
  let text = "";
  for (let state = 1; text.length < length; text += state & 0x10000 ? "a" : "b") {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
  }
  return text;
}

const codeOf = (work: Promise<unknown>): Promise<string | undefined> =>
  work.then(
    () => undefined,
    (error: unknown) => (error instanceof FileAdapterError ? error.code : String(error)),
  );

describe("threads for expressions", () => {
  const pools: ScanPool[] = [];
  const pool = (): ScanPool => {
    const made = new ScanPool();
    pools.push(made);
    return made;
  };
  afterEach(async () => {
    for (const one of pools.splice(0)) await one.close();
  });
  const counts = async (scanner: LineScanner, text: string): Promise<unknown> =>
    (await scanner.scan([job(text)], LONG_MS)).map((scan) => (scan === "binary" ? scan : scan.count));

  test("are two; the next search waits for one, and not longer than it may", async () => {
    const threads = pool();
    const first = await threads.open(query("a+"), LONG_MS);
    const second = await threads.open(query("b+"), LONG_MS);
    expect(await codeOf(threads.open(query("c+"), 1))).toBe("TIMEOUT");
    const third = threads.open(query("c+"), LONG_MS);
    expect(await counts(first, "aa\nb")).toEqual([1]);
    first.close();
    expect(await counts(await third, "c\nc")).toEqual([2]);
    second.close();
  });

  test("are given to callers by turns", async () => {
    const threads = pool();
    const [first, second] = [
      await threads.open(query("a+"), LONG_MS, "a"),
      await threads.open(query("a+"), LONG_MS, "a"),
    ];
    const served: string[] = [];
    const waiting = ["a", "a", "a", "b"].map(async (caller) => {
      const scanner = await threads.open(query("a+"), LONG_MS, caller);
      served.push(caller);
      scanner.close();
    });
    first.close();
    await Promise.all(waiting);
    expect(served).toEqual(["a", "b", "a", "a"]);
    second.close();
  });

  test("serve nobody whose search has ended, so that no answer comes to somebody else", async () => {
    const threads = pool();
    const ended = await threads.open(query("a+"), LONG_MS);
    ended.close();
    ended.close();
    const next = await threads.open(query("b+"), LONG_MS);
    expect(await codeOf(Promise.resolve(ended.scan([job("a")], LONG_MS)))).toBe("ABORTED");
    expect(await counts(next, "b")).toEqual([1]);
  });

  test("end when they take too long, and others take their place", async () => {
    const threads = pool();
    const slow = await threads.open(query(SLOW.pattern), LONG_MS);
    expect(await codeOf(Promise.resolve(slow.scan([job(SLOW.text)], 20)))).toBe("TIMEOUT");
    slow.close();
    for (let round = 0; round < 3; round++) {
      const scanner = await threads.open(query("a+b"), LONG_MS);
      expect(await counts(scanner, "aab")).toEqual([1]);
      scanner.close();
    }
  });

  test("refuse who waits for one when they are closed", async () => {
    const threads = pool();
    await threads.open(query("a+"), LONG_MS);
    const busy = await threads.open(query(SLOW.pattern), LONG_MS);
    const waiting = codeOf(threads.open(query("c+"), LONG_MS));
    const scanning = codeOf(Promise.resolve(busy.scan([job(SLOW.text)], LONG_MS)));
    await threads.close();
    expect(await waiting).toBe("ABORTED");
    expect(await scanning).toBe("ABORTED");
    expect(await codeOf(threads.open(query("d+"), LONG_MS))).toBe("ABORTED");
    expect(await codeOf(threads.open(query("d", { literal: true }), LONG_MS))).toBe("ABORTED");
  });

  test("are not needed for a text, however it is written", async () => {
    const threads = pool();
    for (const plain of [query("a.b", { literal: true }), query("a b"), query("a\\.b\\(\\)"), query("äöü-x")]) {
      expect((await threads.open(plain, LONG_MS)).isInline).toBe(true);
    }
    expect(await counts(await threads.open(query("a\\.b\\("), LONG_MS), "a.b(\naxb(\na\\.b(")).toEqual([1]);
    for (const other of [query("a.b"), query("a\\_b"), query("a\\db"), query("a", { ignoreCase: true })]) {
      const opened = await threads.open(other, LONG_MS).catch(() => undefined);
      expect(opened?.isInline ?? false).toBe(false);
      opened?.close();
    }
  });
});
