import { describe, expect, test } from "@jest/globals";
import { outlineOf } from "../../../src/profiles/everruns/outline.js";

const ROOM = 10_000;

/** The outline of a file of which no line of its own is shown. */
function outline(name: string, text: string): readonly string[] {
  const before = outlineOf(text, name, { start: 1000, end: 1000, totalLines: 2000 }, ROOM);
  expect(before === "" || before.startsWith("\n--- Outline of lines 1-999 (not shown) ---\n")).toBe(true);
  return before.split("\n").slice(2, -1);
}

describe("an outline", () => {
  test("of TypeScript and JavaScript", () => {
    const source = [
      'import { x } from "y";',
      "/** class InAComment { */",
      "export default class Later<T> extends Early {",
      "  static readonly #count = 1;",
      "  constructor(private readonly one: string) {",
      "    if (one) {",
      "      call(one);",
      "    }",
      "    call(one);",
      "  }",
      "",
      "  get size(): number {",
      "  }",
      "  private async *#walk<U>(from: U, { a, b }: X): AsyncGenerator<U> {",
      "    for (const each of from) {",
      "    }",
      "  }",
      "}",
      "  indented();",
      "export interface Shape {",
      "  area(): number;",
      "}",
      "type Name = string | number;",
      "export const enum Kind {",
      "export async function run({ a }: X): { y: string } {",
      "  inner();",
      "}",
      "const arrow = async (a: string) => {",
      "const short = (a) => a + 1;",
      "export const plain = 1;",
      "namespace N {",
    ].join("\n");
    const expected = [
      "// L3: class Later<T> extends Early { ... }",
      "  // L5: constructor(private readonly one: string) { ... }",
      "  // L12: get size(): number { ... }",
      "  // L14: private async *#walk<U>(from: U, { a, b }: X): AsyncGenerator<U> { ... }",
      "// L20: interface Shape { ... }",
      "  // L21: area(): number { ... }",
      "// L23: type Name = string | number { ... }",
      "// L24: const enum Kind { ... }",
      "// L25: async function run({ a }: X): { y: string } { ... }",
      "// L28: const arrow = async (a: string) { ... }",
      "// L29: const short = (a) => a + 1 { ... }",
      "// L31: namespace N { ... }",
    ];
    for (const name of ["a.ts", "/workspace/x.MTS", "a.tsx", "a.js", "a.cjs", "a.jsx"]) {
      expect(outline(name, source)).toEqual(expected);
    }
  });

  test("of Rust", () => {
    const source = [
      "use std::fmt;",
      "#[derive(Debug)]",
      "pub struct Point<T> {",
      "    x: T,",
      "}",
      "impl<T: Add> Shape for Point<T> {",
      "    /// fn comment()",
      "    pub(crate) async fn area(&self) -> Result<f64, Error> {",
      "        let f = fn_like();",
      "    }",
      "    const N: u8 = 1;",
      "",
      "    fn name(&self) -> &str;",
      "}",
      "pub trait Draw { fn draw(&self); }",
      "enum E { A, B }",
      'unsafe extern "C" fn raw(x: *const u8) {',
      "    fn inner() {}",
      "}",
      "mod tests {",
      "macro_rules! m {",
    ].join("\r\n");
    expect(outline("src/lib.rs", source)).toEqual([
      "// L3: pub struct Point<T> { ... }",
      "// L6: impl<T: Add> Shape for Point<T> { ... }",
      "  // L8: pub(crate) async fn area(&self) -> Result<f64, Error> { ... }",
      "  // L13: fn name(&self) -> &str { ... }",
      "// L15: pub trait Draw { ... }",
      "// L16: enum E { ... }",
      '// L17: unsafe extern "C" fn raw(x: *const u8) { ... }',
      "// L20: mod tests { ... }",
      "// L21: macro_rules! m { ... }",
    ]);
  });

  test("of Python", () => {
    const source = [
      "import os",
      "class Later(Base):",
      '    """def text():"""',
      "    x = 1",
      "",
      "    @property",
      "    def name(self) -> str:",
      "        def inner():",
      "            pass",
      "    async def run(self, *args):",
      "        pass",
      "# def comment():",
      "def main(a={}, b=None):",
      "\tdef nested():",
      "async def later():",
    ].join("\n");
    expect(outline("a.py", source)).toEqual([
      "// L2: class Later(Base) { ... }",
      "  // L7: def name(self) -> str { ... }",
      "  // L10: async def run(self, *args) { ... }",
      "// L13: def main(a={}, b=None) { ... }",
      "// L15: async def later() { ... }",
    ]);
  });

  test("of other files is none", () => {
    for (const name of ["a.go", "ts", "a.txt", "Makefile", "a.ts.bak"])
      expect(outline(name, "class A {\n")).toEqual([]);
    expect(outline("a.py", "x = 1\n")).toEqual([]);
  });

  test("has what is before and after the window, and nothing of it", () => {
    const source = "class A {\n  a() {\n  }\n}\nclass B {\n  b() {\n  }\n  c() {\n  }\n}\n";
    expect(outlineOf(source, "a.ts", { start: 5, end: 6, totalLines: 10 }, ROOM)).toBe(
      "\n--- Outline of lines 1-4 (not shown) ---\n// L1: class A { ... }\n  // L2: a() { ... }\n" +
        "\n--- Outline of lines 7-10 (not shown) ---\n  // L8: c() { ... }\n",
    );
    expect(outlineOf(source, "a.ts", { start: 1, end: 10, totalLines: 10 }, ROOM)).toBe("");
  });

  test("is cut at the end of a line", () => {
    const source = Array.from({ length: 100 }, (_, index) => `class C${index} {\n}`).join("\n");
    const cut = outlineOf(source, "a.ts", { start: 1, end: 1, totalLines: 200 }, 200);
    expect(cut.length).toBeLessThanOrEqual(200);
    expect(cut.length).toBeGreaterThan(150);
    expect(cut.endsWith("{ ... }\n")).toBe(true);
    expect(outlineOf(source, "a.ts", { start: 1, end: 1, totalLines: 200 }, 10)).toBe("");
  });

  test("takes no longer for lines that almost declare something", () => {
    const shown = { start: 1, end: 1, totalLines: 100_000 };
    const since = performance.now();
    for (const line of [
      `const ${"a".repeat(290)}`,
      `const a:${" ".repeat(280)}`,
      `function${" ".repeat(280)}`,
      `class A {\n  ${"static ".repeat(40)}`,
      `class A {\n  get${" ".repeat(280)}`,
      `class A {\n  a<${"<".repeat(280)}`,
      `const a = ${"(".repeat(280)}`,
      "\n",
    ]) {
      outlineOf(`${line}\n`.repeat(Math.floor(4_000_000 / (line.length + 1))), "a.ts", shown, ROOM);
      outlineOf(`${line}\n`.repeat(Math.floor(4_000_000 / (line.length + 1))), "a.rs", shown, ROOM);
    }
    // A pattern that is not linear takes minutes.
    expect(performance.now() - since).toBeLessThan(20_000);
  });
});
