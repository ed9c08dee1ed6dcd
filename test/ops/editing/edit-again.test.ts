// One large file edited again and again, as agents do, with others that change it in between.

import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import type { CallTerms } from "../../../src/core/call/terms.js";
import { etagOf } from "../../../src/core/etag.js";
import { useGround } from "../ground.js";
import { sha256Of } from "./edit-fixture.js";

const ground = useGround();
const LINES = 1500;

const textOf = (word: string, marks: readonly number[] = []): string =>
  Array.from({ length: LINES }, (_, line) => `${marks.includes(line) ? "new" : "old"} line ${line} of ${word}\n`).join(
    "",
  );

const mark = (path: string, line: number) =>
  ground.run("edit", { path, oldText: `old line ${line} of`, newText: `new line ${line} of` });

const etagIn = (path: string): string => etagOf(sha256Of(ground.get(path)));

describe("a large file edited again and again", () => {
  test("has each edit, with the etags of before and after, beside other files", async () => {
    const words = ["one", "two", "thé"];
    for (const word of words) ground.put(word, textOf(word));
    for (let line = 0; line < 5; line++) {
      for (const word of words) {
        const previousEtag = etagIn(word);
        const edited = await mark(word, line);
        expect(ground.get(word).toString()).toBe(textOf(word, [...Array(line + 1).keys()]));
        expect(edited).toMatchObject({ previousEtag, etag: etagIn(word), firstChangedLine: line + 1 });
      }
    }
  });

  test.each([
    ["utf-8", ""],
    ["utf-8", "\ufeff"],
    ["utf-16le", "\ufeff"],
    ["latin1", ""],
  ] as const)("has the right etags wherever it is edited next, in %s %j", async (encoding, bom) => {
    const text = bom + textOf("thé");
    ground.put("a", Buffer.from(text, encoding));
    const marked: number[] = [];
    for (const line of [700, 900, 1400, 20, 699, 0, 1499]) {
      const previousEtag = etagIn("a");
      const edit = { oldText: `old line ${line} of`, newText: `new line ${line} of` };
      const edited = await ground.run("edit", { path: "a", encoding, ...edit });
      marked.push(line);
      expect(edited).toMatchObject({ previousEtag, etag: etagIn("a"), firstChangedLine: line + 1 });
      expect(ground.get("a").equals(Buffer.from(bom + textOf("thé", marked), encoding))).toBe(true);
    }
  });

  test("is seen as others have left it in between", async () => {
    ground.put("a", textOf("one"));
    await mark("a", 0);
    ground.put("a", textOf("two"));
    const previousEtag = etagIn("a");
    expect(await mark("a", 1)).toMatchObject({ previousEtag });
    appendFileSync(join(ground.dir, "a"), "more\n");
    expect(await mark("a", 2)).toMatchObject({ previousEtag: etagOf(sha256Of(`${textOf("two", [1])}more\n`)) });
    expect(ground.get("a").toString()).toBe(`${textOf("two", [1, 2])}more\n`);
  });

  test.each([
    ["with the same size", textOf("two")],
    ["longer", `${textOf("one")}more\n`],
    ["shorter", "short\n"],
  ])("is not overwritten where it has changed since it was read, %s", async (_, other) => {
    ground.put("a", textOf("one"));
    const first = await mark("a", 0);
    const terms: CallTerms = {
      edits: {
        async plan() {
          ground.put("a", other);
          return [{ start: 0, end: 3, text: "NEW" }];
        },
      },
    };
    const failed = await ground.fail("edit", { path: "a", oldText: "new", newText: "NEW" }, { terms });
    expect(failed).toMatchObject({ code: "CONFLICT", data: { expected: first.etag, current: etagIn("a") } });
    expect(ground.get("a").toString()).toBe(other);
    expect(ground.staged()).toEqual([]);
  });
});

describe("an edit that only moves text", () => {
  const TEXT = `${"abc".repeat(40)}\n`;

  test("to where the same text was is no change", async () => {
    ground.put("a", TEXT);
    const edits = [
      { oldText: "\n", newText: "abc\n" },
      { oldText: `${"abc".repeat(39)}abc`, newText: "abc".repeat(39) },
    ];
    const edited = await ground.run("edit", { path: "a", edits });
    expect(edited).toMatchObject({ etag: etagIn("a"), previousEtag: etagIn("a") });
    expect(edited.firstChangedLine).toBeUndefined();
  });

  test("tells the first line that differs, not the first that was edited", async () => {
    ground.put("b", "x\nx\nx\nend\n");
    expect(await ground.run("edit", { path: "b", oldText: "x\nx\nx\nend", newText: "x\nx\nend" })).toMatchObject({
      firstChangedLine: 3,
    });
  });
});
