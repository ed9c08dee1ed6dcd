import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { appendFileSync, chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import { AssetError } from "../../../src/core/ports/asset.js";
import { ALICE, BOB, useDrives } from "../../drives/ground.js";
import { failureOf, useGround } from "../ground.js";
import { readZip } from "./archives.js";

const ground = useGround({
  root: { deny: [".env"], protect: ["fixed/**"] },
  roots: { other: { temp: true }, small: { temp: true, quota: { bytes: 1000 } } },
  journal: true,
});
const at = (path: string) => join(ground.dir, path);
const zip = (input: object, context?: SurfaceContext) =>
  ground.adapter.invoke("archive:zip", { root: "r", ...input }, context).catch((error: unknown) => {
    throw ground.internal.at(-1)?.error ?? error;
  });
const fail = (input: object, context?: SurfaceContext) =>
  failureOf(ground.adapter.invoke("archive:zip", { root: "r", ...input }, context));
const namesIn = async (path: string) => (await readZip(ground.get(path))).map(({ name }) => name);

describe("archive:zip", () => {
  test("packs a directory under its name, in order, with modes and times", async () => {
    const big = randomBytes(600_000);
    ground.put("docs/b.md", "bee");
    ground.put("docs/a/x.bin", big);
    ground.put("docs/run.sh", "#!/bin/sh\n");
    ground.put("docs/empty.txt");
    ground.mkdir("docs/none");
    chmodSync(at("docs/run.sh"), 0o700);
    chmodSync(at("docs/b.md"), 0o600);
    utimesSync(at("docs/b.md"), 0, Date.UTC(2026, 2, 4, 5, 6, 8) / 1000);
    const answer = await zip({ path: "docs", destPath: "out/new/docs.zip" });
    const bytes = statSync(at("out/new/docs.zip")).size;
    const etag = expect.stringMatching(/^[a-z2-7]{8}$/);
    expect(answer).toEqual({ entries: 7, bytes, destRoot: "r", destPath: "out/new/docs.zip", etag });
    const found = await readZip(ground.get("out/new/docs.zip"));
    expect(found.map(({ name, mode }) => [name, mode.toString(8)])).toEqual([
      ["docs/", "40755"],
      ["docs/a/", "40755"],
      ["docs/a/x.bin", "100644"],
      ["docs/b.md", "100644"],
      ["docs/empty.txt", "100644"],
      ["docs/none/", "40755"],
      ["docs/run.sh", "100755"],
    ]);
    expect(found[2]?.content.equals(big)).toBe(true);
    const time = Date.UTC(2026, 2, 4, 5, 6, 8);
    expect(found[3]).toMatchObject({ content: Buffer.from("bee"), modified: time, dosTime: time });
    expect(ground.staged()).toEqual([]);
  });

  test("packs several places once each, named as given", async () => {
    for (const path of ["b/1", "b/2", "a/deep/3", "c", "B"]) ground.put(path, path);
    await zip({ paths: ["b/2", "c", "/a/deep/", "b", "B"], destPath: "x.zip" });
    expect(await namesIn("x.zip")).toEqual(["B", "a/deep/", "a/deep/3", "b/", "b/1", "b/2", "c"]);
    await zip({ path: "c", destRoot: "other" });
    expect(await ground.adapter.invoke("file:stat", { root: "other", path: "c.zip" })).toMatchObject({ type: "file" });
  });

  test("leaves out links, what is denied and what nobody could name, and never packs itself", async () => {
    ground.put("d/a", "a");
    ground.put("d/.env", "KEY=1");
    ground.put("d/back\\slash", "x");
    symlinkSync("a", at("d/link"));
    symlinkSync("d", at("way"));
    execFileSync("mkfifo", [at("d/pipe")]);
    const hidden = { symlinks: 1, policy: 1, unreadable: 2 };
    expect(await zip({ path: "d", destPath: "d/self.zip" })).toMatchObject({ entries: 2, hidden });
    expect(await zip({ path: "d", destPath: "way/self.zip" })).toMatchObject({ entries: 2, hidden });
    expect(await namesIn("d/self.zip")).toEqual(["d/", "d/a"]);
    expect(await zip({ path: "", destPath: "all.zip" })).toMatchObject({ entries: 3 });
    expect(await namesIn("all.zip")).toEqual(["d/", "d/a", "d/self.zip"]);
  });

  test("replaces a file as a write does, and undo brings it back", async () => {
    ground.put("a", "a");
    ground.put("x.zip", "before");
    const refused = { code: "CONFLICT", data: { path: "x.zip" } };
    expect(await fail({ path: "a", destPath: "x.zip", ifNoneMatch: "*" })).toMatchObject(refused);
    expect(ground.get("x.zip").toString()).toBe("before");
    await zip({ path: "a", destPath: "x.zip", operationId: "one" });
    const first = ground.get("x.zip");
    ground.put("a", "other");
    expect(await zip({ path: "a", destPath: "x.zip", operationId: "one" })).toMatchObject({ operationId: "one" });
    expect(ground.get("x.zip").equals(first)).toBe(true);
    await ground.run("undo", { last: 1 });
    expect(ground.get("x.zip").toString()).toBe("before");
  });

  test("says that something changed while it was read", async () => {
    ground.put("d/a", randomBytes(3_000_000));
    ground.put("d/b", "b");
    // Told of the second entry once it was looked at, and before it is read.
    const report = (packed: number) => void (packed === 1 && appendFileSync(at("d/a"), "more"));
    const answer = await zip({ path: "d", destPath: "x.zip" }, { report });
    expect(answer).toMatchObject({ entries: 3, hint: expect.stringMatching(/changed while it was read/) });
  });

  test.each<[string, object, object]>([
    ["neither path nor paths", { destPath: "x.zip" }, { code: "INVALID_INPUT" }],
    ["both", { path: "a", paths: ["a"], destPath: "x.zip" }, { code: "INVALID_INPUT" }],
    ["a condition on no file", { path: "a", ifNoneMatch: "*" }, { code: "INVALID_INPUT" }],
    ["nothing there", { paths: ["a", "gone"], destPath: "x.zip" }, { code: "NOT_FOUND", data: { path: "gone" } }],
    ["a denied source", { path: "d/.env", destPath: "x.zip" }, { code: "DENIED_BY_POLICY" }],
    ["a denied target", { path: "a", destPath: "d/.env" }, { code: "DENIED_BY_POLICY" }],
    ["a protected target", { path: "a", destPath: "fixed/x.zip" }, { code: "DENIED_BY_POLICY" }],
    ["a directory in its place", { path: "a", destPath: "d" }, { code: "IS_A_DIRECTORY" }],
    ["a way out", { path: "a", destPath: "../x.zip" }, { code: "PATH_ESCAPES_ROOT" }],
    ["the quota", { path: "big", destRoot: "small" }, { code: "QUOTA_EXCEEDED" }],
    ["no assets", { path: "a" }, { code: "NOT_SUPPORTED" }],
  ])("refuses %s, and leaves nothing", async (_, input, refused) => {
    ground.put("a", "a");
    ground.put("big", randomBytes(5000));
    mkdirSync(at("d"));
    expect(await fail(input)).toMatchObject(refused);
    expect(ground.names().sort()).toEqual(["a", "big", "d"]);
    expect(ground.staged()).toEqual([]);
  });

  test("needs to read all and to write the target", async () => {
    ground.put("a/1", "1");
    ground.put("b/2", "2");
    const caps = (...all: [string, string][]) => ({
      caps: all.map(([path, can]) => ({ with: `file://r/${path}`, can })),
    });
    const input = { paths: ["a", "b"], destPath: "out/x.zip" };
    const denied = { code: "CAPABILITY_DENIED" };
    expect(await fail(input, caps(["a", "crud/read"], ["out", "crud/write"]))).toMatchObject(denied);
    expect(await fail(input, caps(["a", "crud/read"], ["b", "crud/read"]))).toMatchObject(denied);
    expect(await zip(input, caps(["a", "crud/read"], ["b", "crud/read"], ["out", "crud/write"]))).toMatchObject({
      entries: 4,
    });
  });

  test("makes an asset without a destination", async () => {
    ground.put("a", "a");
    const stored: Buffer[] = [];
    let told: unknown;
    const answer = await zip(
      { path: "a", name: "one.zip" },
      {
        storeAsset: async (content, about) => {
          for await (const chunk of content) stored.push(Buffer.from(chunk));
          told = about;
          return "id";
        },
      },
    );
    const bytes = Buffer.concat(stored);
    expect(answer).toEqual({ entries: 1, bytes: bytes.length, asset: "id" });
    expect(told).toEqual({ fileName: "one.zip", contentType: "application/zip" });
    expect(await readZip(bytes)).toMatchObject([{ name: "a", content: Buffer.from("a") }]);
    for (const [fault, code] of [
      ["forbidden", "PERMISSION_DENIED"],
      ["full", "NO_SPACE"],
      ["too_large", "TOO_LARGE"],
    ] as const) {
      const storeAsset = async () => Promise.reject(new AssetError(fault, { limit: 5 }));
      expect(await fail({ path: "a" }, { storeAsset })).toMatchObject({ code });
    }
  });

  test("lets other calls run", async () => {
    for (let index = 0; index < 12; index++) ground.put(`d/${index}`, randomBytes(300_000));
    let turns = 0;
    let isRunning = true;
    const turn = (): void => {
      turns += 1;
      if (isRunning) setImmediate(turn);
    };
    setImmediate(turn);
    await zip({ path: "d", destPath: "x.zip" });
    isRunning = false;
    expect(turns).toBeGreaterThan(12);
    expect(readFileSync(at("x.zip")).length).toBeGreaterThan(3_600_000);
  });
});

describe("on drives", () => {
  const drives = useDrives();

  test("packs a directory of a drive into the drive, and into a root", async () => {
    await drives.call("file:write", { root: "mine", path: "d/a.txt", content: "of a drive", parents: true });
    expect(await drives.call("archive:zip", { root: "mine", path: "d", destPath: "d.zip" })).toMatchObject({
      entries: 2,
      destPath: "d.zip",
    });
    const { content } = (await drives.call("file:read", { root: "mine", path: "d.zip", mode: "bytes" })) as {
      content: string;
    };
    expect(await readZip(Buffer.from(content, "base64"))).toMatchObject([
      { name: "d/" },
      { name: "d/a.txt", content: Buffer.from("of a drive"), mode: 0o100_644 },
    ]);
    expect(await drives.fail("archive:zip", { root: "mine", path: "d", destPath: "d.zip" }, BOB)).toMatchObject({
      code: "NOT_FOUND",
    });
    expect(await drives.call("archive:zip", { root: "mine", path: "d", destRoot: "tmp" }, ALICE)).toMatchObject({
      destRoot: "tmp",
      destPath: "d.zip",
    });
  });
});
