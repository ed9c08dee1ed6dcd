import { createHash } from "node:crypto";
import { existsSync, lstatSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import type { CallTerms } from "../../../src/core/call/terms.js";
import { adapterError } from "../../../src/core/errors/errors.js";
import { WALKS_BEFORE_LOADING } from "../../../src/jail/walk/beneath.js";
import { useGround } from "../ground.js";

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
    expect((await ground.run("grep", { pattern: "needle", path: "b.txt" }, withTerms({ search }))).matches).toEqual([]);
    expect((await ground.run("grep", { pattern: "needle", path: "b.txt" })).matches).toHaveLength(1);
  });
});
