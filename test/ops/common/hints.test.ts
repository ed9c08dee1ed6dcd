import { describe, expect, test } from "@jest/globals";
import { FileAdapterError } from "../../../src/core/errors/errors.js";
import { encodeText } from "../../../src/ops/content/encoding.js";
import { useGround } from "../ground.js";

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
    const isShown = rest["rendered"] === undefined && rest["failed"] === undefined && !/^No text: /.test(String(body));
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
