import { createHash, randomBytes } from "node:crypto";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "@jest/globals";
import { findGlobs } from "../../../src/cli/files/search.js";
import { createVenue } from "../../../src/index.js";
import { zipOf } from "../../backend/archive/zip-bytes.js";
import { entriesBelow } from "../../ops/ground.js";
import { makeGround } from "../people.js";
import { cleanUp, run } from "../process.js";
import { runFileLine, useFileCommands } from "./file-stage.js";

afterAll(cleanUp);

describe("file commands", () => {
  const { on, ok, inFolder } = useFileCommands({
    "docs/a.txt": "one\ntwo\nthree\n",
    "docs/.dot": "",
    "docs/sub/b.txt": "b",
    "caps.json5": "[]",
  });
  let folder: string;
  beforeEach(() => {
    folder = inFolder("");
  });

  const inRoot = (path: string): string => readFileSync(join(folder, "docs", path), "utf8");

  describe("looking", () => {
    test("ls lists names, without those that begin with a dot, and roots without an argument", async () => {
      expect(await ok("ls", "d:")).toBe("a.txt\nsub\n");
      expect(await ok("ls", "-a", "d:", "d:sub")).toBe("d::\n.dot\na.txt\nsub\n\nd:sub:\nb.txt\n");
      expect(await ok("ls", "-l", "d:a.txt")).toMatch(/^- 14 \d{4}-\d\d-\d\d \d\d:\d\d a\.txt\n$/);
      expect(await ok("ls")).toBe("d:\n");
    });

    test("ls --json is the answer of the operation", async () => {
      expect(JSON.parse(await ok("ls", "--json", "d:"))).toMatchObject({ total: 3, truncated: false });
    });

    test("tree shows what is below, as deep as wanted", async () => {
      expect(await ok("tree", "-L", "1", "-s", "d:")).toBe("d/\n\t.dot (0 B)\n\ta.txt (14 B)\n\tsub/\n");
    });

    test("stat tells facts, and fails where there is nothing", async () => {
      expect(await ok("stat", "d:a.txt")).toMatch(/path +d:a\.txt\n +type +file\n +size +14\n/);
      const { status, stderr } = await on(["stat", "d:none"]);
      expect([status, stderr]).toEqual([1, "venue-files: Not found: d:none\n"]);
    });

    test("a command that names no roots is told what it works on", async () => {
      const note = /^venue-files: without --config, --root or --url there is only 'tmp', an empty folder .*\n/;
      const { status, stdout, stderr } = await runFileLine(folder, ["ls"]);
      expect([status, stdout, stderr.replace(note, "")]).toEqual([0, "tmp:\n", ""]);
      const failed = await runFileLine(folder, ["history", "docs:"]);
      expect(failed.stderr).toMatch(note);
      expect(failed.stderr).toMatch(/Unknown root 'docs'\. Configured: \[tmp\]\n$/);
      expect((await runFileLine(folder, ["ls", "--json"])).stderr).toBe("");
    });

    test("a failure names the command that helps, not the operation", async () => {
      const says = async (...args: string[]) => (await on(args)).stderr;
      expect(await says("cat", "d:sub")).toBe(
        "venue-files: Not a regular file: sub. It is a directory: list it with venue-files ls\n",
      );
      expect(await says("mkdir", "d:a/b")).toMatch(/Pass -p or call venue-files mkdir\n$/);
      expect(await says("undo", "none")).toMatch(/Take an id from venue-files history\n$/);
      expect(await says("undo")).toMatch(/See venue-files history\n$/);
      expect(await says("tree", "d:a.txt")).toBe(
        "venue-files: Not a directory: a.txt. Read it with venue-files cat, or choose another path\n",
      );
      expect(await says("get", "d:sub")).toBe(
        "venue-files: Not a regular file: sub. It is a directory: say -r to copy it\n",
      );
      expect(await says("put", "docs", "d:")).toBe('Cannot read "docs": it is a directory; say -r to copy it\n');
      expect(await says("restore", "d:a.txt", "abc")).toMatch(
        /: No entry abc of "a\.txt" is in the history\. Take 'ID' from venue-files history\n$/,
      );
    });

    test("a failed edit names the options of its command", async () => {
      const edit = async (...more: string[]) => (await on(["edit", ...more])).stderr;
      const [old, edits] = [["--old", "e\n", "--new", "E\n"], '[{"oldText":"e\\n","newText":"E\\n"}]'];
      expect(await edit("d:a.txt", ...old)).toMatch(/add lines around it to --old, or set --all\n$/);
      writeFileSync(join(folder, "edits.json"), edits);
      expect(await edit("d:a.txt", "--edits", "edits.json")).toMatch(/around it to oldText, or set replaceAll\n$/);
      expect(await edit("d:a.txt", ...old, "--all", "-n")).toBe("");
      writeFileSync(join(folder, "docs/bin"), Buffer.from([0xff, 0, 0x0a]));
      expect(await edit("d:bin", ...old)).toMatch(
        /Pass its --encoding: latin1 takes every byte as a character and keeps all others\n$/,
      );
    });

    test("tree says that there is more below, and refuses depths that it does not have", async () => {
      mkdirSync(join(folder, "docs/sub/c/d/e"), { recursive: true });
      const more = "venue-files: there is more below; pass -L 10, or a deeper path\n";
      expect(await on(["tree", "d:"])).toMatchObject({ status: 0, stderr: more });
      await ok("tree", "-L", "2", "d:");
      await ok("tree", "-L", "10", "d:");
      mkdirSync(join(folder, "docs/sub/c/d/e/f/g/h/i/j/k/l"), { recursive: true });
      const deeper = "venue-files: there is more below; name a deeper path\n";
      expect(await on(["tree", "-L", "10", "d:"])).toMatchObject({ status: 0, stderr: deeper });
      for (const level of ["0", "11", "99"]) {
        await expect(on(["tree", "-L", level, "d:"])).resolves.toMatchObject({ status: 64, stdout: "" });
      }
    });

    test("cat, head and tail give bytes as they are", async () => {
      expect(await ok("cat", "-n", "d:a.txt", "d:sub/b.txt")).toBe(
        "     1\tone\n     2\ttwo\n     3\tthree\n     4\tb",
      );
      expect(await ok("head", "-n", "2", "d:a.txt")).toBe("one\ntwo\n");
      expect(await ok("tail", "-n", "1", "d:a.txt", "d:sub/b.txt")).toBe(
        "==> d:a.txt <==\nthree\n\n==> d:sub/b.txt <==\nb",
      );
    });

    test("tail finds its lines over any number of pieces", async () => {
      const lines = Array.from({ length: 20_000 }, (_, index) => `line ${index}\n`);
      writeFileSync(join(folder, "docs/long"), lines.join(""));
      expect(await ok("tail", "-n", "15000", "d:long")).toBe(lines.slice(-15_000).join(""));
      expect(await ok("tail", "-n", "30000", "d:long")).toBe(lines.join(""));
      expect(await ok("tail", "-n", "0", "d:long")).toBe("");
    });

    test("one that fails does not stop the others", async () => {
      expect(await on(["cat", "d:none", "d:sub/b.txt"])).toMatchObject({
        status: 1,
        stdout: "b",
        stderr: "venue-files: Not found: d:none\n",
      });
      const { stderr } = await on(["cat", "--json", "d:none"]);
      expect(JSON.parse(stderr)).toMatchObject({ errorCode: "NOT_FOUND", errorData: { root: "d", path: "none" } });
    });
  });

  describe("changing", () => {
    test("edit replaces text and shows the difference", async () => {
      const diff = "--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
      expect(await ok("edit", "-n", "d:a.txt", "--old", "two", "--new", "2")).toBe(diff);
      expect(inRoot("a.txt")).toBe("one\ntwo\nthree\n");
      expect(await ok("edit", "d:a.txt", "--old", "two", "--new", "2")).toBe(diff);
      expect(inRoot("a.txt")).toBe("one\n2\nthree\n");
    });

    test("edit takes its edits from a file or from standard input", async () => {
      writeFileSync(
        join(folder, "edits.json"),
        '[{"oldText":"one","newText":"1"},{"oldText":"e\\n","newText":"E\\n"}]',
      );
      const failed = await on(["edit", "d:a.txt", "--edits", "edits.json"]);
      expect([failed.status, failed.stderr]).toEqual([
        1,
        expect.stringMatching(/^venue-files: Edit 2 of 2 matches "a\.txt" 2 times/),
      ]);
      const { status } = await on(["edit", "d:a.txt", "--edits", "-"], { input: '[{"oldText":"one","newText":"1"}]' });
      expect([status, inRoot("a.txt")]).toEqual([0, "1\ntwo\nthree\n"]);
      expect((await on(["edit", "d:a.txt", "--edits", "-"], { input: "no JSON" })).status).toBe(64);
    });

    test("mkdir, cp, mv and rm do what their namesakes do", async () => {
      await ok("mkdir", "-p", "d:new/deep");
      expect((await on(["mkdir", "d:new"])).stderr).toBe("venue-files: Already exists: new\n");
      await ok("cp", "d:a.txt", "d:new/deep");
      await ok("mv", "d:new/deep/a.txt", "d:new/b.txt");
      expect([readdirSync(join(folder, "docs/new")), inRoot("new/b.txt")]).toEqual([
        ["b.txt", "deep"],
        inRoot("a.txt"),
      ]);
      expect((await on(["cp", "-n", "d:a.txt", "d:new/b.txt"])).stderr).toMatch(
        /^venue-files: Already exists: new\/b\.txt/,
      );
      expect((await on(["rm", "d:new"])).status).toBe(1);
      await ok("rm", "-r", "d:new");
      expect(existsSync(join(folder, "docs/new"))).toBe(false);
      expect((await on(["rm", "d:new"])).status).toBe(1);
      await ok("rm", "-f", "d:new");
    });

    test("nothing is done that capabilities do not allow", async () => {
      const { status, stderr } = await on(["rm", "d:a.txt", "--caps", join(folder, "caps.json5")]);
      expect([status, existsSync(join(folder, "docs/a.txt"))]).toEqual([1, true]);
      expect(stderr).toMatch(/^venue-files: /);
    });
  });

  describe("a caps list", () => {
    const withCaps = async (text: string) => {
      const file = join(folder, "own.json5");
      writeFileSync(file, text);
      const { status, stderr } = await on(["ls", "d:", "--caps", file]);
      return { status, stderr: stderr.replaceAll(file, "own.json5") };
    };

    test.each([
      ['[\n{ with: "file://d/", cn: "crud/read" }]', "2:22: Unknown config key '[0].cn' - did you mean 'can'?"],
      [
        '[{ with: "file://d/", can: "crud/raed" }]',
        "1:2: '[0]' grants nothing: expected 'with' to be a resource such as",
      ],
      ['[{ with: "file://d/", can: "crud/read", nb: {} }]', "1:41: Unknown config key '[0].nb'"],
      ['[{ with: "file://../", can: "crud/read" }]', "1:2: '[0]' grants nothing"],
      ['["crud/read"]', "1:2: '[0]' must be an object, not a string"],
      ['[{ with: "file://d/", can: "crud", can: "*" }]', "1:36: '[0].can' is set at own.json5:1:23 already"],
    ])("with %s is refused with its place", async (text, problem) => {
      const { status, stderr } = await withCaps(text);
      expect([status, stderr.slice(0, "own.json5:".length + problem.length)]).toEqual([78, `own.json5:${problem}`]);
    });

    test("may hold what is for others", async () => {
      const text = `[{ with: "my:thing", can: "x/y" }, { with: "*", can: "*" }, { with: "dlfs://d/", can: "crud" },
      { with: "file://d/", can: "crud/read" }]`;
      expect(await withCaps(text)).toMatchObject({ status: 0, stderr: "" });
    });
  });

  describe("transfer", () => {
    test("put -r copies a folder that is called as the root like any other", async () => {
      mkdirSync(join(folder, "from/d/in"), { recursive: true });
      writeFileSync(join(folder, "from/d/in/x"), "x");
      await ok("put", "-r", join(folder, "from"), "d:");
      expect(inRoot("from/d/in/x")).toBe("x");
      await ok("put", "-r", join(folder, "from/d"), "d:");
      expect(inRoot("d/in/x")).toBe("x");
    });

    const hashOf = (path: string): string =>
      createHash("sha256")
        .update(readFileSync(join(folder, path)))
        .digest("hex");

    test("put and get bring any bytes there and back, more than one write or read may have", async () => {
      writeFileSync(join(folder, "big"), randomBytes(20_000_000));
      await ok("put", "big", "d:sub");
      await ok("get", "d:sub/big", "copy");
      expect(hashOf("copy")).toBe(hashOf("big"));
      expect(statSync(join(folder, "docs/sub/big")).size).toBe(20_000_000);
      expect(readdirSync(folder).filter((name) => name.endsWith(".part"))).toEqual([]);
    });

    test("put takes several files and standard input", async () => {
      writeFileSync(join(folder, "x"), "x");
      await ok("put", "-p", "x", "caps.json5", "d:in/deep/");
      expect(readdirSync(join(folder, "docs/in/deep"))).toEqual(["caps.json5", "x"]);
      expect((await on(["put", "-", "d:typed"], { input: "typed" })).status).toBe(0);
      expect(inRoot("typed")).toBe("typed");
      expect((await on(["put", "-n", "x", "d:typed"])).status).toBe(1);
      expect(inRoot("typed")).toBe("typed");
      expect(await on(["put", "docs", "d:typed"])).toMatchObject({ status: 66 });
      expect(await on(["put", "none", "d:typed"])).toMatchObject({
        status: 66,
        stderr: 'Cannot read "none": no such file or directory\n',
      });
    });

    test.each([
      ["the directory itself", "sub", false],
      ["one below", "sub/inner", false],
      ["one that leads nowhere", "sub/inner", true],
    ])("get -r does not follow a link in place of %s", async (_what, name, isDangling) => {
      await ok("mkdir", "-p", "d:sub/inner");
      writeFileSync(join(folder, "docs/sub/inner/x"), "x");
      mkdirSync(join(folder, "elsewhere"));
      const out = join(folder, "out");
      mkdirSync(dirname(join(out, name)), { recursive: true });
      const target = join(folder, isDangling ? "none" : "elsewhere");
      symlinkSync(target, join(out, name));
      expect(await on(["get", "-rf", "d:sub", "out"])).toMatchObject({
        status: 78,
        stderr: expect.stringContaining(`is a link to ${target}`),
      });
      expect(readdirSync(join(folder, "elsewhere"))).toEqual([]);
      expect(existsSync(join(folder, "none"))).toBe(false);
    });

    test("get puts a file in place of a link, not into its target, also one in a tree", async () => {
      for (const name of ["a.txt", "sub/b.txt"]) {
        const link = join(folder, "out", name);
        mkdirSync(dirname(link), { recursive: true });
        writeFileSync(join(folder, "target"), "mine");
        symlinkSync("../target", link);
        if (name === "a.txt") await ok("get", "-f", "d:a.txt", "out");
        else await ok("get", "-rf", "d:sub", "out");
        expect(lstatSync(link).isFile()).toBe(true);
        expect(readFileSync(join(folder, "target"), "utf8")).toBe("mine");
      }
    });

    test("get replaces a local file only where it is told to", async () => {
      mkdirSync(join(folder, "here"));
      writeFileSync(join(folder, "here/a.txt"), "mine");
      expect(await on(["get", "d:a.txt", "here"])).toMatchObject({ status: 66 });
      expect(readFileSync(join(folder, "here/a.txt"), "utf8")).toBe("mine");
      await ok("get", "-f", "d:a.txt", "d:sub/b.txt", "here");
      expect(readdirSync(join(folder, "here"))).toEqual(["a.txt", "b.txt"]);
      expect(await ok("get", "d:a.txt", "-")).toBe("one\ntwo\nthree\n");
      expect((await on(["get", "d:none", "none"])).status).toBe(1);
      expect(existsSync(join(folder, "none"))).toBe(false);
    });
  });

  describe("on a terminal", () => {
    const show = async (env: Readonly<Record<string, string>>, ...argv: string[]): Promise<string> =>
      (await on(argv, { env, tty: true })).stdout;

    test("names stand in columns and in colours", async () => {
      expect(await show({ TERM: "xterm" }, "ls", "d:")).toBe("a.txt  \u001b[1;34msub\u001b[0m\n");
      expect(await show({ TERM: "xterm" }, "ls", "-1", "d:")).toBe("a.txt\n\u001b[1;34msub\u001b[0m\n");
    });

    test("there are no colours for whoever wants none", async () => {
      expect(await show({ NO_COLOR: "1" }, "ls", "d:")).toBe("a.txt  sub\n");
      expect(await show({ TERM: "dumb" }, "edit", "d:a.txt", "--old", "two", "--new", "2", "-n")).toContain(
        "\n-two\n+2\n",
      );
    });
  });

  describe("a process of its own", () => {
    const started = (args: readonly string[], input = "") => run([...args, "--root", "d=docs"], { cwd: folder, input });

    test("takes what it is piped, and pipes what it gives", async () => {
      expect(await started(["put", "-", "d:new"], "piped")).toMatchObject({ status: 0, stdout: "", stderr: "" });
      expect(await started(["cat", "d:new", "d:a.txt"])).toMatchObject({ status: 0, stdout: "pipedone\ntwo\nthree\n" });
    });

    test("ends with the status that its failure has", async () => {
      const [failed, misused] = await Promise.all([started(["rm", "d:none"]), started(["edit", "d:a.txt"])]);
      expect([failed.status, failed.stderr]).toEqual([1, "venue-files: Not found: d:none\n"]);
      expect([misused.status, misused.stderr]).toEqual([
        64,
        "'edit' needs --old and --new, or --edits FILE\nSee: venue-files help edit\n",
      ]);
    });
  });
});

describe("searches", () => {
  const { on, ok, inFolder } = useFileCommands({
    "docs/a.ts": "one\nTwo hits\nthree\nfour\nfive hits\n",
    "docs/b.md": "hits (1)\n",
    "docs/sub/c.ts": "\thits\n",
    "docs/sub/deep/d.ts": "none\n",
    "docs/.gitignore": "ignored\n",
    "docs/ignored": "hits\n",
  });

  describe("grep", () => {
    test("shows lines as its namesake, with numbers and lines around where they are wanted", async () => {
      expect(await ok("grep", "hits", "d:")).toBe(
        "d:a.ts:Two hits\nd:a.ts:five hits\nd:b.md:hits (1)\nd:sub/c.ts:\thits\n",
      );
      expect(await ok("grep", "-rn", "-C1", "h.ts", "d:a.ts")).toBe(
        "d:a.ts-1-one\nd:a.ts:2:Two hits\nd:a.ts-3-three\nd:a.ts-4-four\nd:a.ts:5:five hits\n",
      );
      expect(await ok("grep", "-A", "1", "hits", "d:")).toBe(
        "d:a.ts:Two hits\nd:a.ts-three\n--\nd:a.ts:five hits\n--\nd:b.md:hits (1)\n--\nd:sub/c.ts:\thits\n",
      );
    });

    test("takes plain text, any case, some files only, and what is ignored too", async () => {
      expect(await ok("grep", "-F", "hits (1)", "d:")).toBe("d:b.md:hits (1)\n");
      expect(await ok("grep", "-il", "two", "d:")).toBe("d:a.ts\n");
      expect(await ok("grep", "-c", "hits", "d:", "--include", "*.ts", "--exclude", "sub/**")).toBe("d:a.ts:2\n");
      expect(await ok("grep", "-l", "--no-ignore", "hits", "d:", "--include=ignored")).toBe("d:ignored\n");
      expect(await ok("grep", "-e", "hits", "d:b.md")).toBe("d:b.md:hits (1)\n");
    });

    test("says what it has left out as binary, on standard error", async () => {
      writeFileSync(join(inFolder("docs"), "utf16"), Buffer.from("hits", "utf16le"));
      const stderr = "venue-files: d:: left out: 1 binary\n";
      expect(await on(["grep", "nothing", "d:"])).toEqual({ status: 1, stdout: "", stderr });
      expect(await on(["grep", "--json", "nothing", "d:"])).toMatchObject({ stderr: "" });
    });

    test("ends with 1 where nothing is found, with 2 where something fails", async () => {
      expect(await on(["grep", "nothing", "d:"])).toEqual({ status: 1, stdout: "", stderr: "" });
      const failed = await on(["grep", "hits", "d:none", "d:b.md"]);
      expect(failed).toMatchObject({
        status: 2,
        stdout: "d:b.md:hits (1)\n",
        stderr: "venue-files: Not found: d:none\n",
      });
      expect((await on(["grep", "a(b", "d:"])).stderr).toMatch(/^venue-files: Invalid pattern/);
      for (const words of [["grep", "x"], ["grep"], ["grep", "-C", "two", "x", "d:"]]) {
        expect((await on(words)).status).toBe(64);
      }
    });

    test("goes on from page to page, and shows one line as one line", async () => {
      writeFileSync(inFolder("docs/many"), "hit\n".repeat(5001));
      expect((await ok("grep", "-n", "hit$", "d:many")).split("\n").at(-2)).toBe("d:many:5001:hit");
      writeFileSync(inFolder("docs/odd"), "a\u001b[31mhit\u202e\n");
      expect(await ok("grep", "hit", "d:odd")).toBe("d:odd:a\\u{1b}[31mhit\\u{202e}\n");
    });

    test("is the answer of the operation in JSON, and coloured on a terminal only", async () => {
      expect(JSON.parse(await ok("grep", "--json", "-l", "hits", "d:sub"))).toMatchObject({ paths: ["sub/c.ts"] });
      const { stdout } = await on(["grep", "-n", "h.t", "d:b.md"], { env: { TERM: "xterm" }, tty: true });
      expect(stdout).toBe("\u001b[35md:b.md\u001b[0m:\u001b[32m1\u001b[0m:\u001b[1;31mhit\u001b[0ms (1)\n");
    });
  });

  describe("find", () => {
    test("names what is below, by name, path, type and depth", async () => {
      expect(await ok("find", "d:")).toBe(
        "d:.gitignore\nd:a.ts\nd:b.md\nd:ignored\nd:sub\nd:sub/c.ts\nd:sub/deep\nd:sub/deep/d.ts\n",
      );
      expect(await ok("find", "d:", "-name", "*.ts", "-type", "f")).toBe("d:a.ts\nd:sub/c.ts\nd:sub/deep/d.ts\n");
      expect(await ok("find", "d:sub", "-type", "d")).toBe("d:sub/deep\n");
      expect(await ok("find", "d:", "-maxdepth", "2", "-name", "?.ts", "-name", "s*")).toBe(
        "d:a.ts\nd:sub\nd:sub/c.ts\n",
      );
      expect(await ok("find", "d:", "-path", "sub/*")).toBe("d:sub/c.ts\nd:sub/deep\n");
      expect(await ok("find", "d:", "-maxdepth", "0")).toBe("");
    });

    test("takes braces and an exclamation mark in a name as they are", async () => {
      for (const name of ["{a,b}", "!x", "(y)|z"]) writeFileSync(inFolder(`docs/${name}`), "");
      for (const name of ["{a,b}", "!x", "(y)|z"]) expect(await ok("find", "d:", "-name", name)).toBe(`d:${name}\n`);
    });

    test("is plain in a pipe, JSON where it is wanted, and fails as others do", async () => {
      const { stdout } = await on(["find", "d:sub", "-maxdepth", "1"], { env: { TERM: "xterm" }, tty: true });
      expect(stdout).toBe("d:sub/c.ts\n\u001b[1;34md:sub/deep\u001b[0m\n");
      expect(JSON.parse(await ok("find", "--json", "d:", "-name", "b.md"))).toMatchObject({ paths: ["b.md"] });
      expect(await on(["find", "d:none"])).toMatchObject({ status: 1, stderr: "venue-files: Not found: d:none\n" });
      for (const words of [
        ["-type", "l"],
        ["-name", "a/b"],
        ["-name", "a", "-path", "b"],
        ["-maxdepth", "21"],
      ]) {
        expect((await on(["find", "d:", ...words])).status).toBe(64);
      }
    });

    test("asks for no more patterns than a search takes", () => {
      expect(findGlobs({ names: ["a", "b"], paths: [], maxDepth: 10 })).toHaveLength(20);
      expect(() => findGlobs({ names: ["a", "b"], paths: [], maxDepth: 11 })).toThrow(
        "-maxdepth can be at most 10 here",
      );
    });
  });

  describe("du", () => {
    beforeEach(() => {
      mkdirSync(inFolder("docs/more"));
      writeFileSync(inFolder("docs/more/big"), Buffer.alloc(2048));
    });

    test("sums up directories, the whole last, in bytes or for people", async () => {
      expect(await ok("du", "d:")).toMatch(/^11\td:sub\n2048\td:more\n\d+\td:\n$/);
      expect(await ok("du", "-s", "d:more", "d:b.md")).toBe("2048\td:more\n9\td:b.md\n");
      expect(await ok("du", "-a", "d:more")).toBe("2048\td:more/big\n2048\td:more\n");
      expect(await ok("du", "-d", "2", "d:sub")).toBe("5\td:sub/deep\n11\td:sub\n");
      expect(await ok("du", "--human-readable", "d:more")).toBe("2.0 KB\td:more\n");
      const terminal = { env: { TERM: "dumb" }, tty: true };
      expect((await on(["du", "d:more"], terminal)).stdout).toBe("2.0 KB\td:more\n");
      expect((await on(["du", "-b", "d:more"], terminal)).stdout).toBe("2048\td:more\n");
      expect(JSON.parse(await ok("du", "--json", "d:more"))).toMatchObject({ bytes: 2048, files: 1 });
      expect(await on(["du", "d:none"])).toMatchObject({ status: 1, stderr: "venue-files: Not found: d:none\n" });
    });
  });

  test("what is denied by capabilities is not searched", async () => {
    for (const args of [
      ["grep", "hits", "d:"],
      ["find", "d:"],
      ["du", "d:"],
    ]) {
      writeFileSync(inFolder("caps.json5"), "[]");
      const { status, stdout } = await on([...args, "--caps", join(inFolder(""), "caps.json5")]);
      expect([status === 0, stdout]).toEqual([false, ""]);
    }
  });

  test("what lies in an archive is listed, read and searched as in a folder, and cannot be changed", async () => {
    const entries = [
      { name: "sub/a.md", content: "one\nTwo hits\n" },
      { name: "b.txt", content: "b" },
    ];
    writeFileSync(inFolder("docs/x.zip"), zipOf(entries));
    expect(await ok("ls", "d:x.zip!")).toBe("b.txt\nsub\n");
    expect(await ok("cat", "d:x.zip!/sub/a.md")).toBe("one\nTwo hits\n");
    expect(await ok("tail", "-n", "1", "d:x.zip!/sub/a.md")).toBe("Two hits\n");
    expect(await ok("grep", "hits", "d:x.zip!")).toBe("d:x.zip!/sub/a.md:Two hits\n");
    expect(await ok("find", "d:x.zip!", "-name", "*.md")).toBe("d:x.zip!/sub/a.md\n");
    expect(await ok("stat", "d:x.zip!/b.txt")).toContain("writable  no");
    const refusal = "venue-files: Cannot write an archive entry: use archive:extract or archive:zip\n";
    for (const words of [
      ["rm", "d:x.zip!/b.txt"],
      ["cp", "d:x.zip!/b.txt", "d:n"],
      ["mkdir", "d:x.zip!/n"],
    ])
      expect(await on(words)).toMatchObject({ status: 1, stderr: refusal });
  });
});

describe("a folder into itself", () => {
  const { on, inFolder } = useFileCommands({ "docs/a.txt": "one", "docs/sub/b.txt": "b", "docs/sub/in/c.txt": "c" });
  const TREE = ["a.txt", "sub/", "sub/b.txt", "sub/in/", "sub/in/c.txt"];
  const tree = () => entriesBelow(inFolder("docs"));

  describe("put -r refuses a directory that holds its target", () => {
    const puts = (folder: string): string[][] => [
      ["put", "-r", folder, "d:bk"],
      ["put", "-r", folder, "d:"],
      ["put", "-r", folder, "d:sub/in"],
      ["put", "-r", join(folder, "sub"), "d:sub/in/new"],
      ["put", "-r", join(folder, "sub"), "d:"],
      ["put", "-r", join(folder, ".."), "d:bk"],
      ["put", "-rp", folder, "d:x/y/z"],
    ];

    test.each(puts("docs").map((args) => [args.join(" "), args] as const))("%s", async (_, args) => {
      const { status, stderr } = await on(args);
      expect([status, stderr]).toEqual([1, expect.stringContaining("cannot be copied into itself")]);
      expect(tree().filter((name) => !name.startsWith("x/"))).toEqual(TREE);
    });

    test("also by a link to either", async () => {
      symlinkSync(inFolder("docs"), inFolder("link"));
      symlinkSync("sub", inFolder("docs/within"));
      for (const [from, to] of [
        ["link", "d:bk"],
        ["docs/sub", "d:within/bk"],
        ["link/within", "d:sub/bk"],
      ] as const) {
        expect(await on(["put", "-r", from, to])).toMatchObject({ status: 1 });
        expect(tree()).toEqual([...TREE, "within"]);
      }
    });

    test("and copies what lies beside it in the same tree", async () => {
      expect(await on(["put", "-r", "docs/sub", "d:bk"])).toMatchObject({ status: 0, stderr: "" });
      expect(tree()).toEqual([...["a.txt", "bk/", "bk/b.txt", "bk/in/", "bk/in/c.txt"], ...TREE.slice(1)]);
      expect(await on(["put", "-r", "docs/sub/in", "d:bk"])).toMatchObject({ status: 0, stderr: "" });
      expect(readFileSync(join(inFolder("docs"), "bk/in/c.txt"), "utf8")).toBe("c");
    });
  });

  describe("get -r refuses a directory that holds its target", () => {
    test.each([
      ["d:", "docs/bk"],
      ["d:", "docs"],
      ["d:sub", "docs/sub"],
      ["d:sub", "docs/sub/in/new"],
      ["d:sub", "docs/sub/in"],
    ])("%s into %s", async (from, to) => {
      const { status, stderr } = await on(["get", "-r", from, to]);
      expect([status, stderr]).toEqual([1, expect.stringContaining("cannot be copied into itself")]);
      expect(tree()).toEqual(TREE);
    });

    test("also by a link, and copies what lies beside it", async () => {
      symlinkSync(inFolder("docs/sub"), inFolder("link"));
      expect(await on(["get", "-r", "d:", "link/new"])).toMatchObject({ status: 1 });
      expect(tree()).toEqual(TREE);
      expect(await on(["get", "-r", "d:sub", "docs/bk"])).toMatchObject({ status: 0, stderr: "" });
      expect(readdirSync(inFolder("docs/bk"))).toEqual(["b.txt", "in"]);
    });
  });

  test("a venue on the same machine is no way around it", async () => {
    const venue = await createVenue(
      {
        ...{ port: 0, file: { roots: { data: { path: "docs" } } } },
        auth: { public: { enabled: true, caps: [{ with: "file://data/", can: "crud" }] } },
      },
      { baseDir: inFolder("") },
    );
    const { url } = await venue.listen();
    try {
      for (const args of [
        ["put", "-r", "docs", "data:bk"],
        ["put", "-r", ".", "data:bk"],
        ["get", "-r", "data:", "docs/bk"],
      ]) {
        const { status, stderr } = await runFileLine(inFolder(""), [...args, "--url", url]);
        expect([args, status, stderr]).toEqual([args, 1, expect.stringContaining("cannot be copied into itself")]);
        expect(tree()).toEqual(TREE);
      }
    } finally {
      await venue.close();
    }
  });

  test("who may write and not delete leaves nothing behind, and the copy ends", async () => {
    writeFileSync(
      inFolder("caps.json5"),
      '[{ with: "file://d/", can: "crud/read" }, { with: "file://d/", can: "crud/write" }]',
    );
    const { status } = await on(["put", "-r", "docs", "d:bk", "--caps", inFolder("caps.json5")]);
    expect(status).toBe(0);
    expect(existsSync(inFolder("docs/bk/bk/bk"))).toBe(false);
    expect(tree().filter((name) => name.includes("copy-check"))).toEqual([]);
    mkdirSync(inFolder("empty"));
  });
});

describe("patches", () => {
  const { on, ok, inFolder } = useFileCommands({
    "docs/a.txt": "one\ntwo\n",
    "work.diff":
      "diff --git a/a.txt b/b.txt\nrename from a.txt\nrename to b.txt\n--- a/a.txt\n+++ b/b.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
    "binary.diff": "diff --git a/p b/p\nBinary files a/p and b/p differ\n",
  });
  const bytesOf = (path: string): Buffer => readFileSync(join(inFolder("docs"), path));

  test("patch takes a unified diff, and shows first what it would do", async () => {
    expect(await ok("patch", "work.diff", "--in", "d:", "-n")).toContain("rename to b.txt");
    expect(bytesOf("a.txt").toString()).toBe("one\ntwo\n");
    await ok("patch", "work.diff", "--in", "d:");
    expect(bytesOf("b.txt").toString()).toBe("one\n2\n");
  });

  test("patch refuses binary content with its line", async () => {
    const { status, stderr } = await on(["patch", "binary.diff", "--in", "d:"]);
    expect([status, stderr]).toEqual([1, expect.stringMatching(/Line 2 of the patch: binary content/)]);
  });

  test("patch is itself in the encoding of the files", async () => {
    writeFileSync(join(inFolder("docs"), "l.txt"), Buffer.from("Stra\xdfe\nalt\n", "latin1"));
    const diff = "--- a/l.txt\n+++ b/l.txt\n@@ -1,2 +1,2 @@\n Stra\xdfe\n-alt\n+f\xfcr\n";
    writeFileSync(inFolder("l.diff"), Buffer.from(diff, "latin1"));
    await ok("patch", "l.diff", "--in", "d:", "--encoding", "latin1");
    expect(bytesOf("l.txt")).toEqual(Buffer.from("Stra\xdfe\nf\xfcr\n", "latin1"));
  });
});

test("who is not the operator takes back the newest changes that they see, too", async () => {
  const { folder, venueFiles } = makeGround();
  const asAlice = async (...args: string[]) => {
    const { status, stdout, stderr } = await venueFiles([...args, "--config", "venue.json5", "--key", "alice"]);
    return { status, stdout, stderr };
  };
  const q3 = () => readFileSync(join(folder, "docs/reports/q3.md"), "utf8");
  const edit = (from: string, to: string) => asAlice("edit", "docs:reports/q3.md", "--old", from, "--new", to);
  expect((await asAlice("undo", "-y")).stderr).toMatch(/^venue-files: Nothing to undo: .* See venue-files history\n$/);
  for (const [from, to] of [
    ["third", "fourth"],
    ["fourth", "fifth"],
    ["fifth", "sixth"],
  ] as const) {
    expect((await edit(from, to)).status).toBe(0);
  }
  const asked = await asAlice("undo", "--last", "2");
  expect([asked.status, asked.stderr]).toEqual([1, expect.stringMatching(/^Would undo 2 changes:\n.*\n.*\n.*-y/)]);
  expect(q3()).toBe("sixth quarter\n");
  expect(await asAlice("undo", "-y")).toMatchObject({ status: 0, stdout: expect.stringContaining("+fifth quarter") });
  expect(await asAlice("undo", "--last", "2", "-y")).toMatchObject({ status: 0, stderr: "" });
  expect(q3()).toBe("third quarter\n");
});

test("a session is taken back past a change that was purged, which is named", async () => {
  const { folder, venueFiles } = makeGround();
  const run = (...args: string[]) => venueFiles([...args, "--config", "venue.json5"]);
  const names = ["one", "two", "three"];
  for (const name of names) writeFileSync(join(folder, name), "new");
  writeFileSync(join(folder, "docs/two"), "a key");
  expect(await run("put", ...names.map((name) => join(folder, name)), "docs:")).toMatchObject({ status: 0 });
  expect(await run("purge", "-y", "docs:two")).toMatchObject({ status: 0 });
  const undone = await run("undo", "--session", "-y");
  expect(undone).toMatchObject({ status: 0, stderr: expect.stringMatching(/purged:\n .* docs:two\n$/) });
  expect(names.filter((name) => existsSync(join(folder, "docs", name)))).toEqual(["two"]);
});
