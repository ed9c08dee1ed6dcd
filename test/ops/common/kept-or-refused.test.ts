// What a change would destroy is kept, or the change is refused: whatever may be removed can be kept by the same rights.

import fs, { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { ROOT } from "../../jail/files.js";
import { type Child, isRoot, NOBODY, startChild } from "../../jail/start-child.js";
import { needs } from "../../needs.js";
import { failureOf, useGround } from "../ground.js";

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
      expect(await child.invoke("delete", { path: "m", recursive: true })).toMatchObject({ output: { trashed: true } });
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

  needs(isRoot, "a file of somebody else needs root")("a file of somebody else that cannot be read stays", async () => {
    writeFileSync(at("theirs"), "x");
    chmodSync(at("theirs"), 0o622);
    expect(await child.invoke("write", { path: "theirs", content: "new" })).toMatchObject({
      code: "PERMISSION_DENIED",
    });
    expect(fs.readFileSync(at("theirs"), "utf8")).toBe("x");
    expect(await child.invoke("delete", { path: "theirs" })).toMatchObject({ output: { trashed: true } });
  });
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
