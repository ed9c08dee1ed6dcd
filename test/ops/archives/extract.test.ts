import { chmodSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import { useDrives } from "../../drives/ground.js";
import { entriesBelow, failureOf, useGround } from "../ground.js";
import { type GivenEntry, zipOf } from "./archives.js";

const ground = useGround({
  root: { deny: [".env"], protect: ["fixed/**"] },
  roots: {
    small: { temp: true, quota: { bytes: 1000 } },
    locked: { temp: true, readOnly: true },
    open: { temp: true },
  },
  journal: true,
});
const at = (path: string) => join(ground.dir, path);
const tree = (path = ""): string[] => entriesBelow(ground.dir, path);
const extract = (input: object, context?: SurfaceContext) =>
  ground.adapter.invoke("archive:extract", { destRoot: "r", ...input }, context).catch((error: unknown) => {
    throw ground.internal.at(-1)?.error ?? error;
  });
const fail = (input: object, context?: SurfaceContext) =>
  failureOf(ground.adapter.invoke("archive:extract", { destRoot: "r", ...input }, context));
const list = (input: object, context?: SurfaceContext) => ground.adapter.invoke("archive:list", input, context);

const MODIFIED = new Date("2024-05-06T07:08:10Z");
const DOCS: readonly GivenEntry[] = [
  { name: "docs/", modified: MODIFIED },
  { name: "docs/a.md", content: "of an archive", modified: MODIFIED },
  { name: "docs/run.sh", content: "#!/bin/sh\n", mode: 0o100_777 },
  { name: "deep/in/b.bin", content: Buffer.alloc(400_000, 7), mode: 0o100_600 },
  { name: "none/", modified: MODIFIED },
];
const DOCS_BYTES = 13 + 10 + 400_000;

async function putZip(path: string, entries: readonly GivenEntry[] = DOCS): Promise<void> {
  ground.put(path, await zipOf(entries));
}

describe("archive:list", () => {
  test("lists what stands in an archive, by path, asset, reference or bytes", async () => {
    await putZip("x.zip");
    const bytes = ground.get("x.zip");
    const listed = {
      entries: [
        { name: "docs/", size: 0, compressedSize: 0, directory: true, modified: MODIFIED.getTime() },
        {
          name: "docs/a.md",
          size: 13,
          compressedSize: expect.any(Number),
          directory: false,
          modified: MODIFIED.getTime(),
        },
        { name: "docs/run.sh", size: 10, compressedSize: 12, directory: false, modified: expect.any(Number) },
        expect.objectContaining({ name: "deep/in/b.bin", size: 400_000 }),
        expect.objectContaining({ name: "none/", directory: true }),
      ],
      count: 5,
      truncated: false,
    };
    expect(await list({ root: "r", path: "x.zip" })).toEqual(listed);
    expect(await list({ path: "file://r/x.zip" })).toEqual(listed);
    expect(await list({ asset: "file://r/x.zip" })).toEqual(listed);
    expect(await list({ bytes: bytes.toString("base64") })).toEqual(listed);
    expect(await list({ asset: "a" }, { resolveAsset: async () => ({ content: bytes }) })).toEqual(listed);
    const stored = {
      size: bytes.length,
      async *read({ start, end }: { start: number; end: number }) {
        yield bytes.subarray(start, start + 1);
        yield bytes.subarray(start + 1, end);
      },
    };
    const content = (async function* () {})();
    expect(await list({ asset: "a" }, { resolveAsset: async () => ({ content, stored }) })).toEqual(listed);
  });

  test("tells no names that the root of the archive denies, and extract takes them nowhere", async () => {
    await putZip("x.zip", [...DOCS, { name: "docs/.env", content: "KEY=1" }, { name: ".env/a", content: "KEY=2" }]);
    const listed = await list({ root: "r", path: "x.zip" });
    expect(listed).toMatchObject({ count: 5, truncated: false, hidden: { policy: 2 } });
    expect(JSON.stringify(listed)).not.toContain(".env");
    expect(await fail({ root: "r", path: "x.zip", destRoot: "open", destPath: "new" })).toMatchObject({
      code: "DENIED_BY_POLICY",
    });
    expect(await list({ bytes: ground.get("x.zip").toString("base64") })).toMatchObject({ count: 7 });
  });

  test("lists the first 5,000, for a model those within its budget", async () => {
    const many = Array.from({ length: 5001 }, (_, index) => ({ name: `f${index}`, content: "" }));
    await putZip("x.zip", many);
    const all = (await list({ root: "r", path: "x.zip" })) as { entries: object[] };
    expect(all).toMatchObject({ count: 5001, truncated: true });
    expect(all.entries).toHaveLength(5000);
    const budget = { defaultBytes: 1000, defaultLines: 10, maxBytes: 1000 };
    const some = (await list({ root: "r", path: "x.zip" }, { budget })) as { entries: object[] };
    expect(some.entries.length).toBeLessThan(12);
    expect(some.entries.length).toBeGreaterThan(4);
  });

  test.each<[string, object, object]>([
    ["nothing named", {}, { code: "INVALID_INPUT" }],
    ["two named", { root: "r", path: "x.zip", bytes: "AAAA" }, { code: "INVALID_INPUT" }],
    ["what is no archive", { bytes: "AAAA" }, { code: "BAD_FORMAT", data: { reason: "damaged" } }],
    ["an unknown asset", { asset: "a" }, { code: "ASSET_NOT_FOUND" }],
    ["what is denied", { root: "r", path: ".env" }, { code: "DENIED_BY_POLICY" }],
    ["what is not there", { root: "r", path: "gone.zip" }, { code: "NOT_FOUND" }],
  ])("refuses %s", async (_, input, refused) => {
    expect(await failureOf(list(input))).toMatchObject(refused);
  });
});

describe("archive:extract into a new directory", () => {
  test("makes all of it at once, with modes and times, and undo takes it away", async () => {
    await putZip("x.zip");
    const answer = await extract({ root: "r", path: "x.zip", destPath: "new/out" });
    expect(answer).toEqual({
      ...{ extracted: 3, bytes: DOCS_BYTES, destRoot: "r", truncated: false, atomic: true },
      files: ["new/out/docs/a.md", "new/out/docs/run.sh", "new/out/deep/in/b.bin"],
      group: expect.any(String),
    });
    expect(tree("new")).toEqual([
      ...["new/out/", "new/out/deep/", "new/out/deep/in/", "new/out/deep/in/b.bin"],
      ...["new/out/docs/", "new/out/docs/a.md", "new/out/docs/run.sh", "new/out/none/"],
    ]);
    expect(ground.get("new/out/docs/a.md").toString()).toBe("of an archive");
    const modeOf = (path: string) => statSync(at(`new/out/${path}`)).mode & 0o7777;
    expect([modeOf("docs/run.sh"), modeOf("docs/a.md"), modeOf("deep/in/b.bin"), modeOf("docs")]).toEqual([
      ...[0o755, 0o644, 0o644, 0o755],
    ]);
    for (const path of ["docs/a.md", "docs", "none"])
      expect(Math.round(statSync(at(`new/out/${path}`)).mtimeMs)).toBe(MODIFIED.getTime());
    expect(ground.staged()).toEqual([]);
    const { group } = answer as { group: string };
    await ground.adapter.invoke("file:undo", { root: "r", group });
    expect(tree().filter((path) => path.startsWith("new/out"))).toEqual([]);
  });

  test("leaves out links and devices, which it counts", async () => {
    await putZip("x.zip", [
      { name: "a", content: "a" },
      { name: "link", content: "/etc/passwd", mode: 0o120_777 },
      { name: "pipe", content: "", mode: 0o010_644 },
    ]);
    expect(await extract({ root: "r", path: "x.zip", destPath: "out" })).toMatchObject({
      extracted: 1,
      hidden: { symlinks: 1, special: 1 },
    });
    expect(tree("out")).toEqual(["out/a"]);
  });
});

describe("archive:extract over what is there", () => {
  test("replaces file by file in one group, and one undo restores every byte", async () => {
    await putZip("x.zip");
    ground.put("out/docs/a.md", "before");
    ground.put("out/docs/other.md", "stays");
    ground.put("out/deep/in/b.bin", "before too");
    chmodSync(at("out/docs/a.md"), 0o600);
    const before = tree("out").map((path) => [path, path.endsWith("/") ? "" : ground.get(path).toString()]);
    const answer = await extract({ root: "r", path: "x.zip", destPath: "out", operationId: "one" });
    expect(answer).toMatchObject({ extracted: 3, bytes: DOCS_BYTES, atomic: false, group: expect.any(String) });
    expect(ground.get("out/docs/a.md").toString()).toBe("of an archive");
    expect(statSync(at("out/docs/a.md")).mode & 0o777).toBe(0o600);
    expect(Math.round(statSync(at("out/docs/a.md")).mtimeMs)).toBe(MODIFIED.getTime());
    expect(statSync(at("out/docs/run.sh")).mode & 0o777).toBe(0o755);
    expect(ground.get("out/docs/other.md").toString()).toBe("stays");
    expect(tree("out")).toContain("out/none/");
    ground.put("out/docs/a.md", "since then");
    expect(await extract({ root: "r", path: "x.zip", destPath: "out", operationId: "one" })).toEqual(answer);
    expect(ground.get("out/docs/a.md").toString()).toBe("since then");
    ground.put("out/docs/a.md", "of an archive");
    const { group } = answer as { group: string };
    await ground.adapter.invoke("file:undo", { root: "r", group });
    expect(tree("out").map((path) => [path, path.endsWith("/") ? "" : ground.get(path).toString()])).toEqual(before);
  });

  test("goes to the top of a root, and records one place for the whole", async () => {
    await putZip(
      "x.zip",
      Array.from({ length: 300 }, (_, index) => ({ name: `d${index % 7}/${index}`, content: `${index}` })),
    );
    expect(await extract({ root: "r", path: "x.zip" })).toMatchObject({ extracted: 300, atomic: false });
    expect(ground.get("d3/24").toString()).toBe("24");
    const [{ resource = "", others = [] } = {}] = ground.audit;
    expect([resource, others]).toEqual(["file://r/x.zip", ["file://r/"]]);
  });

  test.each<[string, readonly GivenEntry[], object, object]>([
    ["overwrite: false", DOCS, { overwrite: false }, { code: "ALREADY_EXISTS", data: { path: "out/docs/a.md" } }],
    [
      "a directory where a file goes",
      [
        { name: "b", content: "" },
        { name: "docs", content: "" },
      ],
      {},
      { code: "IS_A_DIRECTORY" },
    ],
    [
      "a file where a directory goes",
      [
        { name: "b", content: "" },
        { name: "docs/a.md/x", content: "" },
      ],
      {},
      { code: "NOT_A_DIRECTORY" },
    ],
    [
      "a link that leads out",
      [
        { name: "b", content: "" },
        { name: "away/x", content: "" },
      ],
      {},
      { code: "SYMLINK_ESCAPE" },
    ],
  ])("changes nothing for %s", async (_, entries, input, refused) => {
    await putZip("x.zip", entries);
    ground.put("out/docs/a.md", "before");
    symlinkSync(ground.outside, at("out/away"));
    expect(await fail({ root: "r", path: "x.zip", destPath: "out", ...input })).toMatchObject(refused);
    expect(tree("out")).toEqual(["out/away", "out/docs/", "out/docs/a.md"]);
    expect(ground.get("out/docs/a.md").toString()).toBe("before");
    expect(ground.staged()).toEqual([]);
  });
});

describe("archive:extract, looking first", () => {
  const raw = (name: string) => ({ name: "x".repeat(name.length), content: "evil" });
  /** yazl makes no such names. */
  const renamed = async (name: string, others: readonly GivenEntry[] = []): Promise<Buffer> => {
    const bytes = await zipOf([...others, raw(name)]);
    return Buffer.from(
      bytes.toString("latin1").replaceAll("x".repeat(name.length), Buffer.from(name).toString("latin1")),
      "latin1",
    );
  };

  describe.each(["new", "there"])("into a directory that is %s", (destPath) => {
    test.each([
      ...["../out", "a/../../out", "/etc/evil", "C:\\evil", "..\\evil", "a\0b", ".venue-files/x", "d/.venue-files-x/y"],
      ...["con\u0007trol", "y.zip!", `${"n".repeat(256)}`],
    ])("refuses the name %j, and writes nothing", async (name) => {
      ground.put("x.zip", await renamed(name, [{ name: "fine", content: "fine" }]));
      ground.mkdir("there");
      const failed = await fail({ root: "r", path: "x.zip", destPath });
      expect(failed).toMatchObject({ code: "PATH_ESCAPES_ROOT", data: { path: "x.zip", entry: expect.any(String) } });
      expect(tree()).toEqual(["there/", "x.zip"]);
      expect(ground.staged()).toEqual([]);
    });

    test("tells of a long name by its beginning", async () => {
      ground.put("x.zip", await renamed(`../${"e".repeat(60_000)}`));
      const { code, data } = await fail({ root: "r", path: "x.zip", destPath });
      expect(code).toBe("PATH_ESCAPES_ROOT");
      expect(data["entry"]).toBe(`../${"e".repeat(197)}`);
    });

    test.each<[string, readonly GivenEntry[], object]>([
      [
        "two files of one path",
        [
          { name: "a", content: "1" },
          { name: "./a", content: "2" },
        ],
        { code: "BAD_FORMAT", data: { reason: "duplicate" } },
      ],
      [
        "a file where a folder is",
        [
          { name: "a/b", content: "1" },
          { name: "a", content: "2" },
        ],
        { code: "BAD_FORMAT", data: { reason: "duplicate" } },
      ],
      [
        "what is denied",
        [
          { name: "a", content: "1" },
          { name: "d/.env", content: "2" },
        ],
        { code: "DENIED_BY_POLICY" },
      ],
    ])("refuses %s, and writes nothing", async (_, entries, refused) => {
      await putZip("x.zip", entries);
      ground.mkdir("there");
      expect(await fail({ root: "r", path: "x.zip", destPath })).toMatchObject(refused);
      expect(tree()).toEqual(["there/", "x.zip"]);
      expect(ground.staged()).toEqual([]);
    });

    test("refuses damaged content, and writes nothing", async () => {
      await putZip("x.zip");
      const bytes = ground.get("x.zip");
      bytes[bytes.indexOf("a.md") + 10] = 0xff;
      writeFileSync(at("x.zip"), bytes);
      ground.mkdir("there");
      expect(await fail({ root: "r", path: "x.zip", destPath })).toMatchObject({ code: "BAD_FORMAT" });
      expect(tree()).toEqual(["there/", "x.zip"]);
      expect(ground.staged()).toEqual([]);
    });

    test("refuses content where none is declared", async () => {
      const bytes = await zipOf([{ name: "a", content: "more than nothing" }]);
      bytes.writeUInt32LE(0, bytes.indexOf("PK\u0001\u0002") + 24);
      ground.put("x.zip", bytes);
      ground.mkdir("there");
      expect(await fail({ root: "r", path: "x.zip", destPath })).toMatchObject({ code: "BAD_FORMAT" });
      expect(tree()).toEqual(["there/", "x.zip"]);
    });

    test("makes directories in which only links are", async () => {
      await putZip("x.zip", [
        { name: "d/e/link", content: "x", mode: 0o120_777 },
        { name: "a", content: "" },
      ]);
      ground.mkdir("there");
      expect(await extract({ root: "r", path: "x.zip", destPath })).toMatchObject({ hidden: { symlinks: 1 } });
      expect(tree(destPath)).toEqual(["a", "d/", "d/e/"].map((path) => `${destPath}/${path}`));
    });

    test("refuses sizes that say more than may be unpacked", async () => {
      const bytes = await zipOf(Array.from({ length: 3 }, (_, index) => ({ name: `f${index}`, content: "xx" })));
      for (let found = bytes.indexOf("PK\u0001\u0002"); found >= 0; found = bytes.indexOf("PK\u0001\u0002", found + 4))
        bytes.writeUInt32LE(1_000_000_000, found + 24);
      ground.put("x.zip", bytes);
      ground.mkdir("there");
      expect(await fail({ root: "r", path: "x.zip", destPath })).toMatchObject({ code: "TOO_LARGE" });
      expect(tree()).toEqual(["there/", "x.zip"]);
    });

    test("refuses an encrypted entry", async () => {
      const bytes = await zipOf([{ name: "a", content: "a" }]);
      const [local, central] = [bytes.indexOf("PK\u0003\u0004"), bytes.indexOf("PK\u0001\u0002")];
      bytes[local + 6] = Number(bytes[local + 6]) | 1;
      bytes[central + 8] = Number(bytes[central + 8]) | 1;
      ground.put("x.zip", bytes);
      ground.mkdir("there");
      expect(await fail({ root: "r", path: "x.zip", destPath })).toMatchObject({
        code: "BAD_FORMAT",
        data: { reason: "encrypted" },
      });
      expect(await list({ root: "r", path: "x.zip" })).toMatchObject({ entries: [{ name: "a", encrypted: true }] });
      expect(tree()).toEqual(["there/", "x.zip"]);
    });
  });

  test.each<[string, object, object]>([
    ["no archive", {}, { code: "INVALID_INPUT" }],
    ["the quota", { destRoot: "small", destPath: "new" }, { code: "QUOTA_EXCEEDED" }],
    ["the quota at the top", { destRoot: "small" }, { code: "QUOTA_EXCEEDED" }],
    ["a read-only root", { destRoot: "locked" }, { code: "READ_ONLY_ROOT" }],
    ["what is protected", { destPath: "fixed/new" }, { code: "DENIED_BY_POLICY" }],
    ["a file in its place", { destPath: "x.zip" }, { code: "EXISTS_NOT_DIRECTORY" }],
    ["a way out", { destPath: "../out" }, { code: "PATH_ESCAPES_ROOT" }],
  ])("refuses %s", async (name, input, refused) => {
    await putZip("x.zip");
    expect(await fail({ ...(name === "no archive" ? {} : { root: "r", path: "x.zip" }), ...input })).toMatchObject(
      refused,
    );
    expect(tree()).toEqual(["x.zip"]);
    for (const root of ["small", "locked"])
      expect(await ground.adapter.invoke("file:list", { root })).toMatchObject({ entries: [] });
  });

  test("needs to read the archive and to write the target", async () => {
    await putZip("x.zip");
    const caps = (...all: [string, string][]) => ({
      caps: all.map(([path, can]) => ({ with: `file://r/${path}`, can })),
    });
    const input = { root: "r", path: "x.zip", destPath: "out" };
    const denied = { code: "CAPABILITY_DENIED" };
    expect(await fail(input, caps(["out", "crud/write"]))).toMatchObject(denied);
    expect(await fail(input, caps(["x.zip", "crud/read"], ["out", "crud/read"]))).toMatchObject(denied);
    expect(await fail(input, caps(["x.zip", "crud/read"], ["out/docs", "crud/write"]))).toMatchObject(denied);
    expect(await extract(input, caps(["x.zip", "crud/read"], ["out", "crud/write"]))).toMatchObject({ extracted: 3 });
  });
});

describe("on drives", () => {
  const drives = useDrives();
  const bytes = async () => (await zipOf(DOCS.filter(({ name }) => name !== "deep/in/b.bin"))).toString("base64");
  const read = (path: string) => drives.call("file:read", { root: "mine", path });

  test("is one swap, over what is there too, and one undo", async () => {
    await drives.call("file:write", { root: "mine", path: "out/docs/a.md", content: "before", parents: true });
    const made = await drives.call("archive:extract", { bytes: await bytes(), destRoot: "mine", destPath: "new" });
    expect(made).toMatchObject({ extracted: 2, atomic: true });
    expect(await read("new/docs/a.md")).toMatchObject({ content: "of an archive" });
    const over = await drives.call("archive:extract", { bytes: await bytes(), destRoot: "mine", destPath: "out" });
    expect(over).toMatchObject({ extracted: 2, atomic: true, group: expect.any(String) });
    expect(await read("out/docs/a.md")).toMatchObject({ content: "of an archive" });
    const { group } = over as { group: string };
    await drives.call("file:undo", { root: "mine", group });
    expect(await read("out/docs/a.md")).toMatchObject({ content: "before" });
    expect(await drives.fail("file:read", { root: "mine", path: "out/docs/run.sh" })).toMatchObject({
      code: "NOT_FOUND",
    });
  });
});

test("a directory that is listed again is one directory", async () => {
  const again = [{ name: "a/" }, { name: "a/b", content: "b" }, { name: "a/", modified: MODIFIED }];
  ground.put("x.zip", await zipOf(again));
  expect(await extract({ root: "r", path: "x.zip", destPath: "out" })).toMatchObject({ files: ["out/a/b"] });
  expect(statSync(at("out/a")).mtime).toEqual(MODIFIED);
});

test("a tar packed by gzip is unpacked in its own order", async () => {
  const { execFileSync } = await import("node:child_process");
  ground.put("src/z/1", "one");
  ground.put("src/a/2", "two");
  chmodSync(at("src/a/2"), 0o755);
  execFileSync("tar", ["-czf", at("x.tgz"), "-C", at("src"), "z", "a"]);
  expect(await extract({ root: "r", path: "x.tgz", destPath: "out" })).toMatchObject({
    files: ["out/z/1", "out/a/2"],
    atomic: true,
  });
  expect(readFileSync(at("out/a/2"), "utf8")).toBe("two");
  expect(statSync(at("out/a/2")).mode & 0o777).toBe(0o755);
});

test("a packed tar whose directories are mixed is not unpacked again and again", async () => {
  const { execFileSync } = await import("node:child_process");
  const order: string[] = [];
  const put = (name: string, content: string | Buffer = "x") => {
    ground.put(`src/${name}`, content);
    order.push(name);
  };
  const dirs = Array.from({ length: 20 }, (_, index) => `d${index}`);
  for (const dir of dirs) put(`${dir}/a`);
  put("big", Buffer.alloc(34_000_000));
  for (const dir of dirs) put(`${dir}/b`);
  execFileSync("tar", ["-czf", at("x.tgz"), "-C", at("src"), ...order]);
  const failed = await fail({ root: "r", path: "x.tgz", destPath: "out" });
  expect(failed).toMatchObject({ code: "TOO_LARGE", message: expect.stringContaining("as a zip") });
  expect(ground.names()).not.toContain("out");
  const few = order.filter((name) => !/^d([3-9]|1\d)/.test(name));
  execFileSync("tar", ["-czf", at("x.tgz"), "-C", at("src"), ...few]);
  expect(await extract({ root: "r", path: "x.tgz", destPath: "out" })).toMatchObject({ extracted: 7 });
});

test("large archives are unpacked over what is there one after the other, and others run meanwhile", async () => {
  const many = Array.from({ length: 5001 }, (_, index) => ({ name: `${index % 50}/${index}`, content: "" }));
  ground.put("x.zip", await zipOf(many));
  ground.put("y.zip", await zipOf([{ name: "a", content: "a" }]));
  for (const name of ["one", "two", "three"]) ground.mkdir(name);
  /** Names in the place of the other, when one has ended. */
  const ended: number[] = [];
  const large = async (destPath: string, other: string) => {
    const answer = await extract({ root: "r", path: "x.zip", destPath });
    ended.push(ground.names(other).length);
    return answer;
  };
  const all = Promise.all([large("one", "two"), large("two", "one")]);
  expect(await extract({ root: "r", path: "y.zip", destPath: "three" })).toMatchObject({ extracted: 1 });
  expect(ended).toEqual([]);
  expect(await all).toMatchObject([{ extracted: 5001 }, { extracted: 5001, files: { length: 5000 }, truncated: true }]);
  expect(ended).toEqual([0, 50]);
});
