import { describe, expect, test } from "@jest/globals";
import { pathMatcher } from "../../../src/profiles/everruns/session-path.js";
import { failureOf } from "../../ops/ground.js";

const FILES = ["a.ts", "b.py", "docs/x.md", "docs/deep/y.md", "my-docs/a", "src/app/(x)/m.ts", ".env"];

describe("path_pattern", () => {
  test.each([
    ["*.ts", ["a.ts", "src/app/(x)/m.ts"]],
    ["/workspace/*.ts", ["a.ts"]],
    ["/*.ts", ["a.ts"]],
    ["docs/*", ["docs/x.md"]],
    ["docs/**", ["docs/x.md", "docs/deep/y.md"]],
    ["**/*.md", ["docs/x.md", "docs/deep/y.md"]],
    ["?.{ts,py}", ["a.ts", "b.py", "src/app/(x)/m.ts"]],
    ["[ab].*", ["a.ts", "b.py"]],
    ["[!a].*", ["b.py", "docs/x.md", "docs/deep/y.md", "src/app/(x)/m.ts"]],
    ["*env", [".env"]],
    ["docs", ["docs/x.md", "docs/deep/y.md", "my-docs/a"]],
    ["/docs", ["docs/x.md", "docs/deep/y.md"]],
    ["/workspace/docs/x", ["docs/x.md"]],
    [".md", ["docs/x.md", "docs/deep/y.md"]],
    ["", FILES],
    ["/workspace", FILES],
    ["/workspace/", FILES],
    ["/workspacefoo", []],
  ])("%j takes %j", async (pattern, expected) => {
    const matches = pathMatcher(pattern, "/workspace");
    expect(FILES.filter(matches)).toEqual(expected);
  });

  test("without an alias `/workspace` is a name like others", async () => {
    expect(FILES.filter(pathMatcher("/workspace", ""))).toEqual([]);
  });

  test.each([
    ["[ab", "Invalid path pattern: '[' is not closed: at 3"],
    ["docs/{a,b", "Invalid path pattern: '{' is not closed: at 5"],
    ["x".repeat(1001), "Path pattern too long"],
    [`${"x".repeat(1000)}*`, "Path pattern too long"],
  ])("%j is refused", async (pattern, message) => {
    expect(await failureOf(Promise.resolve().then(() => pathMatcher(pattern, "/workspace")))).toMatchObject({
      code: "INVALID_PATTERN",
      message,
    });
  });
});
