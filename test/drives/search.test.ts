import { beforeEach, describe, expect, test } from "@jest/globals";
import type { GlobOutput, GrepOutput } from "../../src/schema/types.js";
import { ALICE, BOB, useDrives } from "./ground.js";

const ground = useDrives({ mine: { deny: [".env"] } });
const grep = (input: object, who = ALICE) =>
  ground.call("file:grep", { root: "mine", ...input }, who) as Promise<GrepOutput>;

beforeEach(async () => {
  const files = {
    "a.ts": "one hit\ntwo\n",
    "sub/b.ts": "hit\nhit\n",
    "sub/.env": "hit",
    ".gitignore": "gen\n",
    "gen/c": "hit",
  };
  for (const [path, content] of Object.entries(files)) {
    await ground.call("dlfs:write", { drive: "notes", path, content, parents: true }, ALICE);
  }
});

describe("in a root that is a drive", () => {
  test.each(["hit", "h[i]t"])("lines are found by %s as in any other root", async (pattern) => {
    const found = await grep({ pattern, context: 1 });
    expect(found).toEqual({
      matches: [
        { path: "a.ts", line: 1, text: "one hit", after: ["two"] },
        { path: "sub/b.ts", line: 1, text: "hit" },
        { path: "sub/b.ts", line: 2, text: "hit" },
      ],
      ...{ totalMatches: 3, countIsComplete: true, filesScanned: 3, timedOut: false, complete: true },
      hidden: { policy: 1, gitignored: 1 },
      hint: '1 gitignored path hidden; pass ignore: "none". Left out: 1 denied by policy',
    });
    expect(await grep({ pattern, path: "sub/b.ts" })).toMatchObject({ totalMatches: 2, filesScanned: 1 });
    expect(await grep({ pattern, glob: "./*.ts" })).toMatchObject({ totalMatches: 1 });
  });

  test("each caller searches a drive of their own", async () => {
    expect(await grep({ pattern: "hit" }, BOB)).toMatchObject({ totalMatches: 0, filesScanned: 0, complete: true });
    const { nextCursor: cursor } = await grep({ pattern: "hit", limit: 1 });
    const failed = await ground.fail("file:grep", { root: "mine", pattern: "hit", cursor }, BOB);
    expect(failed.code).toBe("INVALID_INPUT");
  });

  test("pages hold everything exactly once while others write", async () => {
    const seen: string[] = [];
    let cursor: string | undefined;
    for (let page = 0; ; page++) {
      const found = await grep({ pattern: "hit", limit: 1, ...(cursor === undefined ? {} : { cursor }) });
      seen.push(...(found.matches ?? []).map(({ path, line }) => `${path}:${line}`));
      if (page < 3) {
        const content = { drive: "notes", path: `0-new-${page}`, content: "hit" };
        await ground.call("dlfs:write", content, ALICE);
      }
      cursor = found.nextCursor;
      if (cursor === undefined) break;
    }
    expect(seen).toEqual(["a.ts:1", "sub/b.ts:1", "sub/b.ts:2"]);
    const globbed = (await ground.call("file:glob", { root: "mine", pattern: "**/*.ts" }, ALICE)) as GlobOutput;
    expect(globbed.paths).toEqual(["a.ts", "sub/b.ts"]);
  });

  test("no answer of dlfs:read advises a search that there is not", async () => {
    const content = "x".repeat(9_000_000);
    const write = { drive: "notes", path: "large", content: content.slice(0, 8_000_000) };
    await ground.call("dlfs:write", write, ALICE);
    await ground.call("dlfs:append", { drive: "notes", path: "large", content: content.slice(8_000_000) }, ALICE);
    for (const mode of ["text", "json", "bytes", "auto"]) {
      const failed = await ground.fail("dlfs:read", { drive: "notes", path: "large", mode }, ALICE);
      expect(failed.code).toBe("TOO_LARGE");
      expect(failed.message).not.toMatch(/file_|grep/);
      const there = await ground.fail("file:read", { root: "mine", path: "large", mode }, ALICE);
      expect([mode, /file_grep/.test(there.message)]).toEqual([mode, mode !== "bytes"]);
    }
  });
});
