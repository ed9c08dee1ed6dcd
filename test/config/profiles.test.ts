import { describe, expect, test } from "@jest/globals";
import { parseConfig } from "../../src/config/load.js";
import { DEFAULT_SHELL } from "../../src/core/ports/sandbox.js";
import { at, venueProblems } from "./problems.js";

const roots = { docs: { path: "docs" } };
const problems = (profiles: unknown, options = {}) => venueProblems({ profiles, file: { roots } }, options);
const on = (more: object, profile = "jettson") => ({ mine: { profile, root: "docs", ...more } });

describe("a profile is refused", () => {
  test.each<[string, unknown, readonly unknown[]]>([
    [
      "on a root that there is not",
      { mine: { profile: "jettson", root: "dosc" } },
      ["'profiles.mine.root' names a root that does not exist: dosc"],
    ],
    ...["file", "ucan", "auth", "dlfs", "drive"].map((name): [string, unknown, readonly unknown[]] => [
      `under the name of an adapter, ${name}`,
      { [name]: { profile: "jettson", root: "docs" } },
      [`'profiles.${name}' must not be the name of an adapter`],
    ]),
    ["without a root", { mine: { profile: "jettson" } }, [expect.stringContaining("'profiles.mine.root' is missing")]],
    ["that is unknown", on({}, "jetson"), [`'profiles.mine.profile' must be "jettson" or "everruns"`]],
    [
      "in a variant that there is not",
      on({ variant: "v2" }, "everruns"),
      [`'profiles.mine.variant' must be "strict" or "0.50"`],
    ],
    [
      "with edits that only another variant rebases",
      on({ onStale: "rebase" }, "everruns"),
      [`'profiles.mine.onStale' must be "reject", or variant "0.50"`],
    ],
    ["with what only another has", on({ alias: "/w" }), ["'profiles.mine.alias' is only for everruns"]],
    ["with an alias of two names", on({ alias: "/a/b" }, "everruns"), [expect.stringContaining("profiles.mine.alias")]],
  ])("%s", (_name, profiles, expected) => {
    expect(problems(profiles)).toEqual(expected);
  });

  test.each(["..", "../a", "a/../b", "/", ".", "//a", "a\\b", "a\0", ".venue-files/x", "C:/a"])(
    "with the prefix %j",
    (prefix) => {
      expect(problems(on({ prefix }))).toEqual([
        "'profiles.mine.prefix' must be a path of a directory below the root, such as sessions/1",
      ]);
    },
  );

  test.each(["Mine", "1st", "a b", "a.b", "a".repeat(33)])("under the name %j, which no adapter can have", (name) => {
    expect(problems({ [name]: { profile: "jettson", root: "docs" } })).toEqual([
      expect.stringContaining("has an invalid name"),
    ]);
  });

  test.each([
    ["uid", 0],
    ["gid", 0],
    ["driver", "docker"],
    ["scratchBytes", 0],
    ["extraMounts", [{ path: "/a", at: "/b/../c" }]],
    ["limits.nproc", 0],
    ["unsafe", "yes"],
  ])("with shell.%s %j", (key, value) => {
    expect(problems(on({ shell: at(key, value) }))).toEqual([expect.stringContaining(`'profiles.mine.shell.${key}`)]);
  });
});

test("commands without a guard are refused beside a root that must keep what is deleted", () => {
  const keeping = { docs: roots.docs, kept: { path: "kept", journal: "on", trash: "required" } };
  const found = (shell: object, among: object) => venueProblems({ profiles: on({ shell }), file: { roots: among } });
  expect(found({ unsafe: true }, keeping)).toEqual([
    `'profiles.mine.shell.unsafe' must be false: its commands could empty the trash, and root 'kept' has trash: "required"`,
  ]);
  expect(found({ unsafe: false }, keeping)).toEqual([]);
  expect(found({ unsafe: true }, { ...keeping, kept: { path: "kept", journal: "on" } })).toEqual([]);
});

describe("a profile is taken", () => {
  test("on a root of the command line, and on the root that is there where none is configured", () => {
    expect(problems({ mine: { profile: "jettson", root: "x" } }, { extraRoots: { x: { path: "/x" } } })).toEqual([]);
    expect(venueProblems({ profiles: { mine: { profile: "jettson", root: "tmp" } } })).toEqual([]);
  });

  test("with its prefix in one form, and all of the shell that is not given", () => {
    const profiles = on({ prefix: "/a//./b/", shell: {} });
    expect(parseConfig({ profiles, file: { roots } }, { baseDir: "/" }).profiles).toEqual(
      on({ prefix: "a/b", shell: DEFAULT_SHELL }),
    );
  });
});
