import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import JSON5 from "json5";
import { inOrder, linesOf, withLine } from "../../src/config/lines.js";

const linesIn = (text: string) => linesOf(text, JSON5.parse);

const TEXT = `// a comment with { and 'quotes'
{
  name: "x", /* over
  two lines: { */ port: 80,
  'log': { "level": 'in\\
fo' },
  auth: {
    tokens: [
      { name: "a", caps: [] },
      { name: "b",
        caps: [{ with: "file://", can: "crud" }] },
    ],
  },
  file: { roots: { docs: "/a // b", "a b": { temp: true } } },
  mcp: false
}
`;

describe("the lines of a configuration", () => {
  test("are those where its keys and items stand", () => {
    expect(Object.fromEntries(linesIn(TEXT))).toEqual({
      name: 3,
      port: 4,
      log: 5,
      "log.level": 5,
      auth: 7,
      "auth.tokens": 8,
      "auth.tokens[0]": 9,
      "auth.tokens[0].name": 9,
      "auth.tokens[0].caps": 9,
      "auth.tokens[1]": 10,
      "auth.tokens[1].name": 10,
      "auth.tokens[1].caps": 11,
      "auth.tokens[1].caps[0]": 11,
      "auth.tokens[1].caps[0].with": 11,
      "auth.tokens[1].caps[0].can": 11,
      file: 14,
      "file.roots": 14,
      "file.roots.docs": 14,
      "file.roots.a b": 14,
      "file.roots.a b.temp": 14,
      mcp: 15,
    });
  });

  test("are found for whatever JSON holds, one key a line", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ minLength: 1 }), fc.jsonValue({ maxDepth: 2 })), (value) => {
        const text = JSON.stringify(value, null, 1);
        const lines = text.split("\n");
        const keys = Object.keys(value);
        const found = [...linesIn(text)].filter(([, line]) => /^ "/.test(lines[line - 1] ?? ""));
        expect(found.length).toBeGreaterThanOrEqual(new Set(keys).size === keys.length ? 0 : 1);
        for (const [, line] of linesIn(text)) expect(line).toBeLessThanOrEqual(lines.length);
        expect(linesIn(text).size > 0).toBe(keys.length > 0);
      }),
    );
  });

  test("come to an end for any text at all", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(..."{}[]:,'\"/*\\ \na1"), { maxLength: 40 }), (characters) => {
        linesOf(characters.join(""), () => "key");
      }),
    );
  });
});

describe("a problem", () => {
  const lines = linesIn(TEXT);
  test.each([
    ["'port' must be an integer", "line 4: "],
    ["Unknown config key 'log.level' - did you mean 'port'?", "line 5: "],
    ["'auth.tokens[1].token' is missing: expected an object", "line 10: "],
    ["'auth.tokens[1].caps[0].nb[3].x' grants nothing", "line 11: "],
    ["'auth.public.caps' is missing", "line 7: "],
    ["Root 'docs' does not exist or cannot be reached: /docs", "line 14: "],
    ["Root 'a b' is not a directory: /a", "line 14: "],
    ["Root 'port' does not exist or cannot be reached: /port", "line 14: "],
    ["Root 'docs' is given twice: in the config and by --root", ""],
    ["'seed' is missing", ""],
    ["Config must be an object", ""],
    ["Refusing to start: '0.0.0.0' is not a loopback address", ""],
  ])("%s has its line in front", (problem, line) => {
    expect(withLine(problem, lines)).toBe(line + problem);
  });

  test("of one of several venues is found there", () => {
    const several = linesIn("{ venues: [\n{ port: 1 },\n{ audit: {\nfile: 'a' } } ] }");
    expect(withLine("'audit.file' cannot be opened", several, "venues[1].")).toBe(
      "line 4: 'audit.file' cannot be opened",
    );
    expect(withLine("'venues[0]' and 'venues[1]' both", several)).toBe("line 2: 'venues[0]' and 'venues[1]' both");
  });

  test("is told in the order of the file", () => {
    expect(inOrder(["line 12: b", "no line", "line 3: a", "line 12: c"])).toEqual([
      "line 3: a",
      "line 12: b",
      "line 12: c",
      "no line",
    ]);
  });
});
