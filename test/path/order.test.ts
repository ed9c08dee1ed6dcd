import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import picomatch from "picomatch";
import { CLIENTS } from "../../src/cli/init/clients.js";
import { compileDeny } from "../../src/path/deny.js";
import { compareCodePoints, sortByName } from "../../src/path/order.js";
import { patternsOf } from "../../src/path/pattern-sets.js";
import { anyCharacter } from "../any-character.js";

const codePoints = (text: string): number[] => Array.from(text, (char) => char.codePointAt(0) ?? -1);

/** The definition, taken literally. */
function compareLiterally(a: string, b: string): number {
  const left = codePoints(a);
  const right = codePoints(b);
  for (const [index, point] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    if (point !== other) return point - other;
  }
  return left.length - right.length;
}

const anyText = fc.string({ unit: anyCharacter });
/** Texts around the places where UTF-16 units and code points disagree, so that equal beginnings are common. */
const trickyText = fc
  .array(
    fc.constantFrom("a", "A", "\u00e9", "\ud7ff", "\ue000", "\uff5e", "\uffff", "\u{10000}", "\u{1f600}", "\u{10ffff}"),
    {
      maxLength: 6,
    },
  )
  .map((chars) => chars.join(""));
const text = fc.oneof(anyText, trickyText);
const sorted = (names: readonly string[]): string[] =>
  sortByName(names.map((name) => ({ name }))).map(({ name }) => name);

describe("compareCodePoints", () => {
  test.each([
    ["", "a"],
    ["a", "b"],
    ["a", "aa"],
    ["B", "a"],
    ["z", "é"],
    ["\ud7ff", "\ue000"],
    ["\ud7ff", "\u{10000}"],
    ["\uff5e", "\u{1f600}"],
    ["\uffff", "\u{10000}"],
    ["a\uffff", "a\u{10000}"],
    ["\u{1f600}", "\u{1f601}"],
    ["\u{10000}", "\u{10ffff}"],
    ["\u{10000}", "\u{10000}a"],
  ])("%j stands before %j", (first, second) => {
    expect(compareCodePoints(first, second)).toBeLessThan(0);
    expect(compareCodePoints(second, first)).toBeGreaterThan(0);
  });

  test("finds the same text equal, and canonically equivalent texts different", () => {
    expect(compareCodePoints("", "")).toBe(0);
    expect(compareCodePoints("a\u{1f600}", "a\u{1f600}")).toBe(0);
    expect(compareCodePoints("\u00e9", "e\u0301")).toBeGreaterThan(0);
  });

  test("agrees with a comparison of the code points themselves", () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(Math.sign(compareCodePoints(a, b))).toBe(Math.sign(compareLiterally(a, b)));
      }),
      { numRuns: 1000 },
    );
  });
});

describe("sortByName", () => {
  test.each([
    { why: "case only where nothing else differs", names: ["b", "B", "a", "A"], expected: ["A", "a", "B", "b"] },
    { why: "digits as characters, not as numbers", names: ["10", "9", "1"], expected: ["1", "10", "9"] },
    { why: "marks by their code points", names: ["a", "_", "-", "Z", "~"], expected: ["-", "_", "a", "Z", "~"] },
    { why: "short before long", names: ["ab", "a", "a.b"], expected: ["a", "a.b", "ab"] },
    { why: "accents after all of ASCII, folded", names: ["Ü", "é", "z", "É"], expected: ["z", "É", "é", "Ü"] },
    { why: "astral after the basic plane", names: ["😀", "～", "a"], expected: ["a", "～", "😀"] },
    { why: "letters whose lower case is longer", names: ["iz", "İ", "i"], expected: ["i", "iz", "İ"] },
    { why: "astral letters folded", names: ["𐐨b", "𐐀c", "𐐀a"], expected: ["𐐀a", "𐐨b", "𐐀c"] },
    { why: "nothing", names: [], expected: [] },
  ])("orders $why", ({ names, expected }) => {
    expect(sorted(names)).toEqual(expected);
  });

  test("gives a new array of the same entries", () => {
    const entries = [
      { name: "b", size: 1 },
      { name: "a", size: 2 },
    ] as const;
    const result = sortByName(entries);
    expect(result).toEqual([entries[1], entries[0]]);
    expect(result[0]).toBe(entries[1]);
    expect(entries.map(({ name }) => name)).toEqual(["b", "a"]);
  });

  test("keeps entries of one name in the order given", () => {
    const entries = [1, 2, 3].map((size) => ({ name: "same", size }));
    expect(sortByName(entries)).toEqual(entries);
  });

  test("orders lists of any length alike, whether or not their names are known to be usual", () => {
    for (const length of [1, 2, 127, 128, 129, 700]) {
      const names = Array.from({ length }, (_, at) => `name-${(at * 389) % 701}`);
      const expected = names.toSorted(compareLiterally);
      expect(sorted(names)).toEqual(expected);
      const usual = names.map((name, at) => ({ name, isUsual: at % 3 > 0 }));
      expect(sortByName(usual).map(({ name }) => name)).toEqual(expected);
    }
  });

  test("does not depend on the order given, and loses nothing", () => {
    const shuffled = fc
      .array(text, { maxLength: 20 })
      .chain((names) =>
        fc.tuple(fc.constant(names), fc.shuffledSubarray(names, { minLength: names.length, maxLength: names.length })),
      );
    fc.assert(
      fc.property(shuffled, ([names, others]) => {
        const result = sorted(names);
        expect(sorted(others)).toEqual(result);
        expect(result.toSorted()).toEqual(names.toSorted());
      }),
    );
  });

  test("puts every neighbour in order: folded first, then exact", () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 20 }), (names) => {
        const result = sorted(names);
        for (const [index, name] of result.slice(0, -1).entries()) {
          const next = result[index + 1] ?? "";
          const folded = compareLiterally(name.toLowerCase(), next.toLowerCase());
          expect(folded).toBeLessThanOrEqual(0);
          if (folded === 0) expect(compareLiterally(name, next)).toBeLessThanOrEqual(0);
        }
      }),
    );
  });
});

const denies = (patterns: string | readonly string[], path: string, foldsCase = false): boolean =>
  compileDeny([patterns].flat(), { foldsCase }).denies(path.split("/"));

describe("a deny pattern", () => {
  const DENIED: readonly [string, string][] = [
    [".env", ".env"],
    [".env", "a/b/.env"],
    [".env", ".env/inside"],
    ["*.pem", "keys/.hidden.pem"],
    ["id_rsa*", "a/id_rsa.pub"],
    ["?", "a/x"],
    ["secret/**", "secret/a/b"],
    ["secret/**", "secret"],
    ["secret/", "a/secret/x"],
    ["/secret", "secret/x"],
    ["./secret/x", "secret/x"],
    ["a/*", "a/.b/c"],
    ["**/x", "x"],
    ["**/x", "a/b/x/c"],
    ["{a,b}/c", "b/c"],
    ["[!a]*", "b"],
    ["*", "anything"],
    ["**/x", "a\u2028b/x"],
    ["d/**", "d/a\nb"],
    ["*.key", "a\u2029.key"],
    ["[[:digit:]]*", "1x"],
    ["a b", "a b"],
    ["a\\*b", "a*b"],
  ];
  test.each(DENIED)("%j denies %j", (pattern, path) => expect(denies(pattern, path)).toBe(true));

  const ALLOWED: readonly [string, string][] = [
    [".env", ".environment"],
    [".env", "x.env"],
    ["/secret", "a/secret"],
    ["secret/x", "a/secret/x"],
    ["a/*", "a"],
    ["a/*", "b/a/c"],
    ["[!a]*", "a"],
    ["*.PEM", "x.pem"],
    ["a\\*b", "axb"],
    ["é", "e\u0301"],
  ];
  test.each(ALLOWED)("%j leaves %j alone", (pattern, path) => expect(denies(pattern, path)).toBe(false));

  test("every letter in either case is one where case is folded, with or without characters that are no ASCII", () => {
    for (const letter of "abcdefghijklmnopqrstuvwxyz") {
      for (const rest of ["", "\u00e9", "e\u0301"]) {
        const [small, large] = [`${letter}${rest}`, `${letter.toUpperCase()}${rest.toUpperCase()}`];
        expect([denies(small, large, true), denies(large, small, true), denies(small, large)]).toEqual([
          true,
          true,
          false,
        ]);
      }
    }
  });

  test("never denies the root itself", () => {
    expect(compileDeny(["*", "**"], { foldsCase: false }).denies([])).toBe(false);
  });

  test.each([
    ["*.PEM", "x.pem"],
    ["*.pem", "X.PEM"],
    ["É", "e\u0301"],
    ["secret/**", "SECRET/x"],
    ["*.key", "x.\u212aey"],
    ["straße", "STRASSE"],
  ])("where names are folded, %j denies %j too", (pattern, path) => {
    expect(denies(pattern, path, true)).toBe(true);
    expect(denies(pattern, path, false)).toBe(false);
  });

  test.each([
    ...[".env", "a/.env", ".env.local", "x.pem", "a/b.key", "id_rsa", "id_rsa.pub", "id_ed25519", ".netrc", ".npmrc"],
    ...[".git-credentials", ".aws", ".aws/credentials", "home/.aws/x", ".ssh/known_hosts", "home/.ssh"],
  ])("@secrets denies %s", (path) => expect(denies("@secrets", path)).toBe(true));

  test.each([".env.example", "a/.env.sample", ".env.template", "apps/web/.env.dist"])(
    "@secrets leaves the template %s alone",
    (path) => expect([denies("@secrets", path), denies("@secrets", path, true)]).toEqual([false, false]),
  );

  test.each([".env.example.local", ".env.examples", ".env.production", ".env.dist~", ".env.", ".env.example/key.pem"])(
    "@secrets denies %s, which is none",
    (path) => expect([denies("@secrets", path), denies("@secrets", path, true)]).toEqual([true, true]),
  );

  test.each([
    [["*.md", "@secrets"], "certs/x.pem", '"*.pem" of "@secrets"'],
    [["@secrets", "build/**"], "build/out/a.js", '"build/**"'],
    [["@secrets"], "home/.AWS/credentials", '"**/.aws/**" of "@secrets"'],
    [["@secrets"], "a.txt", undefined],
  ])("%j: the pattern of %s is named", (patterns, path, named) => {
    expect(compileDeny(patterns, { foldsCase: true }).patternOf?.(path.split("/"))).toBe(named);
  });

  test.each([".envrc", "key", "pem", "aws", "ssh/x", "id_dsa", "git-credentials", ".github/workflows"])(
    "@secrets leaves %s alone",
    (path) => expect(denies("@secrets", path)).toBe(false),
  );

  test.each([".git", ".git/config", "a/.git", "a/b/.git/hooks/x"])("@git denies %s", (path) => {
    expect(denies("@git", path)).toBe(true);
    expect(denies("@git", path.toUpperCase(), true)).toBe(true);
    expect(denies("@git", path.replace("git", "g\u200cit"), true)).toBe(true);
  });

  const HOME = { home: "/home/ann", env: {}, isFolder: () => true };
  test.each(["linux", "darwin", "win32"] as const)("@clients denies all that init writes on %s", (system) => {
    for (const [name, client] of Object.entries(CLIENTS)) {
      const file = client.file("/home/ann/project", { ...HOME, system }).replaceAll("\\", "/");
      const below = file.slice("/home/ann/".length);
      expect([name, denies("@clients", below)]).toEqual([name, true]);
      expect([name, denies("@clients", `deeper/${below}`)]).toEqual([name, true]);
      expect([name, denies("@clients", `${below}.bak`)]).toEqual([name, true]);
    }
  });

  test.each([".claude/settings.local.json", "a/.CLAUDE/settings.JSON", ".cursor/hooks.json", "opencode.jsonc"])(
    "@clients denies %s",
    (path) => expect(denies("@clients", path, true)).toBe(true),
  );

  // One of each kind: settings, hooks, servers, plugins, commands.
  test.each([
    ...[".opencode/plugin/x.js", ".opencode/plugins", ".opencode/package.json", "a/.opencode/opencode.json"],
    ...[
      ".claude/hooks/x.sh",
      "a/b/.claude/hooks",
      ".claude/plugins/x/y",
      ".claude/commands/x.md",
      ".claude/skills/x/y.md",
    ],
    ...[".amazonq/mcp.json", ".amazonq/cli-agents/x.json", ".junie/mcp/mcp.json", ".factory/settings.json"],
    ...[".factory/hooks/x", ".factory/mcp.json.bak", ".continue/config.yaml", ".continue/mcpServers/x.yaml"],
    ...[".windsurf/hooks.json", ".windsurf/workflows/x.md", ".codeium/windsurf/mcp_config.json", ".codex/rules/x"],
    ...[
      ".gemini/extensions/x/y.json",
      ".qwen/commands/x.toml",
      ".kiro/hooks/x",
      ".clinerules/hooks/x",
      ".cursor/hooks/x.sh",
    ],
    ...[".mcp.json.bak", ".cursor/mcp.json.bak", ".claude/settings.json.bak", "crush.json", ".aider.conf.yml"],
  ])("@clients denies %s, in folders that fold case too", (path) => {
    expect(denies("@clients", path)).toBe(true);
    expect(denies("@clients", path.toUpperCase(), true)).toBe(true);
    expect(denies("@instructions", path)).toBe(path.startsWith(".clinerules"));
  });

  test.each([
    ...["AGENTS.md", "a/CLAUDE.md", ".cursorrules", ".cursor/rules/x.mdc", ".windsurf/rules/x", ".clinerules/x.md"],
    ...[".github/copilot-instructions.md", ".github/prompts/x", ".claude/output-styles/x.md", ".amazonq/rules/x"],
    ...[
      ".junie/guidelines.md",
      ".continue/rules/x.md",
      ".kiro/steering/x.md",
      ".roo/rules-code/x.md",
      "x/.trae/rules/y",
    ],
  ])("@instructions denies %s, and @clients leaves it alone", (path) => {
    expect(denies("@instructions", path)).toBe(true);
    expect(denies("@clients", path)).toBe(false);
  });

  test("a folder above what a set names may have any name, the one that it names may not", () => {
    const policy = compileDeny(["@clients"], { foldsCase: false });
    expect(policy.anchors(["work", "a", ".claude"], "hooks")).toEqual([3]);
    expect(policy.anchors(["work", ".codeium", "windsurf"], "mcp_config.json")).toEqual([2, 3]);
    expect(policy.anchors(["work"], ".mcp.json")).toEqual([]);
  });

  test.each([
    ".cursor",
    ".cursor/rules/x.md",
    ".vscode/settings.json",
    ".claude/projects/x.json",
    ".claude/rules/x.md",
    ".opencode",
    ".opencode/themes/x.json",
    ".windsurf/rules/x.md",
    ".continue/rules/x.md",
    ".github/workflows/x.yml",
    "hooks/x",
    "plugins/x.js",
    "a.bak",
    "AGENTS.md",
    "mcp.json",
    "settings.json",
  ])("@clients leaves %s alone", (path) => expect(denies("@clients", path)).toBe(false));

  test.each([".gitignore", "git", "a.git", ".github/x"])("@git leaves %s alone", (path) => {
    expect(denies("@git", path)).toBe(false);
  });

  test.each([
    ["[@]scope", "a/@scope/b"],
    ["@types/**", "@types/node"],
    ["@(a|b)", "b"],
  ])("%j is a glob and no set: it denies %j", (pattern, path) => expect(denies(pattern, path)).toBe(true));

  test.each([
    ["!a", "it cannot begin with '!'"],
    ["", "nothing can have that name"],
    ["/", "nothing can have that name"],
    ["@secrets2", "there is no set '@secrets2', only @secrets, @git, @clients and @instructions"],
    ["@git/", "there is no set '@git/', only @secrets, @git, @clients and @instructions"],
    ["@git/config", "there is no set '@git/config'"],
    ["@*", "there is no set '@*'"],
    ["a//b", "it cannot hold '//', '.' or '..' as a part"],
    ["../a", "it cannot hold '//', '.' or '..' as a part"],
    ["a/../b", "it cannot hold '//', '.' or '..' as a part"],
    ["[", "a bracket, brace or range in it does not fit"],
    ["{a", "a bracket, brace or range in it does not fit"],
    ["a(", "a bracket, brace or range in it does not fit"],
    ["[z-a]", "a bracket, brace or range in it does not fit"],
    ["a\\", "a bracket, brace or range in it does not fit"],
  ])("%j is none: %s", (pattern, reason) => {
    expect(() => compileDeny([pattern], { foldsCase: false })).toThrow(reason);
  });

  test.each(['"a"', "[0-9]+", "(a)+", "a|b", "@(a|b)|c"])("%j could be read in two ways, so it is none", (pattern) => {
    expect(() => compileDeny([pattern], { foldsCase: false })).toThrow("put a backslash before");
  });

  test.each([
    ["a\\|b", "a|b"],
    ["[0-9]\\+", "1+"],
    ["@(a|@(b|c))", "c"],
    ["docs/!(*.md)", "docs/key"],
    ["+(ab|c)", "abcab"],
    ["(app)", "app"],
    ["{a..c}/{8..10}", "b/9"],
    ["{a/b,c}/d", "a/b/d/e"],
    ["**/{a,b/**}", "x/b/y"],
  ])("%j denies %j", (pattern, path) => expect(denies(pattern, path)).toBe(true));

  test.each([
    ["docs/!(*.md)", "docs/a.md"],
    ["+(ab|c)", "aab"],
    ["{8..10}", "08"],
    ["**/{a,b/**}", "x/c/y"],
  ])("%j leaves %j alone", (pattern, path) => expect(denies(pattern, path)).toBe(false));

  test("means what it means to picomatch", () => {
    const unit = fc.constantFrom("a", "b", ".", "A");
    const name = fc.string({ unit, minLength: 1, maxLength: 3 }).filter((text) => text !== "." && text !== "..");
    const special = fc.constantFrom("*", "?", "a*", "*b", "**", "[ab]", "[^a]", "{a,b}", "*.{a,b}", "@(a|b)", "+(a|b)");
    const pattern = fc.array(fc.oneof(name, special), { minLength: 1, maxLength: 4 }).map((parts) => parts.join("/"));
    fc.assert(
      fc.property(pattern, fc.array(name, { minLength: 1, maxLength: 4 }), (glob, path) => {
        // Only behind plain names does picomatch let `/**` at the end stand for nothing.
        fc.pre(!(glob.endsWith("/**") && denies(glob.slice(0, -3), path.join("/"))));
        const expression = picomatch.makeRe(glob, { dot: true, posix: true, windows: false });
        const covers = path.some((one, at) => {
          return expression.test(glob.includes("/") ? path.slice(0, at + 1).join("/") : one);
        });
        expect(denies(glob, path.join("/"))).toBe(covers);
      }),
      { numRuns: 5000 },
    );
  });

  test("takes linear time, however many stars it has", () => {
    const stars = compileDeny([`${"*a".repeat(60)}b`, "*(a|aa|*(a*))c"], { foldsCase: false });
    expect(stars.deniesEntry([], "a".repeat(250))).toBe(false);
    const deep = compileDeny([`${"**/a/".repeat(40)}b`], { foldsCase: false });
    expect(deep.denies(Array.from({ length: 500 }, () => "a"))).toBe(false);
    expect(deep.denies([...Array.from({ length: 500 }, () => "a"), "b", "c"])).toBe(true);
  });

  test("covers everything below what it covers, however many patterns there are", () => {
    const part = fc.constantFrom("a", "b", ".c", "d.key", "é", "A", "x\u2028");
    const glob = fc.array(fc.constantFrom("a", "b", "*", "**", ".c", "*.key", "?"), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(fc.array(glob, { maxLength: 3 }), fc.array(part, { minLength: 1, maxLength: 5 }), (globs, path) => {
        const patterns = globs.map((parts) => parts.join("/"));
        const policy = compileDeny(patterns, { foldsCase: false });
        const each = patterns.some((pattern) => compileDeny([pattern], { foldsCase: false }).denies(path));
        expect(policy.denies(path)).toBe(each);
        if (policy.denies(path)) expect(policy.denies([...path, "below"])).toBe(true);
        const directory = path.slice(0, -1);
        if (!policy.denies(directory)) expect(policy.deniesEntry(directory, path.at(-1) ?? "")).toBe(each);
      }),
    );
  });
});

describe("directories that must keep their names", () => {
  test.each([
    [["@secrets"], "a/b/.env", []],
    [["config/keys/*"], "config/keys/one", [1, 2]],
    [["config/**/token"], "config/a/b/token", [1]],
    [["**/.aws/**"], "a/b/.aws", []],
    [["a/**/k/b"], "a/x/y/k/b", [1, 4]],
    [["a/**/b/**"], "a/x/b", [1]],
    [["a/**/b/**/c"], "a/x/b/y/c", [1, 2, 3, 4]],
    [["{a,b/c}/d"], "b/c/d", [1, 2]],
    [["x/*/d", "**/d"], "x/y/d", []],
    [["top"], "top", []],
  ] as const)("for %j and %s", (patterns, path, depths) => {
    const policy = compileDeny(patterns, { foldsCase: false });
    const segments = path.split("/");
    expect(policy.denies(segments)).toBe(true);
    expect(policy.anchors(segments.slice(0, -1), segments.at(-1) ?? "")).toEqual(depths);
  });

  test("are enough: whatever the others are called, and wherever they are moved below them, it stays denied", () => {
    const patterns = fc.constantFrom("a/**/b", "**/b", "**/a/b", "a/**", "a/*/b", "**/a/**/b", "*/**/b", "**/b/**");
    const names = fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 6 });
    const others = fc.array(fc.constantFrom("a", "b", "c", "d"), { minLength: 0, maxLength: 3 });
    fc.assert(
      fc.property(patterns, names, others, (pattern, path, fresh) => {
        const policy = compileDeny([pattern], { foldsCase: false });
        const [directory, name] = [path.slice(0, -1), path.at(-1) ?? ""];
        fc.pre(policy.deniesEntry(directory, name) && !policy.denies(directory));
        const kept = policy.anchors(directory, name);
        // A directory that need not keep its name goes, with all below it, where it can without crossing one that must.
        const from = kept.includes(1) ? (kept.find((depth) => !kept.includes(depth + 1)) ?? 0) : 0;
        const to = kept.find((depth) => depth > from) ?? path.length;
        fc.pre(to - from > 1);
        const moved = [...directory.slice(0, from), ...fresh, "d", ...directory.slice(from + 1)];
        expect(policy.denies([...moved, name])).toBe(true);
      }),
    );
  });
});

describe("what another spelling of a path is denied under", () => {
  const rules = { foldsCase: false };
  const policy = compileDeny([".env", "keys/**", "[!a-z]*.txt"], rules);
  const isDoubtful = (path: string): boolean | undefined => policy.isDoubtful?.(path.split("/"));

  test.each([".ENV", "a/.Env", "KEYS/one", "Keys"])("is doubtful: %s", (path) => {
    expect(isDoubtful(path)).toBe(true);
    const [name = "", ...above] = path.split("/").reverse();
    expect(policy.isDoubtfulEntry?.(above.reverse(), name)).toBe(true);
  });

  test("is not, if the path itself is denied, or names have no case", () => {
    for (const path of [".env", "keys/one", "A.txt", "1/2"]) expect(isDoubtful(path)).toBe(false);
  });

  test("is, where a pattern makes exceptions of letters, every name that has some", () => {
    expect(isDoubtful("b.txt")).toBe(true);
  });

  test("is nothing more, once names fold, and what is denied as it stands stays denied", () => {
    const folding = compileDeny(["[!a-z]*.txt", ".env"], { foldsCase: true });
    expect(folding.isDoubtful?.([".ENV"])).toBe(false);
    expect(folding.denies([".ENV"])).toBe(true);
    expect(folding.denies(["A.txt"])).toBe(true);
  });
});

test("an entry is judged the same by itself as by its whole path, whatever its pattern ends in", () => {
  const name = fc.constantFrom(
    "a",
    "A",
    ".env",
    "x.pem",
    "settings.json",
    "Settings.json",
    "é",
    "e\u0301",
    "a,b",
    "^a",
    "a+",
  );
  const last = fc.constantFrom(
    "a",
    ".env",
    "*.pem",
    "settings.json",
    "é",
    "?",
    "a,b",
    "^a",
    "a+",
    "{a,.env}",
    "*",
    "\\a",
  );
  const pattern = fc.tuple(fc.constantFrom("", "**/", "a/", "a/**/", "*/"), last).map((parts) => parts.join(""));
  fc.assert(
    fc.property(
      fc.array(pattern, { minLength: 1, maxLength: 4 }),
      fc.array(name, { maxLength: 3 }),
      name,
      fc.boolean(),
      (patterns, above, own, foldsCase) => {
        const policy = compileDeny(patterns, { foldsCase });
        fc.pre(above.every((_, index) => !policy.denies(above.slice(0, index + 1))));
        expect(policy.deniesEntry(above, own)).toBe(policy.denies([...above, own]));
        // One by one, each pattern says the same as among others.
        const alone = patterns.some((one) => compileDeny([one], { foldsCase }).deniesEntry(above, own));
        expect(policy.deniesEntry(above, own)).toBe(alone);
        if (!foldsCase && !patterns.some((one) => /[\\^+]/.test(one))) {
          const byPicomatch = patterns.some((one) => {
            const glob = one.includes("/") ? one : `**/${one}`;
            return picomatch(glob, { dot: true })([...above, own].join("/"));
          });
          expect(policy.deniesEntry(above, own)).toBe(byPicomatch);
        }
      },
    ),
  );
});

test.each(["@secrets", "@git", "@clients", "@instructions"])("every pattern of %s is sound: it is read late", (set) => {
  expect(patternsOf(set).length).toBeGreaterThan(0);
  for (const pattern of patternsOf(set)) expect(() => compileDeny([pattern], { foldsCase: false })).not.toThrow();
});
