import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { jsonFault } from "../../../src/ops/content/json-fault.js";
import { failure, useGround } from "../ground.js";
import { etagOfContent } from "./etags.js";

const ground = useGround();
const notJson = (reason: string) => failure("NOT_JSON", `File is not valid JSON: ${reason}`, "a.json");

describe("file:read as JSON", () => {
  const values: readonly [string, unknown][] = [
    ['{"b":1,"a":[true,null,"é"]}', { b: 1, a: [true, null, "é"] }],
    [" \t\r\n[1.5e3]\n", [1500]],
    ["null", null],
    ["false", false],
    ["0", 0],
    ['""', ""],
    ['"\\u0000\\ud83d\\ude00"', "\u0000😀"],
    ['{"a":1,"a":2}', { a: 2 }],
    ["12345678901234567890", 12345678901234567890n],
  ];
  test.each(values)("gives the value of %s", async (text, value) => {
    ground.put("a.json", text);
    const size = Buffer.byteLength(text);
    expect(await ground.run("read", { path: "a.json", mode: "json" })).toEqual({
      value,
      size,
      mime: "application/json",
      etag: etagOfContent(text),
    });
  });

  test("gives a member of any name as a member", async () => {
    ground.put("a.json", '{"__proto__":{"x":1},"then":2}');
    const { value } = await ground.run("read", { path: "a.json", mode: "json" });
    expect(JSON.stringify(value)).toBe('{"__proto__":{"x":1},"then":2}');
    expect(Object.getPrototypeOf(value)).toBe(Object.getPrototypeOf(JSON.parse("{}")));
  });

  test("skips one byte order mark", async () => {
    ground.put("a.json", "\ufeff[1]");
    expect(await ground.run("read", { path: "a.json", mode: "json" })).toMatchObject({ value: [1], size: 6 });
    ground.put("a.json", "\ufeff\ufeff[1]");
    expect(await ground.fail("read", { path: "a.json", mode: "json" })).toEqual(
      notJson("unexpected character at line 1, column 1"),
    );
  });

  test("is refused for bytes that are not UTF-8", async () => {
    ground.put("a.json", Buffer.of(0x22, 0xff, 0x22));
    expect(await ground.fail("read", { path: "a.json", mode: "json" })).toEqual(
      failure("NOT_TEXT", "File is not valid UTF-8 text. Pass its encoding, such as latin1, or mode: bytes", "a.json"),
    );
  });

  const faults: readonly [string, string][] = [
    ["", "unexpected end"],
    [" \n\t", "unexpected end"],
    ["{", "unexpected end"],
    ['{"a"', "unexpected end"],
    ['{"a":', "unexpected end"],
    ["[1,", "unexpected end"],
    ['["abc', "unexpected end"],
    ['["abc\\"]', "unexpected end"],
    ['{"a":}', "unexpected character at line 1, column 6"],
    ["[1,]", "unexpected character at line 1, column 4"],
    ['{"a":1,}', "unexpected character at line 1, column 8"],
    ["{a:1}", "unexpected character at line 1, column 2"],
    ["{'a':1}", "unexpected character at line 1, column 2"],
    ['{"a" 1}', "unexpected character at line 1, column 6"],
    ['{"a":1 "b":2}', "unexpected character at line 1, column 8"],
    ['{1:"a"}', "unexpected character at line 1, column 2"],
    ["[1}", "unexpected character at line 1, column 3"],
    ["]", "unexpected character at line 1, column 1"],
    ["1 2", "unexpected character at line 1, column 3"],
    ["[1],", "unexpected character at line 1, column 4"],
    ["[01]", "unexpected character at line 1, column 2"],
    ["[1.]", "unexpected character at line 1, column 2"],
    ["[+1]", "unexpected character at line 1, column 2"],
    ["NaN", "unexpected character at line 1, column 1"],
    ["[True]", "unexpected character at line 1, column 2"],
    ["undefined", "unexpected character at line 1, column 1"],
    ["[1] // note", "unexpected character at line 1, column 5"],
    ['["a\\x"]', "unexpected character at line 1, column 2"],
    ['["a\nb"]', "unexpected character at line 1, column 2"],
    ["[1\u00a0]", "unexpected character at line 1, column 3"],
    ['{\n  "a": 1,\n  "b": oops\n}\n', "unexpected character at line 3, column 8"],
    ["\u0000", "unexpected character at line 1, column 1"],
  ];
  test.each(faults)("is refused for %j, and says where", async (text, reason) => {
    ground.put("a.json", text);
    expect(await ground.fail("read", { path: "a.json", mode: "json" })).toEqual(notJson(reason));
  });

  test("never quotes what it refuses", async () => {
    ground.put("a.json", '{"password": s3cret}');
    expect(JSON.stringify(await ground.fail("read", { path: "a.json", mode: "json" }))).not.toContain("s3cret");
  });
});

/** Whether more text could make it JSON: it is, or the engine complains of nothing but its end. */
function mayGoOn(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    const { message } = error as Error;
    return message.includes("end of JSON") || message.includes(`at position ${text.length}`);
  }
}

describe("the place of a fault in JSON", () => {
  test("has only what could be JSON before it, whatever is wrong with a text", async () => {
    const damage = fc.record({
      json: fc.json({ maxDepth: 3 }).chain((text) => fc.constantFrom(text, text.replaceAll(",", ",\n "))),
      at: fc.nat(60),
      remove: fc.nat(2),
      insert: fc.constantFrom("", ",", "}", "]", "{", "[", ":", '"', "x", "1", "\\", "\n", "-"),
    });
    fc.assert(
      fc.property(damage, ({ json, at, remove, insert }) => {
        const text = json.slice(0, at) + insert + json.slice(at + remove);
        fc.pre(!isJson(text));
        const [, line, column] = /^unexpected character at line (\d+), column (\d+)$/.exec(jsonFault(text)) ?? [];
        if (line === undefined) {
          expect(jsonFault(text)).toBe("unexpected end");
          return;
        }
        const before = text.split("\n").slice(0, Number(line) - 1);
        const index = before.join("\n").length + (before.length > 0 ? 1 : 0) + Number(column) - 1;
        expect({ text, before: mayGoOn(text.slice(0, index)) }).toEqual({ text, before: true });
      }),
      { numRuns: 2000 },
    );
  });

  test("is the end for whatever could go on", async () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 3 }), fc.nat(60), (json, at) => {
        const text = json.slice(0, at);
        // A word that is cut short is no word.
        fc.pre(!isJson(text) && !/[\w.+-]$/.test(text));
        expect({ text, fault: jsonFault(text) }).toEqual({ text, fault: "unexpected end" });
      }),
      { numRuns: 1000 },
    );
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
