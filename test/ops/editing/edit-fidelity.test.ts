import { chmodSync, linkSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { useGround } from "../ground.js";

type Encode = (text: string) => Buffer;

const utf16le: Encode = (text) => Buffer.from(text, "utf16le");
const utf16be: Encode = (text) => Buffer.from(text, "utf16le").swap16();

interface Form {
  readonly name: string;
  readonly encode: Encode;
  readonly bom: string;
  /** As the call names it, where it must. */
  readonly encoding?: string;
}

const FORMS: readonly Form[] = [
  { name: "UTF-8", encode: (text) => Buffer.from(text), bom: "" },
  { name: "UTF-8 with a mark", encode: (text) => Buffer.from(text), bom: "\ufeff" },
  { name: "UTF-16LE with a mark", encode: utf16le, bom: "\ufeff" },
  { name: "UTF-16BE with a mark", encode: utf16be, bom: "\ufeff" },
  { name: "UTF-16LE by name", encode: utf16le, bom: "", encoding: "utf-16le" },
  { name: "UTF-16BE by name", encode: utf16be, bom: "", encoding: "UTF-16BE" },
  { name: "Latin-1 by name", encode: (text) => Buffer.from(text, "latin1"), bom: "", encoding: "latin1" },
];

/** What ends each line, in turn, and what an inserted line then ends in. */
const TERMINATORS: readonly (readonly [string, readonly string[], string])[] = [
  ["LF", ["\n"], "\n"],
  ["CRLF", ["\r\n"], "\r\n"],
  ["CR", ["\r"], "\r"],
  ["mixed", ["\r\n", "\n", "\r\n", "\r"], "\r\n"],
];

const LINES = ["première", "  zweite\tZeile ", "", "naïve", "", "últi ma"];
const MODES = [0o644, 0o600, 0o755];

/** The text before, between and after the two places that change, and those. */
function partsOf(terminators: readonly string[], endsInNewline: boolean): readonly string[] {
  const text = LINES.map((line, index) => {
    const isLast = index === LINES.length - 1;
    return isLast && !endsInNewline ? line : line + terminators[index % terminators.length];
  }).join("");
  const first = `ière${terminators[0]}  zweite`;
  const at = text.indexOf(first);
  const second = text.indexOf("últi");
  return [text.slice(0, at), first, text.slice(at + first.length, second), "últi", text.slice(second + "últi".length)];
}

describe("file:edit in a root whose text is in Latin-1", () => {
  const ground = useGround({ root: { encoding: "latin1" } });

  test("writes that, unless the call names another", async () => {
    ground.put("f", Buffer.from("naïve", "latin1"));
    await ground.run("edit", { path: "f", oldText: "naï", newText: "é" });
    expect(ground.get("f")).toEqual(Buffer.from("éve", "latin1"));
    ground.put("f", "naïve");
    await ground.run("edit", { path: "f", oldText: "naï", newText: "€", encoding: "utf-8" });
    expect(ground.get("f").toString()).toBe("€ve");
  });
});

describe("file:edit changes no byte beside what matched", () => {
  const ground = useGround();

  const cases = FORMS.flatMap((form) =>
    TERMINATORS.map((terminator) => [form.name, terminator[0], form, terminator] as const),
  );
  test.each(cases)("%s, %s", async (_, _terminator, { encode, bom, encoding }, [, terminators, inserted]) => {
    for (const mode of MODES) {
      for (const isLinked of [false, true]) {
        for (const endsInNewline of [false, true]) {
          const [before = "", , between = "", , after = ""] = partsOf(terminators, endsInNewline);
          const original = encode(bom + partsOf(terminators, endsInNewline).join(""));
          ground.put("file.txt", original);
          const path = join(ground.dir, "file.txt");
          const other = join(ground.outside, "other");
          chmodSync(path, mode);
          if (isLinked) linkSync(path, other);
          await ground.run("edit", {
            path: "file.txt",
            // As an agent writes it, whatever the file has.
            edits: [
              { oldText: "últi", newText: "nächs" },
              { oldText: "ière\n  zweite", newText: "ier\n\nça" },
            ],
            ...(encoding === undefined ? {} : { encoding }),
          });
          const expected = [before, `ier${inserted}${inserted}ça`, between, "nächs", after];
          expect(ground.get("file.txt")).toEqual(encode(bom + expected.join("")));
          expect(statSync(path).mode & 0o7777).toBe(mode);
          if (isLinked) expect(readFileSync(other)).toEqual(original);
          rmSync(path);
          rmSync(other, { force: true });
        }
      }
    }
  });

  test.each([
    ["that an edit has copied", "\ufefffirst", "1st"],
    ["that an edit leaves out", "first", "1st"],
    ["that an edit has in both texts", "\ufefffirst", "\ufeff1st"],
  ])("and keeps a byte order mark %s", async (_, oldText, newText) => {
    for (const encode of [utf16le, utf16be, (text: string) => Buffer.from(text)]) {
      ground.put("f", encode("\ufefffirst\nsecond"));
      await ground.run("edit", { path: "f", oldText, newText });
      expect(ground.get("f")).toEqual(encode("\ufeff1st\nsecond"));
    }
  });

  test("and takes the text literally first where line endings are mixed", async () => {
    ground.put("f", "a\r\nb\na\nb\rc\r\n");
    await ground.run("edit", { path: "f", oldText: "a\nb", newText: "x\ny" });
    expect(ground.get("f").toString()).toBe("a\r\nb\nx\ny\rc\r\n");
  });

  test("and finds text over line endings of any kind where they are mixed", async () => {
    ground.put("f", "a\r\nb\na\nb\ra\rb\r\n\r\n");
    await ground.run("edit", { path: "f", oldText: "a\nb", newText: "x\ny", expect: 3 });
    expect(ground.get("f").toString()).toBe("x\r\ny\nx\ny\rx\ry\r\n\r\n");
  });

  test("and refuses what the encoding cannot say, or the bytes are not", async () => {
    ground.put("f", Buffer.from("naïve", "latin1"));
    const input = { path: "f", oldText: "na", newText: "€", encoding: "latin1" };
    expect(await ground.fail("edit", input)).toMatchObject({
      code: "NOT_TEXT",
      message: "The file's encoding, latin1, has no way to write the new text. Use characters it has",
    });
    expect(await ground.fail("edit", { ...input, encoding: "utf-8" })).toMatchObject({ code: "NOT_TEXT" });
    expect(await ground.fail("edit", { ...input, encoding: "klingon" })).toMatchObject({ code: "INVALID_INPUT" });
    ground.put("f", Buffer.of(0xff, 0xfe, 0x61));
    expect(await ground.fail("edit", { path: "f", oldText: "a", newText: "" })).toMatchObject({ code: "NOT_TEXT" });
  });
});
