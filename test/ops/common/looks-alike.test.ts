import { describe, expect, test } from "@jest/globals";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import { foreignDifference, lookOf, unseenDifference } from "../../../src/path/looks.js";
import { entriesBelow, useGround } from "../ground.js";

const ground = useGround({ root: { deny: ["*.key"] }, journal: true });
const may = (can: string, ...paths: string[]): SurfaceContext => ({
  caps: paths.map((path) => ({ with: `file://r/${path}`, can })),
});

/** A name that is there, one that looks the same, and how they differ. */
const ALIKE = [
  ["Shot 4.07\u202fAM.png", "Shot 4.07 AM.png", "U+202F in place of U+0020"],
  ["a\u00a0b", "a b", "U+00A0 in place of U+0020"],
  ["Cafe\u0301", "Caf\u00e9", "U+0065 U+0301 in place of U+00E9"],
  ["\u00dcbung", "U\u0308bung", "U+00DC in place of U+0055 U+0308"],
  ["it\u2019s", "it's", "U+2019 in place of U+0027"],
  ['say "x"', "say \u201cx\u201d", "U+0022 in place of U+201C"],
  ["zero\u200bwidth", "zerowidth", "U+200B in place of nothing"],
  ["mark", "\ufeffmark", "nothing in place of U+FEFF"],
  ["soft", "so\u00adft", "nothing in place of U+00AD"],
  ["2020\u20132024", "2020-2024", "U+2013 in place of U+002D"],
  ["\u0441opy", "copy", "U+0441 in place of U+0063"],
  ["x-1", "x\u22121", "U+002D in place of U+2212"],
  ["pro\ufb01le", "profile", "U+FB01 in place of U+0066 U+0069"],
  ["office", "o\ufb03ce", "U+0066 U+0066 U+0069 in place of U+FB03"],
] as const;

test("runs of spaces do not hold the process", () => {
  const spaces = " ".repeat(40_000);
  const startedMs = Date.now();
  // White space alone can be seen in the lines that are shown.
  expect(unseenDifference(`a${spaces}\tb`, `a${spaces}b`)).toContain("U+0009 in place of");
  expect(Date.now() - startedMs).toBeLessThan(5_000);
}, 120_000);

describe("a name that looks like another", () => {
  test.each(ALIKE)("%j and %j", async (there, given, difference) => {
    expect(lookOf(there)).toBe(lookOf(given));
    expect(unseenDifference(there, given)).toBe(difference);
    ground.put(`in/${there}/file`, "x");
    for (const end of ["", "/file"]) {
      expect(await ground.run("stat", { path: `in/${given}${end}` })).toEqual({
        exists: false,
        hint: `Looks the same: "in/${there}${end}" (${difference})`,
        suggestions: [{ root: "r", path: `in/${there}${end}` }],
      });
    }
    const { code, data } = await ground.fail("read", { path: `in/${given}/file` });
    expect([code, data["suggestions"]]).toEqual(["NOT_FOUND", [{ root: "r", path: `in/${there}/file` }]]);
    // No twin of the folder is made on the way to something else.
    const path = `in/${given}/more/new.txt`;
    const patch = `*** Begin Patch\n*** Add File: ${path}\n+x\n*** End Patch\n`;
    const calls = {
      write: { path, content: "x", parents: true },
      append: { path, content: "x", parents: true },
      mkdir: { path, parents: true },
      copy: { path: `in/${there}/file`, to: path, parents: true },
      move: { path: `in/${there}/file`, to: path, parents: true },
    };
    for (const [name, input] of Object.entries(calls)) {
      const refused = await ground.fail(name, input);
      expect([name, refused.code, refused.data["suggestions"]]).toEqual([
        name,
        "PARENT_MISSING",
        [{ root: "r", path: `in/${there}` }],
      ]);
    }
    expect((await ground.fail("patch", { patch })).message).toContain("looks the same");
    expect(ground.names("in")).toEqual([there]);
    // Who wants both gets both.
    await ground.run("mkdir", { path: `in/${given}` });
    await ground.run("write", { path, content: "x", parents: true });
    expect(ground.get(path).toString()).toBe("x");
  });

  test.each([
    ["report.txt ", "report.txt"],
    ["notes", " notes"],
    ["\u00a0x", "x"],
    ["\u1112\u1161\u11ab", "\ud55c"],
  ])("%j and %j, which have no pair of characters to name", async (there, given) => {
    ground.put(`in/${there}`);
    const path = `in/${there}`;
    const hint = `Looks the same: "${path}" (spelled otherwise)`;
    const suggestions = [{ root: "r", path }];
    expect(await ground.run("stat", { path: `in/${given}` })).toEqual({ exists: false, hint, suggestions });
    expect((await ground.fail("read", { path: `in/${given}` })).data["suggestions"]).toEqual(suggestions);
  });

  test.each([
    ["Cafe\u0301.md", "Caf\u00e9.md", " (U+0065 U+0301 in place of U+00E9)"],
    ["a\u00a0b", "a b", " (U+00A0 in place of U+0020)"],
    ["a b.txt ", "a b.txt", ""],
  ])("a new file %j is made beside %j, and says so", async (there, given, difference) => {
    ground.put(`in/${there}`, "old");
    const write = { path: `in/${given}`, content: "new" };
    const made = await ground.run("write", write);
    expect(made).toMatchObject({ created: true, hint: expect.stringContaining(`"in/${there}"${difference}`) });
    expect([ground.get(`in/${there}`).toString(), ground.get(`in/${given}`).toString()]).toEqual(["old", "new"]);
    expect(await ground.run("write", write)).not.toHaveProperty("hint");
    expect(await ground.run("write", { path: "in/other", content: "" })).not.toHaveProperty("hint");
    // Nothing is told to who may not list it.
    ground.put(`blind/${there}`);
    const unseen = { path: `blind/${given}`, content: "" };
    expect(await ground.run("write", unseen, may("crud/write", ""))).not.toHaveProperty("hint");
  });

  test("is told only of what differs in nothing that can be seen", async () => {
    for (const name of ["Name", "nam", "name.txt", "n\u00e4me"]) ground.put(name);
    expect(await ground.run("stat", { path: "name" })).toEqual({ exists: false });
    await ground.run("write", { path: "name/x", content: "", parents: true });
  });

  test("is told of to those alone who may list it", async () => {
    ground.put("mine/a\u00a0b");
    ground.put("theirs/a\u00a0b");
    ground.put("theirs/c\u00a0d/x");
    ground.put("mine/x\u00a0y.key");
    const own = may("*", "mine/");
    expect(await ground.run("stat", { path: "mine/a b" }, own)).toHaveProperty("hint");
    expect(await ground.run("stat", { path: "mine/x y.key" }).catch(({ code }) => code)).toBe("DENIED_BY_POLICY");
    expect(await ground.run("stat", { path: "theirs/a b" }, may("crud/read", "theirs/a b"))).toEqual({ exists: false });
    const blind = may("crud/write", "");
    await ground.run("write", { path: "theirs/c d/x", content: "", parents: true }, blind);
    expect(ground.names("theirs")).toContain("c d");
  });
});

describe("a text whose only difference cannot be seen", () => {
  test.each([
    ["const\u00a0a = 1;", "const a = 1;", "U+00A0 in place of U+0020"],
    ["say(\u201chi\u201d);", 'say("hi");', "U+201C in place of U+0022"],
    ["nai\u0308ve text here", "na\u00efve text here", "U+0069 U+0308 in place of U+00EF"],
    ["foo\u200bbar(1)", "foobar(1)", "U+200B in place of nothing"],
    ["\tindented();", " indented();", "U+0009 in place of U+0020"],
    ["const d\u0430t\u0430 = load();", "data = load();", "U+0430 in place of U+0061"],
    ["\u0441\u043e\u0440\u0443(\u0445)", "copy(x)", "U+0441 in place of U+0063"],
    ["x = a;", "x = \u0430;", "U+0061 in place of U+0430"],
    ["\u039f\u039a = 1", "OK = 1", "U+039F in place of U+004F"],
    ["total = a + b", "total = \u0391 + b", "U+0061 in place of U+0391"],
    ["rest = count \u2212 1", "rest = count - 1", "U+2212 in place of U+002D"],
    ["pages 1\u20137 of it", "pages 1-7 of it", "U+2013 in place of U+002D"],
    ["it ends \u2014 here", "it ends - here", "U+2014 in place of U+002D"],
    ["the \ufb01rst e\ufb00ect", "the first effect", "U+FB01 in place of U+0066 U+0069"],
    ["and so on\u2026", "and so on...", "U+2026 in place of U+002E U+002E U+002E"],
    ["say \ud835\udc31 = size + 1;", "x = size + 1;", "U+1D431 in place of U+0078"],
  ])("%j is not %j", async (there, given, difference) => {
    ground.put("a.txt", `first line\n${there}\nlast line\n`);
    const { code, message } = await ground.fail("edit", {
      path: "a.txt",
      oldText: `${given}\nlast`,
      newText: "x",
    });
    expect(code).toBe("NO_MATCH");
    expect(message).toContain(`(differs in ${difference})`);
    const patch = `*** Begin Patch\n*** Update File: a.txt\n@@\n-first line!\n-${given}\n+y\n*** End Patch\n`;
    expect((await ground.fail("patch", { patch })).message).not.toContain("U+");
  });

  test("in a file with CRLF, where other letters are too", async () => {
    ground.put("a.txt", "\u043e\u0434\u0438\u043d\r\nc\u043eunt += 1;\r\nend\r\n");
    const { message } = await ground.fail("edit", { path: "a.txt", oldText: "count += 1;\nend", newText: "" });
    expect(message).toContain("(differs in U+043E in place of U+006F)");
  });

  test("is looked for in bounded time", () => {
    const startedMs = Date.now();
    expect(foreignDifference("a".repeat(100_000), `${"a".repeat(50_000)}b`)).toBeUndefined();
    expect(Date.now() - startedMs).toBeLessThan(5_000);
  });

  test("what can be seen is told as before", async () => {
    ground.put("a.txt", "alpha beta gamma\n");
    const { message } = await ground.fail("edit", { path: "a.txt", oldText: "alpha bets gamma", newText: "" });
    expect(message).toContain("(differs in content)");
    const spaced = await ground.fail("edit", { path: "a.txt", oldText: "alpha  beta gamma", newText: "" });
    expect(spaced.message).toContain("(differs in whitespace)");
  });
});

describe("content that is an object", () => {
  test("is refused by its name, with what to send", async () => {
    const { code, message, data } = await ground.fail("write", { path: "a.json", content: { a: 1 } });
    expect([code, message, data["pointer"]]).toEqual([
      "INVALID_INPUT",
      "'content' must be a string. Pass JSON as 'value', text as 'content'",
      "/content",
    ]);
    expect((await ground.fail("append", { path: "a.json", content: [1] })).message).toContain("'content' must be");
    expect((await ground.fail("write", { path: "a.json", content: 5 })).message).toBe("'content' must be a string");
  });
});

describe("names that the grammar refuses", () => {
  test.each(["back\\slash.txt", "tab\there", "line\nfeed", "\\", "a\u007fb", "sub\\dir/in\tner"])(
    "%j is renamed, deleted and brought back",
    async (name) => {
      ground.put(name, "x");
      const [top = ""] = name.split("/");
      await ground.run("move", { path: name, to: "plain.txt" });
      expect(ground.get("plain.txt").toString()).toBe("x");
      ground.put(name, "y");
      expect(await ground.run("delete", { path: name })).toMatchObject({ deleted: true });
      const { entries } = await ground.run("history", {});
      await ground.run("undo", { id: entries[0]?.id ?? "" });
      expect(ground.get(name).toString()).toBe("y");
      expect((await ground.fail("write", { path: name, content: "" })).code).toBe("INVALID_PATH");
      expect((await ground.fail("move", { path: "plain.txt", to: name })).code).toBe("INVALID_PATH");
      await ground.run("delete", { path: top, recursive: true });
      expect(entriesBelow(ground.dir)).toEqual(["plain.txt"]);
      await ground.run("delete", { path: "plain.txt" });
    },
  );

  test("rights and deny patterns hold for them", async () => {
    ground.put("a\\b.key", "x");
    ground.put("theirs\t/x", "x");
    expect((await ground.fail("delete", { path: "a\\b.key" })).code).toBe("DENIED_BY_POLICY");
    expect((await ground.fail("delete", { path: "theirs\t/x" }, may("*", "mine/"))).code).toBe("CAPABILITY_DENIED");
    expect((await ground.fail("delete", { path: "a\0b" })).code).toBe("INVALID_PATH");
    expect(await ground.run("delete", { path: "x\\..\\..\\y" })).toMatchObject({ existed: false });
  });
});
