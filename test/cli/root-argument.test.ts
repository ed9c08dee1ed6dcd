import { describe, expect, test } from "@jest/globals";
import { parseRootArgument, parseRootArguments } from "../../src/cli/arguments/root.js";
import { parseConfig } from "../../src/config/load.js";
import { configErrorOf, problemsOf } from "../config/problems.js";

describe("--root NAME=PATH[:ro]", () => {
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

  test.each(["docs", "docs=", "docs=:ro", "=manuals", "", ":ro", "manuals:ro"])(
    "'%s' is refused with an example",
    (text) => {
      const error = configErrorOf(() => parseRootArgument(text, "/cwd"));
      expect(error?.exitStatus).toBe(78);
      expect(error?.problems).toEqual([
        `Cannot read --root '${text}': expected NAME=PATH or NAME=PATH:ro, for example --root docs=./docs or --root docs=./docs:ro`,
      ]);
    },
  );

  test.each(["my docs", "-docs", "a/b", "__proto__", "x".repeat(64)])(
    "the name '%s' is refused with an example",
    (name) => {
      expect(problemsOf(() => parseRootArgument(`${name}=x`, "/cwd"))).toEqual([
        `Cannot read --root '${name}=x': the name must be a letter or digit, then at most 62 letters, digits, '.', '_' or '-', for example --root docs=./docs or --root docs=./docs:ro`,
      ]);
    },
  );
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

  test("that are none give none", () => {
    expect(Object.keys(parseRootArguments([], "/cwd"))).toEqual([]);
  });

  test("have all their problems reported together", () => {
    expect(problemsOf(() => parseRootArguments(["a=x", "bad", "a=y"], "/cwd"))).toEqual([
      expect.stringContaining("Cannot read --root 'bad': "),
      "Root 'a' is given twice by --root",
    ]);
  });
});
