import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateRawSync } from "node:zlib";
import { afterAll, describe, expect, test } from "@jest/globals";
import { needs } from "../../needs.js";
import { useGround } from "../../ops/ground.js";
import { longEntry, MODIFIED, type ZipEntry, type ZipOptions, zipOf } from "./zip-bytes.js";

const ground = useGround();
const put = (entries: readonly ZipEntry[], options?: ZipOptions) => ground.put("x.zip", zipOf(entries, options));
const read = async (path: string) => (await ground.run("read", { path: `x.zip!/${path}` })).content;
const list = (path = "") => ground.run("list", { path: `x.zip!/${path}` });
const namesIn = async (path = "") => (await list(path)).entries.map(({ name }) => name);

describe("what a zip has", () => {
  test("is listed with its types, sizes and times", async () => {
    put([
      ...[{ name: "dir/" }, { name: "dir/a.txt", content: "abc" }],
      ...[
        { name: "implied/deep/b", content: "" },
        { name: "link", content: "dir/a.txt", mode: 0o120777 },
      ],
      ...[
        { name: "fifo", mode: 0o010644 },
        { name: "dos", content: "1", mode: 0 },
      ],
    ]);
    const times = { modified: MODIFIED };
    expect(await list()).toEqual({
      entries: [
        { name: "dir", type: "directory", size: 0, ...times },
        { name: "dos", type: "file", size: 1, ...times },
        { name: "fifo", type: "other", size: 0, ...times },
        { name: "implied", type: "directory", size: 0, modified: expect.any(Number) },
        { name: "link", type: "symlink", size: 0, ...times },
      ],
      ...{ total: 5, truncated: false, complete: true },
    });
    expect(await namesIn("implied/deep")).toEqual(["b"]);
    expect(await read("implied/deep/b")).toBe("");
    const found = await ground.run("stat", { path: "x.zip!/dir/a.txt", hash: true });
    expect(found).toMatchObject({
      exists: true,
      type: "file",
      size: 3,
      modified: MODIFIED,
      readOnly: true,
      mime: "text/plain",
    });
    ground.put("abc", "abc");
    const plain = await ground.run("hash", { path: "abc" });
    expect(found).toMatchObject({ hash: plain.hash, etag: plain.etag });
    expect(await ground.run("stat", { path: "x.zip!/link" })).toMatchObject({ type: "symlink", symlink: true });
    for (const path of ["link", "fifo"])
      expect(await ground.fail("read", { path: `x.zip!/${path}` })).toMatchObject({ code: "NOT_A_FILE" });
    expect(await ground.fail("read", { path: "x.zip!/dir" })).toMatchObject({ code: "IS_A_DIRECTORY" });
    expect(await ground.fail("list", { path: "x.zip!/dos" })).toMatchObject({ code: "NOT_A_DIRECTORY" });
  });

  test("is missing where the archive is, or has nothing there", async () => {
    put([{ name: "a", content: "1" }]);
    for (const path of ["y.zip!/a", "x.zip!/b", "x.zip!/a/b", "none/x.zip!"])
      expect(await ground.run("stat", { path })).toMatchObject({ exists: false });
    expect(await ground.fail("read", { path: "y.zip!/a" })).toMatchObject({
      code: "NOT_FOUND",
      data: { path: "y.zip" },
    });
    expect(await ground.fail("read", { path: "x.zip!/b" })).toMatchObject({
      code: "NOT_FOUND",
      data: { path: "x.zip!/b" },
    });
    ground.mkdir("d.zip");
    expect(await ground.fail("list", { path: "d.zip!" })).toMatchObject({ code: "IS_A_DIRECTORY" });
  });

  test("has names that no path has left out and counted", async () => {
    const bad = [
      "../up",
      "a/../../b",
      "..",
      "/abs",
      "\\abs",
      "C:/x",
      "c:x",
      "./D:/y",
      "nul\0name",
      `${"n".repeat(256)}/x`,
    ];
    put([
      ...[...bad, `${"d/".repeat(513)}x`, `${"long-name/".repeat(410)}x`].map((name) => ({ name, content: "1" })),
      { name: "good\\b.txt", content: "2" },
    ]);
    const listed = await list();
    expect(listed.entries.map(({ name }) => name)).toEqual(["good"]);
    expect(listed).toMatchObject({
      hidden: { unreadable: bad.length + 2 },
      hint: expect.stringContaining("Left out: 12"),
    });
    expect(await read("good/b.txt")).toBe("2");
    expect(await ground.run("glob", { pattern: "**", path: "x.zip!" })).toMatchObject({ hidden: { unreadable: 12 } });
    expect((await list("good")).hidden).toBeUndefined();
  });

  test("has names that no path takes marked", async () => {
    put([
      { name: "in.zip!/a" },
      { name: "x.Tar.GZ!" },
      { name: ".venue-files" },
      { name: "line\nfeed" },
      { name: "plain!" },
    ]);
    const { entries } = await list();
    expect(entries.filter(({ unreachable }) => unreachable !== true).map(({ name }) => name)).toEqual(["plain!"]);
    expect(entries).toHaveLength(5);
  });

  test("of equal names is the last, and names of another case are others", async () => {
    put([
      ...[
        { name: "a", content: "old" },
        { name: "A", content: "upper" },
        { name: "./a", content: "new" },
      ],
      ...[
        { name: "b", content: "file" },
        { name: "b/c", content: "below" },
        { name: "d/e", content: "lost" },
        { name: "d", content: "file" },
      ],
    ]);
    expect(await namesIn()).toEqual(["A", "a", "b", "d"]);
    expect(await read("a")).toBe("new");
    expect(await read("A")).toBe("upper");
    expect(await read("b/c")).toBe("below");
    expect(await read("d")).toBe("file");
  });

  test("has names in UTF-8, with and without the flag, and in code page 437", async () => {
    put([
      { name: "grün.txt", content: "1" },
      { name: Buffer.from("gr\x81n", "latin1"), flags: 0, content: "2" },
      { name: "ä", flags: 0 },
    ]);
    expect(await namesIn()).toEqual(["grün", "grün.txt", "ä"]);
  });

  test("may count in 64 bits", async () => {
    put(
      [
        { name: "a", content: "1" },
        { name: "b", content: "22" },
      ],
      { zip64: true },
    );
    expect(await namesIn()).toEqual(["a", "b"]);
    expect(await read("b")).toBe("22");
  });
});

describe("a zip that lies", () => {
  const damaged = { code: "BAD_FORMAT", data: { reason: "damaged" } };

  test.each<[string, ZipEntry]>([
    ["a wrong sum", { name: "a", content: "text", crc: 1 }],
    ["a wrong sum of stored bytes", { name: "a", content: "text", method: 0, crc: 1 }],
    ["fewer bytes than there are", { name: "a", content: "text", size: 3 }],
    ["more bytes than there are", { name: "a", content: "text", size: 5 }],
    ["other bytes as stored", { name: "a", content: "text", method: 0, size: 5 }],
    ["an empty file with content", { name: "a", content: "text", size: 0 }],
    ["more packed bytes than the file has", { name: "a", content: "text", compressedSize: 100_000 }],
    ["fewer packed bytes", { name: "a", content: "text".repeat(99), compressedSize: 5 }],
    ["another place", { name: "a", content: "text", offset: 1 }],
    ["a place behind the end", { name: "a", content: "text", offset: 0xfffffff }],
    ["bytes that are not deflated", { name: "a", content: "text", packed: Buffer.from("text") }],
  ])("says %s, and is damaged, whatever is read of it", async (_, entry) => {
    put([entry, { name: "other", content: "good" }]);
    for (const range of [{}, { mode: "bytes" }, { offset: 0, length: 1 }, { line: 1, limit: 1 }, { tail: 1 }] as const)
      expect(await ground.fail("read", { path: "x.zip!/a", ...range })).toMatchObject(damaged);
    expect(await ground.fail("hash", { path: "x.zip!/a" })).toMatchObject(damaged);
    expect(await ground.run("grep", { pattern: "good", path: "x.zip!" })).toMatchObject({ hidden: { unreadable: 1 } });
    expect(await read("other")).toBe("good");
  });

  test.each([4_000_000, 70_000_000])("about %d bytes, and is damaged once the lie is reached", async (size) => {
    const packed = deflateRawSync(Buffer.alloc(size));
    put([
      { name: "a", packed, size: size - 1, crc: 1 },
      { name: "b", packed, size, crc: 1 },
    ]);
    for (const path of ["x.zip!/a", "x.zip!/b"]) {
      expect(await ground.fail("hash", { path })).toMatchObject(damaged);
      expect(await ground.fail("read", { path, mode: "bytes", offset: size - 10, length: 10 })).toMatchObject(damaged);
      expect(await ground.run("read", { path, mode: "bytes", offset: 10, length: 5 })).toMatchObject({ length: 5 });
    }
  });

  test("about the number of its entries", async () => {
    for (const count of [1, 3, 60_000]) {
      put([{ name: "a" }, { name: "b" }], { count });
      expect(await ground.fail("list", { path: "x.zip!" })).toMatchObject(damaged);
    }
  });

  test("by a comment that looks like an end", async () => {
    put([{ name: "a" }], { comment: zipOf([]).subarray(0, 22) });
    expect(await namesIn()).toEqual([]);
    put([{ name: "a" }], { comment: Buffer.concat([zipOf([]), Buffer.from("more")]) });
    expect(await ground.fail("list", { path: "x.zip!" })).toMatchObject(damaged);
  });

  test("by an end elsewhere, a directory elsewhere, or none", async () => {
    for (const bytes of [
      Buffer.alloc(0),
      Buffer.from("PK"),
      Buffer.from("no zip at all"),
      Buffer.alloc(100_000, "PK\x05\x06"),
    ]) {
      ground.put("x.zip", bytes);
      expect(await ground.fail("list", { path: "x.zip!" })).toMatchObject(damaged);
    }
    const bytes = zipOf([{ name: "a", content: "1" }], { zip64: true });
    bytes.writeBigUInt64LE(0xfffffffffffffn, bytes.length - 34);
    ground.put("x.zip", bytes);
    expect(await ground.fail("list", { path: "x.zip!" })).toMatchObject(damaged);
  });

  test("is cut anywhere", async () => {
    const whole = zipOf([
      { name: "a", content: "text ".repeat(99) },
      { name: "dir/b", content: "stored", method: 0 },
    ]);
    for (let cut = 0; cut < 16; cut++) {
      ground.put("x.zip", whole.subarray(0, Math.floor((whole.length * cut) / 16)));
      expect(await ground.fail("list", { path: "x.zip!" })).toMatchObject(damaged);
    }
  });

  test("in any byte: an answer or a refusal, never a fault of ours", async () => {
    const whole = zipOf([
      { name: "a", content: "text ".repeat(99) },
      { name: "dir/b", content: "stored", method: 0 },
    ]);
    let seed = 1;
    const random = (below: number) => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    for (let round = 0; round < 200; round++) {
      const bytes = Buffer.from(whole);
      for (let count = random(4); count >= 0; count--) bytes[random(bytes.length)] = random(256);
      ground.put("x.zip", bytes);
      const told = await ground.run("grep", { pattern: "text", path: "x.zip!" }).catch(({ code }) => code);
      expect(["BAD_FORMAT", "TOO_LARGE", told]).toContain(told);
      expect(["INTERNAL", "IO_ERROR"]).not.toContain(told);
    }
    expect(ground.internal).toEqual([]);
  });

  test("by entries that share their bytes, each of which is read alone", async () => {
    const packed = deflateRawSync(Buffer.alloc(1_000_000, "x"));
    put([
      { name: "a", content: Buffer.alloc(1_000_000, "x"), packed },
      { name: "b", content: Buffer.alloc(1_000_000, "x"), packed, offset: 0 },
    ]);
    const [a, b] = [await ground.run("hash", { path: "x.zip!/a" }), await ground.run("hash", { path: "x.zip!/b" })];
    expect(a.hash).toBe(b.hash);
  });
});

describe("sizes and places in 64 bits", () => {
  const content = "text ".repeat(20);
  const packed = deflateRawSync(content);
  const [size, compressedSize] = [BigInt(content.length), BigInt(packed.length)];
  const deflated: ZipEntry = { name: "dir/a", content };
  const stored: ZipEntry = { name: "dir/b", content, method: 0 };
  const extract = () =>
    ground.adapter.invoke("archive:extract", { root: "r", path: "x.zip", destRoot: "r", destPath: "out" });
  /** Bytes of the first entry with its header. */
  const second = BigInt(30 + deflated.name.length + packed.length);

  test.each<[string, readonly ZipEntry[]]>([
    [
      "all of them",
      [
        longEntry(deflated, { size, compressedSize, offset: 0n }),
        longEntry(stored, { size, compressedSize: size, offset: second }),
      ],
    ],
    ["sizes alone", [longEntry(deflated, { size, compressedSize }), longEntry(stored, { size, compressedSize: size })]],
    ["one of them", [longEntry(deflated, { size }), longEntry(stored, { offset: second })]],
  ])("%s stand in the extra field", async (_, entries) => {
    put(entries, { zip64: true });
    expect(await ground.run("list", { path: "x.zip!/dir" })).toMatchObject({
      entries: ["a", "b"].map((name) => ({ name, size: content.length })),
    });
    for (const name of ["a", "b"]) {
      expect(await read(`dir/${name}`)).toBe(content);
      const part = await ground.run("read", { path: `x.zip!/dir/${name}`, offset: 95, length: 50 });
      expect(part).toMatchObject({ content: "text ", size: content.length });
    }
    const listed = await ground.adapter.invoke("archive:list", { root: "r", path: "x.zip" });
    expect(listed).toMatchObject({
      entries: [
        { name: "dir/a", size: content.length, compressedSize: packed.length },
        { name: "dir/b", size: content.length, compressedSize: content.length },
      ],
    });
    expect(await extract()).toMatchObject({ extracted: 2, bytes: 2 * content.length });
    expect((await ground.run("read", { path: "out/dir/b" })).content).toBe(content);
  });

  const LIES: readonly bigint[] = [0n, size - 1n, size + 1n, 0xffffffffn, 2n ** 53n - 1n, 2n ** 63n, 2n ** 64n - 1n];
  test.each(LIES)("a size of %d is a lie, which is listed and never believed", async (lie) => {
    for (const entry of [
      longEntry(deflated, { size: lie, compressedSize }),
      longEntry(stored, { size: lie, compressedSize: lie }),
      longEntry(stored, { size: lie, compressedSize: size }),
      // Bytes behind the end of what is deflated change nothing of the content.
      ...(lie === 0n || lie > 10_000n ? [longEntry(deflated, { size, compressedSize: lie })] : []),
    ]) {
      put([entry, { name: "good", content: "good" }]);
      const path = `x.zip!/${String(entry.name)}`;
      expect((await list()).entries).toMatchObject([{ name: "dir" }, { name: "good" }]);
      const isTooLarge = { code: expect.stringMatching(/^(BAD_FORMAT|TOO_LARGE)$/) };
      expect(await ground.fail("hash", { path })).toMatchObject({ code: "BAD_FORMAT", data: { reason: "damaged" } });
      expect(await ground.fail("read", { path, mode: "bytes" })).toMatchObject(isTooLarge);
      await expect(extract()).rejects.toMatchObject(isTooLarge);
      expect(await ground.run("stat", { path: "out" })).toMatchObject({ exists: false });
      expect(await read("good")).toBe("good");
    }
  });

  test.each<[string, ZipEntry]>([
    ["a place far away", longEntry(deflated, { size, compressedSize, offset: 2n ** 63n })],
    ["another place", longEntry(deflated, { size, compressedSize, offset: 1n })],
    ["no field", { ...deflated, size: 0xffffffff, compressedSize: 0xffffffff }],
  ])("%s is damaged", async (_, entry) => {
    put([entry]);
    expect(await ground.fail("hash", { path: "x.zip!/dir/a" })).toMatchObject({ code: "BAD_FORMAT" });
  });

  test("a field that is too short makes the directory damaged", async () => {
    for (const entry of [
      { ...longEntry(deflated, { size }), compressedSize: 0xffffffff },
      { ...longEntry(deflated, {}), size: 0xffffffff },
    ]) {
      put([entry]);
      expect(await ground.fail("list", { path: "x.zip!" })).toMatchObject({ data: { reason: "damaged" } });
    }
  });

  test("an end in 64 bits behind which a comment looks like one is never read as another archive", async () => {
    const entries = [longEntry(deflated, { size, compressedSize, offset: 0n })];
    const other = zipOf([], { zip64: true });
    for (const comment of [
      other,
      Buffer.concat([other, Buffer.from("x")]),
      other.subarray(0, 76),
      other.subarray(-22, -2),
    ]) {
      put(entries, { zip64: true, comment });
      const told = await namesIn("dir").catch(({ code }) => code);
      expect(["BAD_FORMAT", ["a"]]).toContainEqual(told);
    }
  });

  test("an end in 64 bits that contradicts itself is damaged", async () => {
    const whole = zipOf([longEntry(deflated, { size, compressedSize, offset: 0n })], { zip64: true });
    const record = whole.lastIndexOf("PK\x06\x06", undefined, "latin1");
    for (const [at, lie] of [
      ...[[record + 32, 2n] as const, [record + 32, 2n ** 40n] as const, [record + 32, 0n] as const],
      ...[[record + 48, 1n] as const, [record + 48, 2n ** 63n] as const, [record + 64, 3n] as const],
    ]) {
      const bytes = Buffer.from(whole);
      bytes.writeBigUInt64LE(lie, at);
      ground.put("x.zip", bytes);
      expect(await ground.fail("list", { path: "x.zip!" })).toMatchObject({
        code: lie === 2n ** 40n ? "TOO_LARGE" : "BAD_FORMAT",
      });
    }
  });
});

describe("a zip that cannot be read here", () => {
  test("has encrypted entries, or ones packed otherwise, which are listed", async () => {
    put([
      ...[
        { name: "secret", content: "x", flags: 0x801 },
        { name: "aes", content: "x", method: 99, flags: 0x801 },
      ],
      ...[
        { name: "lzma", content: "x", method: 14 },
        { name: "ok", content: "fine" },
      ],
    ]);
    expect(await namesIn()).toEqual(["aes", "lzma", "ok", "secret"]);
    for (const path of ["secret", "aes"]) {
      expect(await ground.fail("read", { path: `x.zip!/${path}` })).toEqual({
        code: "BAD_FORMAT",
        message: `Cannot read "x.zip!/${path}": the entry is encrypted. Ask for an archive without a password`,
        data: { root: "r", path: `x.zip!/${path}`, reason: "encrypted" },
      });
    }
    expect(await ground.fail("read", { path: "x.zip!/lzma" })).toMatchObject({
      ...{ code: "BAD_FORMAT", data: { reason: "unsupported" } },
      message:
        'Cannot read "x.zip!/lzma": compression method 14 is not supported (store and deflate are). Ask for it packed anew',
    });
    expect(await read("ok")).toBe("fine");
  });

  test("has too many entries or folders", async () => {
    put([{ name: "a" }], { count: 1, zip64: true });
    put(
      Array.from({ length: 100_001 }, (_, index) => ({ name: `${index}`, packed: Buffer.alloc(0), method: 0 })),
      { zip64: true },
    );
    expect(await ground.fail("list", { path: "x.zip!" })).toMatchObject({
      code: "TOO_LARGE",
      message: 'Cannot read "x.zip": the archive has more than 100000 entries. Ask for it in parts',
    });
    const deep = (index: number) => `${index}/${"d/".repeat(400)}f`;
    put(Array.from({ length: 600 }, (_, index) => ({ name: deep(index) })));
    expect(await ground.fail("list", { path: "x.zip!" })).toMatchObject({ code: "TOO_LARGE" });
  });

  test("has a directory of more than 64 MB", async () => {
    const extra = Buffer.alloc(65_000);
    extra.writeUInt16LE(0x9999, 0);
    extra.writeUInt16LE(extra.length - 4, 2);
    put(Array.from({ length: 1100 }, (_, index) => ({ name: `${index}`, extra })));
    expect(await ground.fail("list", { path: "x.zip!" })).toMatchObject({ code: "TOO_LARGE" });
  });
});

describe("zips of other programs", () => {
  const home = mkdtempSync(join(tmpdir(), "venue-files-zips-"));
  afterAll(() => rmSync(home, { recursive: true, force: true }));
  mkdirSync(join(home, "src", "dir", "empty"), { recursive: true });
  writeFileSync(join(home, "src", "dir", "a.txt"), "abc\n".repeat(1000));
  writeFileSync(join(home, "src", "grün.txt"), "green\n");
  symlinkSync("dir/a.txt", join(home, "src", "link"));
  const programs: Readonly<Record<string, readonly string[]>> = {
    zip: ["zip", "-qry", "../x.zip", "."],
    "zip, stored": ["zip", "-qry0", "../x.zip", "."],
    jar: ["jar", "cf", "../x.zip", "."],
    python: ["python3", "-c", "import shutil; shutil.make_archive('../x', 'zip', '.')"],
    "zip, in 64 bits": ["zip", "-qry", "-fz", "../x.zip", "."],
  };
  for (const [name, [command = "", ...args]] of Object.entries(programs)) {
    const isHere = (process.env["PATH"] ?? "").split(":").some((dir) => existsSync(join(dir, command)));
    needs(isHere, `there is no ${command}`)(`of ${name}`, async () => {
      execFileSync(command, args, { cwd: join(home, "src"), stdio: "ignore" });
      execFileSync("mv", [join(home, "x.zip"), join(ground.dir, "x.zip")]);
      expect(await namesIn()).toEqual(expect.arrayContaining(["dir", "grün.txt", "link"]));
      expect(await namesIn("dir")).toEqual(expect.arrayContaining(["a.txt", "empty"]));
      expect((await ground.run("hash", { path: "x.zip!/dir/a.txt" })).size).toBe(4000);
      expect(await read("grün.txt")).toBe("green\n");
      const matches = await ground.run("grep", { pattern: "gre+n", path: "x.zip!" });
      expect(matches).toMatchObject({ totalMatches: 1 });
    });
  }
});
