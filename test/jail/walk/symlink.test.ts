import { describe, expect, test } from "@jest/globals";
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
