import { chmodSync, linkSync, readFileSync, readlinkSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { etagOf } from "../../src/core/etag.js";
import { sha256Of } from "./editing/edit-fixture.js";
import { failure, useGround } from "./ground.js";

const ABC = "a\nb\nc\n";
const etag = (content: string | Buffer): string => etagOf(sha256Of(content));
const nearest = (startLine: number, text: string, differs: string) => [
  { startLine, endLine: startLine, text, differs },
];

describe("file:edit", () => {
  const ground = useGround();
  const inodeOf = (path: string): number => statSync(join(ground.dir, path)).ino;

  test("replaces what matches, and says what it has done", async () => {
    ground.put("dir/a.txt", ABC);
    expect(await ground.run("edit", { path: "/dir//./a.txt", oldText: "b", newText: "B\nB" })).toEqual({
      path: "dir/a.txt",
      etag: etag("a\nB\nB\nc\n"),
      previousEtag: etag(ABC),
      size: 8,
      applied: 1,
      firstChangedLine: 2,
      diff: "--- dir/a.txt\n+++ dir/a.txt\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n+B\n c\n",
      diffTruncated: false,
    });
    expect(ground.get("dir/a.txt").toString()).toBe("a\nB\nB\nc\n");
  });

  test("takes one edit at the top, or a list", async () => {
    ground.put("a", ABC);
    await ground.run("edit", { path: "a", oldText: "a", newText: "1" });
    await ground.run("edit", {
      path: "a",
      edits: [
        { oldText: "c", newText: "3" },
        { oldText: "b", newText: "2" },
      ],
    });
    expect(ground.get("a").toString()).toBe("1\n2\n3\n");
  });

  test("matches the original only, whatever other edits make", async () => {
    ground.put("a", "one two");
    const edits = [
      { oldText: "one", newText: "two" },
      { oldText: "two", newText: "one" },
    ];
    await ground.run("edit", { path: "a", edits });
    expect(ground.get("a").toString()).toBe("two one");
  });

  test("replaces each occurrence where several are expected, and counts them", async () => {
    ground.put("a", "x\nx\ny x\n");
    const { applied, firstChangedLine } = await ground.run("edit", {
      path: "a",
      oldText: "x",
      newText: "zz",
      expect: 3,
    });
    expect([applied, firstChangedLine]).toEqual([3, 1]);
    expect(ground.get("a").toString()).toBe("zz\nzz\ny zz\n");
  });

  test("takes edits that touch", async () => {
    ground.put("a", "abcd");
    const edits = [
      { oldText: "bc", newText: "-" },
      { oldText: "a", newText: "" },
      { oldText: "d", newText: "D" },
    ];
    await ground.run("edit", { path: "a", edits });
    expect(ground.get("a").toString()).toBe("-D");
  });

  test.each([
    ["special to a replacement", "a", "$& $1 $$"],
    ["special to a pattern", "a.*[", "x"],
  ])("takes text as it is: %s", async (_, oldText, newText) => {
    ground.put("f", `<${oldText}>`);
    await ground.run("edit", { path: "f", oldText, newText });
    expect(ground.get("f").toString()).toBe(`<${newText}>`);
  });

  test("leaves a file alone that would stay the same", async () => {
    ground.put("a", ABC);
    const before = inodeOf("a");
    const edits = [
      { oldText: "a", newText: "a" },
      { oldText: "b", newText: "b" },
    ];
    expect(await ground.run("edit", { path: "a", edits })).toEqual({
      path: "a",
      etag: etag(ABC),
      previousEtag: etag(ABC),
      size: 6,
      applied: 2,
      diff: "",
      diffTruncated: false,
    });
    expect(inodeOf("a")).toBe(before);
    expect(ground.audit.at(-1)).toMatchObject({ operation: "file:edit", outcome: "OK", bytes: 0 });
  });

  test("may be tried, and then changes nothing", async () => {
    ground.put("a", ABC);
    const before = inodeOf("a");
    const input = { path: "a", oldText: "b", newText: "B" };
    const { dryRun, ...tried } = await ground.run("edit", { ...input, dryRun: true });
    expect(dryRun).toBe(true);
    expect([ground.get("a").toString(), inodeOf("a")]).toEqual([ABC, before]);
    expect(await ground.run("edit", input)).toEqual(tried);
  });

  test("writes what a link leads to, and leaves the link", async () => {
    ground.put("dir/file", ABC);
    symlinkSync("dir/file", join(ground.dir, "link"));
    const { path, diff } = await ground.run("edit", { path: "link", oldText: "b", newText: "B" });
    expect([path, diff?.split("\n")[0]]).toEqual(["link", "--- link"]);
    expect(ground.get("dir/file").toString()).toBe("a\nB\nc\n");
    expect(readlinkSync(join(ground.dir, "link"))).toBe("dir/file");
  });

  test("keeps permission bits, and changes no other name of the file", async () => {
    ground.put("a", ABC);
    chmodSync(join(ground.dir, "a"), 0o741);
    linkSync(join(ground.dir, "a"), join(ground.outside, "b"));
    await ground.run("edit", { path: "a", oldText: "b", newText: "B" });
    expect(statSync(join(ground.dir, "a")).mode & 0o777).toBe(0o741);
    expect(readFileSync(join(ground.outside, "b"), "utf8")).toBe(ABC);
  });

  test("counts in the audit what was written", async () => {
    ground.put("a", ABC);
    await ground.run("edit", { path: "a", oldText: "b", newText: "BB" });
    expect(ground.audit.at(-1)).toMatchObject({
      operation: "file:edit",
      resource: "file://r/a",
      outcome: "OK",
      bytes: 7,
    });
  });

  test("gives at most 16,000 characters of diff, and a model 4,000", async () => {
    const budget = { defaultBytes: 1000, defaultLines: 10, maxBytes: 1000 };
    for (const [context, most] of [
      [{}, 16_000],
      [{ budget }, 4_000],
    ] as const) {
      ground.put("a", "x\n".repeat(20_000));
      const input = { path: "a", oldText: "x\n".repeat(20_000), newText: "yy\n".repeat(20_000) };
      const { diff = "", diffTruncated } = await ground.run("edit", input, context);
      expect([diffTruncated, diff.length <= most, diff.length > most - 10]).toEqual([true, true, true]);
      expect(ground.get("a").length).toBe(60_000);
    }
  });
});

describe("file:edit of what does not match", () => {
  const ground = useGround();
  const unchanged = (content: string | Buffer) => {
    expect(ground.get("a")).toEqual(Buffer.from(content));
    expect(ground.names()).toEqual(["a"]);
    expect(ground.staged()).toEqual([]);
  };

  test("is NO_MATCH, with the nearest lines and how they differ", async () => {
    ground.put("a", "one\n  two three\nfour\n");
    expect(await ground.fail("edit", { path: "a", oldText: "two  three", newText: "x" })).toEqual(
      failure(
        "NO_MATCH",
        'Edit 1 of 1 does not match "a". Nearest: line 2 (differs in whitespace). Copy the text from there',
        "a",
        { edit: 1, tried: ["exact", "newlines"], nearest: nearest(2, "  two three\n", "whitespace") },
      ),
    );
    unchanged("one\n  two three\nfour\n");
  });

  test("is NO_MATCH for all edits where one does not", async () => {
    ground.put("a", "one\ntwo\nthree\nFour\n");
    const edits = [
      { oldText: "one", newText: "1" },
      { oldText: "three\nfour", newText: "3 4" },
      { oldText: "zzz", newText: "" },
    ];
    const failed = await ground.fail("edit", { path: "a", edits });
    expect(failed.message).toBe(
      'Edit 2 of 3 does not match "a". Nearest: lines 3-4 (differs in case). Copy the text from there',
    );
    unchanged("one\ntwo\nthree\nFour\n");
  });

  test("says so where nothing is like it", async () => {
    ground.put("a", ABC);
    const failed = await ground.fail("edit", { path: "a", oldText: "0123456789", newText: "x" });
    expect(failed.message).toBe('Edit 1 of 1 does not match "a". Nothing similar found: read it again');
    expect(failed.data["nearest"]).toEqual([]);
  });

  test("is AMBIGUOUS_MATCH, with the lines, where it matches more often", async () => {
    ground.put("a", "x\n\nx x\n");
    expect(await ground.fail("edit", { path: "a", oldText: "x", newText: "y" })).toEqual(
      failure(
        "AMBIGUOUS_MATCH",
        'Edit 1 of 1 matches "a" 3 times, expected 1. Lines 1, 3, 3: add lines around it to oldText, or set replaceAll',
        "a",
        { edit: 1, found: 3, expected: 1, lines: [1, 3, 3], next: { option: "replaceAll" } },
      ),
    );
    unchanged("x\n\nx x\n");
  });

  test("is AMBIGUOUS_MATCH where it matches less often than expected", async () => {
    ground.put("a", ABC);
    const failed = await ground.fail("edit", { path: "a", oldText: "a", newText: "", expect: 2 });
    expect([failed.code, failed.data["found"], failed.data["expected"]]).toEqual(["AMBIGUOUS_MATCH", 1, 2]);
  });

  test("names ten lines in its data, and five in its text", async () => {
    ground.put("a", "x\n".repeat(2000));
    const { message, data } = await ground.fail("edit", { path: "a", oldText: "x", newText: "y", expect: 2 });
    expect(data).toMatchObject({ found: 2000, lines: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] });
    expect(message).toMatch(
      / 2000 times, expected 2\. Lines 1, 2, 3, 4, 5, …: add lines around it to oldText, or set replaceAll$/,
    );
  });

  test("counts occurrences that overlap", async () => {
    ground.put("a", "aaa");
    expect((await ground.fail("edit", { path: "a", oldText: "aa", newText: "b" })).data["found"]).toBe(2);
    expect(await ground.fail("edit", { path: "a", oldText: "aa", newText: "b", expect: 2 })).toEqual(
      failure("OVERLAPPING_EDITS", 'Edits 1 and 1 overlap in "a". Make its oldText longer', "a", {
        edits: [1, 1],
        next: { option: "oldText" },
      }),
    );
    unchanged("aaa");
  });

  test("is OVERLAPPING_EDITS where two edits want the same text", async () => {
    ground.put("a", "one two three");
    const edits = [
      { oldText: "three", newText: "3" },
      { oldText: "two th", newText: "2" },
      { oldText: "one", newText: "1" },
    ];
    expect(await ground.fail("edit", { path: "a", edits })).toEqual(
      failure("OVERLAPPING_EDITS", 'Edits 1 and 2 overlap in "a". Make one edit of both', "a", { edits: [1, 2] }),
    );
    unchanged("one two three");
  });

  test("shows a long path in short, and has all of it in its data", async () => {
    const path = `${"d".repeat(50)}/${"f".repeat(50)}.txt`;
    ground.put(path, ABC);
    const { message, data } = await ground.fail("edit", { path, oldText: "0123456789", newText: "" });
    expect(message).toMatch(/^Edit 1 of 1 does not match "d{10}…f{25}\.txt"\. /);
    expect(data["path"]).toBe(path);
  });
});

describe("file:edit with a precondition", () => {
  const ground = useGround();
  const input = { path: "a", oldText: "b", newText: "B" };

  test.each([
    ["etag", () => etag(ABC)],
    ["hash", () => `sha256:${sha256Of(ABC)}`],
  ])("goes on where the file has that %s", async (_, ifMatch) => {
    ground.put("a", ABC);
    await ground.run("edit", { ...input, ifMatch: ifMatch() });
    expect(ground.get("a").toString()).toBe("a\nB\nc\n");
  });

  test("is CONFLICT where it has another content, also when the edit would match", async () => {
    ground.put("a", ABC);
    const old = etag("older");
    const stale = { expected: old, current: etag(ABC) };
    const text = `Cannot edit "a": it changed since you read it (expected ${old}, now ${etag(ABC)}). Read it again`;
    expect(await ground.fail("edit", { ...input, ifMatch: old })).toEqual(failure("CONFLICT", text, "a", stale));
    expect((await ground.fail("edit", { ...input, oldText: "zzz", ifMatch: old })).code).toBe("CONFLICT");
    expect((await ground.fail("edit", { ...input, newText: "b", ifMatch: old })).code).toBe("CONFLICT");
    expect(ground.get("a").toString()).toBe(ABC);
  });

  test("is CONFLICT where the file is gone", async () => {
    const old = etag(ABC);
    expect(await ground.fail("edit", { ...input, ifMatch: old })).toEqual(
      failure(
        "CONFLICT",
        `Cannot edit "a": it changed since you read it (expected ${old}, now missing). Read it again`,
        "a",
        {
          expected: old,
          current: null,
        },
      ),
    );
    expect(await ground.fail("edit", input)).toEqual(failure("NOT_FOUND", "Not found: r:a", "a"));
  });
});

describe("file:edit is refused, and changes nothing", () => {
  const ground = useGround({
    limits: { maxReadBytes: 20, maxWriteBytes: 15 },
    roots: { fixed: { temp: true, readOnly: true } },
  });
  const one = { oldText: "a", newText: "b" };

  test.each([
    ["without edits", {}, "'edits', or 'oldText' and 'newText', is required", "/edits"],
    ["without new text", { oldText: "a" }, "'newText' is required", "/newText"],
    ["without old text", { newText: "a" }, "'edits', or 'oldText' and 'newText', is required", "/edits"],
    ["with both forms", { edits: [one], oldText: "a" }, "Only one of 'edits' and 'oldText' may be given", "/oldText"],
    ["with both forms", { edits: [one], expect: 1 }, "Only one of 'edits' and 'expect' may be given", "/expect"],
    ["without any edit", { edits: [] }, "'edits' must have 1 to 100 items", "/edits"],
    ["with 101 edits", { edits: Array(101).fill(one) }, "'edits' must have 1 to 100 items", "/edits"],
    ["with no old text", { oldText: "", newText: "a" }, "'oldText' must not be empty", "/oldText"],
    [
      "with no old text",
      { edits: [one, { ...one, oldText: "" }] },
      "'edits.1.oldText' must not be empty",
      "/edits/1/oldText",
    ],
    ["with nothing expected", { ...one, expect: 0 }, "'expect' must be between 1 and 1000", "/expect"],
    ["with more expected", { ...one, expect: 1001 }, "'expect' must be between 1 and 1000", "/expect"],
    ["with half a character", { ...one, newText: "\ud83d" }, "'newText' is not well-formed Unicode", "/newText"],
    [
      "with half a character",
      { edits: [{ ...one, oldText: "\ude00" }] },
      "'edits.0.oldText' is not well-formed Unicode",
      "/edits/0/oldText",
    ],
    [
      "with a malformed version",
      { ...one, ifMatch: "abc" },
      expect.stringMatching(/^'ifMatch' must be an etag/),
      "/ifMatch",
    ],
    [
      "with another field",
      { edits: [{ ...one, all: true }] },
      expect.stringMatching(/^Unknown field 'all'/),
      "/edits/0/all",
    ],
  ])("%s: %j", async (_, input, message, pointer) => {
    ground.put("f", "abc");
    const failed = await ground.fail("edit", { path: "f", ...input });
    expect(failed).toEqual({ code: "INVALID_INPUT", message, data: { pointer, expected: expect.any(String) } });
    expect(ground.get("f").toString()).toBe("abc");
  });

  test("of bytes that are no text", async () => {
    ground.put("f", Buffer.from("a\xff\0b", "latin1"));
    const text =
      "File is not valid UTF-8 text. Pass its encoding: latin1 takes every byte as a character and keeps all others";
    expect(await ground.fail("edit", { path: "f", ...one })).toEqual(
      failure("NOT_TEXT", text, "f", { next: { option: "encoding" } }),
    );
    await ground.run("edit", { path: "f", ...one, encoding: "latin1" });
    expect(ground.get("f").toString("latin1")).toBe("b\xff\0b");
  });

  test("where more is added than one write may, before so much is made", async () => {
    ground.put("f", "aaa");
    const failed = await ground.fail("edit", { path: "f", oldText: "a", newText: "12345é", expect: 3 });
    expect(failed).toEqual(failure("TOO_LARGE", "Content too large: 18 bytes, limit 15", "f", { size: 18, limit: 15 }));
    const inBytes = await ground.fail("edit", { path: "f", oldText: "a", newText: "éé234", expect: 3 });
    expect(inBytes.data).toMatchObject({ size: 21, limit: 15 });
    const huge = { path: "f", oldText: "a", newText: "x".repeat(1_000_000), expect: 3 };
    expect((await ground.fail("edit", huge)).data["size"]).toBe(3_000_000);
    expect(ground.get("f").toString()).toBe("aaa");
  });

  test("but a file may be larger than a read or a write", async () => {
    ground.put("f", `${"a".repeat(29)}z`);
    await ground.run("edit", { path: "f", oldText: `${"a".repeat(29)}z`, newText: `${"b".repeat(29)}z` });
    await ground.run("edit", { path: "f", oldText: "z", newText: "z and more" });
    expect(ground.get("f").toString()).toBe(`${"b".repeat(29)}z and more`);
  });

  test("on what is no file, or elsewhere", async () => {
    ground.mkdir("dir");
    symlinkSync(join(ground.outside, "f"), join(ground.dir, "out"));
    symlinkSync("none", join(ground.dir, "dangling"));
    const codes = [];
    for (const path of ["dir", "", "out", "dangling", "none", "none/x", "../x", ".venue-files/x"]) {
      codes.push((await ground.fail("edit", { path, ...one })).code);
    }
    expect(codes).toEqual([
      ...["IS_A_DIRECTORY", "IS_A_DIRECTORY", "SYMLINK_ESCAPE", "DANGLING_SYMLINK", "NOT_FOUND", "NOT_FOUND"],
      ...["PATH_ESCAPES_ROOT", "INVALID_PATH"],
    ]);
  });

  test("in a root that is read-only", async () => {
    const failed = await ground.fail("edit", { root: "fixed", path: "f", ...one, dryRun: true });
    expect([failed.code, failed.message]).toEqual(["READ_ONLY_ROOT", "Root 'fixed' is read-only"]);
  });
});

describe("file:edit by a caller that may not read", () => {
  const ground = useGround();
  const caps = [{ with: "file://r/", can: "crud/write" }];
  const input = { path: "a", oldText: "b", newText: "B" };

  test("is done, and tells nothing of the file", async () => {
    ground.put("a", ABC);
    expect(await ground.run("edit", input, { caps })).toEqual({ path: "a", size: 6, applied: 1 });
    expect(ground.get("a").toString()).toBe("a\nB\nc\n");
  });

  test("cannot be tried", async () => {
    ground.put("a", ABC);
    const failed = await ground.fail("edit", { ...input, dryRun: true }, { caps });
    expect([failed.code, failed.data["required"]]).toEqual([
      "CAPABILITY_DENIED",
      { with: "file://r/a", can: "crud/read" },
    ]);
  });

  test.each<[string, object]>([
    ["one whose old and new text are equal", { oldText: "b", newText: "b" }],
    ["one that differs in line ends only", { oldText: "b\r\n", newText: "b\n" }],
    ["one that takes a byte order mark away", { oldText: "\ufeffa", newText: "a" }],
    [
      "several that put back what another takes",
      {
        edits: [
          { oldText: "a\n", newText: "a\nb" },
          { oldText: "b\n", newText: "\n" },
        ],
      },
    ],
    ["one for several places", { oldText: "b", newText: "b", expect: 2 }],
  ])("cannot ask for what is there by edits that change nothing: %s", async (_what, edits) => {
    ground.put("a", ABC);
    const denied = async (path: string) => ground.fail("edit", { path, ...edits }, { caps });
    const failed = await denied("a");
    expect([failed.code, failed.data["required"]]).toEqual([
      "CAPABILITY_DENIED",
      { with: "file://r/a", can: "crud/read" },
    ]);
    ground.put("a", "other");
    expect(await denied("a")).toEqual(failed);
    expect((await denied("none")).message.replace("none", "a")).toBe(failed.message);
  });

  test("may make several edits that change something", async () => {
    ground.put("a", ABC);
    const edits = [
      { oldText: "a", newText: "b" },
      { oldText: "b", newText: "c" },
    ];
    expect(await ground.run("edit", { path: "a", edits }, { caps })).toEqual({ path: "a", size: 6, applied: 2 });
  });

  test("is not asked for what is behind a link by edits that change nothing", async () => {
    ground.put("a", ABC);
    ground.mkdir("in");
    symlinkSync("../a", join(ground.dir, "in/link"));
    const mixed = [
      { with: "file://r/in/", can: "crud" },
      { with: "file://r/a", can: "crud/write" },
    ];
    for (const text of ["b", "none"]) {
      const failed = await ground.fail("edit", { path: "in/link", oldText: text, newText: text }, { caps: mixed });
      expect(failed.code).toBe("CAPABILITY_DENIED");
    }
  });

  test("says that it does not match, and nothing else", async () => {
    ground.put("a", "x\nx\n");
    expect(await ground.fail("edit", { ...input, oldText: "X" }, { caps })).toEqual(
      failure("NO_MATCH", 'Edit 1 of 1 does not match "a"', "a", { edit: 1 }),
    );
    const many = await ground.fail("edit", { ...input, oldText: "x" }, { caps });
    expect(many.data).toEqual({ root: "r", path: "a", edit: 1, found: 2, expected: 1, next: { option: "replaceAll" } });
    expect(many.message).toBe(
      'Edit 1 of 1 matches "a" 2 times, expected 1. Add lines around it to oldText, or set replaceAll',
    );
  });

  test("does not learn the version", async () => {
    ground.put("a", ABC);
    const old = etag("older");
    expect(await ground.fail("edit", { ...input, ifMatch: old }, { caps })).toEqual(
      failure("CONFLICT", `Cannot edit "a": it changed since you read it (expected ${old}). Read it again`, "a", {
        expected: old,
      }),
    );
  });

  test("is denied without the right to write, and where a link leads to", async () => {
    ground.put("a", ABC);
    ground.put("in/b", ABC);
    symlinkSync("../a", join(ground.dir, "in/link"));
    const read = [{ with: "file://r/", can: "crud/read" }];
    expect((await ground.fail("edit", input, { caps: read })).code).toBe("CAPABILITY_DENIED");
    const inside = [{ with: "file://r/in/", can: "crud/write" }];
    expect((await ground.fail("edit", { ...input, path: "in/link" }, { caps: inside })).code).toBe("CAPABILITY_DENIED");
    expect(ground.get("a").toString()).toBe(ABC);
  });

  test("is not told what it may not read behind a link", async () => {
    ground.put("a", ABC);
    ground.mkdir("in");
    symlinkSync("../a", join(ground.dir, "in/link"));
    const mixed = [
      { with: "file://r/in/", can: "crud" },
      { with: "file://r/a", can: "crud/write" },
    ];
    const output = await ground.run("edit", { ...input, path: "in/link" }, { caps: mixed });
    expect(output).toEqual({ path: "in/link", size: 6, applied: 1 });
  });
});

describe("file:edit as a model sees it", () => {
  const ground = useGround();

  test("is the diff, and the version to go on from", async () => {
    ground.put("a", ABC);
    expect(await ground.render("edit", { path: "a", oldText: "b", newText: "B" })).toEqual({
      kind: "text",
      text: "--- a\n+++ a\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n",
      rest: {
        path: "a",
        etag: etag("a\nB\nc\n"),
        previousEtag: etag(ABC),
        size: 6,
        applied: 1,
        firstChangedLine: 2,
        diffTruncated: false,
      },
      note: `etag ${etag("a\nB\nc\n")}`,
    });
  });

  test("says when nothing was written, or something is cut", async () => {
    ground.put("a", ABC);
    expect(await ground.render("edit", { path: "a", oldText: "b", newText: "b" })).toMatchObject({
      text: "No change: new and old text are equal",
      note: `etag ${etag(ABC)}`,
    });
    expect(await ground.render("edit", { path: "a", oldText: "b", newText: "B", dryRun: true })).toMatchObject({
      note: `dry run, nothing written; etag still ${etag(ABC)}`,
    });
    const long = `${"b\n".repeat(10_000)}`;
    expect(await ground.render("edit", { path: "a", oldText: "b\n", newText: long })).toMatchObject({
      note: `Cut: the diff is longer. Read the file for the rest; etag ${etag(`a\n${long}c\n`)}`,
    });
  });

  test("is all that a caller may know who may not read", async () => {
    ground.put("a", ABC);
    const caps = [{ with: "file://r/", can: "crud/write" }];
    expect(await ground.render("edit", { path: "a", oldText: "b", newText: "B" }, { caps })).toEqual({
      kind: "json",
      value: { path: "a", size: 6, applied: 1 },
      rest: {},
    });
  });
});
