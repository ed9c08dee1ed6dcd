import { createHash, randomBytes } from "node:crypto";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { adapterError } from "../../src/core/errors/errors.js";
import type { SurfaceContext } from "../../src/core/ports/adapter.js";
import type { TakeDownload } from "../../src/core/ports/streams.js";
import type { CellStore } from "../../src/drive/store/cell-store.js";
import { createMemoryStore } from "../../src/drive/store/memory.js";
import type { GlobOutput, GrepOutput } from "../../src/schema/types.js";
import { failureOf } from "../ops/ground.js";
import { ALICE, ANONYMOUS, BOB, useDrives } from "./ground.js";

const SHARED = "quarterly figures of the northern branch, ";
const [ONE, TWO] = [`${SHARED}draft.txt`, `${SHARED}final.txt`];
const LONGEST = ["1", "2"].map((end) => `${"n".repeat(254)}${end}`);

describe("names of a drive that share more than 32 bytes", () => {
  const ground = useDrives();
  const call = (operation: string, input: object) => ground.call(`file:${operation}`, { root: "mine", ...input });
  const entriesOf = async (operation: string, path: string) =>
    (
      (await call(operation, { path })) as {
        readonly entries: readonly { readonly name: string; readonly id: string }[];
      }
    ).entries;
  const names = async () => (await entriesOf("list", "")).map(({ name }) => name);

  test("are names of their own, for every operation", async () => {
    for (const path of [ONE, TWO, ...LONGEST]) await call("write", { path, content: path });
    await call("mkdir", { path: SHARED });
    expect(await names()).toEqual(expect.arrayContaining([SHARED, ONE, TWO, ...LONGEST]));
    for (const path of [ONE, TWO, ...LONGEST]) expect(await call("read", { path })).toMatchObject({ content: path });
    await call("append", { path: ONE, content: "!" });
    await call("delete", { path: TWO });
    expect(await call("stat", { path: TWO })).toEqual({ exists: false });
    expect(await call("read", { path: ONE })).toMatchObject({ content: `${ONE}!` });
    await call("move", { path: ONE, to: TWO });
    await call("copy", { path: TWO, to: ONE });
    await call("delete", { path: LONGEST[0] ?? "" });
    expect(await names()).toEqual(expect.arrayContaining([SHARED, ONE, TWO, LONGEST[1]]));
    expect(await call("read", { path: LONGEST[1] ?? "" })).toMatchObject({ content: LONGEST[1] });
  });

  test("come back by an undo, each for itself", async () => {
    await call("write", { path: ONE, content: "one" });
    await call("write", { path: TWO, content: "two" });
    await call("delete", { path: ONE });
    await call("undo", { id: (await entriesOf("history", ONE))[0]?.id });
    expect(await call("read", { path: ONE })).toMatchObject({ content: "one" });
    expect(await call("read", { path: TWO })).toMatchObject({ content: "two" });
  });

  test("may be as deep as 256", async () => {
    const path = Array.from({ length: 256 }, () => "d").join("/");
    expect(await call("write", { path, content: "deep", parents: true })).toMatchObject({ created: true });
    expect(await call("read", { path })).toMatchObject({ content: "deep" });
  });
});

describe("names of a drive in a store of format 1 that share 32 bytes", () => {
  const ground = useDrives({ store: () => Object.assign(createMemoryStore(), { format: 1 }) });

  test("are refused, and the command that lifts it is named", async () => {
    await ground.call("file:write", { root: "mine", path: ONE, content: "one" });
    for (const [operation, input] of [
      ["file:write", { path: TWO, content: "two" }],
      ["file:append", { path: TWO, content: "two" }],
      ["file:mkdir", { path: TWO }],
      ["file:move", { path: ONE, to: TWO }],
      ["file:copy", { path: ONE, to: TWO }],
    ] as const) {
      const failure = await ground.fail(operation, { root: "mine", ...input });
      expect([operation, failure]).toEqual([operation, expect.objectContaining({ code: "NOT_SUPPORTED" })]);
      expect(failure.message).toContain("run 'venue-files drive upgrade --config FILE'");
      expect(failure.data).toMatchObject({ root: "mine" });
    }
    expect(await ground.call("file:stat", { root: "mine", path: TWO })).toEqual({ exists: false });
    await ground.call("file:write", { root: "mine", path: `elsewhere/${TWO}`, content: "two", parents: true });
  });
});

describe("the name of a new drive", () => {
  const ground = useDrives();

  test.each(["a:b", " a", "a ", "\u3000a"])("is not %j", async (drive) => {
    const refusal = { code: "INVALID_PATH", message: expect.stringContaining("a new one has no ':'") };
    expect(await ground.fail("dlfs:create-drive", { drive })).toMatchObject(refusal);
    expect(await ground.fail("dlfs:write", { drive, path: "f", content: "x" })).toMatchObject(refusal);
    expect(await ground.call("dlfs:list", { drive, path: "" })).toMatchObject({ entries: [] });
    expect(await ground.call("dlfs:delete-drive", { drive })).toMatchObject({ existed: false });
  });

  test("has at most 128 bytes", async () => {
    const drive = "é".repeat(64);
    expect(await ground.call("dlfs:create-drive", { drive })).toMatchObject({ created: true });
    expect(await ground.fail("dlfs:create-drive", { drive: `${drive}a` })).toMatchObject({ code: "INVALID_INPUT" });
    expect(await ground.call("dlfs:list-drives", {})).toEqual({ drives: [drive] });
  });
});

let asked: Record<string, number> = {};

/** A store that counts what it is asked for. */
const counted = (): CellStore =>
  new Proxy(createMemoryStore(), {
    get(target, name: keyof CellStore) {
      const value: unknown = target[name];
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        asked[name] = (asked[name] ?? 0) + 1;
        return value.apply(target, args);
      };
    },
  });

const updateOf = (from: number, to: number, turn: number): string =>
  [
    "*** Begin Patch",
    ...Array.from({ length: to - from }, (_, index) => [
      `*** Update File: f${from + index}`,
      "@@",
      `-turn ${turn}`,
      `+turn ${turn + 1}`,
    ]).flat(),
    "*** End Patch",
    "",
  ].join("\n");

describe("a patch of a drive", () => {
  const { call } = useDrives({ store: counted });

  const requestsOf = async (patch: string): Promise<Record<string, number>> => {
    asked = {};
    await call("file:patch", { root: "mine", patch });
    return asked;
  };

  test("asks for the root of the owner as often for 20 files as for 2, and swaps it once", async () => {
    for (let file = 0; file < 22; file++) {
      await call("file:write", { root: "mine", path: `f${file}`, content: `turn 0\nmore\n` });
    }
    const few = await requestsOf(updateOf(20, 22, 0));
    const many = await requestsOf(updateOf(0, 20, 0));
    expect(few["pin"]).toBeGreaterThan(0);
    expect({ pin: many["pin"], batch: many["batch"] }).toEqual({ pin: few["pin"], batch: few["batch"] });
    expect(await call("file:read", { root: "mine", path: "f7" })).toMatchObject({ content: "turn 1\nmore\n" });
  });
});

describe("in a root that is a drive", () => {
  const ground = useDrives({ mine: { deny: [".env"] } });
  const grep = (input: object, who = ALICE) =>
    ground.call("file:grep", { root: "mine", ...input }, who) as Promise<GrepOutput>;

  beforeEach(async () => {
    const files = {
      "a.ts": "one hit\ntwo\n",
      "sub/b.ts": "hit\nhit\n",
      "sub/.env": "hit",
      ".gitignore": "gen\n",
      "gen/c": "hit",
    };
    for (const [path, content] of Object.entries(files)) {
      await ground.call("dlfs:write", { drive: "notes", path, content, parents: true }, ALICE);
    }
  });

  test.each(["hit", "h[i]t"])("lines are found by %s as in any other root", async (pattern) => {
    const found = await grep({ pattern, context: 1 });
    expect(found).toEqual({
      matches: [
        { path: "a.ts", line: 1, text: "one hit", after: ["two"] },
        { path: "sub/b.ts", line: 1, text: "hit" },
        { path: "sub/b.ts", line: 2, text: "hit" },
      ],
      ...{ totalMatches: 3, countIsComplete: true, filesScanned: 3, timedOut: false, complete: true },
      hidden: { policy: 1, gitignored: 1 },
      hint: '1 gitignored path hidden; pass ignore: "none". Left out: 1 denied by policy',
    });
    expect(await grep({ pattern, path: "sub/b.ts" })).toMatchObject({ totalMatches: 2, filesScanned: 1 });
    expect(await grep({ pattern, glob: "./*.ts" })).toMatchObject({ totalMatches: 1 });
  });

  test("each caller searches a drive of their own", async () => {
    expect(await grep({ pattern: "hit" }, BOB)).toMatchObject({ totalMatches: 0, filesScanned: 0, complete: true });
    const { nextCursor: cursor } = await grep({ pattern: "hit", limit: 1 });
    const failed = await ground.fail("file:grep", { root: "mine", pattern: "hit", cursor }, BOB);
    expect(failed.code).toBe("INVALID_INPUT");
  });

  test("pages hold everything exactly once while others write", async () => {
    const seen: string[] = [];
    let cursor: string | undefined;
    for (let page = 0; ; page++) {
      const found = await grep({ pattern: "hit", limit: 1, ...(cursor === undefined ? {} : { cursor }) });
      seen.push(...(found.matches ?? []).map(({ path, line }) => `${path}:${line}`));
      if (page < 3) {
        const content = { drive: "notes", path: `0-new-${page}`, content: "hit" };
        await ground.call("dlfs:write", content, ALICE);
      }
      cursor = found.nextCursor;
      if (cursor === undefined) break;
    }
    expect(seen).toEqual(["a.ts:1", "sub/b.ts:1", "sub/b.ts:2"]);
    const globbed = (await ground.call("file:glob", { root: "mine", pattern: "**/*.ts" }, ALICE)) as GlobOutput;
    expect(globbed.paths).toEqual(["a.ts", "sub/b.ts"]);
  });

  test("no answer of dlfs:read advises a search that there is not", async () => {
    const content = "x".repeat(9_000_000);
    const write = { drive: "notes", path: "large", content: content.slice(0, 8_000_000) };
    await ground.call("dlfs:write", write, ALICE);
    await ground.call("dlfs:append", { drive: "notes", path: "large", content: content.slice(8_000_000) }, ALICE);
    for (const mode of ["text", "json", "bytes", "auto"]) {
      const failed = await ground.fail("dlfs:read", { drive: "notes", path: "large", mode }, ALICE);
      expect(failed.code).toBe("TOO_LARGE");
      expect(failed.message).not.toMatch(/file_|grep/);
      const there = await ground.fail("file:read", { root: "mine", path: "large", mode }, ALICE);
      expect([mode, /file_grep/.test(there.message)]).toEqual([mode, mode !== "bytes"]);
    }
  });
});

const CONTENT = randomBytes(3_000_000);

async function* inPieces(content: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += 50_000) yield content.subarray(at, at + 50_000);
}

describe("a whole file on a drive", () => {
  const ground = useDrives();
  const put = (path: string, content: Buffer, who: SurfaceContext = ALICE, more = {}) =>
    ground.files.transfers.upload({ root: "mine", path, ...more }, { chunks: inPieces(content) }, who);
  async function get(path: string, who: SurfaceContext = ALICE): Promise<Buffer> {
    const chunks: Buffer[] = [];
    const take: TakeDownload = async (file) => {
      for await (const chunk of file.read({ start: 0, end: file.size })) chunks.push(chunk);
      return file.size;
    };
    await ground.files.transfers.download({ root: "mine", path }, take, who);
    return Buffer.concat(chunks);
  }

  test("goes in and comes out, with its hash, and is its owner's alone", async () => {
    const sha256 = createHash("sha256").update(CONTENT).digest("hex");
    expect(await put("a.bin", CONTENT)).toEqual({ written: CONTENT.length, created: true, sha256 });
    expect((await get("a.bin")).equals(CONTENT)).toBe(true);
    expect(await failureOf(get("a.bin", BOB))).toMatchObject({ code: "NOT_FOUND" });
    expect(await failureOf(put("b.bin", CONTENT, ANONYMOUS))).toMatchObject({ code: "DRIVE_REQUIRES_AUTH" });
    expect(ground.audit.map(({ operation, outcome, bytes }) => [operation, outcome, bytes]).slice(0, 2)).toEqual([
      ["file:upload", "OK", CONTENT.length],
      ["file:download", "OK", CONTENT.length],
    ]);
  });

  test("replaces what was expected, and nothing else", async () => {
    await put("a.bin", Buffer.from("one"));
    const ifMatch = `sha256:${createHash("sha256").update("one").digest("hex")}`;
    expect(await put("a.bin", Buffer.from("two"), ALICE, { ifMatch })).toMatchObject({ created: false });
    expect(await failureOf(put("a.bin", Buffer.from("x"), ALICE, { ifMatch }))).toMatchObject({ code: "CONFLICT" });
    expect(await failureOf(put("a.bin", Buffer.from("x"), ALICE, { ifNoneMatch: "*" }))).toMatchObject({
      code: "CONFLICT",
    });
    expect((await get("a.bin")).toString()).toBe("two");
  });

  test("does not change by a body that breaks off", async () => {
    await put("a.bin", Buffer.from("one"));
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield CONTENT;
      throw new Error("gone");
    }
    const upload = ground.files.transfers.upload({ root: "mine", path: "a.bin" }, { chunks: broken() }, ALICE);
    await expect(upload).rejects.toThrow();
    expect((await get("a.bin")).toString()).toBe("one");
  });

  test("is no operation for whoever brings no body", async () => {
    for (const name of ["file:upload", "file:download"]) {
      expect(await failureOf(ground.files.invoke(name, { root: "mine", path: "a" }, ALICE))).toMatchObject({
        code: "UNKNOWN_OPERATION",
      });
    }
  });
});

describe("what a drive refuses", () => {
  const ground = useDrives({ limits: { maxFileBytes: 10, maxDriveBytes: 25, maxEntries: 3 } });
  const place = (path: string) => ({ root: "mine", path });
  const put = (path: string, content: string) => ground.fail("file:write", { root: "mine", path, content });

  test("a file that is too large, also by what is added", async () => {
    const data = { ...place("a"), size: 11, limit: 10 };
    const expected = { code: "TOO_LARGE", message: "Content too large: 11 bytes, limit 10", data };
    expect(await put("a", "01234567890")).toEqual(expected);
    await ground.call("file:write", { root: "mine", path: "a", content: "0123456789" });
    expect(await ground.fail("file:append", { root: "mine", path: "a", content: "x" })).toMatchObject({
      code: "TOO_LARGE",
    });
  });

  test("more than the drives of one owner may hold, and more entries than a directory may", async () => {
    for (const path of ["a", "b"]) await ground.call("file:write", { root: "mine", path, content: "0123456789" });
    const full = await put("c", "0123456789");
    expect(full).toMatchObject({ code: "QUOTA_EXCEEDED", data: { ...place("c"), limit: 25, unit: "bytes" } });
    expect(full.message).toMatch(/^Quota of root 'mine' exceeded: \d+ of 25 bytes used, \d+ more requested$/);
    await ground.call("file:mkdir", { root: "mine", path: "c" });
    const many = await put("d", "");
    expect(many).toMatchObject({ code: "QUOTA_EXCEEDED", data: { ...place("d"), limit: 3, unit: "entries" } });
  });

  test("paths of more names than it takes", async () => {
    const path = Array.from({ length: 257 }, () => "d").join("/");
    expect(await ground.fail("file:mkdir", { root: "mine", path, parents: true })).toEqual({
      code: "INVALID_PATH",
      message: expect.stringMatching(/^Invalid path 'd\/d.*': too deep$/),
      data: place(path),
    });
  });

  test.each(["", ".", "..", "a/b", "a\\b", "a\u0000", "a\u0085", "x".repeat(129), "é".repeat(65), "\ud800"])(
    "the name %j",
    async (drive) => {
      for (const operation of ["dlfs:list", "dlfs:create-drive", "dlfs:delete-drive"]) {
        expect(await ground.fail(operation, { drive })).toMatchObject({
          code: "INVALID_INPUT",
          data: { pointer: "/drive" },
        });
      }
    },
  );
});

describe("a drive to make or to delete", () => {
  const ground = useDrives();

  test("is named by 'drive', by 'name', or by both alike, and answered by both", async () => {
    const made = await ground.call("dlfs:create-drive", { name: "notes" });
    expect(made).toEqual({ name: "notes", drive: "notes", created: true });
    const again = await ground.call("dlfs:create-drive", { drive: "notes", name: "notes" });
    expect(again).toEqual({ name: "notes", drive: "notes", created: false });
    expect(await ground.call("dlfs:list-drives", {})).toEqual({ drives: ["notes"] });
    const gone = await ground.call("dlfs:delete-drive", { name: "notes" });
    expect(gone).toEqual({ name: "notes", drive: "notes", deleted: true, existed: true });
  });

  test.each(["dlfs:create-drive", "dlfs:delete-drive"])("is one drive: %s", async (operation) => {
    expect(await ground.fail(operation, { drive: "a", name: "b" })).toMatchObject({
      code: "INVALID_INPUT",
      data: { pointer: "/name" },
    });
    expect(await ground.fail(operation, {})).toMatchObject({
      code: "INVALID_INPUT",
      message: "'drive' is required",
      data: { pointer: "/drive" },
    });
    expect(await ground.fail(operation, { name: "a/b" })).toMatchObject({ code: "INVALID_INPUT" });
    expect(await ground.call("dlfs:list-drives", {})).toEqual({ drives: [] });
  });
});

describe("a store that fails", () => {
  let failure: Error | undefined;
  const failing = (): CellStore => {
    failure = undefined;
    return new Proxy(createMemoryStore(), {
      get(store, key) {
        const method: unknown = Reflect.get(store, key);
        if (typeof method !== "function") return method;
        return (...given: unknown[]) => {
          if (failure !== undefined && (key === "roots" || key === "pin")) throw failure;
          return Reflect.apply(method, store, given);
        };
      },
    });
  };
  const ground = useDrives({ store: failing });

  const calls = [
    ["dlfs:read", { drive: "notes", path: "a" }],
    ["dlfs:list", { drive: "notes", path: "a" }],
    ["file:read", { root: "mine", path: "a" }],
  ] as const;
  test.each(calls)("is told of by %s in the words of the table, and nothing of its own", async (operation, input) => {
    await ground.call("dlfs:write", { drive: "notes", path: "a", content: "x" });
    failure = adapterError("STORE_UNAVAILABLE", "Drive store cannot be used: /secret/place");
    const root = operation.startsWith("file") ? "mine" : "notes";
    expect(await ground.fail(operation, input, ALICE)).toEqual({
      code: "STORE_UNAVAILABLE",
      message: "Drive store is not reachable: notes",
      data: { root, path: "a" },
    });
  });

  test("is told of by the operations on whole drives too", async () => {
    await ground.call("dlfs:create-drive", { drive: "old" });
    failure = adapterError("STORE_UNAVAILABLE", "Drive store cannot be used: /secret/place");
    expect(await ground.fail("dlfs:list-drives", {})).toMatchObject({ message: "Drive store is not reachable" });
    expect(await ground.fail("dlfs:create-drive", { drive: "notes" })).toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: "Drive store is not reachable: notes",
    });
  });
});
