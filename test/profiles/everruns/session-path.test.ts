import { describe, expect, test } from "@jest/globals";
import { type SessionPaths, sessionPaths } from "../../../src/profiles/everruns/session-path.js";
import { failureOf } from "../../ops/ground.js";

function pathsOf(alias: string | null): SessionPaths {
  const paths = sessionPaths(alias);
  if (paths === undefined) throw new Error(`${alias} is no alias`);
  return paths;
}
const workspace = pathsOf("/workspace");

describe("a path of the tools", () => {
  test.each([
    ["/workspace", "/"],
    ["/workspace/", "/"],
    ["/workspace/foo/bar.txt", "/foo/bar.txt"],
    ["/test.txt", "/test.txt"],
    ["/workspacefoo", "/workspacefoo"],
    ["//a///b//", "/a/b"],
    ["foo.txt", "/foo.txt"],
    ["/sub/dir/", "/sub/dir"],
    ["  /workspace/x  ", "/x"],
    ["//workspace//x", "/x"],
    ["", "/"],
    ["///", "/"],
    ["/./workspace/./x/.", "/x"],
    ["/workspace/workspace/x", "/workspace/x"],
    ["/a b", "/a b"],
    ["$HOME/~", "/$HOME/~"],
  ])("%j is %j", (text, path) => {
    expect(workspace.parse(text)).toBe(path);
  });

  test.each(["..", "/workspace/..", "a/../b", "/workspace/a/..", "../workspace/x", " .. "])(
    "%j is refused, also where it would stay inside",
    async (text) => {
      expect((await failureOf(Promise.resolve().then(() => workspace.parse(text)))).code).toBe("PATH_ESCAPES_ROOT");
    },
  );

  test("`..` is only a segment of its own", () => {
    expect(workspace.parse("/workspace/..a/b..")).toBe("/..a/b..");
  });

  test("is shown behind the alias", () => {
    expect(workspace.show("/")).toBe("/workspace");
    expect(workspace.show("/foo.txt")).toBe("/workspace/foo.txt");
  });

  test("is the session path itself without an alias", () => {
    const bare = pathsOf(null);
    expect(bare.parse("/workspace/x")).toBe("/workspace/x");
    expect([bare.show("/"), bare.show("/x")]).toEqual(["/", "/x"]);
  });

  test("may stand behind an alias of several names", () => {
    const deep = pathsOf("/home/agent/");
    expect(deep.parse("/home/agent/x")).toBe("/x");
    expect(deep.parse("/home/agents")).toBe("/home/agents");
    expect(deep.show("/x")).toBe("/home/agent/x");
  });

  test.each(["workspace", "", "/a/../b", "/a//b", "/a\\b", "/a\nb"])("the alias %j is refused", (alias) => {
    expect(sessionPaths(alias)).toBeUndefined();
  });
});
