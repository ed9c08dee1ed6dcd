/** @jest-environment ./test/platforms/macos/environment.mjs */
// One folder as two roots in two spellings, and what a watch of another spelling tells.
import "./as-macos.js";
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { assembleAdapter, type HostedFileAdapter } from "../../../src/adapter/adapter.js";
import { parseFileConfig } from "../../../src/config/load.js";
import { silentLog } from "../../../src/core/ports/log.js";

const STORED = "Dossi\u00e9s";
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
      const answer = await call("watch", { root: "one", path, cursor: next, waitMs: 5000 });
      next = answer["cursor"];
      for (const event of answer["events"] as { path: string }[]) seen.add(event.path);
    }
    expect([...seen].filter((one) => one !== stored).sort()).toEqual(expected);
  });
});
