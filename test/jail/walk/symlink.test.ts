import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { simulateSystem } from "../../../src/core/system.js";
import { judgeLink } from "../../../src/jail/walk/symlink.js";

const place = { top: "/srv/docs", names: ["a", "b"], floor: 0 };

describe("a symbolic link is judged by its text", () => {
  test.each([
    ["c/d.txt", { leaves: 0, tokens: ["c", "d.txt"] }],
    ["c/", { leaves: 0, tokens: ["c", "."] }],
    ["../../../etc", { leaves: 0, tokens: ["..", "..", "..", "etc"] }],
    ["/srv/docs", { leaves: 2, tokens: [] }],
    ["/srv/docs/c//d", { leaves: 2, tokens: ["c", "d"] }],
    ["/srv/docs/../other", { leaves: 2, tokens: ["..", "other"] }],
  ])("%s leads on", (target, route) => {
    expect(judgeLink(target, place)).toEqual(route);
  });

  test.each(["/", "/etc/passwd", "/srv", "/srv/docs2/a", "/srv/doc", "//srv/docs/a"])("%s leads outside", (target) => {
    expect(judgeLink(target, place)).toBe("escape");
  });

  test("an absolute target above the floor leads outside, and one below it only up to the floor", () => {
    expect(judgeLink("/srv/docs/other", { ...place, floor: 1 })).toBe("escape");
    expect(judgeLink("/srv/docs/a/c", { ...place, floor: 1 })).toEqual({ leaves: 1, tokens: ["c"] });
  });

  test("a link above the floor leads outside wherever it points", () => {
    expect(judgeLink("b", { ...place, floor: 3 })).toBe("escape");
  });
});

describe("on Windows", () => {
  const place = { top: "C:\\Srv\\docs", names: ["a", "b"], floor: 0 };
  let restore: () => void;
  beforeEach(() => {
    restore = simulateSystem("win32");
  });
  afterEach(() => restore());

  test.each([
    ["..\\..\\..\\etc", { leaves: 0, tokens: ["..", "..", "..", "etc"] }],
    ["c\\d/e\\", { leaves: 0, tokens: ["c", "d", "e", "."] }],
    [".\\secret", { leaves: 0, tokens: [".", "secret"] }],
    ["C:\\Srv\\docs\\c", { leaves: 2, tokens: ["c"] }],
    ["c:/sRV\\DOCS\\c\\..\\..", { leaves: 2, tokens: ["c", "..", ".."] }],
    ["\\\\?\\C:\\Srv\\docs\\c\\", { leaves: 2, tokens: ["c", "."] }],
    ["\\??\\C:\\Srv\\docs", { leaves: 2, tokens: [] }],
    // The walk refuses what it comes to then.
    ["C:\\Srv\\docs\\c:stream", { leaves: 2, tokens: ["c:stream"] }],
  ])("%s leads on", (target, route) => {
    expect(judgeLink(target, place)).toEqual(route);
  });

  test.each([
    ...[
      "C:\\Windows",
      "C:\\Srv",
      "C:\\Srv\\docs2",
      "D:\\Srv\\docs",
      "C:",
      "C:docs",
      "C:..\\docs",
      "c:stream",
      "a\\b:c",
    ],
    ...["\\Srv\\docs", "/Srv/docs", "\\\\server\\share\\docs", "\\\\.\\C:\\Srv\\docs", "//?/C:/Srv/docs"],
    ...[
      "\\\\?\\UNC\\server\\share",
      "\\??\\UNC\\C:\\Srv\\docs",
      "\\??\\Volume{1}\\x",
      "\\\\?\\secret",
      "\\\\?\\GLOBALROOT\\x",
    ],
  ])("%s leads outside", (target) => {
    expect(judgeLink(target, place)).toBe("escape");
  });

  test("a root on a server is found again in its verbatim form", () => {
    const server = { ...place, top: "\\\\server\\share\\docs" };
    expect(judgeLink("\\\\?\\UNC\\Server\\share\\docs\\c", server)).toEqual({ leaves: 2, tokens: ["c"] });
  });

  test("an absolute target above the floor leads outside", () => {
    expect(judgeLink("C:\\Srv\\docs\\other", { ...place, floor: 1 })).toBe("escape");
    expect(judgeLink("C:\\Srv\\docs\\A\\c", { ...place, floor: 1 })).toEqual({ leaves: 1, tokens: ["c"] });
  });
});
