import { createHash } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import type { SurfaceContext } from "../../src/core/ports/adapter.js";
import { hashOf } from "../../src/drive/cad3/encoding/cell.js";
import type { Value } from "../../src/drive/cad3/value.js";
import { dir, file } from "../../src/drive/dlfs/node.js";
import { fromMultiCell, map, sign, toMultiCell } from "../../src/drive/index.js";
import { ALICE, ANONYMOUS, BOB, useDrives } from "./ground.js";

const SEED = new Uint8Array(32).fill(7);
const base64 = (value: Value) => Buffer.from(toMultiCell(value)).toString("base64");
const drive = (name: string, text: string, utime = 500): Value => dir([[name, file(Buffer.from(text), utime)]], utime);
const signed = (entries: [string, Value][]) => sign(map(entries), SEED);

type Ground = ReturnType<typeof useDrives>;

async function exported(ground: Ground, input: object = {}, who: SurfaceContext = ALICE) {
  return (await ground.call("drive:export", input, who)) as { content: string; size: number; top: string };
}

const capped = (...caps: readonly [string, string][]): SurfaceContext => ({
  ...ALICE,
  caps: caps.map(([resource, can]) => ({ with: resource, can })),
});

describe("drive:export and drive:import", () => {
  const ground = useDrives();
  const put = (name: string, path: string, content: string) =>
    ground.call("dlfs:write", { drive: name, path, content, parents: true });

  test.each([
    ["signed", {}],
    ["owners", { top: "owners" }],
    ["region", { top: "region" }],
    ["region", { top: "region", region: "fs" }],
    ["drive", { top: "drive", drive: "notes" }],
  ])("carry a drive to somebody else: %s %j", async (top, input) => {
    await put("notes", "a/b.txt", "carried");
    await put("other", "c.txt", "stays");
    const output = await exported(ground, input);
    expect(output).toMatchObject({ top, encoding: "base64", size: Buffer.from(output.content, "base64").length });
    const where = top === "drive" ? { drive: "copy" } : { drive: "copy", from: "notes" };
    expect(await ground.call("drive:import", { bytes: output.content, ...where }, BOB)).toEqual({
      drives: ["copy"],
      bytes: output.size,
      cells: expect.any(Number),
      refused: 0,
    });
    expect(await ground.call("dlfs:list-drives", {}, BOB)).toEqual({ drives: ["copy"] });
    expect(await ground.call("dlfs:read", { drive: "copy", path: "a/b.txt" }, BOB)).toMatchObject({
      content: "carried",
    });
  });

  test("bring drives back to their owner under their names, and an older state never replaces a newer one", async () => {
    await put("notes", "a", "old");
    await put("more", "b", "kept");
    const { content } = await exported(ground);
    await put("notes", "a", "new");
    await ground.call("dlfs:delete", { drive: "more", path: "b" });
    expect(await ground.call("drive:import", { bytes: content })).toMatchObject({ drives: ["more", "notes"] });
    expect(await ground.call("dlfs:read", { drive: "notes", path: "a" })).toMatchObject({ content: "new" });
    expect(await ground.call("dlfs:stat", { drive: "more", path: "b" })).toEqual({ exists: false });
  });

  test("take content that the venue has as an asset, whole or not at all", async () => {
    const bytes = Buffer.from(base64(drive("a", "asset")), "base64");
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const asset = (content: Uint8Array) => ({
      ...ALICE,
      resolveAsset: async () => ({
        sha256,
        content: (async function* () {
          for (const byte of content) yield Uint8Array.of(byte);
        })(),
      }),
    });
    const input = { asset: "0xabc", drive: "notes" };
    const other = Buffer.from(bytes).fill(0x62, bytes.indexOf("asset"), bytes.indexOf("asset") + 1);
    expect((await ground.fail("drive:import", input, asset(other))).code).toBe("IO_ERROR");
    expect(await ground.call("dlfs:list-drives", {})).toEqual({ drives: [] });
    await ground.call("drive:import", input, asset(bytes));
    expect(await ground.call("dlfs:read", { drive: "notes", path: "a" })).toMatchObject({ content: "asset" });
    expect((await ground.fail("drive:import", input)).code).toBe("ASSET_NOT_FOUND");
  });

  test("guess what the reference has overwritten, only when they are told that it wrote it", async () => {
    const ours = base64(dir([["a", file(Buffer.from("ours"), 5)]], 5));
    const theirs = base64(dir([["a", file(Buffer.from("theirs, later"), 5)]], 9));
    const read = async (name: string) =>
      ((await ground.call("dlfs:read", { drive: name, path: "a" })) as { content: string }).content;
    for (const name of ["plain", "guessed"]) await ground.call("drive:import", { drive: name, bytes: ours });
    await ground.call("drive:import", { drive: "guessed", bytes: theirs, source: "reference" });
    expect(await read("guessed")).toBe("theirs, later");
    await ground.call("drive:import", { drive: "plain", bytes: theirs });
    const byHash = [ours, theirs].map((bytes) => hashOf(fromMultiCell(Buffer.from(bytes, "base64"))));
    expect(byHash[0]).not.toBe(byHash[1]);
    expect(["ours", "theirs, later"]).toContain(await read("plain"));
  });

  test("stop when their call is cancelled, and nothing has been changed", async () => {
    const stop = new AbortController();
    const content = (async function* () {
      yield Buffer.from(base64(drive("a", "x")), "base64").subarray(0, 3);
      stop.abort();
      await new Promise(() => {});
    })();
    const who = { ...ALICE, signal: stop.signal, resolveAsset: async () => ({ content }) };
    expect((await ground.fail("drive:import", { drive: "notes", asset: "x" }, who)).code).toBe("ABORTED");
    expect(await ground.call("dlfs:list-drives", {})).toEqual({ drives: [] });
  });

  const mistakes: readonly [string, object, string, string][] = [
    ["drive:export", { top: "drive" }, "/drive", "'drive' is required with top: 'drive'"],
    ["drive:export", { drive: "notes" }, "/drive", "'drive' needs top: 'drive': every other export is of all drives"],
    ["drive:export", { region: "fs" }, "/region", "'region' needs top: 'region'"],
    ["drive:import", {}, "", "Exactly one of 'bytes' (base64) or 'asset' (reference) is required"],
    [
      "drive:import",
      { bytes: "", asset: "x" },
      "",
      "Exactly one of 'bytes' (base64) or 'asset' (reference) is required",
    ],
    ["drive:import", { bytes: "%" }, "/bytes", "'bytes' is not valid base64"],
    ["drive:import", { bytes: "", drive: "a/b" }, "/drive", "'drive' must be the name of a drive"],
    ["drive:verify", {}, "/drive", "'drive' is required"],
  ];
  test.each(mistakes)("%s of %j is a mistake at %j", async (operation, input, pointer, message) => {
    const failure = await ground.fail(operation, input);
    expect(failure).toMatchObject({ code: "INVALID_INPUT", data: { pointer } });
    expect(failure.message.startsWith(message)).toBe(true);
  });

  test("of nothing are told so", async () => {
    expect((await ground.fail("drive:export", {})).code).toBe("NOT_FOUND");
    await put("notes", "a", "x");
    expect(await ground.fail("drive:export", { top: "drive", drive: "no" })).toMatchObject({
      code: "NOT_FOUND",
      message: "Not found: no:/",
    });
    const bytes = base64(signed([["one", drive("a", "x")]]));
    expect((await ground.fail("drive:import", { bytes, drive: "d", from: "no" })).code).toBe("NOT_FOUND");
  });

  test("are written down with what went in or out", async () => {
    await put("notes", "a", "x");
    const { content, size } = await exported(ground, { top: "drive", drive: "notes" });
    await exported(ground);
    await ground.call("drive:import", { drive: "copy", bytes: content });
    await ground.call("drive:import", { bytes: (await exported(ground)).content });
    await ground.call("drive:verify", { drive: "notes" });
    const records = ground.audit
      .slice(1)
      .map(({ operation, resource, outcome, bytes }) => [operation, resource, outcome, bytes]);
    expect(records).toMatchObject([
      ["drive:export", "dlfs://notes/", "OK", size],
      ["drive:export", "dlfs://", "OK", expect.any(Number)],
      ["drive:import", "dlfs://copy/", "OK", size],
      ["drive:export", "dlfs://", "OK", expect.any(Number)],
      ["drive:import", "dlfs://", "OK", expect.any(Number)],
      ["drive:verify", "dlfs://notes/", "OK", 1],
    ]);
  });

  const needs: readonly [string, object, readonly string[], string][] = [
    ["drive:export", {}, ["crud/read"], "dlfs://"],
    ["drive:export", { top: "region" }, ["crud/read"], "dlfs://"],
    ["drive:export", { top: "drive", drive: "notes" }, ["crud/read"], "dlfs://notes/"],
    ["drive:verify", { drive: "notes" }, ["crud/read"], "dlfs://notes/"],
    ["drive:import", { drive: "notes", bytes: "" }, ["crud/write", "crud/delete"], "dlfs://notes/"],
    ["drive:import", { bytes: "" }, ["crud/write", "crud/delete"], "dlfs://"],
  ];
  test.each(needs)("%s %j needs %j on %s, each of them", async (operation, input, abilities, resource) => {
    await put("notes", "a", "x");
    const all = ["crud/read", "crud/write", "crud/delete"];
    for (const can of abilities) {
      const others = all.filter((other) => other !== can).map((other): [string, string] => ["dlfs://", other]);
      expect(await ground.fail(operation, input, capped(...others))).toMatchObject({
        code: "CAPABILITY_DENIED",
        data: { required: { with: resource, can } },
      });
    }
    // What is narrower than all drives is not enough for all of them.
    const narrow = capped(...abilities.map((can): [string, string] => ["dlfs://notes", can]));
    const enough = capped(...abilities.map((can): [string, string] => [resource, can]));
    const codeOf = (who: SurfaceContext) =>
      ground.call(operation, input, who).then(
        () => "OK",
        ({ code }: { code: string }) => code,
      );
    expect(await codeOf(narrow)).toBe(resource === "dlfs://" ? "CAPABILITY_DENIED" : await codeOf(enough));
    expect(await codeOf(enough)).not.toBe("CAPABILITY_DENIED");
  });

  test.each(needs)("%s %j is for callers who have said who they are, and on their own drives", async (...row) => {
    const [operation, input] = row;
    expect((await ground.fail(operation, input, ANONYMOUS)).code).toBe("DRIVE_REQUIRES_AUTH");
    await put("notes", "a", "of Alice");
    if (operation === "drive:export") expect((await ground.fail(operation, input, BOB)).code).toBe("NOT_FOUND");
    if (operation === "drive:verify") expect(await ground.call(operation, input, BOB)).toMatchObject({ files: 0 });
  });
});

describe("an export that is too large for an answer", () => {
  const ground = useDrives({ fileLimits: { maxReadBytes: 5000 } });

  test("is refused with the way to get it", async () => {
    await ground.call("dlfs:write", { drive: "notes", path: "a", content: "x".repeat(6000) });
    expect(await ground.fail("drive:export", { top: "drive", drive: "notes" })).toEqual({
      code: "TOO_LARGE",
      message: expect.stringMatching(
        /^Content too large: \d+ bytes, limit 5000\. Export to a file with 'venue-files drive export'/,
      ),
      data: { root: "notes", path: "", size: expect.any(Number), limit: 5000 },
    });
  });
});

describe("what cannot be imported", () => {
  const ground = useDrives({ limits: { maxFileBytes: 6000, maxImportLogicalBytes: 8000, maxImportCells: 20 } });
  const big = toMultiCell(dir([["a", file(Buffer.alloc(5000, 1), 5)]], 5));
  const later = Date.now() + 3_600_000;
  const rows: readonly [string, string, string, RegExp][] = [
    ["no export", Buffer.from("text").toString("base64"), "BAD_FORMAT", /damaged, or no export of drives/],
    ["one that is cut off", Buffer.from(big.subarray(0, -1)).toString("base64"), "BAD_FORMAT", /export it again$/],
    [
      "one without its end",
      Buffer.from(big.subarray(0, big.length - 909)).toString("base64"),
      "MISSING_CELL",
      /give all files of one export/,
    ],
    [
      "a time of the future",
      base64(drive("a", "x", later)),
      "FUTURE_TIME",
      /lies 3[56]\d\d s in the future; 30 s are allowed\. Correct the clock/,
    ],
    [
      "more than may be imported at once",
      base64(
        dir(
          [..."ab"].map((name) => [name, file(Buffer.alloc(5000, 1), 5)]),
          5,
        ),
      ),
      "LIMIT",
      /more than 8000 bytes in files\. Import drive by drive/,
    ],
    ["values that drives do not have", Buffer.of(0x83, 0).toString("base64"), "UNSUPPORTED_CELL", /Only drives/],
  ];
  test.each(rows)("is named, with what to do: %s", async (_, bytes, code, message) => {
    const failure = await ground.fail("drive:import", { drive: "notes", bytes });
    expect(failure).toMatchObject({ code, data: { root: "notes", path: "" } });
    expect(failure.message).toMatch(/^Cannot import drive 'notes': /);
    expect(failure.message).toMatch(message);
    expect(await ground.call("dlfs:list-drives", {})).toEqual({ drives: [] });
  });

  test("drives of another key without a name for them", async () => {
    const bytes = base64(signed([["theirs", drive("a", "x")]]));
    const failure = await ground.fail("drive:import", { bytes });
    expect(failure).toMatchObject({ code: "KEY_REQUIRED" });
    expect(failure.message).toMatch(/^Cannot import drives: .*Name the drive it goes into/);
    await ground.call("drive:import", { bytes, drive: "notes" });
  });

  test("a signature that somebody else has changed", async () => {
    const bytes = Buffer.from(base64(signed([["theirs", drive("a", "x")]])), "base64");
    bytes[50] = (bytes[50] ?? 0) ^ 1;
    const failure = await ground.fail("drive:import", { bytes: bytes.toString("base64"), drive: "notes" });
    expect(failure).toMatchObject({ code: "BAD_FORMAT", message: expect.stringContaining("signature") });
  });

  test("a name that no file may have, and a file that is too large", async () => {
    const named = await ground.fail("drive:import", { drive: "notes", bytes: base64(drive("..", "x")) });
    expect(named).toMatchObject({ code: "INVALID_PATH", message: "Invalid path '..': not a name" });
    const bytes = base64(dir([["a", file(Buffer.alloc(6001), 5)]], 5));
    expect(await ground.fail("drive:import", { drive: "notes", bytes })).toMatchObject({
      code: "TOO_LARGE",
      data: { size: 6001, limit: 6000 },
    });
  });
});

describe("drive:verify", () => {
  const ground = useDrives();

  test("counts what is whole", async () => {
    await ground.call("dlfs:write", { drive: "notes", path: "a/b", content: "12345", parents: true });
    expect(await ground.call("drive:verify", { drive: "notes" })).toEqual({
      ...{ files: 1, directories: 2, bytes: 5, damaged: [], damagedCount: 0 },
      history: { entries: 1, damaged: false },
    });
    expect(await ground.call("drive:verify", { drive: "none" })).toMatchObject({ files: 0, directories: 1 });
  });
});
