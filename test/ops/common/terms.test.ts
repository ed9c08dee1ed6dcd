import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { CallTerms } from "../../../src/core/call/terms.js";
import { newEntryId } from "../../../src/core/entry-id.js";
import { adapterError } from "../../../src/core/errors/errors.js";
import { etagOf, hashText } from "../../../src/core/etag.js";
import { WALKS_BEFORE_LOADING } from "../../../src/jail/walk/beneath.js";
import { stagedIn } from "../../staged.js";
import { failure, useGround } from "../ground.js";

describe("terms of a profile", () => {
  const sha256 = (text: string): string => `sha256:${createHash("sha256").update(text).digest("hex")}`;
  const ground = useGround();

  describe("links refused", () => {
    const refuse = { links: "refuse" } as const;
    const calls = [
      ["stat", (path: string) => ({ path })],
      ["read", (path: string) => ({ path })],
      ["list", (path: string) => ({ path })],
      ["tree", (path: string) => ({ path })],
      ["grep", (path: string) => ({ path, pattern: "x" })],
      ["write", (path: string) => ({ path, content: "new", parents: true })],
      ["append", (path: string) => ({ path, content: "new", parents: true })],
      ["edit", (path: string) => ({ path, oldText: "x", newText: "y" })],
      ["mkdir", (path: string) => ({ path, parents: true })],
      ["delete", (path: string) => ({ path, recursive: true })],
    ] as const;

    function links(): void {
      ground.put("real/file", "x");
      writeFileSync(join(ground.outside, "secret"), "x");
      symlinkSync("real", join(ground.dir, "inside"));
      symlinkSync("real/file", join(ground.dir, "to-file"));
      symlinkSync("nowhere", join(ground.dir, "dangling"));
      symlinkSync(ground.outside, join(ground.dir, "outside"));
    }

    test.each(calls)("%s goes through none, wherever it stands and leads", async (name, input) => {
      links();
      for (const path of [
        "inside",
        "inside/file",
        "inside/new/deep",
        "to-file",
        "dangling",
        "outside",
        "outside/secret",
      ]) {
        expect([path, (await ground.fail(name, input(path), refuse)).code]).toEqual([path, "SYMLINK_ESCAPE"]);
      }
      expect(readFileSync(join(ground.dir, "real/file"), "utf8")).toBe("x");
      expect(ground.names("real")).toEqual(["file"]);
      expect(existsSync(join(ground.outside, "new"))).toBe(false);
      for (const name of ["inside", "to-file", "dangling", "outside"]) {
        expect(lstatSync(join(ground.dir, name)).isSymbolicLink()).toBe(true);
      }
    });

    test("without the field those that stay inside are followed", async () => {
      links();
      expect((await ground.run("read", { path: "inside/file" })).content).toBe("x");
      expect((await ground.run("delete", { path: "to-file" })).deleted).toBe(true);
    });

    test("nor do looks that take one step", async () => {
      links();
      for (let call = 0; call <= WALKS_BEFORE_LOADING; call++) await ground.run("stat", { path: "real/file" }, refuse);
      expect((await ground.run("read", { path: "real/file" }, refuse)).content).toBe("x");
      for (const path of ["inside/file", "to-file", "outside/secret"]) {
        expect((await ground.fail("read", { path }, refuse)).code).toBe("SYMLINK_ESCAPE");
        expect((await ground.fail("stat", { path }, refuse)).code).toBe("SYMLINK_ESCAPE");
      }
    });
  });

  describe("terms of a profile", () => {
    const withTerms = (terms: CallTerms) => ({ terms });

    test("details tell whole hashes and the time of birth, and nobody else is told them", async () => {
      const details = withTerms({ details: true });
      expect(await ground.run("write", { path: "f", content: "one\n" }, details)).toMatchObject({
        hash: sha256("one\n"),
      });
      expect(await ground.run("read", { path: "f" }, details)).toMatchObject({ hash: sha256("one\n") });
      const edited = await ground.run("edit", { path: "f", oldText: "one", newText: "two" }, details);
      expect(edited).toMatchObject({ hash: sha256("two\n") });
      const { birthtimeMs } = lstatSync(join(ground.dir, "f"));
      expect(await ground.run("stat", { path: "f" }, details)).toMatchObject({ created: Math.floor(birthtimeMs) });
      for (const answer of [
        await ground.run("write", { path: "g", content: "one\n" }),
        await ground.run("read", { path: "g" }),
        await ground.run("edit", { path: "g", oldText: "one", newText: "two" }),
      ]) {
        expect(answer).not.toHaveProperty("hash");
      }
      expect(Object.keys(await ground.run("stat", { path: "g" }))).not.toEqual(expect.arrayContaining(["created"]));
    });

    test("a protected place is as a read-only file to changes, and only to callers with the right to them", async () => {
      ground.put("kept", "x");
      const terms = { isProtected: ([name]: readonly string[]) => name === "kept" };
      const protectedCalls = [
        ["write", { path: "kept", content: "y" }],
        ["edit", { path: "kept", oldText: "x", newText: "y" }],
        ["delete", { path: "kept" }],
      ] as const;
      for (const [name, input] of protectedCalls) {
        expect((await ground.fail(name, input, { terms })).code).toBe("PERMISSION_DENIED");
        const caps = [{ with: "file://r/", can: "crud/read" }];
        expect((await ground.fail(name, input, { terms, caps })).code).toBe("CAPABILITY_DENIED");
      }
      expect((await ground.run("read", { path: "kept" }, { terms })).content).toBe("x");
      expect((await ground.run("write", { path: "free", content: "y" }, { terms })).written).toBe(1);
    });

    test("edits are as the terms plan them, and what they throw is the answer", async () => {
      ground.put("f", "abc");
      const seen: unknown[] = [];
      const plan: NonNullable<CallTerms["edits"]>["plan"] = async ({ text, sha256: hash, mayRead }) => {
        seen.push(text, `sha256:${hash}`, mayRead);
        return [{ start: 0, end: 1, text: "A" }];
      };
      const edits = { path: "f", edits: [{ oldText: "not in it", newText: "" }] };
      const done = await ground.run("edit", edits, withTerms({ edits: { plan } }));
      expect(done).toMatchObject({ applied: 1, size: 3 });
      expect(done).not.toHaveProperty("diff");
      expect(ground.get("f").toString()).toBe("Abc");
      expect(seen).toEqual(["abc", sha256("abc"), true]);

      const refuse = () => Promise.reject(adapterError("NO_MATCH", "none of it"));
      expect(await ground.fail("edit", edits, withTerms({ edits: { plan: refuse } }))).toMatchObject({
        ...{ code: "NO_MATCH", message: "none of it" },
      });
    });

    test("a search tells every line whole, of the files that are wanted, and refuses too many bytes", async () => {
      const long = `needle${"x".repeat(2000)}`;
      ground.put("a.txt", `${long}\n`.repeat(300));
      ground.put("b.txt", "needle\n");
      ground.put("big.bin", Buffer.alloc(1000));
      const wants = (path: readonly string[]) => path[0] !== "b.txt";
      const search = { wants, maxTotalBytes: 300 * (long.length + 1) };
      for (const pattern of ["needle", "n[e]{2}dle"]) {
        const { matches } = await ground.run("grep", { pattern }, withTerms({ search }));
        expect(matches).toHaveLength(300);
        expect(matches?.at(-1)).toEqual({ path: "a.txt", line: 300, text: long });
        const less = { ...search, maxTotalBytes: search.maxTotalBytes - 1 };
        expect((await ground.fail("grep", { pattern }, withTerms({ search: less }))).code).toBe("TOO_LARGE");
      }
      expect((await ground.run("grep", { pattern: "needle", path: "b.txt" }, withTerms({ search }))).matches).toEqual(
        [],
      );
      expect((await ground.run("grep", { pattern: "needle", path: "b.txt" })).matches).toHaveLength(1);
    });
  });
});

describe("conditions", () => {
  const ground = useGround();
  const sha = (text: string): string => createHash("sha256").update(text).digest("hex");
  const etag = (text: string): string => etagOf(sha(text));

  const caps = (...abilities: string[]) => ({ caps: abilities.map((can) => ({ with: "file://r/", can })) });

  const conflict = (verb: string, expected: string, current?: string | null) =>
    failure(
      "CONFLICT",
      `Cannot ${verb} "a": it changed since you read it (expected ${expected === "*" ? "nothing" : expected}${
        current === undefined ? "" : `, now ${current ?? "missing"}`
      }). ${expected === "*" ? "It is there already: read it before you replace it, or choose another name" : "Read it again"}`,
      "a",
      { expected, ...(current === undefined ? {} : { current }) },
    );

  describe("changes with a precondition", () => {
    test("answer with the etag that the next one is made on", async () => {
      const first = await ground.run("write", { path: "a", content: "one", ifNoneMatch: "*" });
      expect(first).toEqual({ written: 3, created: true, etag: etag("one") });
      const second = await ground.run("write", { path: "a", content: "two", ifMatch: first.etag ?? "" });
      expect(second).toEqual({ written: 3, created: false, etag: etag("two") });
      const third = await ground.run("append", { path: "a", content: "!", ifMatch: hashText(sha("two")) });
      expect(third).toEqual({ appended: 1, created: false, size: 4, etag: etag("two!") });
      const gone = await ground.run("delete", { path: "a", ifMatch: third.etag ?? "" });
      expect(gone).toEqual({ deleted: true, existed: true });
      expect(await ground.run("mkdir", { path: "a", ifNoneMatch: "*" })).toEqual({ created: true, path: "a" });
    });

    test("are refused with what is there now, and change nothing", async () => {
      ground.put("a", "one");
      const stale = { path: "a", ifMatch: etag("old") };
      for (const [operation, input] of [
        ["write", { ...stale, content: "x" }],
        ["append", { ...stale, content: "x" }],
        ["delete", stale],
      ] as const) {
        expect(await ground.fail(operation, input)).toEqual(conflict(operation, etag("old"), etag("one")));
      }
      const taken = { path: "a", content: "x", ifNoneMatch: "*" };
      expect(await ground.fail("write", taken)).toEqual(conflict("write", "*", etag("one")));
      expect(ground.get("a").toString()).toBe("one");
      expect(ground.names()).toEqual(["a"]);
    });

    test("are refused where nothing is", async () => {
      const hash = hashText(sha("one"));
      for (const operation of ["write", "append"] as const) {
        const failed = await ground.fail(operation, { path: "a", content: "x", ifMatch: hash });
        expect(failed).toEqual(conflict(operation, hash, null));
      }
      expect(await ground.fail("delete", { path: "a", ifMatch: hash })).toEqual(conflict("delete", hash, null));
      expect(ground.names()).toEqual([]);
    });

    test("are judged on what a link leads to; a link itself has no content to delete it by", async () => {
      ground.put("dir/a", "one");
      symlinkSync("dir/a", join(ground.dir, "link"));
      await ground.run("write", { path: "link", content: "two", ifMatch: etag("one") });
      expect(ground.get("dir/a").toString()).toBe("two");
      const expected = failure("NOT_A_FILE", "Not a regular file: link", "link");
      expect(await ground.fail("delete", { path: "link", ifMatch: etag("two") })).toEqual(expected);
      const directory = await ground.fail("delete", { path: "dir", recursive: true, ifMatch: etag("two") });
      expect(directory).toEqual(
        failure("IS_A_DIRECTORY", "Not a regular file: dir. It is a directory: list it with file:list", "dir"),
      );
      expect(ground.names()).toEqual(["dir", "link"]);
    });

    test("tell whoever may not read nothing of what is there", async () => {
      ground.put("a", "one");
      const stale = { path: "a", content: "x", ifMatch: etag("old") };
      const context = caps("crud/write", "crud/delete");
      expect(await ground.fail("write", stale, context)).toEqual(conflict("write", etag("old")));
      expect(await ground.fail("delete", { path: "a", ifMatch: etag("old") }, context)).toEqual(
        conflict("delete", etag("old")),
      );
      const added = await ground.run("append", { path: "a", content: "!", ifMatch: etag("one") }, context);
      expect(added).toEqual({ appended: 1, created: false, size: 4 });
      const counted = await ground.fail("append", { path: "a", content: "!", expectedSize: 3 }, context);
      expect(counted).toEqual(conflict("append", "3 bytes"));
    });

    test.each([
      ["write", { content: "x", ifMatch: "k3v5x2aq", ifNoneMatch: "*" }, "/ifNoneMatch"],
      ["write", { content: "x", ifMatch: "" }, "/ifMatch"],
      ["write", { content: "x", ifMatch: "K3V5X2AQ" }, "/ifMatch"],
      ["write", { content: "x", ifMatch: '"k3v5x2aq"' }, "/ifMatch"],
      ["write", { content: "x", ifMatch: "sha256:abc" }, "/ifMatch"],
      ["write", { content: "x", ifNoneMatch: "k3v5x2aq" }, "/ifNoneMatch"],
      ["append", { content: "x", ifMatch: "*" }, "/ifMatch"],
      ["append", { content: "x", expectedSize: -1 }, "/expectedSize"],
      ["append", { content: "x", expectedSize: 1.5 }, "/expectedSize"],
      ["delete", { ifMatch: "*" }, "/ifMatch"],
      ["mkdir", { ifNoneMatch: "x" }, "/ifNoneMatch"],
    ] as const)("%s: %j is no precondition", async (operation, input, pointer) => {
      const failed = await ground.fail(operation, { path: "a", ...input });
      expect([failed.code, failed.data["pointer"]]).toEqual(["INVALID_INPUT", pointer]);
      expect(ground.names()).toEqual([]);
    });

    test.each([
      ["append", { content: "x", ifNoneMatch: "*" }],
      ["delete", { ifNoneMatch: "*" }],
      ["mkdir", { ifMatch: "k3v5x2aq" }],
      ["write", { content: "x", expectedSize: 1 }],
    ] as const)("%s: %j is unknown", async (operation, input) => {
      expect((await ground.fail(operation, { path: "a", ...input })).code).toBe("INVALID_INPUT");
    });
  });

  describe("an append with a size", () => {
    test("can be made again when its answer was lost", async () => {
      const chunk = { path: "a", content: "data", expectedSize: 0 };
      expect(await ground.run("append", chunk)).toEqual({ appended: 4, created: true, size: 4, etag: etag("data") });
      expect(await ground.run("append", chunk)).toEqual({ appended: 0, created: false, size: 4, alreadyApplied: true });
      await ground.run("append", { path: "a", content: "more", expectedSize: 4 });
      const late = await ground.fail("append", chunk);
      expect([late.code, late.data["currentSize"]]).toEqual(["CONFLICT", 8]);
      expect(late.message).toBe(
        'Cannot append "a": it changed since you read it (expected 0 bytes, now 8 bytes). Read it again',
      );
      expect(ground.get("a").toString()).toBe("datamore");
    });
  });
});

/** What a cloned repository can bring along in its `.venue-files`, at the top of a root and below it. */
describe("a repository that brings .venue-files along", () => {
  const ground = useGround({ journal: true });
  const { run } = ground;
  const id = newEntryId(Date.now() - 1000);
  const at = (path: string): string => join(ground.dir, path);
  const bring = (path: string, content: string): void => {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), content);
  };
  const record = (path: string, staged: string) =>
    JSON.stringify({
      format: 1,
      steps: [
        {
          made: [],
          put: { path: [path], after: { type: "file", inode: "1", size: 3, modified: 1 }, staged, before: "before-0" },
        },
        { taken: { path: ["stolen.txt"], what: { type: "file", inode: "1", size: 3, modified: 1 }, kept: "kept-0" } },
      ],
    });

  beforeEach(() => {
    ground.put("victim.txt", "safe");
    for (const top of ["", "vendor/lib/"]) {
      const stage = `${top}.venue-files`;
      const trash = `${stage}/trash/${"0".repeat(32)}-${id}`;
      bring(trash, "planted");
      symlinkSync("/etc/passwd", at(`${stage}/trash/${"1".repeat(32)}-${id}`));
      for (const owner of ["d1-1-1-1-0123456789abcdef", "d4032323-4026531836-999999-1-0123456789abcdef"]) {
        const folder = `${stage}/patch-${owner}`;
        bring(`${folder}/record-0`, record("victim.txt", "after-0"));
        bring(`${folder}/before-0`, "planted");
        bring(`${folder}/kept-0`, "planted");
        symlinkSync("../../../../../../etc", at(`${folder}/after-0`));
      }
      bring(`${stage}/lock`, "d4032323-4026531836-999999-1-0123456789abcdef");
    }
  });

  test("has nothing of it applied, followed or shown", async () => {
    await run("write", { path: "new.txt", content: "one" });
    await run("patch", { patch: "*** Begin Patch\n*** Add File: a.txt\n+a\n*** Add File: b.txt\n+b\n*** End Patch\n" });
    await run("delete", { path: "new.txt" });
    expect(readFileSync(at("victim.txt"), "utf8")).toBe("safe");
    expect(existsSync(at("stolen.txt"))).toBe(false);
    const { entries } = await run("trash", {});
    expect(entries.map(({ path }) => path)).toEqual(["new.txt"]);
    const shown = JSON.stringify([await run("list", {}), await run("history", {}), await run("tree", {})]);
    expect(shown).not.toMatch(/venue-files|planted|passwd|patch-d/);
    for (const version of ["before", "after"]) {
      const read = run("read", { path: "victim.txt", version: `${id}:${version}` });
      await expect(read).rejects.toMatchObject({ code: "INVALID_INPUT" });
    }
    await expect(run("undo", { id })).rejects.toMatchObject({ code: "NOT_FOUND" });
    await run("undo", { last: 1 });
    expect(ground.get("new.txt").toString()).toBe("one");
  });

  test("is not emptied by a purge of what is ours, and a folder with it is not deleted", async () => {
    ground.put("mine.txt", "mine");
    await run("delete", { path: "mine.txt" });
    await run("purge", { all: true });
    expect(readdirSync(at(".venue-files/trash")).sort()).toEqual([
      `${"0".repeat(32)}-${id}`,
      `${"1".repeat(32)}-${id}`,
    ]);
    expect((await run("trash", {})).entries).toEqual([]);
    const deleted = run("delete", { path: "vendor", recursive: true });
    await expect(deleted).rejects.toMatchObject({ code: "DENIED_BY_POLICY" });
    expect(existsSync(at("vendor/lib/.venue-files/trash"))).toBe(true);
    expect(existsSync("/etc/passwd")).toBe(true);
  });
});

describe("folders of version control", () => {
  const ground = useGround();
  const git = (...args: readonly string[]): string =>
    execFileSync("git", ["-C", ground.dir, "-c", "user.name=a", "-c", "user.email=a@example.org", ...args], {
      encoding: "utf8",
    });
  const stage = (): string => join(ground.dir, ".venue-files");

  beforeEach(() => {
    git("init", "-q");
    ground.put("src/a.txt", "one\n");
    git("add", "-A");
    git("commit", "-qm", "first");
  });
  afterEach(() => rmSync(stage(), { recursive: true, force: true }));

  /** Changes that follow each other leave the mark of the holder of a lock in the staging directory for a while. */
  async function conditionalEdits(): Promise<void> {
    for (const [oldText, newText] of [
      ["one", "two"],
      ["two", "three"],
    ] as const) {
      const { etag = "" } = await ground.run("read", { path: "src/a.txt" });
      await ground.run("edit", { path: "src/a.txt", edits: [{ oldText, newText }], ifMatch: etag });
    }
    expect(readdirSync(stage())).toEqual(expect.arrayContaining([expect.stringMatching(/^holder-/)]));
  }

  test("Git sees the change and nothing else, while files are staged too", async () => {
    await conditionalEdits();
    writeFileSync(join(stage(), "patch-left-by-a-killed-process"), "x");
    mkdirSync(join(stage(), "patch-x"));
    writeFileSync(join(stage(), "patch-x", "after-0"), "x");
    expect(git("status", "--porcelain", "--untracked-files=all")).toBe(" M src/a.txt\n");
    git("add", "-A");
    expect(git("diff", "--cached", "--name-only")).toBe("src/a.txt\n");
  });

  test("Mercurial takes the staging directory for another repository", async () => {
    await conditionalEdits();
    expect(statSync(join(stage(), ".hg")).isDirectory()).toBe(true);
  });

  test.each([
    ["none", () => rmSync(stage(), { recursive: true, force: true })],
    ["an empty file", () => writeFileSync(join(stage(), ".gitignore"), "")],
  ])("a staging directory of an earlier process is hidden: rules: %s", async (_, leave) => {
    mkdirSync(stage(), { mode: 0o700 });
    leave();
    await conditionalEdits();
    expect(git("status", "--porcelain", "--untracked-files=all")).toBe(" M src/a.txt\n");
  });

  test("nothing is left in the root when it is closed", async () => {
    await conditionalEdits();
    expect(stagedIn(ground.dir)).not.toEqual([]);
    await ground.adapter.close();
    expect(existsSync(stage())).toBe(false);
  });
});
