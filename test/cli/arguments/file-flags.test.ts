// Flags that the namesakes have, and whole directories in and out.
import { appendFileSync, mkdirSync, readFileSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "@jest/globals";
import { readFileLine } from "../../../src/cli/arguments/files/line.js";
import { UsageError } from "../../../src/cli/arguments/options.js";
import { ignoreCaseGlob } from "../../../src/cli/files/search.js";
import { runFileLine, type Stage } from "../files/file-stage.js";
import { cleanUp, makeFolder, start } from "../process.js";

afterAll(cleanUp);

const NUMBERS = Array.from({ length: 12 }, (_, index) => `${index + 1}\n`).join("");
let folder: string;
beforeEach(() => {
  folder = makeFolder({
    "docs/big.bin": Buffer.alloc(1_300_000),
    "docs/numbers.txt": NUMBERS,
    "docs/sub/README.md": "readme",
    "docs/sub/deep/a.txt": "a",
  });
  utimesSync(join(folder, "docs/big.bin"), 1, 1);
  utimesSync(join(folder, "docs/numbers.txt"), 3, 3);
  utimesSync(join(folder, "docs/sub"), 2, 2);
});
const on = (args: readonly string[], more?: Stage) => runFileLine(folder, [...args, "--root", "d=docs"], more);
const ok = async (...args: string[]): Promise<string> => {
  const { status, stdout, stderr } = await on(args);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout;
};

test("ls -lh shows sizes for people, ls -t what was changed last first", async () => {
  expect(await ok("ls", "-lh", "d:")).toMatch(/^- 1\.2 MB 1970-01-01 00:00 big\.bin$/m);
  expect(await ok("ls", "-l", "d:")).toMatch(/^- 1300000 /m);
  expect(await ok("ls", "-t", "d:")).toBe("numbers.txt\nsub\nbig.bin\n");
});

test("du -h and tree -h show sizes for people", async () => {
  expect(await ok("du", "-sh", "d:")).toBe("1.2 MB\td:\n");
  expect(await ok("tree", "-h", "d:")).toContain("big.bin (1.2 MB)");
});

test.each([
  ["head", "-2", "1\n2\n"],
  ["tail", "-2", "11\n12\n"],
  ["tail", "-0", ""],
])("%s %s is that many lines", async (command, lines, shown) => {
  expect(await ok(command, lines, "d:numbers.txt")).toBe(shown);
});

test("find -iname matches in any case", async () => {
  expect(await ok("find", "d:", "-iname", "readme.MD")).toBe("d:sub/README.md\n");
  expect(await ok("find", "d:", "-name", "readme.md")).toBe("");
  expect(await ok("find", "d:", "-iname", "[q-s]EAD*")).toBe("d:sub/README.md\n");
});

test.each([
  ["a1", "[aA]1"],
  ["\\a", "\\a"],
  ["[a-z]x", "[a-zA-Z][xX]"],
  ["[!b]", "[!bB]"],
  ["ß*?", "ß*?"],
  ["É", "[Éé]"],
])("the glob %s in any case is %s", (glob, made) => {
  expect(ignoreCaseGlob(glob)).toBe(made);
});

const ESCAPE = "\u001b[";
test("--color decides over the terminal, and that over NO_COLOR", async () => {
  const isColoured = async (args: string[], stage: Stage = {}) =>
    (await on(["ls", "-1", ...args, "d:"], stage)).stdout.includes(ESCAPE);
  expect(await isColoured([])).toBe(false);
  expect(await isColoured([], { tty: true })).toBe(true);
  expect(await isColoured([], { tty: true, env: { NO_COLOR: "1" } })).toBe(false);
  expect(await isColoured(["--color"], { env: { NO_COLOR: "1" } })).toBe(true);
  expect(await isColoured(["--color=auto"], { tty: true })).toBe(true);
  expect(await isColoured(["--color=never"], { tty: true })).toBe(false);
  expect(() => readFileLine("ls", ["--color=blue"])).toThrow(
    new UsageError("--color takes always, auto or never, not 'blue'"),
  );
});

test("-h is help only where no namesake has it", () => {
  expect(readFileLine("cat", ["-h"])).toBe("help");
  for (const command of ["ls", "du", "tree"] as const) {
    expect(readFileLine(command, ["-h", "d:"])).toMatchObject({ values: { "human-readable": true } });
    expect(readFileLine(command, ["--help"])).toBe("help");
  }
});

describe("tail -f", () => {
  test("shows what is appended, a shorter file anew, and ends when it is stopped", async () => {
    const path = join(folder, "docs/numbers.txt");
    const running = start(["tail", "-1", "-f", "d:numbers.txt", "--root", "d=docs"], { cwd: folder });
    await running.until(/^12\n/);
    appendFileSync(path, "13\n");
    await running.until(/^12\n13\n/);
    truncateSync(path);
    writeFileSync(path, "new\n");
    await running.until(/^12\n13\nnew\n/);
    expect(await running.stop("SIGINT")).toMatchObject({ status: 0, stdout: "12\n13\nnew\n" });
  });

  test("follows one file", async () => {
    expect(await on(["tail", "-f", "d:a", "d:b"])).toMatchObject({ status: 64 });
  });
});

describe("whole directories", () => {
  test("come out, and go in again under another name", async () => {
    expect(await ok("get", "-r", "d:sub")).toBe("");
    expect(readFileSync(join(folder, "sub/deep/a.txt"), "utf8")).toBe("a");
    await ok("get", "-r", "d:sub", "other");
    expect(readFileSync(join(folder, "other/README.md"), "utf8")).toBe("readme");
    await ok("put", "-r", "other", "d:again");
    await ok("put", "-r", "other", "d:again");
    expect(await ok("find", "d:again", "-type", "f")).toBe(
      "d:again/deep/a.txt\nd:again/other/deep/a.txt\nd:again/other/README.md\nd:again/README.md\n",
    );
    await ok("get", "-r", "d:", "whole");
    expect(readFileSync(join(folder, "whole/numbers.txt"), "utf8")).toBe(NUMBERS);
  });

  test("need -r, and replace local files only with -f", async () => {
    expect(await on(["get", "d:sub"])).toMatchObject({ status: 1 });
    await ok("get", "-r", "d:sub");
    expect(await on(["get", "-r", "d:sub"])).toMatchObject({ status: 66, stderr: expect.stringContaining("say -f") });
    await ok("get", "-rf", "d:sub");
  });

  test("leave links out in both directions, and say so", async () => {
    mkdirSync(join(folder, "mine"));
    symlinkSync("/etc", join(folder, "mine/etc"));
    symlinkSync("../numbers.txt", join(folder, "docs/sub/link"));
    expect(await on(["put", "-r", "mine", "d:mine"])).toMatchObject({
      status: 1,
      stderr: "venue-files: left out: mine/etc: neither a file nor a directory\n",
    });
    expect(await on(["get", "-r", "d:sub"])).toMatchObject({
      status: 1,
      stderr: "venue-files: left out: d:sub/link: neither a file nor a directory\n",
    });
    expect(await ok("ls", "d:mine")).toBe("");
  });

  test("never write outside of the target, whatever names a venue elsewhere gives", async () => {
    const entry = (name: string) => ({ name, type: "file", size: 1, modified: 1 });
    const answers: Record<string, (path: string) => unknown> = {
      "file:stat": (path) => ({ exists: true, type: path === "evil" ? "directory" : "file", size: 1, modified: 1 }),
      "file:list": () => ({ entries: ["../up", "..", "/abs", "a/b", "", "fine"].map(entry), truncated: false }),
      "file:read": () => ({ content: "eA==", eof: true }),
    };
    const server = createServer(async (request, response) => {
      let text = "";
      for await (const chunk of request) text += String(chunk);
      const { operation, input } = JSON.parse(text) as { operation: string; input: { path: string } };
      const output = answers[operation]?.(input.path);
      response.writeHead(201).end(JSON.stringify({ status: "COMPLETE", output }));
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const got = await runFileLine(folder, ["get", "-r", "d:evil", "--url", url]);
    expect(got.status).toBe(1);
    expect(got.stderr.match(/left out/g)).toHaveLength(5);
    const here = await runFileLine(folder, ["find", "here:", "--root", `here=${folder}`, "-name", "up"]);
    expect(here.stdout).toBe("");
    expect(readFileSync(join(folder, "evil/fine"), "utf8")).toBe("x");
    server.close().closeAllConnections();
  });
});
