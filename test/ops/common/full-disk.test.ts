// A full disk: what lies in the trash makes room for new content, if that is enough and the caller may delete it.

import { linkSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import { bytesBelow, limitDisk } from "../../jail/small-disk.js";
import { failureOf, type GroundOptions, useGround } from "../ground.js";

/** Bytes of each item in the trash. */
const ITEM = 100_000;
/** Free beside them. */
const FREE = 200_000;
/** What fits once the oldest item is gone, and what never fits. */
const FITS = 250_000;
const NEVER = 650_000;

const text = (bytes: number): string => `${"x".repeat(99)}\n`.repeat(Math.ceil(bytes / 100)).slice(0, bytes);
const lines = (bytes: number): string[] =>
  text(bytes)
    .trimEnd()
    .split("\n")
    .map((line) => `+${line}`);
const patchOf = (...all: readonly string[]): string => ["*** Begin Patch", ...all, "*** End Patch", ""].join("\n");
const FROM_ELSEWHERE = { root: "from" };
const WRITES_ONLY = {
  caps: [
    { with: "file://", can: "crud/read" },
    { with: "file://", can: "crud/write" },
  ],
};

function useFull(options: GroundOptions = {}) {
  const ground = useGround({ ...options, journal: true });
  const { run } = ground;
  const upload = (input: object, chunks: readonly string[], length: number | undefined, context: SurfaceContext) => {
    const body = { ...(length === undefined ? {} : { length }), chunks: piecesOf(chunks) };
    return ground.adapter.transfers.upload({ root: "r", path: "new", ...input }, body, context);
  };
  const trashed = (): number => {
    const trash = join(ground.dir, ".venue-files", "trash");
    return readdirSync(join(ground.dir, ".venue-files")).includes("trash") ? readdirSync(trash).length : 0;
  };
  /** Three files in the trash, `a` the oldest, and some room. */
  const fill = async (): Promise<void> => {
    for (const path of ["a", "b", "c"]) {
      ground.put(path, text(ITEM));
      await run("delete", { path });
    }
    ground.put("old", "old token\n");
    limitDisk(ground.dir, bytesBelow(ground.dir) + FREE);
  };
  const names = async (): Promise<string[]> => (await run("trash", {})).entries.map(({ path }) => path);
  const invoke = (op: string, input: object, context: SurfaceContext): Promise<unknown> =>
    ground.adapter.invoke(`file:${op}` as never, { root: "r", ...input } as never, context);
  return { ground, upload, trashed, fill, names, invoke };
}

async function* piecesOf(chunks: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk);
}

type Full = ReturnType<typeof useFull>;
/** Ways to bring `bytes` into the root. */
const WAYS: readonly [string, (full: Full, bytes: number, context: SurfaceContext) => Promise<unknown>][] = [
  ["write", ({ invoke }, bytes, context) => invoke("write", { path: "new", content: text(bytes) }, context)],
  ["write over", ({ invoke }, bytes, context) => invoke("write", { path: "old", content: text(bytes) }, context)],
  [
    "edit",
    ({ invoke }, bytes, context) => invoke("edit", { path: "old", oldText: "token", newText: text(bytes) }, context),
  ],
  ["append", ({ invoke }, bytes, context) => invoke("append", { path: "old", content: text(bytes) }, context)],
  [
    "append to nothing",
    ({ invoke }, bytes, context) => invoke("append", { path: "new", content: text(bytes) }, context),
  ],
  [
    "patch",
    ({ invoke }, bytes, context) => invoke("patch", { patch: patchOf("*** Add File: new", ...lines(bytes)) }, context),
  ],
  [
    "patch of several files",
    ({ invoke }, bytes, context) => {
      const parts = [1, 2, 3].flatMap((name) => [`*** Add File: new${name}`, ...lines(bytes / 3)]);
      return invoke("patch", { patch: patchOf(...parts) }, context);
    },
  ],
  ["upload", ({ upload }, bytes, context) => upload({}, [text(bytes)], bytes, context)],
  ["upload in pieces", ({ upload }, bytes, context) => upload({}, Array(10).fill(text(bytes / 10)), bytes, context)],
  [
    "copy",
    ({ invoke, ground }, bytes, context) => {
      writeFileSync(join(ground.outside, "file"), text(bytes));
      return invoke("copy", { ...FROM_ELSEWHERE, path: "file", toRoot: "r", to: "new" }, context);
    },
  ],
  [
    "parts",
    async ({ upload }, bytes, context) => {
      for (let offset = 0; offset < bytes; offset += 50_000) {
        const part = Math.min(50_000, bytes - offset);
        await upload({ offset, length: bytes }, [text(part)], part, context);
      }
    },
  ],
];

afterEach(() => {
  jest.restoreAllMocks();
});

describe("a full disk with something in the trash", () => {
  const options: { root: object; roots: { from: { path: string; journal: "off" } } } = {
    root: {},
    roots: { from: { path: "../outside", journal: "off" } },
  };
  const full = useFull(options);
  const { trashed, fill, names } = full;
  beforeEach(fill);

  test.each(WAYS)("%s: what fits takes as much of it as is missing, the oldest first", async (_, bring) => {
    await bring(full, FITS, {});
    expect(await names()).toEqual(["c", "b"]);
  });

  test.each(WAYS)("%s: what would not fit without all of it takes nothing", async (_, bring) => {
    expect((await failureOf(bring(full, NEVER, {}))).code).toBe("NO_SPACE");
    expect(await names()).toEqual(["c", "b", "a"]);
    expect(full.ground.get("old").toString()).toBe("old token\n");
    // What a copy has staged is removed in the background.
    for (let left = 100; left > 0 && full.ground.staged().length > 1; left--) await pause(20);
    expect(full.ground.staged()).toEqual(["trash"]);
  });

  test.each(WAYS)("%s: whoever may not delete takes nothing", async (_, bring) => {
    expect((await failureOf(bring(full, FITS, WRITES_ONLY))).code).toBe("NO_SPACE");
    expect(trashed()).toBe(3);
  });

  test("whoever may delete at some paths gives up what lay there, and nothing else", async () => {
    const caps = (path: string) => ({ caps: [...WRITES_ONLY.caps, { with: `file://r/${path}`, can: "crud/delete" }] });
    const write = (context: SurfaceContext) => full.invoke("write", { path: "new", content: text(FITS) }, context);
    expect((await failureOf(write(caps("new")))).code).toBe("NO_SPACE");
    expect(await names()).toEqual(["c", "b", "a"]);
    await write(caps("b"));
    expect(await names()).toEqual(["c", "a"]);
  });

  test("nothing goes for what has no announced length", async () => {
    const pieces = [text(FITS / 2), text(FITS / 2)];
    expect((await failureOf(full.upload({}, pieces, undefined, {}))).code).toBe("NO_SPACE");
    await full.upload({ offset: 0 }, [text(150_000)], 150_000, {});
    expect((await failureOf(full.upload({ offset: 150_000 }, [text(ITEM)], ITEM, {}))).code).toBe("NO_SPACE");
    mkdirSync(join(full.ground.outside, "tree"));
    for (const name of ["1", "2", "3"]) writeFileSync(join(full.ground.outside, "tree", name), text(ITEM));
    const tree = { ...FROM_ELSEWHERE, path: "tree", toRoot: "r", to: "tree", recursive: true };
    expect((await failureOf(full.invoke("copy", tree, {}))).code).toBe("NO_SPACE");
    expect(await names()).toEqual(["c", "b", "a"]);
  });

  test("two uploads at once do not count on the same content", async () => {
    const upload = (path: string) => full.upload({ path }, Array(10).fill(text(19_000)), 190_000, {});
    await Promise.all([upload("one"), upload("two")]);
    expect(await names()).toEqual(["c"]);
    expect((await full.ground.run("stat", { path: "two" })).size).toBe(190_000);
  });

  test("what gives no room when it goes stays", async () => {
    const trash = join(full.ground.dir, ".venue-files", "trash");
    for (const name of readdirSync(trash)) linkSync(join(trash, name), join(full.ground.outside, name));
    const write = full.invoke("write", { path: "new", content: text(FITS) }, {});
    expect((await failureOf(write)).code).toBe("NO_SPACE");
    expect(await names()).toEqual(["c", "b", "a"]);
  });

  test("an undo of several changes gives up nothing: what it brings back may be next", async () => {
    jest.restoreAllMocks();
    for (const path of ["one", "two"]) await full.invoke("write", { path, content: text(ITEM) }, {});
    for (const path of ["one", "two"]) await full.invoke("write", { path, content: "small" }, {});
    limitDisk(full.ground.dir, bytesBelow(full.ground.dir) + 1_000);
    expect((await failureOf(full.invoke("undo", { last: 2 }, {}))).code).toBe("NO_SPACE");
    jest.restoreAllMocks();
    await full.invoke("undo", { last: 2 }, {});
    expect([full.ground.get("one").length, full.ground.get("two").length]).toEqual([ITEM, ITEM]);
    expect(await names()).toEqual(["c", "b", "a"]);
  });
});

describe.each([
  ["keeps all that is deleted", { journal: "on", trash: "required" }],
  ["asks a person about deletions", { journal: "on", approve: { for: ["delete"] } }],
])("a full disk of a root that %s", (_, root) => {
  const full = useFull({ root });
  beforeEach(full.fill);

  test("gives up nothing", async () => {
    const write = full.invoke("write", { path: "new", content: text(FITS) }, { surface: "mcp" });
    expect((await failureOf(write)).code).toBe("NO_SPACE");
    expect(full.trashed()).toBe(3);
  });
});
