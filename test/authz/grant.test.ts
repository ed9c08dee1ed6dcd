import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { covers, type Grant, intersect, parseGrant, printResource, wordsOf } from "../../src/authz/grant.js";

const grant = (resource: unknown, can: unknown = "crud") => parseGrant({ with: resource, can });

describe("the parts of a grant", () => {
  test("are split once for each text, and shared by all who send it, who cannot change them", () => {
    const [one, other] = [grant("file://docs/shared", "crud/read"), grant("file://docs/shared", "crud/read")];
    expect(other?.segments).toBe(one?.segments);
    expect(other?.words).toBe(one?.words);
    expect([one?.segments, one?.words].every((parts) => Object.isFrozen(parts))).toBe(true);
  });

  test("are right however many texts are sent", () => {
    for (let round = 0; round < 2; round++)
      for (let n = 0; n < 600; n++) expect(grant(`file://docs/${n}`)?.segments).toEqual(["docs", String(n)]);
  });
});

describe("the resource of a grant", () => {
  const good: readonly [string, string[]][] = [
    ["file://", []],
    ["file://docs", ["docs"]],
    ["file://docs/", ["docs"]],
    ["file://docs/a/b", ["docs", "a", "b"]],
    ["file://docs/a/b/", ["docs", "a", "b"]],
    ["file://docs/a b/ü😀", ["docs", "a b", "ü😀"]],
    ["file://docs/...", ["docs", "..."]],
    ["file://docs/.hidden", ["docs", ".hidden"]],
    ["file://DOCS", ["DOCS"]],
    [`file://${"a".repeat(1017)}`, ["a".repeat(1017)]],
    ["file://docs/e\u0301", ["docs", "e\u0301"]],
  ];
  test.each(good)("%j is split at slashes and nothing else", (resource, segments) => {
    expect(grant(resource)?.segments).toEqual(segments);
  });

  const bad: readonly [string, unknown][] = [
    ["three slashes", "file:///docs"],
    ["nothing but a slash", "file:///"],
    ["an empty segment", "file://docs//a"],
    ["two slashes at the end", "file://docs//"],
    ["a dot segment", "file://docs/./a"],
    ["a dot segment at the end", "file://docs/."],
    ["a dot-dot segment", "file://docs/../a"],
    ["a root that is dot-dot", "file://.."],
    ["a percent sign", "file://docs/%61"],
    ["a backslash", "file://docs\\a"],
    ["a question mark", "file://docs?a"],
    ["a hash", "file://docs#a"],
    ["a star", "file://*"],
    ["a star as a segment", "file://docs/*"],
    ["a colon", "file://docs:8080"],
    ["NUL", "file://docs/\u0000"],
    ["a line break", "file://docs/a\n"],
    ["DEL", "file://docs/\u007f"],
    ["white space at the start of a segment", "file:// docs"],
    ["white space at the end of a segment", "file://docs/a /b"],
    ["a no-break space at the end", "file://docs/a\u00a0"],
    ["white space around", " file://docs"],
    ["a lone surrogate", "file://docs/\ud800"],
    ["more than 1,024 bytes", `file://${"a".repeat(1018)}`],
    ["more than 1,024 bytes of wide characters", `file://${"é".repeat(509)}`],
    ["capitals in the scheme", "FILE://docs"],
    ["one slash", "file:/docs"],
    ["no slash", "file:docs"],
    ["no scheme", "docs"],
    ["a bare star", "*"],
    ["nothing", ""],
    ["null", null],
    ["absence", undefined],
    ["a list", ["file://docs"]],
    ["a number", 1],
    ["a drive with a query", "dlfs://docs?x"],
    ["a drive that leaves", "dlfs://docs/../x"],
    ["no drive", "dlfs:///x"],
    ["capitals in the scheme of drives", "DLFS://docs"],
    ["an agent's memory", "my:memory"],
    ["an asset", "as:0x12"],
    ["a proof", "prf:0"],
    ["a workspace path", "w/docs"],
    ["a DID", "did:key:z6Mk"],
    ["a UCAN", "ucan:*"],
  ];
  test.each(bad)("grants nothing for %s", (_, resource) => {
    expect(grant(resource)).toBeUndefined();
  });
});

describe("the ability of a grant", () => {
  const good: readonly [string, string[]][] = [
    ["*", []],
    ["crud", ["crud"]],
    ["crud/*", ["crud"]],
    ["crud/read", ["crud", "read"]],
    ["crud/read/*", ["crud", "read"]],
    ["a_b-c9/9x", ["a_b-c9", "9x"]],
  ];
  test.each(good)("%s is words joined by slashes", (can, words) => {
    expect(grant("file://docs", can)?.words).toEqual(words);
  });

  const bad: readonly unknown[] = [
    ...["CRUD/READ", "Crud", "crud/", "/crud", "crud//read", "crud/*/read", "*/read", "crud*", "crud/**", "**"],
    ...["crud/*/*", "", " crud", "crud ", "crud\n", "crud/read,crud/write", "9crud", "-crud", "crud.read", "crüd"],
    ...[null, undefined, 1, true, {}, ["crud"]],
  ];
  test.each(bad.map((can) => [can]))("grants nothing if it is %j", (can) => {
    expect(parseGrant({ with: "file://docs", can })).toBeUndefined();
  });
});

describe("an entry of a list", () => {
  test.each([
    ["caveats", { with: "file://docs", can: "crud", nb: {} }],
    ["null caveats", { with: "file://docs", can: "crud", nb: null }],
    ["anything else about it", { with: "file://docs", can: "crud", exp: 1 }],
    ["no resource", { can: "crud" }],
    ["no ability", { with: "file://docs" }],
  ])("with %s grants nothing", (_, entry) => {
    expect(parseGrant(entry)).toBeUndefined();
  });

  test.each([[null], [undefined], ["file://docs"], [1], [[]], [[{ with: "file://", can: "*" }]], [() => 1]])(
    "that is %p grants nothing",
    (entry) => {
      expect(parseGrant(entry)).toBeUndefined();
    },
  );
});

const need = (path: string, ability: "crud/read" | "crud/write" | "crud/delete") => ({
  segments: path.split("/").filter((segment) => segment !== ""),
  words: wordsOf(ability),
});

describe("a grant covers", () => {
  const table: readonly [string, string, string, "crud/read" | "crud/write" | "crud/delete", boolean][] = [
    ["file://docs/allowed/", "crud/read", "docs/allowed", "crud/read", true],
    ["file://docs/allowed/", "crud/read", "docs/allowed/x", "crud/read", true],
    ["file://docs/allowed", "crud/read", "docs/allowed/x/y", "crud/read", true],
    ["file://docs/allowed", "crud/read", "docs/allowed-evil/x", "crud/read", false],
    ["file://docs/allowed", "crud/read", "docs", "crud/read", false],
    ["file://docs", "crud/read", "docs2", "crud/read", false],
    ["file://docs", "crud/read", "doc", "crud/read", false],
    ["file://docs/a.txt", "crud/read", "docs/a.txt.bak", "crud/read", false],
    ["file://docs/allowed/", "crud/read", "docs/secret", "crud/read", false],
    ["file://docs/Allowed", "crud/read", "docs/allowed", "crud/read", false],
    ["file://docs/caf\u00e9", "crud/read", "docs/cafe\u0301", "crud/read", false],
    ["file://", "crud", "any/thing", "crud/delete", true],
    ["file://", "crud", "", "crud/read", true],
    ["file://", "*", "any", "crud/write", true],
    ["file://docs", "crud/*", "docs/a", "crud/delete", true],
    ["file://docs", "crud/write", "docs/a", "crud/read", false],
    ["file://docs", "crud/read", "docs/a", "crud/write", false],
    ["file://docs", "crud/read/deep", "docs/a", "crud/read", false],
    ["file://docs", "cru", "docs/a", "crud/read", false],
    ["file://docs", "crud/rea", "docs/a", "crud/read", false],
    ["file://docs", "crud", "", "crud/read", false],
  ];
  test.each(table)("%s %s, asked for %s %s: %p", (resource, can, path, ability, expected) => {
    const held = grant(resource, can);
    expect(held).toBeDefined();
    expect(held !== undefined && covers(held, need(path, ability))).toBe(expected);
  });
});

describe("the intersection of two grants", () => {
  const table: readonly [[string, string], [string, string], [string, string] | undefined][] = [
    [
      ["file://", "crud"],
      ["file://docs/a", "crud/read"],
      ["file://docs/a", "crud/read"],
    ],
    [
      ["file://docs/a", "crud"],
      ["file://docs", "crud/read"],
      ["file://docs/a", "crud/read"],
    ],
    [
      ["file://docs", "*"],
      ["file://docs", "*"],
      ["file://docs", "*"],
    ],
    [
      ["file://docs/a/", "*"],
      ["file://docs", "crud/*"],
      ["file://docs/a/", "crud/*"],
    ],
    [["file://docs/a", "crud"], ["file://docs/b", "crud"], undefined],
    [["file://docs/a", "crud"], ["file://docs/ab", "crud"], undefined],
    [["file://docs", "crud/read"], ["file://docs", "crud/write"], undefined],
  ];
  test.each(table)("%p and %p is the narrower on each axis: %p", (a, b, expected) => {
    const [first, second] = [grant(...a), grant(...b)];
    if (first === undefined || second === undefined) throw new Error("not a grant");
    for (const both of [intersect(first, second), intersect(second, first)]) {
      expect(both?.written).toEqual(expected === undefined ? undefined : { with: expected[0], can: expected[1] });
    }
  });

  const names = fc.array(fc.constantFrom("a", "b", "ab"), { maxLength: 3 });
  const someGrant: fc.Arbitrary<Grant> = fc.record({
    segments: names,
    words: fc.constantFrom([], ["crud"], ["crud", "read"], ["crud", "write"]),
    written: fc.constant({ with: "file://", can: "*" }),
  });
  const someNeed = fc.record({ segments: names, words: fc.constantFrom(wordsOf("crud/read"), wordsOf("crud/write")) });

  test("covers exactly what both cover", () => {
    fc.assert(
      fc.property(someGrant, someGrant, someNeed, (a, b, wanted) => {
        const both = intersect(a, b);
        expect(both !== undefined && covers(both, wanted)).toBe(covers(a, wanted) && covers(b, wanted));
      }),
      { numRuns: 1000 },
    );
  });
});

describe("a resource in print", () => {
  test.each([
    [[], "file://"],
    [["docs"], "file://docs/"],
    [["docs", "a", "b%c"], "file://docs/a/b%c"],
  ])("%j is %s", (segments, printed) => {
    expect(printResource(segments)).toBe(printed);
  });

  test("is what a grant on it says", () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-z0-9.]*[a-z]$/), { maxLength: 4 }), (segments) => {
        expect(grant(printResource(segments))?.segments).toEqual(segments);
      }),
    );
  });
});
