import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { useGround } from "../ground.js";

const ground = useGround({ root: { deny: ["vault", "*.pem"] } });

const put = (...paths: string[]): void => {
  for (const path of paths) ground.put(path, `text of ${path}\n`);
};
function link(to: string, path: string): void {
  mkdirSync(dirname(join(ground.dir, path)), { recursive: true });
  symlinkSync(to, join(ground.dir, path));
}
const inRoot = (path: string): string => join(ground.dir, path);

type GlobInput = Parameters<typeof ground.run<"glob">>[1];
const paths = async (input: GlobInput): Promise<string[]> =>
  (await ground.run("glob", { links: "follow", ...input })).paths;
const found = async (input: object = {}): Promise<string[]> => {
  const { matches = [] } = await ground.run("grep", { pattern: "text", links: "follow", ...input });
  return matches.map(({ path }) => path);
};

describe("links are followed where that is asked for", () => {
  test("the hint of a search that met some asks for it", async () => {
    put("lib/sub/a.md");
    link("../lib", "pets/cat");
    const first = await ground.run("glob", { pattern: "pets/cat/**/*.md" });
    expect(first).toMatchObject({
      paths: [],
      hidden: { symlinks: 1 },
      hint: 'Links are not followed: pass links: "follow". Left out: 1 link',
    });
    expect(await paths({ pattern: "pets/cat/**/*.md" })).toEqual(["pets/cat/sub/a.md"]);
    expect(await found({ glob: "pets/cat/**/*.md" })).toEqual(["pets/cat/sub/a.md"]);
    expect(await found({ path: "pets" })).toEqual(["pets/cat/sub/a.md"]);
  });

  test("unless that would find nothing either, and not beside what was found", async () => {
    put("real/docs/a.md", "b.md");
    link("..", "real/up");
    link("../nothing", "real/gone");
    const hint = async (input: GlobInput) => (await ground.run("glob", input)).hint;
    expect(await hint({ pattern: "**/up/**" })).toBe("Left out: 1 link");
    expect(await hint({ pattern: "real/{up,gone}/*" })).toBeUndefined();
    expect(await hint({ pattern: "**/gone/*.md", links: "follow" })).toBe("Left out: 1 link that leads nowhere here");
    const grep = async (input: object) => (await ground.run("grep", { pattern: "text", ...input })).hint;
    expect(await grep({ glob: "**/up/**" })).toBe("Left out: 1 link");
    expect(await grep({ pattern: "absent" })).toBe("Left out: 2 links");
    // Beside what was found only links that the globs name are told of.
    expect(await hint({ pattern: "*" })).toBeUndefined();
    expect(await grep({})).toBeUndefined();
    expect(await hint({ pattern: ["*.md", "real/up/x/**"] })).toBe("Left out: 1 link");
    expect(await grep({ glob: ["*.md", "real/up/x/**"] })).toBe("Left out: 1 link");
    expect((await ground.run("grep", { pattern: "text" })).hidden).toEqual({ symlinks: 2 });
    expect((await ground.run("du", {})).hint).toBe("Left out: 2 links");
  });

  test("a directory that the search gets to by itself, or through another link, is entered once", async () => {
    put("real/a.md", "real/deep/b.md", "other/c.md");
    link("../real", "a/one");
    link("../real/deep", "a/two");
    link(inRoot("other"), "real/three");
    link("../real", "z");
    expect(await paths({ pattern: "**/*.md" })).toEqual(["other/c.md", "real/a.md", "real/deep/b.md"]);
    expect(await found()).toEqual(["other/c.md", "real/a.md", "real/deep/b.md"]);
    expect(await found({ path: "a" })).toEqual(["a/one/a.md", "a/one/deep/b.md", "a/one/three/c.md"]);
    expect(await paths({ pattern: "*/two/*.md" })).toEqual(["a/two/b.md"]);
    expect(await paths({ pattern: "**/one/*.md" })).toEqual(["a/one/a.md"]);
    expect(await paths({ pattern: "**/*.md", exclude: "real" })).toEqual([
      "a/one/a.md",
      "a/one/deep/b.md",
      "other/c.md",
    ]);
  });

  test("loops end", async () => {
    put("x/y/a.md", "side/b.md");
    link("..", "x/y/up");
    link(".", "x/self");
    link("../../side", "x/y/side");
    link("../x", "side/back");
    expect(await paths({ pattern: "**/*.md" })).toEqual(["side/b.md", "x/y/a.md"]);
    expect(await found({ path: "x/y" })).toEqual(["x/y/a.md", "x/y/side/b.md"]);
    expect(await paths({ pattern: "**/up/**" })).toEqual([]);
    expect((await ground.run("tree", { path: "x", links: "follow", maxDepth: 10 })).tree).toBe(
      "r/x/\n\tself@/\n\ty/\n\t\ta.md\n\t\tside@/\n\t\t\tb.md\n\t\t\tback@/\n\t\tup@/\n",
    );
  });

  test("files behind links are found, and searched once", async () => {
    put("AGENTS.txt", "docs/x.txt");
    link("AGENTS.txt", "CLAUDE.txt");
    link("../docs/x.txt", "sub/y.txt");
    expect(await paths({ pattern: "*.txt" })).toEqual(["AGENTS.txt", "CLAUDE.txt", "docs/x.txt", "sub/y.txt"]);
    expect(await found()).toEqual(["AGENTS.txt", "docs/x.txt"]);
    expect(await found({ path: "sub" })).toEqual(["sub/y.txt"]);
    expect(await ground.run("grep", { pattern: "text", path: "sub", links: "follow", maxFileBytes: 3 })).toMatchObject({
      ...{ matches: [], hidden: { tooLarge: 1 } },
    });
    expect(await paths({ pattern: "*", type: "any", path: "sub" })).toEqual(["sub/y.txt"]);
  });

  test("never to what is denied, outside, gone, or not the caller's: those alike are counted", async () => {
    put("vault/a.md", "keys/b.pem", "keys/b.md", "mine/c.md", "yours/d.md");
    writeFileSync(join(ground.outside, "e.md"), "text");
    link("../vault", "mine/v");
    link("../keys/b.pem", "mine/p.md");
    link("../keys", "mine/k");
    link(ground.outside, "mine/o");
    link("../nothing", "mine/n");
    link("../yours", "mine/y");
    expect(await paths({ pattern: "*.md", path: "mine" })).toEqual(["mine/c.md", "mine/k/b.md", "mine/y/d.md"]);
    const caps = [{ with: "file://r/mine/", can: "crud/read" }];
    const input = { pattern: "**", path: "mine", links: "follow" as const };
    const { hint, ...answer } = await ground.run("glob", input, { caps });
    expect(answer).toMatchObject({ paths: ["mine/c.md"], hidden: { symlinks: 6 } });
    expect(hint).toBe("Left out: 6 links that lead nowhere here");
    const grep = await ground.run("grep", { ...input, pattern: "text" }, { caps });
    expect(grep.matches?.map(({ path }) => path)).toEqual(["mine/c.md"]);
    expect((await ground.run("tree", { path: "mine", links: "follow" }, { caps })).tree).toBe(
      "r/mine/\n\tc.md\n\tk@\n\tn@\n\to@\n\tp.md@\n\tv@\n\ty@\n",
    );
  });

  test("what a place ignores is ignored behind a link to it", async () => {
    put("lib/a.md", "lib/out/b.md");
    ground.put("lib/.gitignore", "out/\n");
    link("../lib", "app/lib");
    expect(await ground.run("glob", { pattern: "*.md", path: "app", links: "follow" })).toMatchObject({
      ...{ paths: ["app/lib/a.md"], hidden: { gitignored: 1 } },
    });
  });

  test("in the order of the paths, page by page", async () => {
    for (let at = 0; at < 700; at++) ground.put(`a/${at}.txt`, "text");
    put("shared/x.txt", "shared/y.txt", "z.txt");
    link("../shared", "a/35-link");
    const all = await ground.run("grep", { pattern: "text", glob: ["a/**", "z*"], links: "follow", limit: 2000 });
    const shown = all.matches?.map(({ path }) => path) ?? [];
    expect(shown).toHaveLength(703);
    expect(shown.indexOf("a/35-link/y.txt")).toBe(shown.indexOf("a/35-link/x.txt") + 1);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await ground.run("grep", {
        ...{ pattern: "text", glob: ["a/**", "z*"], links: "follow", limit: 301 },
        ...(cursor === undefined ? {} : { cursor }),
      });
      seen.push(...(page.matches ?? []).map(({ path }) => path));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(seen).toEqual(shown);
  });

  test("a thousand a search, and no more", async () => {
    put("t/x.txt");
    for (let at = 0; at < 1010; at++) link("../t/x.txt", `l/${at}`);
    const found = await ground.run("glob", { pattern: "l/*", links: "follow", limit: 5000 });
    expect([found.paths.length, found.hidden?.symlinks]).toEqual([1000, 10]);
  });

  test("a link that leads elsewhere meanwhile is not followed there", async () => {
    put("one/a.md", "two/b.md", "vault/c.md");
    link("../one", "w/l");
    const turn = (to: string): void => {
      rmSync(inRoot("w/l"));
      symlinkSync(to, inRoot("w/l"));
    };
    let at = 0;
    const timer = setInterval(() => turn(["../one", "../vault", "../two"][at++ % 3] ?? ""), 1);
    try {
      for (let round = 0; round < 40; round++) {
        for (const path of await paths({ pattern: "*", path: "w" })) expect(path).toMatch(/^w\/l(\/[ab]\.md)?$/);
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    } finally {
      clearInterval(timer);
    }
  });
});
