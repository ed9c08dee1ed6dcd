import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { KINDS, type Kind, useBed } from "../everruns/bed.js";

const MB = 1_048_576;
const rejected = (text: string) => ({ error: `Jettson Files rejected the operation: ${text}` });
const ESCAPES = rejected("path escapes /workspace or is empty.");

const useJettson = (options: { kind?: Kind; prefix?: string; root?: object } = {}) => {
  const { prefix, ...others } = options;
  const bed = useBed({ ...others, binding: { profile: "jettson", ...(prefix === undefined ? {} : { prefix }) } });
  const call = (tool: string, args: object = {}) => bed.call(`jettson_files_${tool}`, args);
  return { bed, call };
};

describe.each(KINDS)("on a %s root", (kind) => {
  const { call } = useJettson({ kind, prefix: "sessions/1" });

  test("a workspace that is not there is empty, and the first write makes it", async () => {
    expect(await call("list")).toEqual({ path: ".", entries: [] });
    expect(await call("read", { path: "a" })).toEqual(rejected("no such file: a"));
    expect(await call("delete", { path: "a" })).toEqual(rejected("no such file: a"));
    expect(await call("write", { path: "a", content: "" })).toEqual({ path: "a", bytes_written: 0 });
    expect(await call("delete", { path: "a" })).toEqual({ path: "a", deleted: true });
  });

  test("what was written is read, listed and deleted, under its normalised path", async () => {
    expect(await call("write", { path: "a//./b.txt", content: "é\n" })).toEqual({ path: "a/b.txt", bytes_written: 3 });
    expect(await call("read", { path: "/workspace/a/b.txt" })).toEqual({
      ...{ path: "a/b.txt", content: "é\n", size_bytes: 3, truncated: false },
    });
    expect(await call("write", { path: "./a/b.txt", content: "new" })).toEqual({ path: "a/b.txt", bytes_written: 3 });
    expect(await call("read", { path: "a/b.txt" })).toMatchObject({ content: "new" });
    const inside = { path: "a", entries: [{ name: "b.txt", size_bytes: 3, is_dir: false }] };
    expect(await call("list", { path: "a/" })).toEqual(inside);
    expect(await call("delete", { path: "a/b.txt" })).toEqual({ path: "a/b.txt", deleted: true });
    expect(await call("read", { path: "a/b.txt" })).toEqual(rejected("no such file: a/b.txt"));
  });

  test("a list is in the order of code units, dotfiles in it, directories without a size", async () => {
    for (const name of ["b", "B", ".a", "a", "\u{1f600}", "\uff5e", "d/x"]) {
      await call("write", { path: `l/${name}`, content: "12" });
    }
    const { entries } = await call("list", { path: "l" });
    expect(entries).toEqual(
      [".a", "B", "a", "b", "d", "\u{1f600}", "\uff5e"].map((name) => ({
        ...{ name, size_bytes: name === "d" ? 0 : 2, is_dir: name === "d" },
      })),
    );
  });

  test("directories are not read, written or deleted, and files are not listed", async () => {
    await call("write", { path: "d/f", content: "x" });
    expect(await call("read", { path: "d" })).toEqual(rejected("d is a directory"));
    expect(await call("write", { path: "d", content: "" })).toEqual(rejected("d is a directory"));
    expect(await call("list", { path: "d/f" })).toEqual(rejected("d/f is not a directory"));
    expect(await call("list", { path: "nowhere" })).toEqual(rejected("no such file: nowhere"));
    expect(await call("write", { path: "d/f/g", content: "" })).toEqual(rejected("d/f is not a directory"));
    const refusal = rejected("d is a directory — use Jettson Shell with rmdir for that.");
    expect(await call("delete", { path: "d" })).toEqual(refusal);
    await call("delete", { path: "d/f" });
    expect(await call("delete", { path: "d" })).toEqual(refusal);
  });

  test("exactly 5 MB are written, one byte more is refused and the old file stays", async () => {
    const most = `${"é".repeat((5 * MB) / 2)}`;
    expect(await call("write", { path: "big", content: most })).toEqual({ path: "big", bytes_written: 5 * MB });
    expect(await call("write", { path: "big", content: `${most}x` })).toEqual(
      rejected("content exceeds the 5 MB limit"),
    );
    expect(await call("read", { path: "big" })).toMatchObject({ size_bytes: 5 * MB, truncated: true });
  });

  test("of a file over 1 MB the first 1 MB is read, cut where a character ends", async () => {
    await call("write", { path: "one", content: "x".repeat(MB) });
    expect(await call("read", { path: "one" })).toMatchObject({ size_bytes: MB, truncated: false });
    for (const [lead, kept] of [
      ["", MB],
      ["1", MB - 3],
      ["12", MB - 2],
      ["123", MB - 1],
    ] as const) {
      const content = `${lead}${"\u{1f600}".repeat(MB / 4)}tail`;
      await call("write", { path: "cut", content });
      const read = await call("read", { path: "cut" });
      expect(read).toMatchObject({ size_bytes: Buffer.byteLength(content), truncated: true });
      expect(Buffer.byteLength(String(read["content"]))).toBe(kept);
      expect(content.startsWith(String(read["content"]))).toBe(true);
    }
  });

  test.each<[string, object, string]>([
    ["read", {}, "'path' is required"],
    ["read", { path: 5 }, "'path' must be a string"],
    ["read", { path: "a", encoding: "x" }, "Unknown field 'encoding'. Known fields: path"],
    ["write", { path: "a" }, "'content' is required"],
    ["write", { path: "a", content: 5 }, "'content' must be a string"],
    ["write", { path: "a", content: "\ud800" }, "'content' is not well-formed Unicode"],
    ["list", { path: null }, "'path' must be a string"],
    ["delete", { path: "a", recursive: true }, "Unknown field 'recursive'. Known fields: path"],
  ])("%s %j is refused: %s", async (tool, args, what) => {
    expect(await call(tool, args)).toEqual(rejected(`invalid argument: ${what}`));
  });
});

describe("paths", () => {
  const { bed, call } = useJettson();
  const calls: readonly [string, object][] = [
    ["read", {}],
    ["write", { content: "x" }],
    ["list", {}],
    ["delete", {}],
  ];

  test.each([
    ...["", " ", "\t\n", "/", "//", "/tmp/foo", "/etc/passwd", "/workspacefoo", "/workspacefoo/a", "/Workspace/a"],
    ...["../etc/passwd", "a/../b", "a/..", "..", "/workspace/../x", "/workspace/..", "../workspace/a", "./../a"],
    ...["a\0b", "C:\\x", "C:/x", "c:", "\\\\host\\x", "//host/x", "//workspace/x", "a\\b", "a\nb"],
    ...["x".repeat(300), ".venue-files/x", ".venue-files", "/workspace/.venue-files/a"],
  ])("%j is refused by every tool, before anything is looked at", async (path) => {
    mkdirSync(join(bed.dir, "a"), { recursive: true });
    for (const [tool, more] of calls) expect([tool, await call(tool, { path, ...more })]).toEqual([tool, ESCAPES]);
    expect(readdirSync(bed.outside)).toEqual([]);
  });

  test.each([".", "./", "/workspace", "/workspace/", "././."])(
    "%j is the workspace, which is only listed",
    async (path) => {
      for (const [tool, more] of calls) {
        const expected = tool === "list" ? { path: "." } : ESCAPES;
        expect(await call(tool, { path, ...more })).toMatchObject(expected);
      }
    },
  );

  test.each([
    ["./x", "x"],
    ["x//y", "x/y"],
    ["/workspace/x", "x"],
    ["/workspace//x/./y/", "x/y"],
    ["workspace/x", "workspace/x"],
    ["..a/b..", "..a/b.."],
    [" x ", " x "],
    ["~/$HOME", "~/$HOME"],
  ])("%j is %j", async (path, shown) => {
    await call("delete", { path: "x" });
    execFileSync("rm", ["-rf", join(bed.dir, "x")]);
    expect(await call("write", { path, content: "1" })).toEqual({ path: shown, bytes_written: 1 });
    expect(await call("read", { path: shown })).toMatchObject({ content: "1" });
  });
});

describe.each([undefined, "s/1"])("links, with the prefix %j", (prefix) => {
  const { bed, call } = useJettson(prefix === undefined ? {} : { prefix });
  const link = (target: string, name: string) => {
    mkdirSync(bed.dir, { recursive: true });
    symlinkSync(target, join(bed.dir, name));
  };

  test("that lead out or nowhere are refused by every tool, in every component, and are not listed", async () => {
    writeFileSync(join(bed.outside, "secret"), "secret");
    bed.put("sub/f", "");
    link(join(bed.outside, "secret"), "evil");
    link(bed.outside, "out");
    link("../".repeat(10), "up");
    link("nowhere", "dangling");
    link("loop", "loop");
    link("sub/f/", "through");
    for (const path of ["evil", "out/secret", "out/new", "out", "up/etc/passwd", "dangling", "dangling/x", "loop"]) {
      for (const [tool, more] of Object.entries({ read: {}, write: { content: "x" }, list: {}, delete: {} })) {
        expect([tool, path, await call(tool, { path, ...more })]).toEqual([tool, path, ESCAPES]);
      }
    }
    const { entries } = await call("list");
    expect(entries).toEqual([{ name: "sub", size_bytes: 0, is_dir: true }]);
    expect(readdirSync(bed.outside)).toEqual(["secret"]);
    expect(readdirSync(bed.dir).sort()).toEqual(["dangling", "evil", "loop", "out", "sub", "through", "up"]);
  });

  test("that stay inside are followed, listed as what they lead to, and deleted themselves", async () => {
    bed.put("t/file", "abc");
    link("t/file", "to-file");
    link("t", "to-dir");
    link(join(bed.dir, "t/file"), "absolute");
    const { entries } = await call("list");
    expect(entries).toEqual(
      expect.arrayContaining([
        { name: "to-file", size_bytes: 3, is_dir: false },
        { name: "to-dir", size_bytes: 0, is_dir: true },
        { name: "absolute", size_bytes: 3, is_dir: false },
      ]),
    );
    expect(await call("read", { path: "to-dir/file" })).toMatchObject({ content: "abc" });
    expect(await call("write", { path: "to-file", content: "new" })).toMatchObject({ bytes_written: 3 });
    for (const name of ["to-file", "to-dir", "absolute"]) {
      expect(await call("delete", { path: name })).toEqual({ path: name, deleted: true });
    }
    expect(bed.get("t/file")).toBe("new");
  });
});

describe("a prefix", () => {
  const { bed, call } = useJettson({ prefix: "mine" });

  test("is left by no link, not even by one that comes back, nor may it be one", async () => {
    mkdirSync(join(bed.dir, "../other"), { recursive: true });
    writeFileSync(join(bed.dir, "../other/f"), "theirs");
    bed.put("f", "mine");
    for (const [name, target] of Object.entries({
      ...{ relative: "../other/f", absolute: join(bed.dir, "../other/f"), directory: "../other" },
      ...{ back: "../other/../mine/f", top: "..", around: "../mine/f" },
    })) {
      symlinkSync(target, join(bed.dir, name));
    }
    for (const path of ["relative", "absolute", "directory/f", "back", "top/other/f", "around"]) {
      expect([path, await call("read", { path })]).toEqual([path, ESCAPES]);
      expect([path, await call("write", { path, content: "x" })]).toEqual([path, ESCAPES]);
    }
    expect((await call("list"))["entries"]).toEqual([{ name: "f", size_bytes: 4, is_dir: false }]);
    execFileSync("mv", [bed.dir, `${bed.dir}.old`]);
    symlinkSync("other", bed.dir);
    expect(await call("read", { path: "f" })).toEqual(ESCAPES);
    expect(await call("list")).toEqual(ESCAPES);
  });
});

describe("content", () => {
  const { bed, call } = useJettson();

  test("is text or not read", async () => {
    const lead = "x".repeat(MB);
    for (const [name, bytes] of Object.entries({
      nul: "a\0b",
      "late-nul": `${"x".repeat(8191)}\0`,
      broken: Buffer.from([0x61, 0xff, 0x62]),
      torn: Buffer.from([0x61, 0xe2, 0x82]),
      utf16: Buffer.from("\ufeffab", "utf16le"),
      "broken-at-its-end": Buffer.concat([Buffer.from("x".repeat(MB - 1)), Buffer.from([0xff])]),
      "broken-early": Buffer.concat([Buffer.from([0xff]), Buffer.from(lead)]),
    })) {
      bed.put(name, bytes);
      expect(await call("read", { path: name })).toEqual(rejected(`${name} is not UTF-8 text`));
    }
    const read: [string, string | Buffer, string][] = [
      ["bom", "\ufeffa\r\nb\r", "\ufeffa\r\nb\r"],
      ["empty", "", ""],
      ["nul-behind", `${"x".repeat(8192)}\0`, `${"x".repeat(8192)}\0`],
      // What is not read is not judged.
      ["broken-late", Buffer.concat([Buffer.from(lead), Buffer.from([0xff])]), lead],
    ];
    for (const [name, bytes, content] of read) {
      bed.put(name, bytes);
      expect(await call("read", { path: name })).toMatchObject({ content, size_bytes: Buffer.byteLength(bytes) });
    }
  });

  test("of a pipe is none, and nobody waits for it", async () => {
    execFileSync("mkfifo", [join(bed.dir, "pipe")]);
    expect(await call("read", { path: "pipe" })).toEqual(rejected("pipe is not UTF-8 text"));
    expect((await call("list"))["entries"]).toContainEqual({ name: "pipe", size_bytes: 0, is_dir: false });
  });

  test("keeps the permission bits of the file that it replaces", async () => {
    bed.put("run.sh", "old");
    chmodSync(join(bed.dir, "run.sh"), 0o751);
    await call("write", { path: "run.sh", content: "new" });
    expect(statSync(join(bed.dir, "run.sh")).mode & 0o777).toBe(0o751);
  });

  test("of more than 10,000 entries the first are listed, and it says so", async () => {
    mkdirSync(join(bed.dir, "many"));
    for (let index = 0; index < 10_001; index++) writeFileSync(join(bed.dir, "many", `f${10_000 + index}`), "");
    const { entries, truncated } = await call("list", { path: "many" });
    expect([(entries as unknown[]).length, truncated]).toEqual([10_000, true]);
    execFileSync("rm", [join(bed.dir, "many/f15000")]);
    expect(await call("list", { path: "many" })).not.toHaveProperty("truncated");
  });
});

describe("what the operator says of the root holds:", () => {
  describe("read-only", () => {
    const { bed, call } = useJettson({ root: { readOnly: true } });
    test("it is read, and nothing is changed", async () => {
      bed.put("f", "x");
      expect(await call("read", { path: "f" })).toMatchObject({ content: "x" });
      for (const path of ["f", "new"]) {
        expect(await call("write", { path, content: "" })).toEqual(rejected("root is read-only"));
        expect(await call("delete", { path })).toEqual(rejected("root is read-only"));
      }
    });
  });

  describe("deny patterns, a quota, and a limit of its own", () => {
    const { bed, call } = useJettson({
      root: { deny: [".env"], quota: { bytes: 100 }, maxReadBytes: 4, encoding: "latin1" },
    });
    test("what is denied is not there", async () => {
      bed.put(".env", "KEY");
      for (const [tool, more] of Object.entries({ read: {}, write: { content: "" }, delete: {} })) {
        expect(await call(tool, { path: ".env", ...more })).toEqual(rejected(".env is denied by policy"));
      }
      expect((await call("list"))["entries"]).toEqual([]);
    });
    test("what has no room is refused", async () => {
      expect(await call("write", { path: "big", content: "x".repeat(101) })).toEqual(rejected("quota exceeded"));
    });
    test("a tighter limit of the root cuts too, and text is UTF-8 whatever the root says", async () => {
      bed.put("f", "abcé");
      expect(await call("read", { path: "f" })).toEqual({ path: "f", content: "abc", size_bytes: 5, truncated: true });
      bed.put("latin", Buffer.from([0x61, 0xe9]));
      expect(await call("read", { path: "latin" })).toEqual(rejected("latin is not UTF-8 text"));
    });
  });
});

describe("on a root with another encoding", () => {
  const { bed, call } = useJettson({ root: { encoding: "latin1" } });

  test("text is UTF-8 all the same", async () => {
    expect(await call("write", { path: "a", content: "é日" })).toEqual({ path: "a", bytes_written: 5 });
    expect(await call("read", { path: "a" })).toMatchObject({ content: "é日" });
    expect(bed.get("a")).toBe("é日");
  });
});
