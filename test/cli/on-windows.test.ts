// Command lines as Windows writes them. What the system itself does there is tried by `npm run test:windows`.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { parseRootArgument } from "../../src/cli/arguments/root.js";
import { simulateSystem } from "../../src/core/system.js";
import { unfitAsRoot } from "../../src/jail/mounts.js";
import { runHere } from "./in-process.js";
import { cleanUp, makeFolder } from "./process.js";

afterAll(cleanUp);

let restore = () => {};
beforeEach(() => {
  restore = simulateSystem("win32");
});
afterEach(() => restore());

describe("--root", () => {
  test.each([
    ["C:\\a=b", undefined, "C:\\a=b", false],
    ["C:\\work\\x=y:ro", undefined, "C:\\work\\x=y", true],
    ["\\\\?\\C:\\x", undefined, "\\\\?\\C:\\x", false],
    ["docs=C:\\a=b", "docs", "C:\\a=b", false],
    ["docs=D:/x:ro", "docs", "D:/x", true],
  ])("%s", (text, name, path, readOnly) => {
    const parsed = parseRootArgument(text, "/cwd");
    expect(parsed.name).toBe(name);
    // The rules of paths are those of the system that runs the test.
    expect([`${parsed.root.path}`.replace("/cwd/", ""), parsed.root.readOnly]).toEqual([path, readOnly]);
  });

  test.each(["C:\\", "c:/", "D:", "/"])("never a whole drive: %s", (path) => {
    expect(unfitAsRoot(path)).toBe("it is the whole file system");
  });
});

test("the last word of `get` is a file where it names a drive", async () => {
  const cwd = makeFolder({ "docs/a.txt": "one", "docs/b.txt": "two" });
  const get = (...words: string[]) => runHere(["get", "--root", "w=./docs", ...words], { cwd });
  expect(await get("w:a.txt", "C:\\out.txt")).toMatchObject({ status: 0 });
  expect(readFileSync(join(cwd, "C:\\out.txt"), "utf8")).toBe("one");
  expect(await get("w:a.txt", "w:b.txt")).toMatchObject({ status: 0 });
  expect(readdirSync(cwd).sort()).toEqual(["C:\\out.txt", "a.txt", "b.txt", "docs"]);
});

test("`init` shows a client's file that has line ends of Windows as its lines are", async () => {
  const cwd = makeFolder({ "docs/a.txt": "" });
  writeFileSync(join(cwd, ".mcp.json"), '{\r\n  "mcpServers": {\r\n    "other": { "command": "x" }\r\n  }\r\n}\r\n');
  const done = await runHere(["init", "--root", "docs=./docs", "--for", "claude-code", "--print"], { cwd });
  expect(done.status).toBe(0);
  expect(done.stdout).toContain('+    "files": {\n');
  expect(done.stdout).not.toContain("\\u{d}");
});

test("`doctor` says nothing of libraries and limits that are for Linux", async () => {
  const { stdout } = await runHere(["doctor"], { cwd: makeFolder() });
  expect(stdout).toMatch(/Jail +real-path check/);
  expect(stdout).not.toMatch(/fast walk|inotify|Open files/);
});
