import { appendFileSync, rmSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { GrepInput } from "../../../src/schema/types.js";
import { useGround } from "../ground.js";

const ground = useGround();

/** Every line that pages of a search tell, as `path:line`; those around in brackets. */
async function grepped(input: Omit<GrepInput, "root">, between: (page: number) => void): Promise<string[]> {
  const seen: string[] = [];
  let cursor: string | undefined;
  for (let page = 1; ; page++) {
    const found = await ground.run("grep", { ...input, ...(cursor === undefined ? {} : { cursor }) });
    for (const { path, line, before = [], after = [] } of found.matches ?? []) {
      seen.push(...before.map((_, at) => `(${path}:${line - before.length + at})`));
      seen.push(`${path}:${line}`, ...after.map((_, at) => `(${path}:${line + 1 + at})`));
    }
    cursor = found.nextCursor;
    expect(found.complete).toBe(cursor === undefined);
    if (cursor === undefined) return seen;
    expect(cursor.length).toBeLessThanOrEqual(200);
    between(page);
  }
}

describe("everything is told exactly once while others write", () => {
  test("by pages of grep, lines around too, in the middle of files and of long paths", async () => {
    const name = fc.constantFrom("a", "B", "c", `d-${"long".repeat(30)}`);
    const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => `t/${names.join("/")}/f`);
    const lines = fc.array(fc.constantFrom("hit", "-"), { maxLength: 8 });
    const wish = fc.record({
      pattern: fc.constantFrom("hit", "h[i]t"),
      limit: fc.integer({ min: 1, max: 4 }),
      context: fc.constantFrom(0, 0, 1, 3),
    });
    await fc.assert(
      fc.asyncProperty(fc.dictionary(path, lines, { maxKeys: 6 }), wish, async (files, input) => {
        rmSync(`${ground.dir}/t`, { recursive: true, force: true });
        for (const [one, content] of Object.entries(files)) ground.put(one, content.join("\n"));
        ground.put("t/gone", "hit\n");
        const seen = await grepped({ ...input, path: "t" }, (page) => {
          rmSync(`${ground.dir}/t/gone`, { force: true });
          if (page > 5) return;
          ground.put(`t/0-new-${page}`, "hit\n");
          ground.put(`t/zz-new-${page}/f`, "hit\n");
        });
        expect(new Set(seen.map((one) => one.replace(/[()]/g, ""))).size).toBe(seen.length);
        const hits = Object.entries(files).flatMap(([one, content]) =>
          content.flatMap((line, at) => (line === "hit" ? [`${one}:${at + 1}`] : [])),
        );
        expect(seen).toEqual(expect.arrayContaining(hits));
      }),
      { numRuns: 40 },
    );
  });

  test.each(["files", "count"] as const)("by pages of grep that tell %s", async (output) => {
    for (let index = 0; index < 20; index++) ground.put(`d${index % 3}/f${index}`, "hit\n".repeat(index % 4));
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await ground.run("grep", {
        ...{ pattern: "hit", output, limit: 4 },
        ...(cursor === undefined ? {} : { cursor }),
      });
      seen.push(...(page.paths ?? []), ...(page.counts ?? []).map(({ path, count }) => `${path}:${count}`));
      expect(page.totalMatches).toBe(15);
      ground.put("0-before", "hit\n");
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    const all = Array.from({ length: 20 }, (_, index) => [`d${index % 3}/f${index}`, index % 4] as const);
    const expected = all.filter(([, count]) => count > 0).map(([path, count]) => `${path}:${count}`);
    expect(seen.toSorted()).toEqual(
      (output === "count" ? expected : expected.map((one) => one.replace(/:\d$/, ""))).toSorted(),
    );
  });

  test("by pages of list, while entries are replaced, and others come and go before and behind", async () => {
    const names = Array.from({ length: 40 }, (_, index) => `f${String(index).padStart(2, "0")}`);
    for (const name of names) ground.put(name, "old");
    const seen: string[] = [];
    for (let offset = 0, after: string | undefined; ; offset += 7) {
      const page = await ground.run("list", { limit: 7, ...(after !== undefined && { after }) });
      seen.push(...page.entries.map(({ name }) => name));
      after = seen.at(-1);
      ground.put(`a${offset}`);
      for (const name of ["f00", names[offset] ?? "f01"]) await ground.run("write", { path: name, content: "new" });
      await ground.run("append", { path: "f02", content: "more" });
      if (offset < 21) ground.put(`g${offset}`);
      expect(page.complete).toBe(!page.truncated);
      if (!page.truncated) break;
    }
    expect(seen).toEqual([...names, "g0", "g14", "g7"]);
  });

  test.each(["lines", "bytes"] as const)("by pieces of a file in %s, while others append", async (unit) => {
    let all = Array.from({ length: 50 }, (_, index) => `line ${index} é\n`).join("");
    ground.put("log", all);
    let content = "";
    for (let at = unit === "lines" ? 1 : 0, page = 0; ; page++) {
      const range = unit === "lines" ? { line: at, limit: 7 } : { offset: at, length: 50 };
      const piece = await ground.run("read", { path: "log", mode: "text", ...range });
      content += piece.content;
      const next = unit === "lines" ? piece.nextLine : piece.nextOffset;
      expect(piece.truncated).toBe(next !== undefined);
      if (next === undefined) break;
      at = next;
      if (page > 5) continue;
      appendFileSync(`${ground.dir}/log`, `more ${page}\n`);
      all += `more ${page}\n`;
    }
    expect(content).toBe(all);
  });
});
