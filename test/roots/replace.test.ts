import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { assembleAdapter, type HostedFileAdapter } from "../../src/adapter/adapter.js";
import { parseFileConfig } from "../../src/config/load.js";
import type { FileConfigInput } from "../../src/config/types.js";
import { deferred } from "../../src/core/turns.js";
import { RootsError } from "../../src/roots/open.js";

let base: string;
let adapter: HostedFileAdapter;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "venue-files-test-")));
  for (const name of ["docs", "more"]) {
    mkdirSync(join(base, name));
    writeFileSync(join(base, name, "a.txt"), name);
  }
});
afterEach(async () => {
  await adapter.close();
  rmSync(base, { recursive: true, force: true });
});

const parse = (roots: FileConfigInput["roots"] = {}) => parseFileConfig({ roots }, { baseDir: base });
const open = async (roots: FileConfigInput["roots"]) => {
  adapter = await assembleAdapter(parse(roots), { discloseHostPaths: true });
};
const replace = async (roots: FileConfigInput["roots"]) => adapter.prepare(parse(roots), () => ({})).commit();
const rootsNow = () => adapter.roots.map(({ name }) => name);
const pathOf = (name: string) => adapter.roots.find((root) => root.name === name)?.hostPath ?? "";

describe("roots that are replaced", () => {
  test("are the same objects where nothing has changed", async () => {
    await open({ docs: "docs", tmp: { temp: true } });
    const before = adapter.roots;
    await replace({ docs: "docs", tmp: { temp: true }, more: "more" });
    expect(rootsNow()).toEqual(["docs", "tmp", "more"]);
    expect(adapter.roots.slice(0, 2).map((root, index) => root === before[index])).toEqual([true, true]);
    await replace({ docs: { path: "docs", readOnly: true } });
    expect(adapter.roots[0] === before[0]).toBe(false);
  });

  test("keep the directory of a temp root until it is gone itself", async () => {
    await open({ one: { temp: true }, two: { temp: true } });
    await adapter.invoke("file:write", { root: "one", path: "kept.txt", content: "kept" });
    const [one, two] = [pathOf("one"), pathOf("two")];
    await replace({ one: { temp: true, readOnly: true } });
    expect(pathOf("one")).toBe(one);
    expect(readFileSync(join(one, "kept.txt"), "utf8")).toBe("kept");
    expect(existsSync(two)).toBe(false);
    await replace({ docs: "docs" });
    expect(existsSync(one)).toBe(false);
  });

  test("stay as they are when one of the new ones cannot be opened, and nothing of the attempt stays", async () => {
    await open({ docs: "docs", tmp: { temp: true } });
    await adapter.invoke("file:write", { root: "tmp", path: "kept.txt", content: "kept" });
    const instance = join(pathOf("tmp"), "..");
    await expect(replace({ gone: "nowhere", fresh: { temp: true }, also: "nor/here" })).rejects.toThrow(RootsError);
    expect(rootsNow()).toEqual(["docs", "tmp"]);
    expect(await adapter.invoke("file:read", { root: "tmp", path: "kept.txt" })).toMatchObject({ content: "kept" });
    await adapter.close();
    expect(existsSync(instance)).toBe(false);
  });

  test("stay as they are when the change is given up, and nothing of it stays", async () => {
    await open({ docs: "docs", tmp: { temp: true } });
    const [docs, tmp] = adapter.roots;
    const change = adapter.prepare(
      parse({ more: "more", tmp: { temp: true, readOnly: true }, fresh: { temp: true } }),
      () => ({}),
    );
    await change.discard();
    expect(adapter.roots).toEqual([docs, tmp]);
    await adapter.invoke("file:write", { root: "tmp", path: "still.txt", content: "here" });
    expect(readdirSync(join(pathOf("tmp"), ".."))).toHaveLength(1);
  });

  test("serve a call that runs to its end before they close", async () => {
    await open({ docs: "docs" });
    const asked = deferred();
    const held = deferred();
    async function* content() {
      asked.resolve();
      await held.promise;
      yield Buffer.from("slow");
    }
    const resolveAsset = async () => ({ content: content() });
    const writing = adapter.invoke("file:write", { root: "docs", path: "slow.txt", asset: "x" }, { resolveAsset });
    // The write has reached its root once it waits for the content.
    await asked.promise;
    const replaced = replace({ more: "more" });
    held.resolve();
    expect(await writing).toMatchObject({ written: 4, created: true });
    await replaced;
    expect(readFileSync(join(base, "docs/slow.txt"), "utf8")).toBe("slow");
    await expect(adapter.invoke("file:read", { root: "docs", path: "a.txt" })).rejects.toMatchObject({
      code: "UNKNOWN_ROOT",
    });
  });
});

test("two roots on one directory are warned of, by whatever names", async () => {
  await open({ docs: "docs", again: "./docs/../docs", more: "more" });
  expect(adapter.warnings).toEqual(["Roots 'docs' and 'again' are the same directory"]);
});

test("a root's own read limit holds in it alone", async () => {
  await open({ docs: { path: "docs", maxReadBytes: 3 }, more: "more" });
  await expect(adapter.invoke("file:read", { root: "docs", path: "a.txt" })).rejects.toMatchObject({
    code: "TOO_LARGE",
    data: { size: 4, limit: 3 },
  });
  expect(await adapter.invoke("file:read", { root: "more", path: "a.txt" })).toMatchObject({ content: "more" });
});

test("a root tells how full its file system is, and what keeps paths in it", async () => {
  await open({ docs: "docs" });
  const [root] = adapter.roots;
  expect(await root?.usage?.()).toEqual({ sizeBytes: expect.any(Number), freeBytes: expect.any(Number) });
  expect((await root?.usage?.())?.sizeBytes).toBeGreaterThan(0);
  expect(root?.engine).toMatch(process.platform === "linux" ? /^(openat2|handle walk)$/ : /^real-path check$/);
});
