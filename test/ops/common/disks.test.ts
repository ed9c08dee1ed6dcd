import fs, {
  appendFileSync,
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import type { SurfaceContext } from "../../../src/core/ports/adapter.js";
import { NativeSource } from "../../../src/jail/native/calls.js";
import { Sys } from "../../../src/jail/sys.js";
import { ROOT } from "../../jail/files.js";
import { bytesBelow, limitDisk } from "../../jail/small-disk.js";
import { type Child, isRoot, NOBODY, startChild } from "../../jail/start-child.js";
import { needs } from "../../needs.js";
import { until } from "../../until.js";
import { failureOf, type GroundOptions, useGround } from "../ground.js";

afterEach(() => {
  jest.restoreAllMocks();
});

// A full disk: what lies in the trash makes room for new content, if that is enough and the caller may delete it.
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
    await until(() => full.ground.staged().length <= 1);
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

// What a change would destroy is kept, or the change is refused: whatever may be removed can be kept by the same rights.
describe("content kept, or the change refused", () => {
  const LARGE = `first\n${"x\n".repeat(35_000)}`;
  const modeOf = (path: string): number => fs.statSync(path).mode & 0o777;

  describe("a user with no more rights than a user has", () => {
    let base: string;
    let dir: string;
    let child: Child;
    const at = (path: string): string => join(dir, path);
    /** Makes something of that user. */
    const own = (path: string): void => {
      if (isRoot) chownSync(path, NOBODY.uid, NOBODY.gid);
    };
    const put = (path: string, content: string, mode = 0o644): void => {
      writeFileSync(at(path), content);
      own(at(path));
      chmodSync(at(path), mode);
    };
    const mkdir = (path: string): void => {
      mkdirSync(at(path));
      own(at(path));
    };
    const trash = (): string => at(".venue-files/trash");

    beforeEach(async () => {
      base = mkdtempSync(join(tmpdir(), "venue-files-kept-"));
      chmodSync(base, 0o755);
      dir = join(base, "root");
      for (const path of [dir, join(base, "state")]) {
        mkdirSync(path, { mode: 0o700 });
        own(path);
      }
      const root = { path: dir, durability: "none" as const, journal: "on" as const };
      const config = { stateDir: join(base, "state"), roots: { [ROOT]: root } };
      child = await startChild({ config, ...(isRoot ? NOBODY : {}) });
    });
    afterEach(async () => {
      await child.close();
      if (!isRoot) fs.chmodSync(dir, 0o755);
      rmSync(base, { recursive: true, force: true });
    });

    test("a folder that may not be written to goes to the trash as it is, comes back, and goes for good", async () => {
      for (const path of ["m", "m/inner"]) mkdir(path);
      put("m/f", "x");
      put("m/inner/g", "y");
      for (const path of ["m/inner", "m"]) chmodSync(at(path), 0o555);
      const deleted = await child.invoke("delete", { path: "m", recursive: true });
      expect(deleted.output).toMatchObject({ deleted: true, trashed: true });
      const [item = ""] = fs.readdirSync(trash());
      expect(modeOf(join(trash(), item))).toBe(0o555);
      for (let round = 0; round < 2; round++) {
        // The deletion, then its repetition: both are brought back.
        expect(await child.invoke("undo", { last: 1 })).toMatchObject({ code: "ok" });
        expect([modeOf(at("m")), modeOf(at("m/inner"))]).toEqual([0o555, 0o555]);
        expect(fs.readFileSync(at("m/inner/g"), "utf8")).toBe("y");
        expect(await child.invoke("delete", { path: "m", recursive: true })).toMatchObject({
          output: { trashed: true },
        });
      }
      expect(await child.invoke("purge", { all: true })).toMatchObject({ code: "ok" });
      expect(fs.existsSync(trash())).toBe(false);
    });

    test("the same by an undo that removes a folder, also when that is taken back", async () => {
      mkdir("from");
      put("from/f", "x");
      chmodSync(at("from"), 0o555);
      expect(await child.invoke("copy", { path: "from", to: "copied", recursive: true })).toMatchObject({ code: "ok" });
      expect(await child.invoke("undo", { last: 1 })).toMatchObject({ code: "ok" });
      expect(fs.existsSync(at("copied"))).toBe(false);
      const { output } = await child.invoke("history", { limit: 1 });
      const [entry] = (output?.["entries"] ?? []) as { id: string }[];
      expect(await child.invoke("undo", { id: entry?.id })).toMatchObject({ code: "ok" });
      expect(modeOf(at("copied"))).toBe(0o555);
      expect(fs.readFileSync(at("copied/f"), "utf8")).toBe("x");
    });

    needs(isRoot, "a folder of somebody else needs root")(
      "a folder of somebody else stays, unless it is empty",
      async () => {
        mkdirSync(at("theirs"));
        mkdirSync(at("empty"));
        writeFileSync(at("theirs/f"), "x");
        expect(await child.invoke("delete", { path: "theirs", recursive: true })).toMatchObject({
          code: "PERMISSION_DENIED",
        });
        expect(fs.readFileSync(at("theirs/f"), "utf8")).toBe("x");
        const emptied = await child.invoke("delete", { path: "empty", recursive: true });
        expect(emptied.output).toMatchObject({ deleted: true, trashed: false, reason: "not_kept" });
      },
    );

    test("a trash that cannot be written to for a while refuses what it cannot take", async () => {
      put("first", "x");
      await child.invoke("delete", { path: "first" });
      mkdir("tree");
      put("tree/f", "x");
      put("file", LARGE);
      chmodSync(trash(), 0o500);
      for (const [op, input] of [
        ["delete", { path: "file" }],
        ["delete", { path: "tree", recursive: true }],
        ["write", { path: "file", content: "new" }],
        ["move", { path: "tree/f", to: "file", overwrite: true }],
        ["patch", { patch: "*** Begin Patch\n*** Delete File: file\n*** End Patch\n" }],
        ["patch", { patch: "*** Begin Patch\n*** Update File: file\n@@\n-first\n+1st\n*** End Patch\n" }],
      ] as const) {
        expect(await child.invoke(op, input)).toMatchObject({ code: "PERMISSION_DENIED" });
      }
      expect(fs.readFileSync(at("file"), "utf8")).toBe(LARGE);
      expect(fs.readFileSync(at("tree/f"), "utf8")).toBe("x");
      chmodSync(trash(), 0o700);
      expect(await child.invoke("write", { path: "file", content: "new" })).toMatchObject({ code: "ok" });
      expect(await child.invoke("undo", { last: 1 })).toMatchObject({ code: "ok" });
      expect(fs.readFileSync(at("file"), "utf8")).toBe(LARGE);
    });

    test.each([
      ["small", "old"],
      ["large", LARGE],
    ])("a %s file that may be written but not read is kept when it is replaced", async (_, content) => {
      put("f", content, 0o200);
      expect(await child.invoke("write", { path: "f", content: "new" })).toMatchObject({ code: "ok" });
      const { output } = await child.invoke("history", { limit: 1 });
      const [entry] = (output?.["entries"] ?? []) as { id: string; before: object }[];
      expect(entry).toMatchObject({ undoable: true, before: { mode: 0o200 } });
      chmodSync(at("f"), 0o600);
      const read = await child.invoke("read", { path: "f", version: `${entry?.id}:before` });
      expect(read.output).toMatchObject({ content });
    });

    needs(isRoot, "a file of somebody else needs root")(
      "a file of somebody else that cannot be read stays",
      async () => {
        writeFileSync(at("theirs"), "x");
        chmodSync(at("theirs"), 0o622);
        expect(await child.invoke("write", { path: "theirs", content: "new" })).toMatchObject({
          code: "PERMISSION_DENIED",
        });
        expect(fs.readFileSync(at("theirs"), "utf8")).toBe("x");
        expect(await child.invoke("delete", { path: "theirs" })).toMatchObject({ output: { trashed: true } });
      },
    );
  });

  describe("system calls that fail", () => {
    const ground = useGround({ journal: true });
    afterEach(() => {
      jest.restoreAllMocks();
    });
    const error = (code: string, syscall: string): Error => Object.assign(new Error(code), { code, syscall });
    const isTrash = (path: unknown): boolean => basename(fs.realpathSync(dirname(String(path)))) === "trash";
    /** Nothing gets a name in the trash, in any way. */
    const failInTrash = (code: string): void => {
      jest.spyOn(NativeSource.prototype, "calls", "get").mockReturnValue(undefined);
      const { renameSync, linkSync, openSync } = fs;
      jest.spyOn(fs, "renameSync").mockImplementation((from, to) => {
        if (isTrash(to)) throw error(code, "rename");
        return renameSync(from, to);
      });
      jest.spyOn(fs, "linkSync").mockImplementation((from, to) => {
        if (isTrash(to)) throw error(code, "link");
        return linkSync(from, to);
      });
      jest.spyOn(fs, "openSync").mockImplementation((path, flags, mode) => {
        if (((flags as number) & fs.constants.O_CREAT) !== 0 && isTrash(path)) throw error(code, "open");
        return openSync(path, flags, mode);
      });
    };
    const fill = async (): Promise<void> => {
      ground.put("first", "x");
      await ground.run("delete", { path: "first" });
      ground.put("f", LARGE);
      ground.put("tree/f", "x");
    };

    test.each(["EIO", "EACCES", "EPERM", "EBUSY", "EINVAL", "EMFILE", "ENFILE", "ENOMEM"])(
      "%s refuses a delete and an overwrite",
      async (code) => {
        await fill();
        failInTrash(code);
        for (const [op, input] of [
          ["delete", { path: "f" }],
          ["delete", { path: "tree", recursive: true }],
          ["write", { path: "f", content: "new" }],
        ] as const) {
          const failed = await failureOf(ground.adapter.invoke(`file:${op}`, { root: "r", ...input } as never));
          expect(["IO_ERROR", "PERMISSION_DENIED"]).toContain(failed.code);
        }
        expect(ground.get("f").toString()).toBe(LARGE);
        expect(ground.get("tree/f").toString()).toBe("x");
      },
    );

    test.each(["ENOSPC", "EDQUOT", "EMLINK", "ENOTSUP", "ENOSYS"])(
      "%s: there is no keeping, which is said",
      async (code) => {
        await fill();
        failInTrash(code);
        expect(await ground.run("delete", { path: "f" })).toMatchObject({ trashed: false, reason: "not_kept" });
        expect(await ground.run("delete", { path: "tree", recursive: true })).toMatchObject({ trashed: false });
        expect(ground.names()).toEqual([]);
      },
    );

    test("a file that can have no second name is copied, whatever the reason", async () => {
      await fill();
      jest.spyOn(fs, "linkSync").mockImplementation(() => {
        throw error("EIO", "link");
      });
      await ground.run("write", { path: "f", content: "new" });
      jest.restoreAllMocks();
      await ground.run("undo", { last: 1 });
      expect(ground.get("f").toString()).toBe(LARGE);
    });
  });
});

describe("reads and writes that stop short", () => {
  /** Most bytes that one system call reads here. */
  const MOST = 700;
  const SMALL = "small, and longer than one call reads. ".repeat(60);
  const LARGE = "large, kept by a link and not by a copy. ".repeat(5000);

  const ground = useGround({ journal: true });
  const { run } = ground;

  beforeEach(() => {
    const { read } = Sys.prototype;
    // The system may always read less than it was asked for.
    jest.spyOn(Sys.prototype, "read").mockImplementation(function (this: Sys, fd, buffer, at, position) {
      return read.call(this, fd, buffer.subarray(0, Math.min(buffer.length, at + MOST)), at, position);
    });
  });

  const contentAt = async (path: string, version?: string): Promise<unknown> =>
    (await run("read", { path, ...(version === undefined ? {} : { version }) })).content;

  test.each([
    ["small", SMALL],
    ["large", LARGE],
  ])(
    "a %s file is read, kept and brought back whole where the system reads less than it is asked for",
    async (_, text) => {
      await run("write", { path: "f", content: text });
      expect(await contentAt("f")).toBe(text);
      await run("write", { path: "f", content: "other" });
      const [replaced] = (await run("history", { path: "f", limit: 1 })).entries;
      expect(await contentAt("f", `${replaced?.id}:before`)).toBe(text);
      await run("undo", { last: 1 });
      expect(await contentAt("f")).toBe(text);
      await run("delete", { path: "f" });
      const [deleted] = (await run("history", { path: "f", limit: 1 })).entries;
      expect(await contentAt("f", `${deleted?.id}:before`)).toBe(text);
      await run("restore", { path: "f", to: `${deleted?.id}:before` });
      expect(await contentAt("f")).toBe(text);
    },
  );
});

// What others do to content in the trash is seen: it is not given back as what was deleted or replaced.
describe("items of the trash changed by others", () => {
  const LARGE = "x".repeat(70_000);
  const ground = useGround({ journal: true });
  const { run, fail } = ground;
  /** The one item of the trash. */
  const item = (): string => {
    const trash = join(ground.dir, ".venue-files", "trash");
    return join(trash, readdirSync(trash)[0] ?? "");
  };
  const newest = async () => (await run("history", { limit: 1 })).entries[0];

  describe("something else in the place of a deleted entry", () => {
    const deleteOne = async (path: string): Promise<string> =>
      (await run("delete", { path, recursive: true })).id ?? "";

    test.each<[string, string, (at: string) => void]>([
      ["a file by a link", "f", (at) => symlinkSync("/etc/passwd", at)],
      ["a file by a folder", "f", (at) => mkdirSync(at)],
      ["a folder by a link", "d", (at) => symlinkSync("/etc", at)],
      ["a folder by a file", "d", (at) => writeFileSync(at, "x")],
    ])("is no success: %s", async (_, path, put) => {
      ground.put("f", "content");
      ground.put("d/f", "content");
      const id = await deleteOne(path);
      const at = item();
      rmSync(at, { recursive: true });
      put(at);
      expect(await newest()).toMatchObject({ id, undoable: false, reason: "altered" });
      expect(await fail("undo", { id })).toMatchObject({ code: "NOT_SUPPORTED", data: { reason: "altered" } });
      expect(ground.names()).toEqual([path === "f" ? "d" : "f"]);
    });

    test("is no success: a file by another file", async () => {
      ground.put("f", "content");
      const id = await deleteOne("f");
      // Both are there at once, so that they have two inode numbers.
      writeFileSync(join(ground.outside, "other"), "content");
      renameSync(join(ground.outside, "other"), item());
      expect(await newest()).toMatchObject({ id, undoable: false, reason: "altered" });
      expect(await fail("undo", { id })).toMatchObject({ code: "NOT_SUPPORTED", data: { reason: "altered" } });
    });

    test("nothing there any more is told as well", async () => {
      ground.put("f", "content");
      const id = await deleteOne("f");
      rmSync(item());
      expect(await newest()).toMatchObject({ id, undoable: false, reason: "pruned" });
      expect(await fail("undo", { id })).toMatchObject({ code: "NOT_SUPPORTED", data: { reason: "pruned" } });
    });

    test("what a program has written to the file since, or another name of it, comes back", async () => {
      ground.put("f", "content");
      linkSync(join(ground.dir, "f"), join(ground.outside, "f"));
      const id = await deleteOne("f");
      appendFileSync(item(), " and more");
      rmSync(join(ground.outside, "f"));
      expect(await newest()).toMatchObject({ id, undoable: true });
      await run("undo", { id });
      expect(ground.get("f").toString()).toBe("content and more");
      const { entries } = await run("history", { limit: 2 });
      expect(entries[1]).toMatchObject({ id, undoable: true });
    });
  });

  test("a before-image that was altered shows in its entry, and is not given back", async () => {
    ground.put("f", LARGE);
    await run("write", { path: "f", content: "new" });
    expect(await newest()).toMatchObject({ undoable: true });
    writeFileSync(item(), "forged");
    const entry = await newest();
    expect(entry).toMatchObject({ undoable: false, reason: "altered" });
    expect(await fail("undo", { id: entry?.id })).toMatchObject({ data: { reason: "altered" } });
    expect(ground.get("f").toString()).toBe("new");
  });

  test("the entry of a deleted tree says how many files it had", async () => {
    for (const path of ["t/a", "t/b/c", "t/b/d"]) ground.put(path, "x");
    mkdirSync(join(ground.dir, "t/empty"));
    await run("delete", { path: "t", recursive: true });
    await until(async () => (await newest())?.files !== undefined);
    expect(await newest()).toMatchObject({ kind: "directory", files: 3 });
    await run("undo", { last: 1 });
    expect(ground.names("t/b")).toEqual(["c", "d"]);
  });
});
