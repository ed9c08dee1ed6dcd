import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, rm, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { assembleAdapter, type FileAdapter } from "../../../src/adapter/adapter.js";
import { parseFileConfig } from "../../../src/config/load.js";
import { type Log, silentLog } from "../../../src/core/ports/log.js";
import type { VenueAssets } from "../../../src/venue/assets/assets.js";
import { openAssetFiles } from "../../../src/venue/assets/files.js";
import { parseMetadata } from "../../../src/venue/assets/metadata.js";
import { type AssetRecord, AssetStorageError, type AssetStore } from "../../../src/venue/assets/store.js";
import { ALICE, assetsOf, body, broken, DID, freshPath, removePaths, sha256, wanting, whole } from "./fixture.js";
import { describeAssetStore } from "./store-suite.js";

describe("assets in files", () => {
  const stores: AssetStore[] = [];
  afterEach(async () => {
    await Promise.all(stores.splice(0).map((store) => store.close()));
    await removePaths();
  });

  async function open(path: string, log: Log = silentLog): Promise<AssetStore> {
    const store = await openAssetFiles(path, log);
    stores.push(store);
    return store;
  }

  async function reopen(path: string, log?: Log): Promise<AssetStore> {
    await Promise.all(stores.splice(0).map((store) => store.close()));
    return open(path, log);
  }

  const record = (name: string): AssetRecord => ({
    ...parseMetadata({ name }),
    registered: 1,
    owners: [{ did: "did:x:1", at: 1 }],
  });

  /** Every path in a directory with its rights, except the lock. */
  async function modes(path: string): Promise<Record<string, string>> {
    const names = (await readdir(path, { recursive: true })).filter((name) => !name.startsWith("lock-"));
    const found = await Promise.all(
      names.map(async (name) => [name, ((await stat(join(path, name))).mode & 0o777).toString(8)]),
    );
    return Object.fromEntries(found);
  }

  describeAssetStore("files", async () => open(await freshPath()));

  describe("the directory", () => {
    test("and all that is in it is the owner's only", async () => {
      const path = await freshPath();
      const store = await open(path);
      const hash = sha256("x");
      const { id } = record("a");
      await store.put(() => hash, body("x"));
      await store.save(record("a"));
      expect((await stat(path)).mode & 0o777).toBe(0o700);
      expect(await modes(path)).toEqual({
        content: "700",
        [`content/${hash.slice(0, 2)}`]: "700",
        [`content/${hash.slice(0, 2)}/${hash}`]: "600",
        metadata: "700",
        [`metadata/${id.slice(0, 2)}`]: "700",
        [`metadata/${id.slice(0, 2)}/${id}.json`]: "600",
        incoming: "700",
      });
    });

    test("that others could enter is closed to them, if it is empty", async () => {
      const path = await freshPath();
      await mkdir(path, { mode: 0o755 });
      await chmod(path, 0o755);
      await open(path);
      expect((await stat(path)).mode & 0o777).toBe(0o700);
    });

    test("that others use already is refused and stays as it is", async () => {
      const path = await freshPath();
      await mkdir(path);
      await chmod(path, 0o755);
      await writeFile(join(path, "index.html"), "");
      await expect(open(path)).rejects.toThrow(
        new AssetStorageError("the directory is open to other users and not empty"),
      );
      expect((await stat(path)).mode & 0o777).toBe(0o755);
    });

    test.each(["content", "metadata", "incoming"])("is refused when %s in it is a link", async (name) => {
      const path = await freshPath();
      await mkdir(join(dirname(path), "elsewhere"));
      await mkdir(path, { mode: 0o700 });
      await symlink(join(dirname(path), "elsewhere"), join(path, name));
      await expect(open(path)).rejects.toThrow("something else is in place of a directory");
    });

    test("is used by one venue at a time", async () => {
      const path = await freshPath();
      const store = await open(path);
      await expect(open(path)).rejects.toThrow("another venue uses the directory");
      await store.put(() => sha256("still"), body("still"));
      await store.close();
      expect((await open(path)).size(sha256("still"))).toBe(5);
    });

    test("with a very long path can be locked too", async () => {
      const path = join(await freshPath(), "d".repeat(120));
      await open(path);
      await expect(open(path)).rejects.toThrow("another venue uses the directory");
    });

    test("of a venue that was killed can be used again", async () => {
      const path = await freshPath();
      await mkdir(path, { mode: 0o700 });
      const listen = `require("node:net").createServer().listen(process.argv[1], () => process.stdout.write("up"))`;
      const child = spawn(process.execPath, ["-e", listen, join(path, "lock-0000")], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const ended = once(child, "exit");
      await once(child.stdout, "data");
      await expect(open(path)).rejects.toThrow("another venue uses the directory");
      child.kill("SIGKILL");
      await ended;
      await open(path);
      expect(existsSync(join(path, "lock-0000"))).toBe(false);
    });
  });

  describe("after a restart", () => {
    test("content and records are there", async () => {
      const path = await freshPath();
      const store = await open(path);
      await store.put(() => sha256("x"), body("x"));
      await store.save(record("a"));
      const again = await reopen(path);
      expect([again.size(sha256("x")), again.totalBytes]).toEqual([1, 1]);
      expect((await whole(again.open(sha256("x")))).toString()).toBe("x");
      expect(await again.load()).toEqual([record("a")]);
    });

    test("what was being written is gone", async () => {
      const path = await freshPath();
      await open(path);
      await writeFile(join(path, "incoming", "half"), "half");
      await mkdir(join(path, "incoming", "odd"));
      await reopen(path);
      expect(await readdir(join(path, "incoming"))).toEqual([]);
    });

    const damages: [string, (text: string) => string][] = [
      ["cut short", (text) => text.slice(0, 20)],
      ["empty", () => ""],
      ["no object", () => "[]"],
      ["that of another asset", (text) => text.replace('"a"', '"b"')],
      ["without owners", (text) => text.replace("owners", "owner")],
      ["with owners of another shape", (text) => text.replace('"did":"did:x:1"', '"did":7')],
      ["without a time", (text) => text.replace('"registered":1', '"registered":"1"')],
      ["without metadata", (text) => text.replace("metadata", "data")],
    ];
    test.each(damages)("a record that is %s is left out, with a line in the log", async (_name, damage) => {
      const path = await freshPath();
      const store = await open(path);
      await store.save(record("a"));
      await store.save(record("z"));
      const { id } = record("a");
      const file = join(path, "metadata", id.slice(0, 2), `${id}.json`);
      const text = await readFile(file, "utf8");
      expect(damage(text)).not.toBe(text);
      await writeFile(file, damage(text));
      const lines: unknown[] = [];
      const again = await reopen(path, { ...silentLog, warn: (fields, text) => lines.push([fields, text]) });
      expect(await again.load()).toEqual([record("z")]);
      expect(lines).toEqual([[{ asset: id, reason: expect.any(String) }, "Ignored a damaged asset record"]]);
      expect(JSON.stringify(lines)).not.toContain(path);
    });

    test("what is no file of ours is passed over: links, folders, other names", async () => {
      const path = await freshPath();
      const store = await open(path);
      await store.put(() => sha256("x"), body("x"));
      await store.save(record("a"));
      const secret = join(dirname(path), "secret");
      await writeFile(secret, "secret");
      const hash = sha256("y");
      await mkdir(join(path, "content", hash.slice(0, 2)), { recursive: true });
      await symlink(secret, join(path, "content", hash.slice(0, 2), hash));
      const elsewhere = join(dirname(path), "elsewhere");
      await mkdir(elsewhere);
      await writeFile(join(elsewhere, "0".repeat(64)), "elsewhere");
      await symlink(elsewhere, join(path, "content", "00"));
      await writeFile(join(path, "content", "note"), "");
      await writeFile(join(path, "metadata", record("a").id.slice(0, 2), "note.json"), "{}");
      const again = await reopen(path);
      expect([again.size(hash), again.totalBytes, (await again.load()).length]).toEqual([undefined, 1, 1]);
    });
  });

  describe("content on disk", () => {
    test("is placed complete, and nothing of a failed upload stays", async () => {
      const path = await freshPath();
      const store = await open(path);
      await expect(store.put(() => sha256("x"), broken(new Error("gone"), "x"))).rejects.toThrow("gone");
      await store.put(() => sha256("y"), body("y"));
      expect(await readdir(join(path, "incoming"))).toEqual([]);
      const folder = sha256("y").slice(0, 2);
      expect(await readdir(join(path, "content"), { recursive: true })).toEqual([folder, `${folder}/${sha256("y")}`]);
    });

    test("that became a link is not read", async () => {
      const path = await freshPath();
      const store = await open(path);
      await store.put(() => sha256("x"), body("x"));
      const file = join(path, "content", sha256("x").slice(0, 2), sha256("x"));
      await rm(file);
      await symlink("/etc/hostname", file);
      await expect(whole(store.open(sha256("x")))).rejects.toThrow("Cannot read content");
    });

    test("that became shorter is a failure, not a shorter answer", async () => {
      const path = await freshPath();
      const store = await open(path);
      await store.put(() => sha256("hello"), body("hello"));
      await truncate(join(path, "content", sha256("hello").slice(0, 2), sha256("hello")), 2);
      await expect(whole(store.open(sha256("hello")))).rejects.toThrow("too short");
    });

    test("is closed when its reader stops in the middle", async () => {
      const store = await open(await freshPath());
      await store.put(() => "aa", body(Buffer.alloc(600_000)));
      const openFiles = async () => (await readdir("/proc/self/fd")).length;
      const before = await openFiles();
      for (let i = 0; i < 5; i += 1) for await (const _ of store.open("aa")) break;
      expect(await openFiles()).toBe(before);
    });
  });
});

const CONTENT = "content ".repeat(1_500_000);
const UNKNOWN = "0".repeat(64);

let path: string;
let assets: VenueAssets;
let adapter: FileAdapter;
let id: string;
const failures: unknown[] = [];
afterAll(async () => {
  await adapter.close();
  await assets.close();
  await removePaths();
});

const write = (asset: string, name = "target"): Promise<unknown> =>
  adapter.invoke("file:write", { root: "tmp", path: name, asset }, { resolveAsset: assets.resolve });
const read = async (): Promise<unknown> => adapter.invoke("file:stat", { root: "tmp", path: "target" });

describe("file:write from an asset of the venue", () => {
  beforeAll(async () => {
    path = await freshPath();
    const store = await openAssetFiles(path, silentLog);
    assets = await assetsOf({ store, maxTotalBytes: 100_000_000, maxContentSize: 50_000_000 });
    adapter = await assembleAdapter(parseFileConfig({ roots: { tmp: { temp: true } } }, { baseDir: path }), {
      discloseHostPaths: true,
      onInternalError: (error) => failures.push(error),
    });
    id = await assets.register(wanting(CONTENT), ALICE);
    await assets.putContent(id, body(CONTENT), ALICE);
  });

  test("takes every form of a reference, and content larger than a write may otherwise be", async () => {
    for (const reference of [id, `0x${id}`, `a/${id}`, `/a/${id}`, `${DID}/a/${id.toUpperCase()}`]) {
      expect(await write(reference)).toMatchObject({ written: CONTENT.length });
    }
    expect(await read()).toMatchObject({ size: CONTENT.length });
  });

  test.each(["nonsense", UNKNOWN, `did:key:zOther/a/${UNKNOWN}`])("finds no asset %s", async (reference) => {
    await expect(write(reference)).rejects.toMatchObject({ code: "ASSET_NOT_FOUND" });
  });

  test("finds no content where there is none", async () => {
    const [empty, operation] = [
      await assets.register(wanting("never sent"), ALICE),
      assets.registerOperation({ name: "op" }),
    ];
    for (const asset of [empty, operation]) {
      await expect(write(asset)).rejects.toMatchObject({ code: "ASSET_NO_CONTENT" });
    }
  });

  test("whose content was damaged or lost is no fault of the target, which stays as it was", async () => {
    await write(id);
    const hash = sha256(CONTENT);
    const file = join(path, "content", hash.slice(0, 2), hash);
    await truncate(file, 5000);
    await expect(write(id)).rejects.toMatchObject({ code: "INTERNAL" });
    await rm(file);
    await expect(write(id)).rejects.toMatchObject({ code: "INTERNAL" });
    expect(await read()).toMatchObject({ size: CONTENT.length });
    expect(failures.length).toBe(2);
  });
});
