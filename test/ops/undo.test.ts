import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, jest, test } from "@jest/globals";
import { HostBackend } from "../../src/backend/host/host.js";
import { ioError } from "../../src/core/errors/texts.js";
import type { SurfaceContext } from "../../src/core/ports/adapter.js";
import type { FileOutputs } from "../../src/schema/types.js";
import { entriesBelow, failureOf, useGround } from "./ground.js";

type Undone = FileOutputs["file:undo"];
type Entries = FileOutputs["file:history"];

describe("file:undo", () => {
  const ground = useGround({ journal: true });
  const { run, fail } = ground;
  const at = (path: string): string => join(ground.dir, path);
  const undo = (input: object, context?: SurfaceContext): Promise<Undone> => run("undo", input, context);
  const last = (input: object = {}): Promise<Undone> => undo({ last: 1, ...input });
  const text = (path: string): string => ground.get(path).toString();

  test("takes a write, an edit and an append back, with mode and time of the file", async () => {
    ground.put("a.txt", "one\n");
    chmodSync(at("a.txt"), 0o640);
    utimesSync(at("a.txt"), 1_600_000_000, 1_600_000_000.1235);
    await run("write", { path: "a.txt", content: "two\n" });
    await run("edit", { path: "a.txt", oldText: "two", newText: "three" });
    await run("append", { path: "a.txt", content: "four\n" });
    expect(await last()).toMatchObject({ files: [{ path: "a.txt" }], diff: expect.stringContaining("-four") });
    expect(text("a.txt")).toBe("three\n");
    await last();
    expect(text("a.txt")).toBe("two\n");
    const undone = await last();
    expect(text("a.txt")).toBe("one\n");
    const { mode, mtimeMs } = statSync(at("a.txt"));
    expect([mode & 0o777, Math.floor(mtimeMs)]).toEqual([0o640, 1_600_000_000_123]);
    await undo({ id: undone.id });
    expect(text("a.txt")).toBe("two\n");
    await last();
    expect(text("a.txt")).toBe("one\n");
  });

  test("removes what was created, with the folders that were made for it if they are empty", async () => {
    await run("write", { path: "x/y/z.txt", content: "z", parents: true });
    const { files, group } = await last();
    expect(files).toEqual([{ path: "x/y/z.txt", etag: null }]);
    expect(ground.names()).toEqual([]);
    await undo({ group });
    expect(text("x/y/z.txt")).toBe("z");
    await run("write", { path: "k/l.txt", content: "l", parents: true });
    ground.put("k/other", "");
    await last();
    expect(entriesBelow(ground.dir)).toEqual(["k/", "k/other", "x/", "x/y/", "x/y/z.txt"]);
  });

  test("brings files, folders and links back from the trash as they were", async () => {
    ground.put("d/e/f.txt", "f");
    chmodSync(at("d/e/f.txt"), 0o600);
    utimesSync(at("d/e/f.txt"), 1_500_000_000, 1_500_000_000);
    symlinkSync("e/f.txt", at("d/link"));
    const deleted = await run("delete", { path: "d", recursive: true });
    expect(ground.names()).toEqual([]);
    await undo({ id: deleted.id });
    expect(entriesBelow(ground.dir)).toEqual(["d/", "d/e/", "d/e/f.txt", "d/link"]);
    expect([statSync(at("d/e/f.txt")).mode & 0o777, statSync(at("d/e/f.txt")).mtimeMs]).toEqual([0o600, 1.5e12]);
    const again = await run("delete", { path: "d", recursive: true });
    ground.put("d", "in the way");
    const blocked = await fail("undo", { id: again.id });
    expect(blocked).toMatchObject({
      code: "CONFLICT",
      data: { blocked: [{ id: again.id, path: "d", by: "external" }] },
    });
    expect(text("d")).toBe("in the way");
  });

  test("moves back, and brings back what the move has replaced", async () => {
    ground.put("from.txt", "from");
    ground.put("to.txt", "to");
    await run("move", { path: "from.txt", to: "to.txt", overwrite: true });
    await last();
    expect([text("from.txt"), text("to.txt")]).toEqual(["from", "to"]);
    ground.put("tree/a", "a");
    await run("move", { path: "tree", to: "deep/er/tree", parents: true });
    await last();
    expect(entriesBelow(ground.dir)).toEqual(["from.txt", "to.txt", "tree/", "tree/a"]);
  });

  test("removes a copied tree only while nothing in it has changed", async () => {
    ground.put("t/a", "a");
    ground.put("t/b/c", "c");
    await run("copy", { path: "t", to: "u", recursive: true });
    await last();
    expect(ground.names()).toEqual(["t"]);
    const copied = await run("copy", { path: "t", to: "v", recursive: true });
    expect(copied.files).toBe(2);
    waitForLaterTimes();
    writeFileSync(at("v/b/new"), "");
    expect(await fail("undo", { last: 1 })).toMatchObject({ code: "CONFLICT" });
    expect(entriesBelow(at("v"))).toEqual(["a", "b/", "b/c", "b/new"]);
  });

  test("never overwrites what changed since, and says by whom", async () => {
    const ids = await recorded(async () => {
      await run("write", { path: "f", content: "1" });
      await run("write", { path: "f", content: "2" });
    });
    const [second, first] = ids;
    const early = await fail("undo", { id: first });
    expect(early).toMatchObject({
      code: "CONFLICT",
      data: { blocked: [{ id: first, by: "operator", laterId: second }] },
    });
    const dry = await undo({ id: first, dryRun: true });
    expect(dry).toMatchObject({ dryRun: true, blocked: [{ id: first }] });
    expect(text("f")).toBe("2");
    expect(await undo({ ids: [first, second] })).toMatchObject({ undone: [second, first], files: [{ etag: null }] });
    expect(ground.names()).toEqual([]);
    await run("write", { path: "g", content: "mine" });
    writeFileSync(at("g"), "theirs");
    expect(await fail("undo", { last: 1 })).toMatchObject({ data: { blocked: [{ path: "g", by: "external" }] } });
    expect(text("g")).toBe("theirs");
  });

  test("undoes moves and changes of what was moved in one call", async () => {
    ground.put("a/f", "0");
    ground.put("a/g", "0");
    const ids = await recorded(async () => {
      await run("write", { path: "a/f", content: "1" });
      await run("move", { path: "a", to: "b" });
      await run("write", { path: "b/f", content: "2" });
      await run("move", { path: "b/f", to: "b/h" });
      await run("delete", { path: "b/g" });
      await run("delete", { path: "b", recursive: true });
    });
    const undone = await undo({ ids });
    expect(entriesBelow(ground.dir)).toEqual(["a/", "a/f", "a/g"]);
    expect([text("a/f"), text("a/g")]).toEqual(["0", "0"]);
    await undo({ group: undone.group });
    expect(ground.names()).toEqual([]);
  });

  test("a link that takes the place of a folder leads nowhere", async () => {
    mkdirSync(at("real"));
    mkdirSync(at("other"));
    await run("write", { path: "real/f", content: "x" });
    const { id } = await run("delete", { path: "real/f" });
    renameSync(at("real"), at("moved"));
    symlinkSync("other", at("real"));
    expect((await fail("undo", { id })).code).toBe("CONFLICT");
    expect(entriesBelow(ground.dir)).toEqual(["moved/", "other/", "real"]);
  });

  test("raced with a writer outside, what that wrote is there at the end or was never there", async () => {
    for (let round = 0; round < 10; round++) {
      await run("write", { path: "raced", content: "mine" });
      const undoing = last().then(
        () => "undone",
        ({ code }: { code: string }) => code,
      );
      if (round % 2 === 0) await new Promise((resolve) => setImmediate(resolve));
      writeFileSync(at("theirs"), "theirs");
      renameSync(at("theirs"), at("raced"));
      expect(["undone", "CONFLICT"]).toContain(await undoing);
      // Taken away only with the entry that says so, so that it can be brought back.
      if (ground.names().includes("raced")) expect(text("raced")).toBe("theirs");
      else expect((await run("history", { path: "raced", limit: 1 })).entries[0]?.after).toBeNull();
    }
  });

  test("nobody learns of changes, or undoes them, on paths without rights", async () => {
    const { id: hidden = "" } = await recordedWrite("secret/f");
    const caps = { caps: [{ with: "file://r/open", can: "crud" }] };
    expect((await fail("undo", { id: hidden }, caps)).code).toBe("NOT_FOUND");
    expect((await fail("undo", { ids: [hidden], dryRun: true }, caps)).code).toBe("NOT_FOUND");
    expect((await fail("undo", { last: 5 }, caps)).code).toBe("NOT_FOUND");
    const reader = { caps: [{ with: "file://r/secret", can: "crud/read" }] };
    expect((await fail("undo", { id: hidden, dryRun: true }, reader)).code).toBe("CAPABILITY_DENIED");
    const other = { callerDID: "did:key:z6MkSomebody" };
    expect((await fail("undo", { last: 1, via: "*" }, other)).code).toBe("CAPABILITY_DENIED");
  });

  async function recordedWrite(path: string): Promise<{ id: string | undefined }> {
    await run("write", { path, content: "x", parents: true });
    return { id: (await run("history", { path, limit: 1 })).entries[0]?.id };
  }

  test.each([
    ["an unknown id", { id: "0000000000000000000ab" }, "NOT_FOUND"],
    ["an unknown group", { group: "g0000000000000000000a" }, "NOT_FOUND"],
    ["no form", {}, "INVALID_INPUT"],
    ["two forms", { last: 1, id: "x" }, "INVALID_INPUT"],
    ["via without last", { id: "x", via: "*" }, "INVALID_INPUT"],
  ])("refuses %s", async (_, input, code) => {
    expect((await fail("undo", input)).code).toBe(code);
  });

  test("says why something cannot be undone", async () => {
    ground.put("gone", "x");
    await run("delete", { path: "gone", permanent: true });
    expect(await fail("undo", { last: 1 })).toMatchObject({ code: "NOT_SUPPORTED", data: { reason: "permanent" } });
  });

  /** Ids of the entries of some changes, newest first. */
  async function recorded(work: () => Promise<void>): Promise<string[]> {
    const { entries: before } = await run("history", { limit: 1 });
    await work();
    const { entries } = await run("history", { limit: 100 });
    const known = entries.findIndex(({ id }) => id === before[0]?.id);
    return entries.slice(0, known < 0 ? undefined : known).map(({ id }) => id);
  }
});

describe("file:undo in several roots at once", () => {
  const ground = useGround({ journal: true, roots: { other: { path: "../outside", durability: "none" } } });

  test("tells the etag of a path in each root", async () => {
    const { adapter } = ground;
    for (const time of ["before", "after"])
      for (const root of ["r", "other"])
        await adapter.invoke("file:write", { root, path: "f", content: `${root} ${time}` });
    const { files, atomic } = (await adapter.invoke("file:undo", { last: 2 })) as Undone;
    const etags = await Promise.all(
      ["other", "r"].map((root) => adapter.invoke("file:hash", { root, path: "f" }) as Promise<{ etag: string }>),
    );
    expect([ground.get("f").toString(), readFileSync(join(ground.outside, "f"), "utf8")]).toEqual([
      "r before",
      "other before",
    ]);
    expect(atomic).toBe(false);
    expect(files.map(({ root, etag }) => ({ root, etag }))).toEqual([
      { root: "other", etag: etags[0]?.etag },
      { root: "r", etag: etags[1]?.etag },
    ]);
  });
});

describe("file:undo of which a later root fails", () => {
  const ground = useGround({ journal: true, roots: { other: { path: "../outside", durability: "none" } } });

  test("tells what is undone, in its error and in the history", async () => {
    const { adapter } = ground;
    for (const root of ["r", "other"]) await adapter.invoke("file:write", { root, path: "f", content: root });
    const changeAll = HostBackend.prototype.changeAll;
    jest
      .spyOn(HostBackend.prototype, "changeAll")
      .mockImplementationOnce(function (this: HostBackend, changes) {
        return changeAll.call(this, changes);
      })
      .mockRejectedValueOnce(ioError({ root: "r", path: "f" }, "EIO"));
    const { code, data } = await failureOf(adapter.invoke("file:undo", { last: 2 }));
    jest.restoreAllMocks();
    const entriesIn = async (root: string) => {
      const { entries } = (await adapter.invoke("file:history", { root, path: "f" })) as Entries;
      return entries.filter(({ op }) => op === "write");
    };
    const [other, r] = [await entriesIn("other"), await entriesIn("r")];
    expect([code, data["undone"]]).toEqual(["IO_ERROR", [other[0]?.id]]);
    expect([other[0]?.undoneBy, r[0]?.undoneBy]).toEqual([expect.any(String), undefined]);
    expect(await adapter.invoke("file:undo", { last: 1 })).toMatchObject({ undone: [r[0]?.id] });
  });
});

/** The times of files move in ticks, behind the clock; what is written after this is later than now, in milliseconds. */
function waitForLaterTimes(): void {
  const probe = mkdtempSync(join(tmpdir(), "undo-times-"));
  const now = Date.now();
  while (Math.floor(statSync(probe).ctimeMs) <= now) chmodSync(probe, 0o700);
  rmSync(probe, { recursive: true });
}
