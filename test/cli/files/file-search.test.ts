import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { findGlobs } from "../../../src/cli/files/search.js";
import { useFileCommands } from "./file-stage.js";

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
    expect(() => findGlobs({ names: ["a", "b"], paths: [], maxDepth: 11 })).toThrow("-maxdepth can be at most 10 here");
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
