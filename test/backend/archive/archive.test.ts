import { randomBytes } from "node:crypto";
import { renameSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, jest, test } from "@jest/globals";
import { ArchiveDirectory } from "../../../src/backend/archive/directory.js";
import { KeptDirectories } from "../../../src/backend/archive/kept.js";
import { ArchiveReader } from "../../../src/backend/archive/reader.js";
import { useReferences } from "../../dispatch/references/ground.js";
import { useGround } from "../../ops/ground.js";
import { owner as alice } from "../../ucan/chains.js";
import { zipOf } from "./zip-bytes.js";

const ZIP = zipOf([
  { name: "docs/b.md", content: "# B\nline 2\n" },
  { name: "docs/key.pem", content: "line of a key" },
  { name: "private/c.txt", content: "line" },
]);
/** Older than file times that may be followed by another change. */
const LONG_AGO = 1_000_000_000;

describe("in a root that denies and protects", () => {
  const ground = useGround({ root: { deny: ["*.pem", "private", "secret/*.zip"], protect: ["a"] } });

  test("deny counts for names in archives, and for the archive itself", async () => {
    ground.put("a/x.zip", ZIP);
    ground.put("secret/x.zip", ZIP);
    expect(await ground.run("list", { path: "a/x.zip!" })).toMatchObject({
      entries: [{ name: "docs" }],
      hidden: { policy: 1 },
    });
    expect(await ground.run("list", { path: "a/x.zip!/docs" })).toMatchObject({
      entries: [{ name: "b.md" }],
      hidden: { policy: 1 },
    });
    for (const path of [
      "a/x.zip!/docs/key.pem",
      "a/x.zip!/private/c.txt",
      "a/x.zip!/private/none",
      "secret/x.zip!/docs/b.md",
      "secret/none.zip!/a",
    ])
      expect(await ground.fail("read", { path })).toMatchObject({ code: "DENIED_BY_POLICY" });
    expect(await ground.run("grep", { pattern: "line", path: "a/x.zip!" })).toMatchObject({
      totalMatches: 1,
      hidden: { policy: 2 },
    });
    expect((await ground.run("glob", { pattern: "**", path: "a/x.zip!" })).paths).toEqual(["a/x.zip!/docs/b.md"]);
  });
});

describe("in a root that can only be read", () => {
  const ground = useGround({ root: { readOnly: true } });

  test("archives are looked into, and changes are refused as those of entries", async () => {
    ground.put("x.zip", ZIP);
    expect(await ground.run("read", { path: "x.zip!/docs/b.md" })).toMatchObject({ size: 11 });
    expect(await ground.fail("write", { path: "x.zip!/n", content: "" })).toMatchObject({ code: "NOT_SUPPORTED" });
  });
});

describe("the directory of an archive", () => {
  const ground = useGround();
  const read = async (path = "f") => (await ground.run("read", { path: `x.zip!/${path}` })).content;
  const putOld = (content: string) => {
    ground.put("new.zip", zipOf([{ name: "f", content }]));
    utimesSync(join(ground.dir, "new.zip"), LONG_AGO, LONG_AGO);
    renameSync(join(ground.dir, "new.zip"), join(ground.dir, "x.zip"));
  };

  test("is that of the file that is read, whatever replaces it", async () => {
    for (const content of ["first", "other", "third"]) {
      putOld(content);
      expect([await read(), await read()]).toEqual([content, content]);
    }
    // In place, with the size and time of before.
    writeFileSync(join(ground.dir, "x.zip"), zipOf([{ name: "f", content: "again" }]));
    utimesSync(join(ground.dir, "x.zip"), LONG_AGO, LONG_AGO);
    expect([await read(), await read()]).toEqual(["again", "again"]);
  });

  test("serves no caller that may not read the archive", async () => {
    putOld("text");
    expect(await read()).toBe("text");
    const caps = [{ with: "file://r/other", can: "crud/read" }];
    expect(await ground.fail("read", { path: "x.zip!/f" }, { caps })).toMatchObject({ code: "CAPABILITY_DENIED" });
  });

  test("is kept with seven others, as far as they take 16 MB", () => {
    const kept = new KeptDirectories();
    const one = (weight: number) => Object.assign(new ArchiveDirectory(), { weight });
    for (let index = 0; index < 9; index++) {
      kept.put(`${index}`, one(1));
      kept.get("0");
    }
    expect(["0", "1", "2", "8"].map((key) => kept.get(key) !== undefined)).toEqual([true, false, true, true]);
    kept.put("large", one(16_777_216));
    expect(["0", "8", "large"].map((key) => kept.get(key) !== undefined)).toEqual([false, false, true]);
    kept.put("too large", one(16_777_217));
    expect(["large", "too large"].map((key) => kept.get(key) !== undefined)).toEqual([false, false]);
  });
});

describe("large archives", () => {
  const ground = useGround({ publicCaps: [{ with: "file://r", can: "crud/read" }] });

  test("hold up no other calls", async () => {
    const entries = Array.from({ length: 20_000 }, (_, index) => ({ name: `d${index % 50}/${index}`, method: 0 }));
    ground.put("x.zip", zipOf(entries));
    ground.put("y.zip", zipOf([{ name: "zeros", content: Buffer.alloc(100_000_000) }]));
    let turns = 0;
    let isOver = false;
    const other = (async () => {
      for (; !isOver; turns++) {
        await ground.run("stat", { path: "x.zip" });
        await new Promise(setImmediate);
      }
    })();
    const [found, hash] = await Promise.all([
      ground.run("glob", { pattern: "**/19999", path: "x.zip!" }),
      ground.run("hash", { path: "y.zip!/zeros" }),
    ]);
    isOver = true;
    await other;
    expect(found).toMatchObject({ paths: ["x.zip!/d49/19999"] });
    expect(hash).toMatchObject({ size: 100_000_000 });
    expect(turns).toBeGreaterThan(10);
  });

  test("are read one after the other by each caller", async () => {
    const content = randomBytes(20_000);
    for (const name of ["x.zip", "y.zip"]) ground.put(name, zipOf([{ name: "f", content }]));
    let [running, most] = [0, 0];
    const { directory } = ArchiveReader.prototype;
    const spy = jest.spyOn(ArchiveReader.prototype, "directory").mockImplementation(async function (
      this: ArchiveReader,
    ) {
      most = Math.max(most, ++running);
      await new Promise(setImmediate);
      return directory.call(this).finally(() => void running--);
    });
    try {
      const list = (caller: object) => ground.adapter.invoke("archive:list", { root: "r", path: "x.zip" }, caller);
      const look = async (caller: object) => {
        const stats = ["x", "y", "x", "y"].map((name) => ground.run("stat", { path: `${name}.zip!/f` }, caller));
        expect(await Promise.all(stats)).toEqual(stats.map(() => expect.objectContaining({ size: 20_000 })));
        await Promise.all([list(caller), list(caller)]);
      };
      await look({});
      expect(most).toBe(1);
      await Promise.all([look({}), look({ callerDID: alice.did })]);
      expect(most).toBe(2);
    } finally {
      spy.mockRestore();
    }
  });

  test("of a call that ends while it waits are not read", async () => {
    for (const name of ["x.zip", "y.zip"]) ground.put(name, zipOf([{ name: "f", content: randomBytes(20_000) }]));
    const stop = new AbortController();
    const first = ground.run("stat", { path: "x.zip!/f" });
    const second = ground.fail("stat", { path: "y.zip!/f" }, { signal: stop.signal });
    stop.abort();
    expect(await second).toMatchObject({ code: "ABORTED" });
    expect(await first).toMatchObject({ size: 20_000 });
    expect(await ground.run("stat", { path: "y.zip!/f" })).toMatchObject({ size: 20_000 });
  });

  test("are read up to the end of the call", async () => {
    ground.put("y.zip", zipOf([{ name: "zeros", content: Buffer.alloc(50_000_000) }]));
    const stop = new AbortController();
    const reading = ground.fail("hash", { path: "y.zip!/zeros" }, { signal: stop.signal });
    setImmediate(() => stop.abort());
    expect(await reading).toMatchObject({ code: "ABORTED" });
  });

  test("are read backwards", async () => {
    const lines = Array.from({ length: 400_000 }, (_, index) => `line ${index}\n`).join("");
    ground.put("x.zip", zipOf([{ name: "log", content: lines }]));
    const { content, startLine } = await ground.run("read", { path: "x.zip!/log", tail: 2 });
    expect(content).toBe("line 399998\nline 399999\n");
    expect(startLine === undefined || startLine === 399_999).toBe(true);
    expect(await ground.run("read", { path: "x.zip!/log", line: 300_000, limit: 1 })).toMatchObject({
      content: "line 299999\n",
    });
  });
});

describe("in roots of all kinds", () => {
  const ground = useReferences();
  const context = { callerDID: alice.did, authentication: "identity" } as const;

  test.each(["host", "tmp", "mine"])("archives are looked into: %s", async (root) => {
    await ground.call("file:write", { root, path: "a/x.zip", bytes: ZIP.toString("base64"), parents: true }, context);
    const look = (name: string, input: object) => ground.call(`file:${name}`, { root, ...input }, context);
    expect(await look("read", { path: "a/x.zip!/docs/b.md" })).toMatchObject({ content: "# B\nline 2\n" });
    expect(await look("list", { path: "a/x.zip!" })).toMatchObject({ total: 2 });
    expect(await look("grep", { path: "a/x.zip!", pattern: "line" })).toMatchObject({ totalMatches: 3 });
    expect(
      await look("readMany", { files: [{ path: "a/x.zip!/docs/b.md" }, { path: "a/x.zip!/none" }] }),
    ).toMatchObject({
      files: [
        { ok: true, size: 11 },
        { ok: false, code: "NOT_FOUND" },
      ],
    });
    expect(await look("stat", { path: "a/x.zip!/private/c.txt", hash: true })).toMatchObject({
      size: 4,
      readOnly: true,
    });
    expect(await ground.fail("file:write", { root, path: "a/x.zip!/n", content: "" }, context)).toMatchObject({
      code: "NOT_SUPPORTED",
    });
  });

  test("also by references, with a right on the archive alone", async () => {
    await ground.call("file:write", { root: "mine", path: "x.zip", bytes: ZIP.toString("base64") }, context);
    const path = "file://mine/x.zip!/docs/b.md";
    const caps = [{ with: "file://mine/x.zip", can: "crud/read" }];
    expect(await ground.call("file:read", { path }, { ...context, caps })).toMatchObject({ content: "# B\nline 2\n" });
    const below = [{ with: "file://mine/x.zip!/docs", can: "crud/read" }];
    expect(await ground.fail("file:read", { path }, { ...context, caps: below })).toMatchObject({
      code: "CAPABILITY_DENIED",
    });
  });
});

describe("a model that reads an archive itself", () => {
  const ground = useGround();
  const models = (...offered: string[]) => ({
    budget: {
      ...{ defaultBytes: 65_536, defaultLines: 2000, maxBytes: 1_048_576 },
      offers: (name: string) => offered.includes(name),
    },
  });

  test("is told how to look inside, where it can", async () => {
    const inner = zipOf([{ name: "a", content: "1" }]);
    const outer = zipOf([{ name: "in.zip", content: inner }]);
    for (const path of ["x.zip", "X.Jar", "x.tar.gz", "plain"]) ground.put(path, outer);
    const told = async (path: string, context = models("file:list")) =>
      (await ground.run("read", { path }, context)).description?.includes(
        '\nInside: file_list of the path with "!" added\n',
      );
    for (const path of ["x.zip", "X.Jar", "x.tar.gz"]) expect(await told(path)).toBe(true);
    for (const path of ["plain", "x.zip!/in.zip"]) expect(await told(path)).toBe(false);
    expect(await told("x.zip", models())).toBe(false);
  });
});
