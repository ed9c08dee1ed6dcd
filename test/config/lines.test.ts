import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import JSON5 from "json5";
import { locate, positionsOf } from "../../src/config/lines.js";

const positionsIn = (text: string) => positionsOf(text, JSON5.parse);
const linesIn = (text: string) => new Map([...positionsIn(text)].map(([key, { line }]) => [key, line]));

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
        positionsOf(characters.join(""), () => "key");
      }),
    );
  });
});

test("columns are those where keys and items begin", () => {
  expect(Object.fromEntries(positionsIn(TEXT))).toMatchObject({
    name: { line: 3, column: 3 },
    port: { line: 4, column: 19 },
    "log.level": { line: 5, column: 12 },
    "auth.tokens[1]": { line: 10, column: 7 },
    "auth.tokens[1].caps[0]": { line: 11, column: 16 },
    mcp: { line: 15, column: 3 },
  });
});

test("every key stands at its position, whatever stands around it", () => {
  const blank = fc.constantFrom("", " ", "\n", "\r\n", "/* \n */", "// x\n", "\t");
  fc.assert(
    fc.property(fc.array(fc.tuple(blank, blank), { minLength: 1, maxLength: 8 }), (blanks) => {
      const text = `{${blanks.map(([before, after], index) => `${before}k${index}${after}: "a\\\nb"`).join(",")}}`;
      const lines = text.split("\n");
      for (const [key, { line, column }] of positionsIn(text)) {
        expect(lines[line - 1]?.slice(column - 1)).toMatch(new RegExp(`^${key}(?![0-9])`));
      }
    }),
  );
});

describe("a problem", () => {
  const file = "etc/venue.json5";
  const positions = positionsIn(TEXT);
  test.each([
    ["'port' must be an integer", "4:19"],
    ["Unknown config key 'log.level' - did you mean 'port'?", "5:12"],
    ["'auth.tokens[1].token' is missing: expected an object", "10:7"],
    ["'auth.tokens[1].caps[0].nb[3].x' grants nothing", "11:16"],
    ["'auth.public.caps' is missing", "7:3"],
    ["Root 'docs' does not exist or cannot be reached: /docs", "14:20"],
    ["Root 'a b' is not a directory: /a", "14:37"],
    ["Root 'port' does not exist or cannot be reached: /port", "14:11"],
    ["Config must be an object, not an array", "1:1"],
  ])("%s is told with its file, line and column", (text, at) => {
    expect(locate([{ text }], { file, positions })).toEqual([`etc/venue.json5:${at}: ${text}`]);
  });

  test.each([
    "Root 'docs' is given twice: in the config and by --root",
    "'seed' is missing",
    "Refusing to start: '0.0.0.0' is not a loopback address",
  ])("%s is told as it is", (text) => {
    expect(locate([{ text }], { file, positions })).toEqual([text]);
  });

  test("with a listener is told where it is set", () => {
    const settings = positionsIn("{ trustProxy: true,\n hostname: '0.0.0.0' }");
    const place = (text: string) => locate([{ text }], { file: "v", positions: settings })[0];
    expect(place("Refusing to start: '0.0.0.0' is not a loopback address.")).toMatch(/^v:2:2: Refusing/);
    expect(place("Refusing to start: this venue is reachable from outside.")).toMatch(/^v:1:3: Refusing/);
  });

  test("of one of several venues is found there", () => {
    const several = positionsIn("{ venues: [\n{ port: 1 },\n{ audit: {\nfile: 'a' } } ] }");
    const problems = [
      { text: "'audit.file' cannot be opened", above: "venues[1]." },
      { text: "'venues[0]' and 'venues[1]' both" },
    ];
    expect(locate(problems, { file: "v", positions: several })).toEqual([
      "v:2:1: 'venues[0]' and 'venues[1]' both",
      "v:4:1: 'audit.file' cannot be opened",
    ]);
  });

  test("is told once, in the order of the file", () => {
    const texts = ["'mcp' b", "no key", "'port' a", "'log' c", "'port' a", "no key"];
    const told = locate(
      texts.map((text) => ({ text })),
      { file: "v", positions },
    );
    expect(told).toEqual(["v:4:19: 'port' a", "v:5:3: 'log' c", "v:15:3: 'mcp' b", "no key"]);
  });

  test("names a file with control characters escaped", () => {
    expect(locate([{ text: "'port' x" }], { file: "a\nb", positions })[0]).not.toContain("\n");
  });
});
