/** @jest-environment ./test/platforms/macos/environment.mjs */
// Names that macOS takes for one: spelt in another case, or composed otherwise.
import "./as-macos.js";
import fs, {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { assembleAdapter, type HostedFileAdapter } from "../../../src/adapter/adapter.js";
import { parseFileConfig } from "../../../src/config/load.js";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import { silentLog } from "../../../src/core/ports/log.js";
import { useGround } from "../../ops/ground.js";
import { bob, delegation, venue } from "../../ucan/tokens.js";

const STORED = "Dossi\u00e9s";

const NFC = "Caf\u00e9.md";
const NFD = "Cafe\u0301.md";

describe("a file that is stored composed otherwise,", () => {
  const SPELLINGS = [NFC, NFD, NFC.toUpperCase(), NFD.toLowerCase()];

  const ground = useGround({ journal: true });
  const { run, fail } = ground;

  test.each(SPELLINGS)("is one file for every operation, by %j", async (path) => {
    ground.put(NFD, "one\ntwo\n");
    const read = await run("read", { path });
    expect(read).toMatchObject({ content: "one\ntwo\n" });
    const { etag } = read as { etag: string };
    expect(await run("stat", { path })).toMatchObject({ type: "file", size: 8 });
    expect(await run("hash", { path })).toEqual({ ...(await run("hash", { path: NFD })), path });
    await run("edit", { path, oldText: "one", newText: "1", ifMatch: etag });
    expect(await fail("write", { path, content: "x", ifMatch: etag })).toMatchObject({ code: "CONFLICT" });
    await run("append", { path, content: "three\n" });
    await run("patch", { patch: `*** Begin Patch\n*** Update File: ${path}\n@@\n-two\n+2\n*** End Patch\n` });
    expect(ground.names()).toEqual([NFD]);
    expect(ground.get(NFD).toString()).toBe("1\n2\nthree\n");
    expect(await fail("write", { path, content: "x", expected: "nothing" })).toMatchObject({ code: "INVALID_INPUT" });
    await run("copy", { path, to: "copy.md" });
    await run("write", { path, content: "whole\n" });
    expect(ground.names().sort()).toEqual([NFD, "copy.md"].sort());
    await run("delete", { path });
    expect(ground.names()).toEqual(["copy.md"]);
    expect((await run("trash", {})).entries.map((entry) => entry.path)).toEqual([NFD]);
    await run("undo", { last: 1 });
    expect(ground.get(NFD).toString()).toBe("whole\n");
    expect((await run("history", { path: NFD })).entries.length).toBeGreaterThan(4);
  });

  test.each(SPELLINGS)("is not overwritten by a move or a copy to %j", async (to) => {
    ground.put(NFD, "kept");
    ground.put("other.md", "other");
    for (const name of ["move", "copy"])
      expect(await fail(name, { path: "other.md", to })).toMatchObject({ code: "ALREADY_EXISTS" });
    expect(ground.get(NFD).toString()).toBe("kept");
    await run("move", { path: "other.md", to, overwrite: true });
    expect(ground.names()).toHaveLength(1);
    expect(ground.get(to).toString()).toBe("other");
  });

  test.each(["**/Caf\u00e9.md", "**/Cafe\u0301.md", "**/Caf\u00e9*", "Dossi\u00e9s/*", "Dossie\u0301s/**/*.md"])(
    "is found by the glob %j",
    async (pattern) => {
      const path = `Dossie\u0301s/${NFD}`;
      ground.put(path, "needle\n");
      ground.put("Cafes/other.md", "needle\n");
      expect((await run("glob", { pattern })).paths).toEqual([path]);
      const { matches } = await run("grep", { pattern: "needle", glob: pattern });
      expect(matches?.map((match) => match.path)).toEqual([path]);
      expect((await run("glob", { pattern: "**/*.md", exclude: [pattern] })).paths).toEqual(["Cafes/other.md"]);
    },
  );

  test.each(["Dossi\u00e9s", "Dossie\u0301s", "DOSSI\u00c9S"])(
    "is listed in the folder %j as it is stored",
    async (path) => {
      ground.put(`Dossi\u00e9s/${NFD}`, "needle\n");
      expect((await run("list", { path })).entries.map(({ name }) => name)).toEqual([NFD]);
      expect((await run("tree", { path })).tree).toContain(NFD);
      expect((await run("grep", { path, pattern: "needle" })).matches).toHaveLength(1);
      await run("mkdir", { path, parents: true });
      await run("write", { path: `${path}/new/file`, content: "x", parents: true });
      expect(ground.names()).toEqual(["Dossi\u00e9s"]);
    },
  );
});

describe("a new spelling of a name", () => {
  const ground = useGround({ journal: true });
  const { run, fail } = ground;
  const CASES: [string, string][] = [
    ["a.txt", "A.txt"],
    [NFD, NFC],
    ["dir", "DIR"],
  ];
  const put = (path: string) => (path === "dir" ? ground.put("dir/below.txt", "x") : ground.put(path, "x"));

  test.each(CASES)("is given to %j as %j, and taken back by an undo", async (path, to) => {
    put(path);
    const { ino } = lstatSync(join(ground.dir, path));
    expect(await run("move", { path, to })).toMatchObject({ moved: true });
    expect(ground.names()).toEqual([to]);
    expect(lstatSync(join(ground.dir, to)).ino).toBe(ino);
    await run("undo", { last: 1 });
    expect(ground.names()).toEqual([path]);
    expect(lstatSync(join(ground.dir, path)).ino).toBe(ino);
  });

  test("is undone together with the changes behind it", async () => {
    ground.put("dir/a.txt", "one");
    await run("move", { path: "dir", to: "Dir" });
    await run("write", { path: "Dir/A.TXT", content: "two" });
    await run("move", { path: "dir/a.txt", to: "dir/A.txt" });
    await run("undo", { last: 3 });
    expect(ground.names()).toEqual(["dir"]);
    expect(ground.names("dir")).toEqual(["a.txt"]);
    expect(ground.get("dir/a.txt").toString()).toBe("one");
  });

  test("by somebody else does not keep a change from being undone", async () => {
    ground.put("dir/a.txt", "one");
    await run("write", { path: "dir/a.txt", content: "two" });
    renameSync(join(ground.dir, "dir"), join(ground.dir, "Dir"));
    await run("undo", { last: 1 });
    expect(ground.get("Dir/a.txt").toString()).toBe("one");
  });

  test("goes with the rest when a group fails, and the file stays", async () => {
    for (const name of ["a.txt", "b.txt"]) ground.put(name, "one\n");
    const { renameSync: rename } = fs;
    const spy = jest.spyOn(fs, "renameSync").mockImplementation((from, to) => {
      if (!String(to).endsWith("/c.txt")) return rename(from, to);
      throw Object.assign(new Error("EIO"), { code: "EIO", syscall: "rename" });
    });
    const linked = jest.spyOn(fs, "linkSync").mockImplementation(() => {
      throw Object.assign(new Error("ENOTSUP"), { code: "ENOTSUP", syscall: "link" });
    });
    const moves =
      "*** Update File: a.txt\n*** Move to: A.txt\n@@\n-one\n+two\n*** Update File: b.txt\n*** Move to: c.txt\n";
    const failed = await fail("patch", { patch: `*** Begin Patch\n${moves}*** End Patch\n` });
    expect(failed).toMatchObject({ code: "IO_ERROR" });
    expect(spy).toHaveBeenCalledWith(expect.anything(), expect.stringMatching(/\/A\.txt$/));
    for (const one of [spy, linked]) one.mockRestore();
    expect(ground.names().sort()).toEqual(["a.txt", "b.txt"]);
    expect(ground.get("a.txt").toString()).toBe("one\n");
  });

  test("in one patch is no second file: none of the two changes is lost unseen", async () => {
    ground.put("a.txt", "one\ntwo\n");
    const both = "*** Update File: a.txt\n@@\n-one\n+1\n*** Update File: A.TXT\n@@\n-two\n+2\n";
    const failed = await fail("patch", { patch: `*** Begin Patch\n${both}*** End Patch\n` });
    expect(failed).toMatchObject({ code: "INVALID_INPUT", data: { path: "A.TXT" } });
    expect(failed.message).toContain('"A.TXT" is the same file as "a.txt". Put all its changes under one name');
    expect(ground.get("a.txt").toString()).toBe("one\ntwo\n");
    await run("patch", { patch: `*** Begin Patch\n${both.replace("A.TXT", "a.txt")}*** End Patch\n` });
    expect(ground.get("a.txt").toString()).toBe("1\n2\n");
  });

  test("is given by a patch", async () => {
    ground.put("a.txt", "one\n");
    const patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: A.txt\n@@\n-one\n+two\n*** End Patch\n";
    await run("patch", { patch });
    expect(ground.get("A.txt").toString()).toBe("two\n");
    expect(ground.names()).toHaveLength(1);
  });
});

describe("a link", () => {
  const ground = useGround({ journal: true });
  const { run, fail } = ground;

  test.each(["target.txt", "../outside/secret", "nowhere", "dir"])(
    "to %s is moved, copied and brought back itself",
    async (to) => {
      ground.put("target.txt", "target");
      ground.put("dir/x", "x");
      ground.put("../outside/secret", "secret");
      symlinkSync(to, join(ground.dir, "link"));
      await run("move", { path: "link", to: "Moved" });
      expect(readlinkSync(join(ground.dir, "Moved"))).toBe(to);
      await run("move", { path: "moved", to: "MOVED" });
      await run("undo", { last: 2 });
      expect(readlinkSync(join(ground.dir, "link"))).toBe(to);
      await run("delete", { path: "LINK" });
      await run("undo", { last: 1 });
      expect(readlinkSync(join(ground.dir, "link"))).toBe(to);
      await run("write", { path: "over", content: "over" });
      expect(await fail("move", { path: "link", to: "OVER" })).toMatchObject({ code: "ALREADY_EXISTS" });
      await run("copy", { path: "link", to: "Copy", recursive: true }).catch(() => undefined);
      const { ino } = lstatSync(join(ground.outside, "secret"));
      expect(ground.names().every((name) => lstatSync(join(ground.dir, name)).ino !== ino)).toBe(true);
      expect(readFileSync(join(ground.outside, "secret"), "utf8")).toBe("secret");
    },
  );

  test("whose text has another spelling is followed, and judged by the name that is stored", async () => {
    ground.put("Folder/File.txt", "found");
    symlinkSync("FOLDER/file.TXT", join(ground.dir, "in"));
    symlinkSync(join(ground.dir, "folder"), join(ground.dir, "absolute"));
    symlinkSync(`../OUTSIDE`, join(ground.dir, "out"));
    ground.put("../outside/secret", "secret");
    expect(await run("read", { path: "IN" })).toMatchObject({ content: "found" });
    expect(await run("read", { path: "Absolute/File.TXT" })).toMatchObject({ content: "found" });
    expect(await fail("read", { path: "out/secret" })).toMatchObject({ code: "SYMLINK_ESCAPE" });
    expect(await fail("write", { path: "out/new", content: "x" })).toMatchObject({ code: "SYMLINK_ESCAPE" });
    expect(existsSync(join(ground.outside, "new"))).toBe(false);
  });
});

describe("patterns of the operator", () => {
  const ground = useGround({ root: { deny: ["secrets", "Cl\u00e9.pem"], protect: ["locked/**", "AGENTS.md"] } });
  const { run, fail } = ground;

  test.each(["SECRETS/a", "Secrets", "s\u0065crets/a", "Cle\u0301.pem", "CL\u00c9.PEM", "cle\u0301.PEM"])(
    "deny %j",
    async (path) => {
      ground.put("Secrets/a", "x");
      ground.put("Cle\u0301.pem", "x");
      for (const name of ["read", "stat", "list", "delete", "tree"])
        expect([name, (await fail(name, { path })).code]).toEqual([name, "DENIED_BY_POLICY"]);
      expect(await fail("grep", { path, pattern: "x" })).toMatchObject({ code: "DENIED_BY_POLICY" });
      expect(await fail("write", { path, content: "x", parents: true })).toMatchObject({ code: "DENIED_BY_POLICY" });
      expect((await run("glob", { pattern: "**" })).paths).toEqual([]);
      ground.put("plain", "x");
      for (const name of ["move", "copy"])
        expect(await fail(name, { path: "plain", to: path, overwrite: true })).toMatchObject({
          code: "DENIED_BY_POLICY",
        });
    },
  );

  test.each(["Locked/a", "LOCKED/new", "agents.md", "Agents.MD"])("protect %j", async (path) => {
    ground.put("Locked/a", "x");
    ground.put("Agents.md", "x");
    const refused = { code: "DENIED_BY_POLICY" };
    for (const name of ["write", "append"]) expect(await fail(name, { path, content: "y" })).toMatchObject(refused);
    for (const name of ["delete", "mkdir"]) expect(await fail(name, { path })).toMatchObject(refused);
    expect(await fail("edit", { path, oldText: "x", newText: "y" })).toMatchObject(refused);
    expect(await fail("move", { path: "Locked/a", to: path.toUpperCase() })).toMatchObject(refused);
  });
});

// What was, asked for by another spelling than it is stored or was stored by.
describe("changes of a file", () => {
  const STORED = "Docs/Cafe\u0301.md";
  const SPELLINGS = [STORED, "Docs/Caf\u00e9.md", "DOCS/CAF\u00c9.MD", "docs/cafe\u0301.md"];

  const ground = useGround({ journal: true });
  const { run, fail } = ground;
  const opsAt = async (path: string) => (await run("history", { path })).entries.map(({ op }) => op);
  async function change(): Promise<string> {
    await run("write", { path: STORED, content: "one", parents: true });
    await run("write", { path: "other.md", content: "other" });
    await run("write", { path: STORED, content: "two" });
    return (await run("history", { path: STORED })).entries[0]?.id ?? "";
  }

  test.each(SPELLINGS)("are found by %j, while it is there and once it is gone", async (path) => {
    await change();
    const [folder = ""] = path.split("/");
    for (const at of [path, folder]) expect((await opsAt(at)).slice(0, 2)).toEqual(["write", "write"]);
    const { entries } = await run("history", { path, limit: 1 });
    expect(entries).toMatchObject([{ path: STORED, undoable: true }]);
    await run("delete", { path: STORED });
    for (const at of [path, folder]) expect((await opsAt(at))[0]).toBe("delete");
    await run("delete", { path: "docs" });
    for (const at of [path, folder]) expect((await run("trash", { path: at })).entries.length).toBeGreaterThan(0);
    expect((await opsAt(path))[0]).toBe("delete");
    expect((await run("history", { path: `${path}x` })).entries).toEqual([]);
    expect((await run("trash", { path: `${path}x` })).entries).toEqual([]);
  });

  test("behind a new spelling of it and of its folder are found by every spelling", async () => {
    await change();
    await run("move", { path: STORED, to: "Docs/CAF\u00c9.md" });
    await run("move", { path: "Docs", to: "DOCS" });
    await run("append", { path: STORED, content: "!" });
    for (const path of SPELLINGS) expect((await opsAt(path)).slice(0, 4)).toEqual(["append", "move", "write", "write"]);
  });

  test.each(SPELLINGS)("are read and restored by %j", async (path) => {
    const id = await change();
    expect(await run("read", { path, version: `${id}:before` })).toMatchObject({ content: "one" });
    await run("delete", { path: STORED });
    expect(await run("read", { path, version: `${id}:after` })).toMatchObject({ content: "two" });
    await run("restore", { path, to: `${id}:before` });
    const { hash } = await run("hash", { path });
    expect(ground.get(path).toString()).toBe("one");
    await run("write", { path, content: "three" });
    await run("restore", { path, to: hash });
    expect(ground.get(path).toString()).toBe("one");
    expect(await fail("read", { path: "other.md", version: `${id}:before` })).toMatchObject({ code: "INVALID_INPUT" });
  });

  test("by the spelling that a move has replaced are its source", async () => {
    await run("write", { path: "a.txt", content: "one" });
    await run("move", { path: "a.txt", to: "A.txt" });
    const [move] = (await run("history", { path: "a.txt" })).entries;
    expect(move).toMatchObject({ op: "move", path: "A.txt", from: "a.txt" });
    expect(await run("read", { path: "A.TXT", version: `${move?.id}:after` })).toMatchObject({ content: "one" });
  });

  test.each(SPELLINGS)("are purged by %j", async (path) => {
    const id = await change();
    expect((await run("purge", { path })).purged).toBeGreaterThan(0);
    expect(await fail("read", { path, version: `${id}:before` })).toMatchObject({ code: "NOT_FOUND" });
    expect((await run("history", { path: "other.md" })).entries[0]).toMatchObject({ undoable: true });
  });

  test("are shown, read and purged by the rights at the stored name alone", async () => {
    const id = await change();
    const only = (path: string, can: "crud/read" | "crud/delete"): SurfaceContext => ({
      caps: [
        { with: `file://r/${path}`, can },
        { with: `file://r/${path}`, can: "crud/read" },
      ],
    });
    // Tests before this one have left changes in a folder that was stored as DOCS.
    const ofStored = (entries: readonly { readonly path: string }[]) =>
      entries.filter(({ path }) => path.startsWith("Docs"));
    for (const can of ["crud/read", "crud/delete"] as const) {
      const { entries } = await run("history", { path: "DOCS" }, only("DOCS/", can));
      expect(ofStored(entries)).toEqual([]);
      expect(ofStored((await run("trash", { path: "DOCS" }, only("DOCS/", can))).entries)).toEqual([]);
      const version = `${id}:before`;
      const read = await fail("read", { path: "DOCS/CAF\u00c9.md", version }, only("DOCS/", can));
      expect(read).toMatchObject({ code: "CAPABILITY_DENIED" });
    }
    await run("purge", { path: "DOCS" }, only("DOCS/", "crud/delete"));
    expect(await run("read", { path: STORED, version: `${id}:before` })).toMatchObject({ content: "one" });
  });

  test("name where a copy came from as that is stored, behind a link too", async () => {
    await run("write", { path: STORED, content: "one", parents: true });
    symlinkSync("DOCS", join(ground.dir, "link"));
    for (const [at, to] of [
      ["DOCS/CAF\u00c9.md", "a.md"],
      ["LINK/caf\u00e9.md", "b.md"],
    ] as const) {
      await run("copy", { path: at, to });
      const [entry] = (await run("history", { path: to })).entries;
      expect(entry).toMatchObject({ op: "copy", from: STORED });
    }
    await run("copy", { path: "docs", to: "folder", recursive: true });
    expect((await run("history", { path: "folder" })).entries[0]).toMatchObject({ op: "copy", from: "Docs" });
  });
});

// Rights by one spelling of a folder that is stored in another.
const grantOn = (folder: string) => ({ with: `file://r/${folder}/`, can: "crud" });
const proofOf = (folder: string): string =>
  delegation({ by: venue, claims: { att: [grantOn(folder)], exp: Math.floor(Date.now() / 1000) + 3600 } });
const WAYS: readonly [string, (folder: string) => SurfaceContext][] = [
  ["a caps list", (folder) => ({ caps: [grantOn(folder)] })],
  ["the caps list of a call", (folder) => ({ callCaps: [grantOn(folder)] })],
  ["a UCAN", (folder) => ({ callerDID: bob.did, ucans: [proofOf(folder)] })],
];
const OTHERS = ["dossi\u00e9s", "DOSSI\u00c9S", "Dossie\u0301s"];

describe.each(WAYS)("by %s", (_way, held) => {
  const ground = useGround({ operator: venue.did });
  const { run, fail } = ground;

  beforeEach(() => {
    ground.put(`${STORED}/file`, "content");
    ground.put("free.txt", "free");
  });

  test("on the stored name, a path of that name is served", async () => {
    expect(await run("read", { path: `${STORED}/file` }, held(STORED))).toMatchObject({ content: "content" });
    await run("write", { path: `${STORED}/FILE`, content: "new" }, held(STORED));
    expect(ground.get(`${STORED}/file`).toString()).toBe("new");
  });

  test.each(OTHERS)("on the stored name, %j is not covered", async (folder) => {
    for (const path of [`${folder}/file`, `${folder}/none`])
      expect(await fail("read", { path }, held(STORED))).toMatchObject({ code: "CAPABILITY_DENIED" });
  });

  test.each(OTHERS)("on %j nothing of the stored one is shown or changed", async (folder) => {
    const denied = { code: "CAPABILITY_DENIED" };
    const may = held(folder);
    for (const path of [`${folder}/file`, `${folder}/none`]) {
      for (const name of ["read", "stat", "delete", "mkdir", "list"])
        expect([name, await fail(name, { path }, may)]).toMatchObject([name, denied]);
      for (const name of ["write", "append"])
        expect([name, await fail(name, { path, content: "x", parents: true }, may)]).toMatchObject([name, denied]);
    }
    for (const name of ["list", "tree"]) expect(await fail(name, { path: folder }, may)).toMatchObject(denied);
    expect(await fail("grep", { path: folder, pattern: "content" }, may)).toMatchObject(denied);
    expect(await fail("edit", { path: `${folder}/file`, oldText: "content", newText: "x" }, may)).toMatchObject(denied);
    expect(await fail("write", { path: `${folder}/new/deep`, content: "x", parents: true }, may)).toMatchObject(denied);
    const add = `*** Begin Patch\n*** Add File: ${folder}/new\n+x\n*** End Patch\n`;
    expect(await fail("patch", { patch: add }, may)).toMatchObject(denied);
    expect(await fail("move", { path: `${folder}/file`, to: `${folder}/moved` }, may)).toMatchObject(denied);
    expect(await fail("copy", { path: `${folder}/file`, to: `${folder}/copy` }, may)).toMatchObject(denied);
    const { matches = [] } = await run("grep", { pattern: "content" }, may).catch(() => ({ matches: [] }));
    expect(matches).toEqual([]);
    expect(readdirSync(`${ground.dir}/${STORED}`)).toEqual(["file"]);
    expect(ground.get(`${STORED}/file`).toString()).toBe("content");
  });
});

// One folder as two roots in two spellings, and what a watch of another spelling tells.
describe("roots", () => {
  let base = "";
  let adapter: HostedFileAdapter;
  const call = (operation: string, input: object) =>
    adapter.invoke(`file:${operation}`, input) as Promise<Readonly<Record<string, unknown>>>;

  beforeAll(async () => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-spelt-")));
    mkdirSync(join(base, STORED));
    const roots = { one: join(base, STORED), two: join(base, "DOSSIE\u0301S"), three: join(base, "dossi\u00e9s", ".") };
    const state = join(base, "state");
    mkdirSync(state);
    adapter = await assembleAdapter(parseFileConfig({ roots }, { baseDir: base }), {
      discloseHostPaths: true,
      journals: { openState: () => state, lookAtState: () => state, byDefault: true, log: silentLog },
      capabilities: {},
    });
  });
  afterAll(async () => {
    await adapter.close();
    rmSync(base, { recursive: true, force: true });
  });

  describe("one folder in several spellings", () => {
    test("is told to the operator", () => {
      for (const pair of ["'one' and 'two'", "'one' and 'three'", "'two' and 'three'"])
        expect(adapter.warnings.join("\n")).toContain(`Roots ${pair} are the same directory`);
    });

    test("has one journal: what one root has changed, the others show and undo", async () => {
      await call("write", { root: "one", path: "a.txt", content: "1" });
      await call("write", { root: "two", path: "A.TXT", content: "2" });
      for (const root of ["one", "two", "three"]) {
        const { entries } = await call("history", { root, path: "a.TXT" });
        expect(entries).toMatchObject([{ path: "a.txt" }, { path: "a.txt" }]);
      }
      expect(readdirSync(join(base, "state/journal"))).toHaveLength(1);
      await call("undo", { root: "three", last: 1 });
      expect(await call("read", { root: "one", path: "a.txt" })).toMatchObject({ content: "1" });
    });

    test("has one queue: changes of one file by different roots wait for each other", async () => {
      await call("write", { root: "one", path: "log", content: "" });
      const names = ["one", "two", "three"];
      const all = Array.from({ length: 30 }, (_, at) =>
        call("append", { root: names[at % 3], path: at % 2 ? "log" : "LOG", content: `${at}\n` }),
      );
      await Promise.all(all);
      const { content } = await call("read", { root: "two", path: "log" });
      const lines = String(content).trim().split("\n").map(Number);
      expect(lines.sort((a, b) => a - b)).toEqual(all.map((_, at) => at));
    });
  });

  describe("a watch", () => {
    test.each([
      ["Folder1", "Folder1"],
      ["Folder2", "FOLDER2"],
      ["Cle\u0301s", "CL\u00c9S"],
    ])("of %j by %j tells of changes by their stored names", async (stored, path) => {
      mkdirSync(join(base, STORED, stored));
      const expected = [`${stored}/Cafe\u0301.md`, `${stored}/other.md`];
      const { cursor } = await call("watch", { root: "one", path });
      await call("write", { root: "two", path: `${path.toLowerCase()}/Cafe\u0301.md`, content: "one" });
      await call("write", { root: "one", path: `${path.toLowerCase()}/Cafe\u0301.md`, content: "two" });
      writeFileSync(join(base, STORED, path, "other.md"), "external");
      const seen = new Set<string>();
      for (let next = cursor, at = 0; !expected.every((one) => seen.has(one)) && at < 20; at++) {
        const answer = await call("watch", { root: "one", path, cursor: next, waitMs: 30_000 });
        next = answer["cursor"];
        for (const event of answer["events"] as { path: string }[]) seen.add(event.path);
      }
      expect([...seen].filter((one) => one !== stored).sort()).toEqual(expected);
    });
  });
});
