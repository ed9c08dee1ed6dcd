import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import type { SurfaceContext } from "../../src/core/ports/adapter.js";
import { simulateSystem } from "../../src/core/system.js";
import { createFileAdapter } from "../../src/index.js";
import { spellingOf } from "../../src/path/grammar.js";
import { entriesBelow, failureOf, useGround } from "../ops/ground.js";
import { type McpGround, openMcpGround } from "../surfaces/mcp/resources/ways.js";

const may = (can: string, ...paths: string[]): SurfaceContext => ({
  caps: paths.map((path) => ({ with: `file://r/${path}`, can })),
});

const uri = (path: string): string => `file://${path.split("/").map(encodeURIComponent).join("/")}`;

describe("a path that names the root itself is the path in it", () => {
  const ground = useGround({ roots: { work: { temp: true } }, journal: true });
  /** The ways to write a path of the root. */
  const spellings = (path: string): string[] => [
    join(ground.dir, path),
    join(ground.dir, path).slice(1),
    `/${join(ground.dir, path)}`.slice(1).replace("/", "/./"),
    uri(join(ground.dir, path)),
    `file://localhost${join(ground.dir, path)}`,
    `file://r/${path}`,
    `r/${path}`,
    `/r/${path}`,
  ];

  test("for whatever reads", async () => {
    ground.put("lib/deep/one.md", "alpha\n");
    for (const path of spellings("lib/deep/one.md")) {
      expect((await ground.run("read", { path })).content).toBe("alpha\n");
      expect(await ground.run("stat", { path })).toMatchObject({ exists: true, type: "file" });
      expect((await ground.run("hash", { path })).size).toBe(6);
      const many = await ground.run("readMany", { files: [{ path }, { path: "lib/deep/one.md" }] });
      expect(many.files.map(({ content }) => content)).toEqual(["alpha\n", "alpha\n"]);
    }
    for (const path of spellings("lib")) {
      expect((await ground.run("list", { path })).entries.map(({ name }) => name)).toEqual(["deep"]);
      expect((await ground.run("tree", { path })).tree).toMatch(/^r\/lib\/\n/);
      expect((await ground.run("glob", { path, pattern: "**/*.md" })).paths).toEqual(["lib/deep/one.md"]);
      expect((await ground.run("grep", { path, pattern: "alpha" })).totalMatches).toBe(1);
      expect((await ground.run("du", { path })).files).toBe(1);
    }
  });

  test("and so is the root's own name, and its host path", async () => {
    ground.put("a.txt", "a");
    for (const path of ["r", "r/", "/r", ground.dir, uri(ground.dir), "file://r", "file://r/"]) {
      expect((await ground.run("list", { path })).entries.map(({ name }) => name)).toEqual(["a.txt"]);
    }
  });

  test("for whatever changes something, with `parents` too", async () => {
    let expected: string[] = [];
    for (const [index, path] of spellings("new/one.txt").entries()) {
      const to = spellings("new/two.txt")[index] ?? "";
      await ground.run("write", { path, content: "a\n", parents: true });
      await ground.run("append", { path, content: "b\n" });
      await ground.run("edit", { path, oldText: "b", newText: "c" });
      const moved = await ground.run("move", { path, to, parents: true });
      expect([moved.path, moved.to]).toEqual(["new/one.txt", "new/two.txt"]);
      await ground.run("copy", { path: to, to: path, parents: true });
      expect(ground.get("new/one.txt").toString()).toBe("a\nc\n");
      await ground.run("mkdir", { path: spellings("more/in")[index] ?? "", parents: true });
      expected = ["more/", "more/in/", "new/", "new/one.txt", "new/two.txt"];
      expect(entriesBelow(ground.dir)).toEqual(expected);
      for (const name of ["new", "more"]) {
        await ground.run("delete", { path: spellings(name)[index] ?? "", recursive: true });
      }
      expect(entriesBelow(ground.dir)).toEqual([]);
    }
    const operations = ground.audit.filter(({ operation }) => operation === "file:move");
    expect(new Set(operations.map(({ resource, others }) => [resource, others].join()))).toEqual(
      new Set(["file://r/new/one.txt,file://r/new/two.txt"]),
    );
  });

  test("in the sections of a patch, and in its `path` and `ifMatch`", async () => {
    ground.put("lib/old.txt", "one\n");
    const { etag = "" } = await ground.run("stat", { path: "lib/old.txt", hash: true }).then(({ hash }) => ({
      etag: `"${hash}"`,
    }));
    const old = join(ground.dir, "lib/old.txt");
    const sections = [
      `*** Add File: ${join(ground.dir, "lib/new.txt")}\n+new`,
      `*** Update File: ${old}\n*** Move to: r/moved.txt\n@@\n-one\n+two`,
    ];
    const patch = `*** Begin Patch\n${sections.join("\n")}\n*** End Patch\n`;
    const read = await ground.run("read", { path: old });
    expect(etag).not.toBe("");
    const { files } = await ground.run("patch", { patch, ifMatch: { [old]: read.etag ?? "" } });
    expect(files.map(({ path }) => path)).toEqual(["lib/new.txt", "moved.txt"]);
    // A section that begins with the host path lies where it says, whatever the patch is relative to.
    const more = [`*** Add File: ${join(ground.dir, "lib/more.txt")}\n+x`, "*** Add File: r/x.txt\n+x"];
    const second = `*** Begin Patch\n${more.join("\n")}\n*** End Patch\n`;
    await ground.run("patch", { patch: second, path: join(ground.dir, "lib") });
    expect(entriesBelow(ground.dir)).toEqual([
      ...["lib/", "lib/more.txt", "lib/new.txt", "lib/r/", "lib/r/x.txt", "moved.txt"],
    ]);
  });

  test("also where what it names is past", async () => {
    ground.put("lib/gone.txt", "x");
    await ground.run("delete", { path: "lib/gone.txt" });
    for (const path of [join(ground.dir, "lib/gone.txt"), "file://r/lib/gone.txt", "r/lib/gone.txt"]) {
      expect((await ground.run("history", { path })).entries.map((one) => one.path)).toContain("lib/gone.txt");
      expect((await ground.run("trash", { path })).entries.map((one) => one.path)).toContain("lib/gone.txt");
      const [deletion] = (await ground.run("history", { path })).entries;
      await ground.run("restore", { path, to: `${deletion?.id}:before` });
      expect(ground.get("lib/gone.txt").toString()).toBe("x");
      await ground.run("delete", { path: "lib/gone.txt" });
    }
    // A folder that was called as the root is meant where its past is asked for.
    await ground.run("write", { path: "./r/in.txt", content: "inner", parents: true });
    await ground.run("delete", { path: "r", recursive: true });
    expect((await ground.run("history", { path: "r/in.txt" })).entries.at(-1)?.path).toBe("r/in.txt");
    expect((await ground.run("history", { path: "r/lib/gone.txt" })).entries).toEqual([]);
  });

  test("unless something is really there", async () => {
    ground.put("r/a.txt", "inner");
    ground.put("a.txt", "outer");
    const doubled = ground.dir.slice(1);
    ground.put(join(doubled, "a.txt"), "doubled");
    ground.put("file:/r/a.txt", "uri");
    expect((await ground.run("read", { path: "r/a.txt" })).content).toBe("inner");
    expect((await ground.run("read", { path: join(ground.dir, "a.txt") })).content).toBe("doubled");
    expect((await ground.run("read", { path: "file://r/a.txt" })).content).toBe("uri");
    await ground.run("write", { path: "r/new/b.txt", content: "b", parents: true });
    await ground.run("write", { path: join(ground.dir, "b.txt"), content: "b" });
    expect(existsSync(join(ground.dir, "r/new/b.txt"))).toBe(true);
    expect(existsSync(join(ground.dir, doubled, "b.txt"))).toBe(true);
  });

  test("a link out of the root is something too", async () => {
    symlinkSync(ground.outside, join(ground.dir, "r"));
    ground.put("a.txt", "outer");
    expect((await ground.fail("read", { path: "r/a.txt" })).code).toBe("SYMLINK_ESCAPE");
  });

  test("a file with the root's name is meant by that name alone", async () => {
    ground.put("r", "binary");
    ground.put("lib/a.txt", "a");
    expect((await ground.run("read", { path: "r" })).content).toBe("binary");
    expect((await ground.run("read", { path: "r/lib/a.txt" })).content).toBe("a");
  });

  test("a new entry may be called as the root, and `./` means what it says", async () => {
    await ground.run("write", { path: "./r/in.txt", content: "a", parents: true });
    expect(entriesBelow(ground.dir)).toEqual(["r/", "r/in.txt"]);
    await ground.run("delete", { path: "r", recursive: true });
    await ground.run("mkdir", { path: "r" });
    await ground.run("write", { path: "r/in.txt", content: "a" });
    expect(entriesBelow(ground.dir)).toEqual(["r/", "r/in.txt"]);
    const exact: SurfaceContext = { exactPaths: true };
    await ground.run("delete", { path: "r", recursive: true });
    await ground.run("write", { path: "r/in.txt", content: "a", parents: true }, exact);
    expect(entriesBelow(ground.dir)).toEqual(["r/", "r/in.txt"]);
  });

  test("nothing is made of the place of another root, or of a URI that is none of this", async () => {
    const input = { content: "x", parents: true };
    for (const path of ["file:///etc/made/x", "file://elsewhere/x", "file:/etc/made", "file://work/n.md"]) {
      expect((await ground.fail("write", { path, ...input })).code).toBe("PATH_NOT_RELATIVE");
    }
    expect((await ground.fail("write", { path: "file://work/n.md", ...input })).data["hint"]).toBe(
      'Pass root: "work", path: "n.md"',
    );
    expect(entriesBelow(ground.dir)).toEqual([]);
    // What only begins with a name is a path as any other.
    for (const path of ["work/n.md", "rr/n.md", "~x/n.md", "file/n.md"]) await ground.run("write", { path, ...input });
    expect(ground.names()).toEqual(["file", "rr", "work", "~x"]);
  });

  test("`..` leads where it says", async () => {
    ground.put("a.txt", "a");
    expect((await ground.run("read", { path: `${ground.dir}/lib/../a.txt` })).content).toBe("a");
    expect((await ground.fail("read", { path: `${ground.dir}/../root2/a.txt` })).code).toBe("NOT_FOUND");
    expect((await ground.fail("read", { path: "r/../../a.txt" })).code).toBe("PATH_ESCAPES_ROOT");
    expect((await ground.fail("read", { path: `file://r/%2e%2e/a.txt` })).code).toBe("NOT_FOUND");
  });

  test("a repeated call is judged at the path that it meant", async () => {
    const input = { path: "r/once.txt", content: "a", operationId: "0f0f0f0f-once" };
    const first = await ground.run("write", input);
    ground.mkdir("r");
    expect(await ground.run("write", input)).toEqual(first);
    expect(ground.names("r")).toEqual([]);
  });
});

test("the home directory may be written as `~`, in roots below it", () => {
  const home = () => "/home/me";
  const below = { name: "app", hostPath: "/home/me/projects/app", home };
  expect(spellingOf("~/projects/app/src/x.ts", below)).toEqual({
    prefix: ["~", "projects", "app"],
    isName: false,
    below: "src/x.ts",
  });
  expect(spellingOf("~/x.ts", { name: "home", hostPath: home(), home })?.below).toBe("x.ts");
  for (const path of ["~/projects/ap", "~", "~me/projects/app", "~/../projects/app", "src/~/projects/app"]) {
    expect(spellingOf(path, below)).toBeUndefined();
  }
  expect(spellingOf("~/projects/app/x", { name: "app", home })).toBeUndefined();
  expect(spellingOf("~/app/x", { name: "app", hostPath: "/srv/app", home })).toBeUndefined();
});

test("a relative path that begins with the only folder of a host path means what it says", () => {
  const root = { name: "docs", hostPath: "/data" };
  expect(spellingOf("/data/x.csv", root)?.below).toBe("x.csv");
  expect(spellingOf("data/x.csv", root)).toBeUndefined();
});

test("a host path of Windows, with either slash", () => {
  const restore = simulateSystem("win32");
  try {
    const root = { name: "app", hostPath: "C:\\srv\\app" };
    for (const path of ["C:\\srv\\app\\src\\x.ts", "c:/SRV/App/src/x.ts", "file:///C:/srv/app/src/x.ts"]) {
      expect(spellingOf(path, root)?.below).toBe("src/x.ts");
    }
  } finally {
    restore();
  }
});

describe("a path as Windows writes it", () => {
  let restore = () => {};
  beforeEach(() => {
    restore = simulateSystem("win32");
  });
  afterEach(() => restore());
  const ground = useGround();
  const closed = useGround({ discloseHostPaths: false });
  const written = (path: string): string => path.replaceAll("/", "\\");

  test("is taken where callers know the host path", async () => {
    ground.put("sub/b.txt", "b");
    const host = written(join(ground.dir, "sub/b.txt"));
    for (const path of ["sub\\b.txt", ".\\sub\\b.txt", "sub\\..\\sub/b.txt", host, host.toUpperCase()]) {
      const isThere = path !== host.toUpperCase();
      expect(await ground.run("stat", { path })).toMatchObject({ exists: isThere });
    }
    await ground.run("write", { path: "new\\c.txt", content: "c", parents: true });
    expect(String(ground.get("new/c.txt"))).toBe("c");
    await ground.run("move", { path: "new\\c.txt", to: ".\\sub\\c.txt" });
    expect(String(ground.get("sub/c.txt"))).toBe("c");
    for (const path of ["..\\x", "sub\\..\\..\\x"])
      expect((await ground.fail("read", { path })).code).toBe("PATH_ESCAPES_ROOT");
    for (const path of ["C:\\other\\x", "C:x", "\\\\server\\share\\x", "\\\\?\\C:\\x"])
      expect((await ground.fail("read", { path })).code).toBe("PATH_NOT_RELATIVE");
  });

  test("is told with slashes where they do not", async () => {
    closed.put("sub/b.txt", "b");
    const { code, data } = await closed.fail("read", { path: ".\\sub\\b.txt" });
    expect([code, data]).toMatchObject(["INVALID_PATH", { hint: 'Pass path: "sub/b.txt"' }]);
    const host = written(join(closed.dir, "sub/b.txt"));
    expect(await closed.fail("read", { path: host })).toMatchObject({ code: "INVALID_PATH" });
  });
});

describe("rights are judged on the path that is meant", () => {
  const ground = useGround({ root: { deny: ["secret/**"] } });

  test("as for that path, whatever the caller may do elsewhere", async () => {
    ground.put("mine/a.txt", "a");
    ground.put("theirs/a.txt", "b");
    for (const top of ["r", ground.dir, `file://${ground.dir}`, "file://r"]) {
      const own = may("*", "mine/");
      expect((await ground.run("read", { path: `${top}/mine/a.txt` }, own)).content).toBe("a");
      const denied = await ground.fail("read", { path: `${top}/theirs/a.txt` }, own);
      expect(denied).toEqual(await ground.fail("read", { path: "theirs/a.txt" }, own));
      expect((await ground.fail("read", { path: `${top}/secret/key` })).code).toBe("DENIED_BY_POLICY");
    }
  });

  test("what the caller may not look at makes no difference to the answer", async () => {
    const own = may("*", "mine/");
    const ask = async () => [
      await ground.fail("read", { path: "r/mine/none.txt" }, own),
      await ground.fail("write", { path: "r/x.txt", content: "" }, own),
      await ground.fail("read", { path: join(ground.dir, "theirs/x.txt") }, own),
    ];
    const before = await ask();
    ground.put("r/mine/none.txt", "there");
    ground.put(join(ground.dir.slice(1), "theirs/x.txt"), "there");
    expect(await ask()).toEqual(before);
    // A grant on the place itself says that it is one.
    const inner = may("*", "r/mine/");
    expect((await ground.run("read", { path: "r/mine/none.txt" }, inner)).content).toBe("there");
  });

  test("of a place that appears after the look", async () => {
    // The look sees nothing; then a folder of that name comes: what was judged is what is used.
    const own = { caps: [...(may("*", "lib/").caps as []), ...(may("crud/read", "r").caps as [])] };
    const calls = [...Array(20).keys()].map(async (index) => {
      const call = ground.run("write", { path: `r/lib/${index}.txt`, content: "a", parents: true }, own).catch(() => 0);
      mkdirSync(join(ground.dir, "r"), { recursive: true });
      await call;
    });
    await Promise.all(calls);
    expect(entriesBelow(ground.dir).every((name) => name === "r/" || name.startsWith("lib/"))).toBe(true);
  });
});

describe("where host paths are not disclosed", () => {
  const ground = useGround({ discloseHostPaths: false });

  test("no answer depends on them", async () => {
    const [own, other] = [ground.dir, ground.dir.replace(/root$/, "ro0t")];
    ground.put("a.txt", "a");
    const answers = async (top: string) => {
      const all = [
        await ground.fail("read", { path: `${top}/a.txt` }),
        await ground.run("stat", { path: `${top}/a.txt` }),
        await ground.fail("write", { path: `${top}/b.txt`, content: "b" }),
        await ground.fail("write", { path: `file://${top}/b.txt`, content: "b", parents: true }),
        await ground.run("write", { path: `${top}/c.txt`, content: "c", parents: true }),
      ];
      expect(readFileSync(join(ground.dir, top, "c.txt"), "utf8")).toBe("c");
      const text = JSON.stringify(all, (key, value) => (key === "etag" ? undefined : value));
      return text.replaceAll(top.slice(1), "TOP");
    };
    expect(await answers(own)).toEqual(await answers(other));
  });

  test("but the name of the root is", async () => {
    await ground.run("write", { path: "file://r/n/a.txt", content: "a", parents: true });
    await ground.run("write", { path: "r/n/b.txt", content: "b", parents: true });
    expect(entriesBelow(ground.dir)).toEqual(["n/", "n/a.txt", "n/b.txt"]);
  });
});

describe("paths that the program makes of segments", () => {
  const ground = useGround({ journal: true });

  test("mean what they say, whatever the root is called", async () => {
    // Ignore rules of a folder that is called as the root, and what was kept of one that is gone.
    ground.put(".gitignore", "");
    ground.put("r/.gitignore", "*.log\n");
    ground.put("r/in/a.log", "x");
    ground.put("r/in/a.txt", "x");
    const glob = { pattern: "**/a.*", path: "r/in", ignore: "gitignore" } as const;
    expect((await ground.run("glob", glob)).paths).toEqual(["r/in/a.txt"]);
    await ground.run("delete", { path: "r", recursive: true });
    const [entry] = (await ground.run("trash", {})).entries;
    expect(entry?.path).toBe("r");
    expect((await ground.run("purge", { ids: [entry?.id ?? ""] })).purged).toBe(1);
  });
});

describe("suggestions", () => {
  const ground = useGround({
    root: { deny: ["secret*", "private/**"] },
    roots: { work: { temp: true } },
  });

  const hintOf = async (path: string, context?: SurfaceContext, name = "read"): Promise<unknown> => {
    const { code, message, data } = await ground.fail(name, { path }, context);
    expect(code).toBe("NOT_FOUND");
    // Suggestions never change the text, by which programs may know an error.
    expect(message).toBe(`Not found: r:${path.replace(/^\//, "")}`);
    return data["hint"];
  };

  describe("a path that does not exist suggests", () => {
    test("the same name in another case, in folders too", async () => {
      ground.put("README.md");
      ground.put("Src/Lib/Index.ts");
      expect(await hintOf("readme.md")).toBe('Did you mean "README.md"?');
      expect(await hintOf("src/lib/index.ts")).toBe('Did you mean "Src/Lib/Index.ts"?');
      expect(await hintOf("src/lib", undefined, "list")).toBe('Did you mean "Src/Lib"?');
    });

    test("the path without the name of its root, or of another root", async () => {
      ground.put("src/cli.ts");
      await ground.adapter.invoke("file:write", { root: "work", path: "notes.md", content: "n" });
      // Where a folder is called as the root, the path means what it says.
      ground.mkdir("r");
      expect(await hintOf("r/src/cli.ts")).toBe('Did you mean "src/cli.ts"?');
      expect(await hintOf("work/notes.md")).toBe('Did you mean "notes.md" in root "work"?');
      expect(await hintOf("work/none.md")).toBeUndefined();
      const { data } = await ground.fail("read", { path: "work/notes.md" });
      expect(data["suggestions"]).toEqual([{ root: "work", path: "notes.md" }]);
    });

    test("the path below another root for a host path, where these are disclosed", async () => {
      const adapter = await createFileAdapter({ roots: { r: ground.dir, lib: ground.outside } });
      const hintAt = async (path: string) =>
        (await failureOf(adapter.invoke("file:read", { root: "r", path }))).data["hint"];
      writeFileSync(join(ground.outside, "cli.ts"), "");
      expect(await hintAt(join(ground.outside, "cli.ts"))).toBe('Did you mean "cli.ts" in root "lib"?');
      expect(await hintAt(`file://${join(ground.outside, "cli.ts")}`)).toBe('Did you mean "cli.ts" in root "lib"?');
      expect(await hintAt(join(ground.outside, "none-of-them.ts"))).toBeUndefined();
      await adapter.close();
    });

    test("near names, the nearest first, at most three", async () => {
      for (const name of ["config.json", "config.jsn", "config.jsno", "confog.jsno"]) ground.put(name);
      expect(await hintOf("config.jso")).toMatch(
        /^Did you mean "config\.js\w+" or "config\.js\w+" or "config\.js\w+"\?$/,
      );
      ground.put("cli.ts");
      expect(await hintOf("cli")).toBe('Did you mean "cli.ts"?');
      expect(await hintOf("quite-different")).toBeUndefined();
    });

    test("a folder with a near name only if the rest of the path is in it", async () => {
      ground.put("components/button.ts");
      expect(await hintOf("component/button.ts")).toBe('Did you mean "components/button.ts"?');
      expect(await hintOf("component/other.ts")).toBeUndefined();
    });

    test("names as they are, with controls escaped", async () => {
      ground.put("a\u202eb.txt");
      expect((await ground.fail("read", { path: "A\u202eb.txt" })).data["hint"]).toBe(
        'Did you mean "a\\u{202e}b.txt"?',
      );
    });
  });

  describe("no suggestion tells", () => {
    test("of what a deny pattern covers, whatever the way to it", async () => {
      ground.put("secret.txt");
      ground.put("private/key");
      expect(await hintOf("SECRET.txt")).toBeUndefined();
      expect(await hintOf("ecret.txt")).toBeUndefined();
      expect(await hintOf("Private/key")).toBeUndefined();
      expect(await hintOf("privat/key")).toBeUndefined();
    });

    test("of links that lead out of the root, to nothing, or to what is denied", async () => {
      writeFileSync(join(ground.outside, "file"), "x");
      symlinkSync(join(ground.outside, "file"), join(ground.dir, "Outside"));
      symlinkSync("nothing", join(ground.dir, "Dangling"));
      ground.put("secret-one");
      symlinkSync("secret-one", join(ground.dir, "Hidden"));
      for (const path of ["outside", "dangling", "hidden"]) expect(await hintOf(path)).toBeUndefined();
    });

    test("of folders and files that the caller may not read", async () => {
      ground.put("mine/One.txt");
      ground.put("theirs/One.txt");
      expect(await hintOf("mine/one.txt", may("crud/read", "mine/"))).toBe('Did you mean "mine/One.txt"?');
      // The way back to a folder of others, by their root or by case, is not looked at.
      expect(await hintOf("mine/r/theirs/One.txt", may("crud/read", "mine/"))).toBeUndefined();
      expect(await hintOf("THEIRS/One.txt", may("crud/read", "THEIRS/"))).toBeUndefined();
      // A file alone: its folder cannot be listed.
      expect(await hintOf("theirs/one.txt", may("crud/read", "theirs/one.txt"))).toBeUndefined();
    });

    test("anything to a caller that may write, but not read", async () => {
      ground.put("One.txt", "a");
      const input = { path: "one.txt", oldText: "a", newText: "b" };
      const [blind, seeing] = [
        await ground.fail("edit", input, may("crud/write", "")),
        await ground.fail("edit", input, may("*", "")),
      ];
      expect([blind.code, blind.data["hint"]]).toEqual(["NOT_FOUND", undefined]);
      expect([seeing.code, seeing.data["hint"]]).toEqual(["NOT_FOUND", 'Did you mean "One.txt"?']);
    });

    test("of folders with more than 10,000 entries", async () => {
      ground.put("many/README.md");
      for (let index = 0; index < 9_999; index++) writeFileSync(join(ground.dir, `many/${index}`), "");
      expect(await hintOf("many/readme.md")).toBe('Did you mean "many/README.md"?');
      writeFileSync(join(ground.dir, "many/one-more"), "");
      expect(await hintOf("many/readme.md")).toBeUndefined();
    });
  });

  test("looking for suggestions leaves no trace in the audit", async () => {
    ground.put("README.md");
    await hintOf("readme.md");
    expect(ground.audit).toHaveLength(1);
    expect(ground.audit[0]).toMatchObject({ outcome: "NOT_FOUND", resource: "file://r/readme.md" });
    expect(JSON.stringify(ground.audit)).not.toContain("README");
  });

  test("a profile or a command is told nothing more", async () => {
    ground.put("README.md");
    expect(await hintOf("readme.md", { tool: "x:read" } as SurfaceContext)).toBeUndefined();
    expect(await hintOf("readme.md", { within: [["r"]] } as SurfaceContext)).toBeUndefined();
  });
});

// What a caller may not read is not looked at for it: how long that takes would tell what there is.
describe("places that a caller may not see", () => {
  let ground: McpGround;
  beforeAll(async () => {
    ground = await openMcpGround({
      roots: (home) => {
        for (const name of ["public/in", "private", "denied"]) mkdirSync(join(home, "docs", name), { recursive: true });
        return { docs: { path: join(home, "docs"), deny: ["denied"] } };
      },
    });
  });
  afterAll(() => ground.close());

  test.each<[path: string, caps: string, isWatched: boolean]>([
    ["", "file://docs/public/", true],
    ["public", "file://docs/public/", true],
    ["public/in", "file://docs/public/", true],
    ["public", "file://docs/public/in/", true],
    ["private", "file://docs/", true],
    ["private", "file://docs/public/", false],
    ["private/none", "file://docs/public/", false],
    ["none", "file://docs/public/", false],
    ["public2", "file://docs/public/", false],
    ["denied", "file://docs/", false],
  ])("%j is watched by rights on %s: %s", (path, resource, isWatched) => {
    const { access, adapter } = ground.venue;
    const caps = [{ with: resource, can: "crud/read" }];
    const context = { callerDID: access.did, authentication: "identity", caps } as const;
    const place = adapter.watchPlace({ root: "docs", path }, context);
    expect(place).toBeDefined();
    expect(Reflect.get(place?.coverage ?? {}, "isOver")).toBe(!isWatched);
    place?.close();
  });

  test("no place is watched by rights to write", () => {
    const { access, adapter } = ground.venue;
    const caps = [{ with: "file://docs/", can: "crud/write" }];
    const place = adapter.watchPlace({ root: "docs", path: "private" }, { callerDID: access.did, caps });
    expect(Reflect.get(place?.coverage ?? {}, "isOver")).toBe(true);
    place?.close();
  });
});
