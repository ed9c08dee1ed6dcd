import { appendFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { systemClock } from "../../../src/core/clock.js";
import type { GrepOutput } from "../../../src/schema/types.js";
import { useGround } from "../ground.js";

const ground = useGround();
type Input = Parameters<typeof ground.run<"grep">>[1];

/** 9 MB of lines, of which some hold `needle`, some of these beside each other and where pieces end. */
const made = new Map<string, string>();

function manyLines(end = "\n"): string {
  const known = made.get(end) ?? makeLines(end);
  made.set(end, known);
  return known;
}

function makeLines(end: string): string {
  const lines: string[] = [];
  let bytes = 0;
  for (let at = 1; bytes < 9_000_000; at++) {
    const isAtEdge = Math.abs(bytes - 4_194_304) < 400 || Math.abs(bytes - 8_388_608) < 400;
    const word = at % 20_011 < 3 || isAtEdge ? "needle" : "hay";
    const line = `${at} ${word} ${"é".repeat(at % 40)}`;
    lines.push(line);
    bytes += Buffer.byteLength(line) + end.length;
  }
  return lines.join(end);
}

const grep = (input: Omit<Input, "path">, path = "log"): Promise<GrepOutput> => ground.run("grep", { ...input, path });
/** The same search of the file as a whole. */
const whole = (input: Omit<Input, "path">): Promise<GrepOutput> => grep({ ...input, maxFileBytes: 33_554_432 });

async function allPages(input: Omit<Input, "path">): Promise<{ matches: unknown[]; pages: number }> {
  const matches: unknown[] = [];
  let cursor: string | undefined;
  for (let pages = 1; ; pages++) {
    const page = await grep({ ...input, ...(cursor === undefined ? {} : { cursor }) });
    matches.push(...(page.matches ?? []));
    cursor = page.nextCursor;
    if (cursor === undefined) return { matches, pages };
    expect(cursor.length).toBeLessThanOrEqual(200);
  }
}

describe("a large file that is named", () => {
  const WITH_LINES_AROUND: Omit<Input, "path"> = { pattern: "^\\d+ need.e", context: 3 };

  test.each<[string, string, "utf8" | "utf16le", Omit<Input, "path">[]]>([
    [
      "UTF-8",
      "\n",
      "utf8",
      [WITH_LINES_AROUND, { pattern: "needle", output: "count" }, { pattern: "need", before: 2, output: "files" }],
    ],
    ["CRLF", "\r\n", "utf8", [WITH_LINES_AROUND, { pattern: "needle" }]],
    ["UTF-16", "\n", "utf16le", [WITH_LINES_AROUND]],
  ])("is searched in pieces as it would be whole: %s", async (_, end, encoding, inputs) => {
    const text = manyLines(end);
    ground.put("log", Buffer.from(encoding === "utf8" ? text : `\ufeff${text}`, encoding));
    for (const input of inputs) {
      expect(await grep({ ...input, limit: 2000 })).toEqual(await whole({ ...input, limit: 2000 }));
    }
  });

  test("has pages that together hold everything once", async () => {
    ground.put("log", manyLines());
    const input = { pattern: "need", context: 1 };
    const { matches, pages } = await allPages({ ...input, limit: 7 });
    expect(pages).toBeGreaterThan(3);
    const lines = (all: unknown[] = []) => (all as { line: number }[]).map(({ line }) => line);
    expect(lines(matches)).toEqual(lines((await whole({ ...input, limit: 2000 })).matches));
    expect(await grep({ pattern: "need", limit: 7 })).toMatchObject({
      reason: "limit",
      countIsComplete: false,
      filesScanned: 1,
    });
  });

  test("goes on at the same line after it has grown, and from the start after it was replaced", async () => {
    ground.put("log", manyLines());
    const first = await grep({ pattern: "need", limit: 40 });
    const last = first.matches?.at(-1)?.line ?? 0;
    appendFileSync(join(ground.dir, "log"), "\nmore needle\n");
    const on = await grep({ pattern: "need", limit: 1, ...(first.nextCursor && { cursor: first.nextCursor }) });
    expect(on.matches?.[0]?.line).toBeGreaterThan(last);
    ground.put("log", `${"x".repeat(9_000_000)}\n${"y\n".repeat(last + 5)}needle`);
    const other = await grep({ pattern: "need", limit: 1, ...(first.nextCursor && { cursor: first.nextCursor }) });
    expect(other.matches).toEqual([{ path: "log", line: last + 7, text: "needle" }]);
  });

  test("of one line is searched in parts, and told once", async () => {
    ground.put("log", `[${'{"id":1},'.repeat(4_500_000)}"needle", ${"x".repeat(9_000_000)} "needle"]\n"needle" again`);
    const found = await grep({ pattern: "needle" });
    expect(found.matches?.map(({ line, cut }) => [line, cut])).toEqual([
      [1, true],
      [2, undefined],
    ]);
    expect((await grep({ pattern: "need+le", output: "count" })).counts).toEqual([{ path: "log", count: 2 }]);
  });

  test("is judged by its start, as others are", async () => {
    ground.put("log", Buffer.concat([Buffer.of(0), Buffer.from(manyLines())]));
    expect(await grep({ pattern: "needle" })).toMatchObject({ matches: [], hidden: { binary: 1 }, filesScanned: 0 });
  });

  test("ends well where it becomes shorter, and is refused where it is gone", async () => {
    ground.put("log", manyLines());
    const search = grep({ pattern: "ne+dle", limit: 2000 });
    truncateSync(join(ground.dir, "log"), 100);
    expect(await search).toMatchObject({ complete: true });
    expect((await ground.fail("grep", { pattern: "x", path: "gone" })).code).toBe("NOT_FOUND");
  });

  test("takes a bound that the caller names", async () => {
    ground.put("log", manyLines());
    expect(await grep({ pattern: "needle", maxFileBytes: 9_000_000 })).toMatchObject({ hidden: { tooLarge: 1 } });
    expect(await grep({ pattern: "needle", multiline: true })).toMatchObject({ complete: true, filesScanned: 1 });
  });

  test("is not named again where a bound leaves it out, but the bound is", async () => {
    ground.put("log", manyLines().repeat(4));
    const bounded = await grep({ pattern: "needle\\n", multiline: true });
    expect(bounded.hint).toBe("Left out: 1 too large: leave out multiline");
    const { hint } = await grep({ pattern: "needle", maxFileBytes: 9_000_000 });
    expect(hint).toBe("Left out: 1 too large: leave out maxFileBytes");
    expect((await grep({ pattern: "needle" })).totalMatches).toBeGreaterThan(10);
  });

  test("that a walk leaves out is named with the call that searches it", async () => {
    ground.put("d/a.log", manyLines());
    ground.put("d/b.log", manyLines());
    const { hint, hidden } = await ground.run("grep", { pattern: "needle", glob: "*.log" });
    expect(hidden).toEqual({ tooLarge: 2 });
    expect(hint).toBe('Left out: 2 too large: search path: "d/a.log"');
    expect((await grep({ pattern: "needle" }, "d/a.log")).totalMatches).toBeGreaterThan(10);
  });
});

describe("a large file, by a clock that goes on 30 ms at each look", () => {
  let now = 0;
  const clock = {
    ...systemClock,
    monotonicMs: () => {
      now += 30;
      return now;
    },
  };
  const slow = useGround({ clock, limits: { timeoutMs: 100_000_000 } });

  test.each(["lines", "count"] as const)("ends with the time of the search, and goes on there: %s", async (output) => {
    slow.put("log", manyLines());
    const all = await slow.run("grep", { path: "log", pattern: "needle", limit: 2000, timeoutMs: 60_000 });
    let found = 0;
    let pages = 0;
    let cursor: string | undefined;
    do {
      const page = await slow.run("grep", {
        ...{ path: "log", pattern: "needle", limit: 2000, timeoutMs: 1, output },
        ...(cursor === undefined ? {} : { cursor }),
      });
      found += page.matches?.length ?? page.counts?.[0]?.count ?? 0;
      cursor = page.nextCursor;
      if (cursor !== undefined) expect(page).toMatchObject({ reason: "timeout", timedOut: true });
      pages++;
    } while (cursor !== undefined && pages < 20);
    expect([found, pages]).toEqual([all.totalMatches, 3]);
  });
});
