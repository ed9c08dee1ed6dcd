import { describe, expect, test } from "@jest/globals";
import { parseRootArgument, parseRootArguments } from "../../../src/cli/arguments/root.js";
import { parseConfig } from "../../../src/config/load.js";
import { configErrorOf, problemsOf } from "../../config/problems.js";

describe("--root [NAME=]PATH[:ro]", () => {
  test.each([
    ["docs=manuals", "docs", "/cwd/manuals", false],
    ["docs=manuals:ro", "docs", "/cwd/manuals", true],
    ["docs=/abs:ro", "docs", "/abs", true],
    ["docs=.", "docs", "/cwd", false],
    ["a.b-c=../x/", "a.b-c", "/x", false],
    ["docs=a=b", "docs", "/cwd/a=b", false],
    ["docs=a:ro:ro", "docs", "/cwd/a:ro", true],
    ["docs=a:ro/", "docs", "/cwd/a:ro", false],
    ["docs=a:rw", "docs", "/cwd/a:rw", false],
    ["docs=:ro/x", "docs", "/cwd/:ro/x", false],
  ])("%s", (text, name, path, readOnly) => {
    expect(parseRootArgument(text, "/cwd")).toEqual({ name, root: { path, readOnly } });
  });

  test.each([
    ["manuals", "/cwd/manuals", false],
    ["/abs/manuals:ro", "/abs/manuals", true],
    [".", "/cwd", false],
    ["./a=b", "/cwd/a=b", false],
    ["/srv/x=y:ro", "/srv/x=y", true],
  ])("%s has no name", (text, path, readOnly) => {
    expect(parseRootArgument(text, "/cwd")).toEqual({ name: undefined, root: { path, readOnly } });
  });

  test.each(["docs=", "docs=:ro", "=manuals", "", ":ro"])("'%s' is refused with an example", (text) => {
    const error = configErrorOf(() => parseRootArgument(text, "/cwd"));
    expect(error?.exitStatus).toBe(78);
    expect(error?.problems).toEqual([
      `Cannot read --root '${text}': expected PATH or NAME=PATH, for example --root docs=./docs or --root ./docs:ro`,
    ]);
  });

  test.each(["my docs", "-docs", "__proto__", "x".repeat(64)])("the name '%s' is refused with an example", (name) => {
    expect(problemsOf(() => parseRootArgument(`${name}=x`, "/cwd"))).toEqual([
      `Cannot read --root '${name}=x': the name must be a letter or digit, then at most 62 letters, digits, '.', '_' or '-', for example --root docs=./docs or --root ./docs:ro`,
    ]);
  });
});

describe("several --root options", () => {
  test("become the extra roots of a config, in their order", () => {
    const extraRoots = parseRootArguments(["b=x", "a=y:ro"], "/cwd");
    const { roots } = parseConfig({}, { baseDir: "/base", extraRoots }).file;
    expect(Object.entries(roots)).toMatchObject([
      ["b", { kind: "host", path: "/cwd/x", readOnly: false }],
      ["a", { kind: "host", path: "/cwd/y", readOnly: true }],
    ]);
  });

  test("bare folders may be read-only as in --root", () => {
    const folders = ["docs", "notes:ro", "odd:ro:ro", "odd2:ro/"];
    const roots = parseRootArguments([], "/srv", { folders, protect: ["@git"] });
    expect(Object.values(roots).map(({ path, readOnly, protect }) => [path, readOnly, protect])).toEqual([
      ["/srv/docs", false, ["@git"]],
      ["/srv/notes", true, ["@git"]],
      ["/srv/odd:ro", true, ["@git"]],
      ["/srv/odd2:ro", false, ["@git"]],
    ]);
  });

  test("without names are called like their folders, numbered where two are alike", () => {
    const texts = ["docs=x", "/a/docs", "/b/docs:ro", "/c/my notes", "/d/.config", "/e/ä", "/", `/f/${"n".repeat(80)}`];
    expect(Object.entries(parseRootArguments(texts, "/cwd"))).toEqual([
      ["docs", { path: "/cwd/x", readOnly: false }],
      ["docs-2", { path: "/a/docs", readOnly: false }],
      ["docs-3", { path: "/b/docs", readOnly: true }],
      ["my-notes", { path: "/c/my notes", readOnly: false }],
      ["config", { path: "/d/.config", readOnly: false }],
      ["root", { path: "/e/ä", readOnly: false }],
      ["root-2", { path: "/", readOnly: false }],
      ["n".repeat(58), { path: `/f/${"n".repeat(80)}`, readOnly: false }],
    ]);
  });

  test("without names give way to a name that is given later", () => {
    expect(Object.keys(parseRootArguments(["/a/docs", "docs=x"], "/cwd"))).toEqual(["docs-2", "docs"]);
  });

  test("that are none give none", () => {
    expect(Object.keys(parseRootArguments([], "/cwd"))).toEqual([]);
  });

  test("have all their problems reported together", () => {
    expect(problemsOf(() => parseRootArguments(["a=x", "bad=", "a=y"], "/cwd"))).toEqual([
      expect.stringContaining("Cannot read --root 'bad=': "),
      "Root 'a' is given twice by --root",
    ]);
  });
});
