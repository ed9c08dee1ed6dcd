import { describe, expect, test } from "@jest/globals";
import { FileAdapterError } from "../../../src/core/errors/errors.js";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import { encodeText } from "../../../src/ops/content/encoding.js";
import { foreignDifference, lookOf, unseenDifference } from "../../../src/path/looks.js";
import { processorMs } from "../../until.js";
import { entriesBelow, useGround } from "../ground.js";

describe("hints", () => {
  // A model does what an answer says, to the letter. So every hint has to end, within as many calls as the content has
  // pages, with all of the content there; and none may advise to replace what the model has not seen.

  const ground = useGround({ journal: true });
  const PAGE = 65_536;
  /** Most bytes of a page that stay unused, since the next line does not fit. */
  const UNUSED = 4096;
  const CONTEXT = { budget: { defaultBytes: PAGE, defaultLines: 2000, maxBytes: 1_048_576 } };
  type Input = Readonly<Record<string, unknown>>;

  interface Seen {
    readonly body: Buffer;
    readonly note: string;
    readonly rest: Readonly<Record<string, unknown>>;
  }

  /** What a model sees of one call: a failure is what it says. */
  async function look(
    name: "read" | "readMany" | "list" | "glob" | "grep" | "tree" | "history" | "watch",
    input: Input,
  ): Promise<Seen> {
    try {
      const seen = await ground.render(name, input as never, CONTEXT);
      const { rest, note = "" } = seen;
      if (seen.kind === "text") return { body: Buffer.from(String(seen.text)), note, rest: { ...rest } };
      if (seen.kind === "blob") return { body: Buffer.from(String(seen.base64), "base64"), note, rest: { ...rest } };
      return { body: Buffer.from(JSON.stringify(seen.value)), note, rest: { ...rest } };
    } catch (error) {
      if (!(error instanceof FileAdapterError)) throw error;
      return { body: Buffer.alloc(0), note: error.message, rest: { failed: error.code } };
    }
  }

  /** The next read that a note or description names. */
  function nextRead(text: string): Input | undefined {
    const [, on, at, field, rest] = /Go on with (line|offset): (\d+)(?:, (limit|length): (\d+))?/.exec(text) ?? [];
    if (on !== undefined) return { [on]: Number(at), ...(field === undefined ? {} : { [field]: Number(rest) }) };
    const [, offset, length] = /Before them: offset: (\d+), length: (\d+)/.exec(text) ?? [];
    if (offset !== undefined) return { offset: Number(offset), length: Number(length) };
    const [, most] = /Pass maxBytes: (\d+)/.exec(text) ?? [];
    if (most !== undefined) return { maxBytes: Number(most) };
    const [, mode] = /(?:Pass|Use|or) mode: "?(text|bytes)"?/.exec(text) ?? [];
    return mode === undefined ? undefined : { mode };
  }

  /** Follows every hint from one read on. */
  async function readOn(
    path: string,
    first: Input,
  ): Promise<{ calls: number; pieces: Map<number, Buffer>; notes: string[] }> {
    const pieces = new Map<number, Buffer>();
    const notes: string[] = [];
    const { encoding } = first;
    let { mode } = first;
    let calls = 0;
    for (let input: Input | undefined = first; input !== undefined && calls < 500; calls++) {
      const kept: Input = { ...(encoding === undefined ? {} : { encoding }), ...(mode === undefined ? {} : { mode }) };
      const { body, note, rest } = await look("read", { path, ...kept, ...input });
      notes.push(note);
      const isShown =
        rest["rendered"] === undefined && rest["failed"] === undefined && !/^No text: /.test(String(body));
      if (isShown) pieces.set(Number(rest["offset"] ?? 0), encodedAs(String(rest["encoding"]), body));
      input = nextRead(`${note}\n${isShown ? "" : body}`);
      mode = input?.["mode"] ?? mode;
    }
    return { calls, pieces, notes };
  }

  const encodedAs = (encoding: string, body: Buffer): Buffer =>
    encoding === "base64" || encoding === "undefined"
      ? body
      : (encodeText(String(body), { encoding, bom: false }) ?? body);

  /** The pieces put together by where they lie. */
  function joined(pieces: ReadonlyMap<number, Buffer>): { start: number; bytes: Buffer } {
    const ordered = [...pieces].sort(([a], [b]) => a - b);
    const start = ordered[0]?.[0] ?? 0;
    let end = start;
    for (const [offset, bytes] of ordered) {
      expect(offset).toBe(end);
      end += bytes.length;
    }
    return { start, bytes: Buffer.concat(ordered.map(([, bytes]) => bytes)) };
  }

  const pagesOf = (size: number): number => Math.ceil(size / (PAGE - UNUSED)) + 1;

  describe("the hints of a read", () => {
    const numbers = Array.from({ length: 120_000 }, (_, index) => `${index}\n`).join("");
    const files: Readonly<Record<string, Buffer>> = {
      "short lines and a long one": Buffer.from(`{\n"a": 1,\n"b": "${"x".repeat(1_500_000)}"\n}\n`),
      "one line": Buffer.from("☃0123456789".repeat(60_000)),
      "long lines": Buffer.from(Array.from({ length: 12 }, (_, index) => `${String(index).repeat(90_000)}\n`).join("")),
      "lines of a little more than half a page": Buffer.from(`${"y".repeat(36_000)}\n`.repeat(20)),
      "lines of a tenth of a page": Buffer.from(`${"é".repeat(3300)}\r\n`.repeat(60)),
      "short lines": Buffer.from(numbers),
      "UTF-16": Buffer.from(`\ufeff${numbers.slice(0, 200_000)}${"☃".repeat(90_000)}`, "utf16le"),
      bytes: Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 7919) & 0xff)),
    };
    const whole = [
      {},
      { line: 1 },
      { offset: 0 },
      { mode: "bytes" },
      { maxBytes: 16 },
      { tail: 1_000_000 },
      { offset: 0, length: 5_000_000 },
    ];

    test.each(Object.keys(files))("lead through all of a file of %s", async (name) => {
      const bytes = files[name] ?? Buffer.alloc(0);
      ground.put("file", bytes);
      for (const first of name === "bytes" ? [{}, { mode: "bytes" }, { tail: 3 }, { head: 9 }] : whole) {
        const { calls, pieces } = await readOn("file", first);
        expect([first, joined(pieces).bytes.equals(bytes)]).toEqual([first, true]);
        // One more for the description of bytes, and for a first page that is short by request.
        expect([first, calls <= pagesOf(bytes.length) + 1]).toEqual([first, true]);
      }
    });

    test("lead through as many lines as were asked for, from either end", async () => {
      const text = String(files["long lines"]);
      const lines = text.split(/(?<=\n)/);
      ground.put("file", text);
      for (const [first, asked] of [
        [{ line: 2, limit: 5 }, lines.slice(1, 6)],
        [{ head: 7 }, lines.slice(0, 7)],
        [{ tail: 4 }, lines.slice(-4)],
        [{ head: 1 }, lines.slice(0, 1)],
        [{ tail: 1 }, lines.slice(-1)],
        [{ offset: 100_000, length: 300_000 }, [text.slice(100_000, 400_000)]],
      ] as const) {
        const { calls, pieces } = await readOn("file", first);
        const { start, bytes } = joined(pieces);
        const end = start + bytes.length;
        const from = text.indexOf(asked.join(""));
        expect([first, start, end >= from + asked.join("").length]).toEqual([first, from, true]);
        expect(bytes.equals(Buffer.from(text).subarray(start, end))).toBe(true);
        expect(calls).toBeLessThanOrEqual(pagesOf(bytes.length));
      }
    });

    test("keep the encoding that was named", async () => {
      const text = "café\n".repeat(30_000);
      const bytes = Buffer.from(text, "latin1");
      ground.put("file", bytes);
      const { body } = await look("read", { path: "file" });
      expect(String(body)).toContain("\nAs text: its encoding, such as latin1\n");
      const { pieces, calls } = await readOn("file", { encoding: "latin1" });
      expect(joined(pieces).bytes.equals(bytes)).toBe(true);
      expect(calls).toBeLessThanOrEqual(pagesOf(text.length * 2));
    });

    test("lead to all of a JSON value, or to its text", async () => {
      for (const size of [200_000, 1_300_000]) {
        const json = JSON.stringify({ text: "z".repeat(size) });
        ground.put("file.json", json);
        const { calls, pieces, notes } = await readOn("file.json", { mode: "json" });
        expect(notes[0]).toMatch(/^File is too large to read in one call/);
        expect(String(joined(pieces).bytes)).toBe(json);
        expect(calls).toBeLessThanOrEqual(size < 1_000_000 ? 2 : 1 + pagesOf(size));
      }
    });

    test("lead to all of a notebook: as cells, or as its text where these are too long for one answer", async () => {
      for (const count of [40_000, 200_000]) {
        const output = { output_type: "stream", text: "a line\n".repeat(count) };
        const cells = [{ cell_type: "code", source: "run()", outputs: [output] }];
        const json = JSON.stringify({ nbformat: 4, cells });
        ground.put("a.ipynb", json);
        const { calls, pieces, notes } = await readOn("a.ipynb", {});
        expect(calls).toBeLessThanOrEqual(pagesOf(json.length));
        if (count > 100_000) expect(String(joined(pieces).bytes)).toBe(json);
        else expect(notes.at(-1)).toMatch(/^etag /);
      }
    });
  });

  test("the hints of file:readMany lead through all of every file", async () => {
    const files: Record<string, Buffer> = { small: Buffer.from("small\n"), one: Buffer.alloc(200_000, "1") };
    files["lines"] = Buffer.from("a line of many\n".repeat(20_000));
    for (let index = 0; index < 30; index++) files[`more${index}`] = Buffer.from(`${index}\n`.repeat(9000));
    for (const [path, bytes] of Object.entries(files)) ground.put(path, bytes);
    let left = Object.keys(files);
    let calls = 0;
    while (left.length > 0 && calls < 100) {
      const { body, note } = await look("readMany", { files: left.map((path) => ({ path })) });
      calls++;
      for (let at = 0; at < body.length; ) {
        const end = body.indexOf(10, at);
        const head = JSON.parse(body.toString("utf8", at, end)) as {
          path: string;
          length?: number;
          size: number;
        } & Record<string, number>;
        const expected = files[head.path] ?? Buffer.alloc(0);
        const length = head.length ?? head.size;
        const got = body.subarray(end + 1, end + 1 + length);
        at = end + 1 + length + (got.at(-1) === 10 ? 0 : 1);
        const pieces = new Map<number, Buffer>([[0, Buffer.from(got)]]);
        const { nextLine, nextOffset } = head;
        if (nextLine !== undefined || nextOffset !== undefined) {
          expect(note).toContain("Go on with file_read from nextLine or nextOffset");
          const first = nextLine === undefined ? { offset: nextOffset } : { line: nextLine };
          const further = await readOn(head.path, first as Input);
          calls += further.calls;
          for (const [offset, bytes] of further.pieces) pieces.set(offset, bytes);
        }
        expect([head.path, joined(pieces).bytes.equals(expected)]).toEqual([head.path, true]);
      }
      const [, names = ""] = /Not read: (.*)\. Call file_readMany with them/.exec(note) ?? [];
      left = names === "" ? [] : (JSON.parse(`[${names}]`) as string[]);
    }
    const size = Object.values(files).reduce((sum, { length }) => sum + length, 0);
    expect(calls).toBeLessThanOrEqual(pagesOf(size) + Object.keys(files).length);
  });

  describe("the hints of a search or listing", () => {
    async function follow(
      name: "list" | "glob" | "grep" | "history",
      input: Input,
    ): Promise<{ calls: number; bodies: string[] }> {
      const bodies: string[] = [];
      for (let next: Input | undefined = input; next !== undefined && bodies.length < 200; ) {
        const { body, note } = await look(name, next);
        bodies.push(String(body));
        const [, after] = /Go on with after: ("(?:[^"\\]|\\.)*")/.exec(note) ?? [];
        const [, cursor] = /cursor: "([^"]+)"/.exec(note) ?? [];
        if (after !== undefined) next = { ...input, after: JSON.parse(after) as string };
        else next = cursor === undefined ? undefined : { ...input, cursor };
      }
      return { calls: bodies.length, bodies };
    }
    const names = Array.from({ length: 1100 }, (_, index) => `${"n".repeat(180)}-${String(index).padStart(5, "0")}`);

    test("lead through all entries, paths, lines and changes", async () => {
      for (const name of names) ground.put(`dir/${name}`, "needle\n");
      const size = 1100 * 190;
      const list = await follow("list", { path: "dir" });
      expect(
        list.bodies
          .join("")
          .split("\n")
          .filter(Boolean)
          .map((line) => line.split(" ")[0]),
      ).toEqual(names);
      expect(list.bodies.every((body) => body.length <= PAGE)).toBe(true);
      expect(list.calls).toBeLessThanOrEqual(pagesOf(size));
      const glob = await follow("glob", { pattern: "dir/*", limit: 5000 });
      expect(glob.bodies.join("")).toBe(names.map((name) => `dir/${name}\n`).join(""));
      expect(glob.bodies.every((body) => body.length <= PAGE)).toBe(true);
      expect(glob.calls).toBeLessThanOrEqual(pagesOf(size));
      const grep = await follow("grep", { pattern: "needle", limit: 1000 });
      expect(grep.bodies.join("").match(/^1:needle$/gm)).toHaveLength(1100);
      expect(grep.calls).toBeLessThanOrEqual(2 * pagesOf(size));
      for (let index = 0; index < 60; index++) await ground.run("write", { path: "w", content: String(index) });
      const history = await follow("history", { path: "w" });
      expect(history.bodies.flatMap((body) => JSON.parse(body) as unknown[])).toHaveLength(60);
      expect(history.calls).toBe(2);
    });

    test("end for a tree, whatever its shape", async () => {
      ground.put(`${"d/".repeat(14)}deep`);
      for (let index = 0; index < 5100; index++) ground.put(`flat/${index}`);
      for (const first of [
        { path: "" },
        { path: "flat" },
        { path: "", maxEntries: 20_000 },
        { path: "d", maxDepth: 1 },
      ]) {
        let calls = 0;
        const notes: string[] = [];
        for (let next: Input | undefined = first; next !== undefined && calls < 10; calls++) {
          const { note } = await look("tree", next);
          notes.push(note);
          const [, field, most] = /or (maxEntries|maxDepth): (\d+)/.exec(note) ?? [];
          next = field === undefined ? undefined : { ...next, [field]: Number(most) };
        }
        expect(calls).toBeLessThanOrEqual(3);
        expect(notes.at(-1)).toMatch(
          /^Cut after 5000 entries\. Call file_tree with a deeper path, or file_list$|^Some .* Call file_tree on them$/,
        );
      }
    });

    test("end for changes that are waited for", async () => {
      const { note } = await look("watch", { path: "" });
      const [, cursor] = /^cursor (\S+)/.exec(note) ?? [];
      for (let index = 0; index < 450; index++) await ground.run("write", { path: `f${index}`, content: "" });
      const told = new Set<string>();
      let calls = 0;
      for (let at = cursor; at !== undefined && calls < 10; calls++) {
        const seen = await look("watch", { path: "", cursor: at });
        for (const [, path = ""] of String(seen.body).matchAll(/^created (\S+)/gm)) told.add(path);
        at = seen.note.includes("go on with this cursor") ? /^cursor ([^\s.]+)/.exec(seen.note)?.[1] : undefined;
      }
      expect([told.size, calls]).toEqual([450, 3]);
    });
  });

  describe("an error about a file that was not read whole", () => {
    test("advises nothing that replaces it", async () => {
      ground.put("blob", Buffer.of(0, 0xff, 0xfe, 0x81, 10, 65));
      ground.put("latin", Buffer.from("caf\xe9\n", "latin1"));
      ground.put("utf16", Buffer.concat([Buffer.from("\ufeffab", "utf16le"), Buffer.of(1)]));
      const edit = { oldText: "caf", newText: "CAF" };
      const failures = [
        await ground.fail("edit", { path: "blob", ...edit }, CONTEXT),
        await ground.fail("edit", { path: "latin", ...edit, newText: "É" }, CONTEXT),
        await ground.fail("edit", { path: "latin", ...edit, newText: "☃", encoding: "latin1" }, CONTEXT),
        await ground.fail("append", { path: "utf16", content: "x" }, CONTEXT),
        await ground.fail("read", { path: "blob", mode: "text" }, CONTEXT),
      ];
      for (const { code, message } of failures) {
        expect([code, message]).toEqual(["NOT_TEXT", expect.not.stringMatching(/replace|file.write/i)]);
      }
      expect(failures[0]?.message).toContain("Pass its encoding: latin1 takes every byte");
      expect(failures[1]?.message).toMatch(/Pass its encoding, such as latin1$/);
      await ground.run("edit", { path: "latin", ...edit, encoding: "latin1" }, CONTEXT);
      expect(ground.get("latin")).toEqual(Buffer.from("CAF\xe9\n", "latin1"));
      expect(failures[3]?.message).toMatch(/or add bytes \(base64\)$/);
      await ground.run("append", { path: "utf16", bytes: "Ag==" }, CONTEXT);
      expect(ground.get("utf16").subarray(-2)).toEqual(Buffer.of(1, 2));
    });
  });
});

describe("text that looks alike", () => {
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

  test("runs of spaces do not hold the process", async () => {
    const spaces = " ".repeat(40_000);
    // White space alone can be seen in the lines that are shown.
    const ms = await processorMs(() =>
      expect(unseenDifference(`a${spaces}\tb`, `a${spaces}b`)).toContain("U+0009 in place of"),
    );
    expect(ms).toBeLessThan(5_000);
  });

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
      expect(await ground.run("stat", { path: "theirs/a b" }, may("crud/read", "theirs/a b"))).toEqual({
        exists: false,
      });
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

    test("is looked for in bounded time", async () => {
      const ms = await processorMs(() =>
        expect(foreignDifference("a".repeat(100_000), `${"a".repeat(50_000)}b`)).toBeUndefined(),
      );
      expect(ms).toBeLessThan(5_000);
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
});
