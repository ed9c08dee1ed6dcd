import { createHash } from "node:crypto";
import { existsSync, mkdirSync, statSync, symlinkSync, utimesSync } from "node:fs";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { applyPatch, parsePatch } from "diff";
import fc from "fast-check";
import { FileAdapterError } from "../../../src/core/errors/errors.js";
import { etagOf } from "../../../src/core/etag.js";
import { sha256Of } from "../../../src/ops/content/file-etag.js";
import type { FileOutputs } from "../../../src/schema/types.js";
import { AcpClientFs } from "../../../src/surfaces/acp/client-fs.js";
import type { AcpLimits } from "../../../src/surfaces/acp/options.js";
import { unifiedDiff } from "../../../src/surfaces/acp/review/unified.js";
import { useAcp } from "./ground.js";
import { type LocalAgent, localAgent } from "./local.js";
import { connect2 } from "./versions/versions.js";

describe("the history of a session", () => {
  const { ground, at, text, newFs } = useAcp({ root: { maxReadBytes: 1000 } });
  const SESSION = "s";
  let acp: AcpClientFs;
  let agent: LocalAgent;

  async function start(limits: AcpLimits = {}): Promise<void> {
    acp = newFs({ limits });
    agent = await localAgent(acp, SESSION, { cwd: ground.dir });
  }
  beforeEach(() => start());

  const write = async (path: string, content: string): Promise<void> => {
    expect(await agent.ask("fs/write_text_file", { path: at(path), content })).toEqual({ result: {} });
  };
  const hashOf = (bytes: Buffer | string): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
  const undo = () => acp.undo(SESSION);
  const redo = () => acp.redo(SESSION);

  describe("the modified set", () => {
    test("has the first old and the latest new text of each file, and none that is as it was", async () => {
      ground.put("changed", "one");
      ground.put("same", "same");
      ground.put("back", "back");
      ground.put("bytes", Buffer.from([0xff]));
      await write("changed", "two");
      await write("changed", "three");
      await write("same", "same");
      await write("back", "away");
      await write("back", "back");
      await write("new", "");
      await write("bytes", "text");
      expect(acp.modified(SESSION)).toEqual([
        { path: at("changed"), oldText: "one", newText: "three" },
        { path: at("new"), oldText: null, newText: "" },
        {
          path: at("bytes"),
          oldText: null,
          newText: "text",
          overwrites: { size: 1, hash: hashOf(Buffer.from([0xff])) },
        },
      ]);
      expect(await acp.diff(SESSION, at("changed"))).toBe(
        `--- ${at("changed")}\n+++ ${at("changed")}\n@@ -1,1 +1,1 @@\n-one\n\\ No newline at end of file\n+three\n\\ No newline at end of file\n`,
      );
      expect(await acp.diff(SESSION, at("same"))).toBe("");
    });

    test("has one entry for a file that is written under two names", async () => {
      ground.put("real/file", "one");
      symlinkSync("real", at("linked"));
      await write("real/file", "two");
      await write("linked/file", "three");
      expect(acp.modified(SESSION)).toEqual([{ path: at("real/file"), oldText: "one", newText: "three" }]);
      const diff = await acp.diff(SESSION, at("linked/file"));
      expect(diff).toContain("-one");
      expect(diff).toContain("+three");
    });

    test("is of one session", async () => {
      const other = await localAgent(acp, "other", { cwd: ground.dir });
      await write("file", "one");
      await other.ask("fs/write_text_file", { path: at("file"), content: "two" });
      expect(acp.modified(SESSION)).toEqual([{ path: at("file"), oldText: null, newText: "one" }]);
      expect(acp.modified("other")).toEqual([{ path: at("file"), oldText: "one", newText: "two" }]);
      expect(() => acp.modified("none")).toThrow("no such session");
      await acp.closeSession("other");
      expect(() => acp.modified("other")).toThrow("no such session");
    });

    test("says of what it could not keep that it has changed", async () => {
      await start({ undoBytes: 10 });
      await write("large", "x".repeat(20));
      await write("small", "y");
      expect(acp.modified(SESSION)).toEqual([
        { path: at("large"), oldText: null, newText: "", omitted: true },
        { path: at("small"), oldText: null, newText: "y" },
      ]);
      expect(await acp.diff(SESSION, at("large"))).toContain("too large to show");
    });
  });

  describe("undo and redo", () => {
    test("go step by step, and a new write forgets what was undone", async () => {
      ground.put("file", "zero");
      await write("file", "one");
      await write("file", "two");
      expect(await undo()).toBe(at("file"));
      expect(text("file")).toBe("one");
      expect(await undo()).toBe(at("file"));
      expect(text("file")).toBe("zero");
      expect(acp.modified(SESSION)).toEqual([]);
      expect(await undo()).toBeUndefined();
      expect(await redo()).toBe(at("file"));
      expect(text("file")).toBe("one");
      await write("file", "three");
      expect(await redo()).toBeUndefined();
      expect(await undo()).toBe(at("file"));
      expect(text("file")).toBe("one");
    });

    test("of a file that was created deletes it, and creates it again", async () => {
      await write("a/new", "text");
      await undo();
      expect(existsSync(at("a/new"))).toBe(false);
      expect(acp.modified(SESSION)).toEqual([]);
      await redo();
      expect(text("a/new")).toBe("text");
    });

    test("of a file that was created takes the directories that were made for it, while they are empty", async () => {
      mkdirSync(at("there"));
      await write("there/a/b/one", "1");
      await write("there/a/two", "2");
      expect(await undo()).toBe(at("there/a/two"));
      expect(existsSync(at("there/a/b/one"))).toBe(true);
      await undo();
      expect([existsSync(at("there/a")), existsSync(at("there"))]).toEqual([false, true]);
      await redo();
      await redo();
      expect([text("there/a/b/one"), text("there/a/two")]).toEqual(["1", "2"]);
      await undo();
      ground.put("there/a/theirs", "x");
      await undo();
      expect([existsSync(at("there/a/b")), text("there/a/theirs")]).toEqual([false, "x"]);
    });

    test("leave no directories of a write that fails", async () => {
      acp = new AcpClientFs({
        mounts: [{ root: "r" }],
        adapter: {
          invoke: async (operation, input, context) => {
            if (operation === "file:write") throw new FileAdapterError("NO_SPACE", "No space left", {});
            return ground.adapter.invoke(operation as "file:stat", input as never, context);
          },
        },
      });
      agent = await localAgent(acp, SESSION, { cwd: ground.dir });
      const { error } = await agent.ask("fs/write_text_file", { path: at("a/b/file"), content: "x" });
      expect(error?.code).toBe(-32603);
      expect(existsSync(at("a"))).toBe(false);
    });

    test("go no further back than where something was overwritten that is not kept", async () => {
      const large = "x".repeat(2000);
      ground.put("large", large);
      await write("small", "one");
      await write("large", "short");
      expect(acp.modified(SESSION)).toEqual([
        { path: at("small"), oldText: null, newText: "one" },
        { path: at("large"), oldText: null, newText: "short", overwrites: { size: 2000, hash: hashOf(large) } },
      ]);
      expect(await acp.diff(SESSION, at("large"))).toBe(
        `Overwrites 2000 bytes (${hashOf(large)}), which are not shown\n--- ${at("large")}\n+++ ${at("large")}\n@@ -0,0 +1,1 @@\n+short\n\\ No newline at end of file\n`,
      );
      await write("large", "shorter");
      expect(await undo()).toBe(at("large"));
      for (let attempt = 0; attempt < 2; attempt++) {
        await expect(undo()).rejects.toMatchObject({ code: "CONFLICT", message: expect.stringContaining("not kept") });
      }
      expect([text("large"), text("small")]).toEqual(["short", "one"]);
      expect(await redo()).toBe(at("large"));
      expect(text("large")).toBe("shorter");
    });

    test("bring back bytes that are no text", async () => {
      const bytes = Buffer.from([0xff, 0x00, 0xfe]);
      ground.put("bytes", bytes);
      await write("bytes", "text");
      await undo();
      expect(ground.get("bytes")).toEqual(bytes);
    });

    test("leave alone what somebody else has changed", async () => {
      await write("file", "one");
      ground.put("file", "theirs");
      await expect(undo()).rejects.toMatchObject({ code: "CONFLICT" });
      expect(text("file")).toBe("theirs");
      ground.put("file", "one");
      await undo();
      ground.put("file", "theirs");
      await expect(redo()).rejects.toMatchObject({ code: "CONFLICT" });
      expect(text("file")).toBe("theirs");
    });

    test("forget the oldest first, by number and by size", async () => {
      await start({ undoEntries: 2 });
      for (const content of ["one", "two", "three"]) await write("file", content);
      expect([await undo(), await undo(), await undo()]).toEqual([at("file"), at("file"), undefined]);
      expect(text("file")).toBe("one");
      await start({ undoBytes: 9 });
      for (const content of ["aaa", "bbb", "ccc"]) await write("other", content);
      expect([await undo(), await undo()]).toEqual([at("other"), undefined]);
    });

    test("asked for at once go one after the other", async () => {
      for (const content of ["one", "two", "three"]) await write("file", content);
      await Promise.all([undo(), undo()]);
      expect(text("file")).toBe("one");
      await Promise.all([redo(), redo()]);
      expect(text("file")).toBe("three");
    });

    test("are the same as going through a list of texts", async () => {
      const step = fc.oneof(
        fc.record({ write: fc.constantFrom("a", "b"), content: fc.string({ unit: "grapheme-ascii", maxLength: 3 }) }),
        fc.constantFrom("undo" as const, "redo" as const),
      );
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
          await start();
          const names = ["a", "b"];
          for (const name of names) ground.put(name, "first");
          const states: Record<string, string>[] = [{ a: "first", b: "first" }];
          let now = 0;
          for (const one of steps) {
            if (one === "undo") {
              await undo();
              now = Math.max(0, now - 1);
            } else if (one === "redo") {
              await redo();
              now = Math.min(states.length - 1, now + 1);
            } else {
              await write(one.write, one.content);
              states.splice(now + 1, states.length, { ...states[now], [one.write]: one.content });
              now++;
            }
            expect(Object.fromEntries(names.map((name) => [name, text(name)]))).toEqual(states[now]);
          }
          for (const { path, oldText, newText } of acp.modified(SESSION)) {
            expect(applyPatch(oldText ?? "", await acp.diff(SESSION, path))).toBe(newText);
          }
        }),
        { numRuns: 25 },
      );
    });
  });
});

const line = fc.constantFrom("a\n", "b\n", "c\n", "\n", "a\r\n");

describe("a unified diff", () => {
  const text = fc
    .tuple(fc.array(line, { maxLength: 30 }), fc.constantFrom("", "end"))
    .map(([lines, end]) => lines.join("") + end);

  test("applied to the old text gives the new one", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const diff = unifiedDiff("/f", before, after);
        expect(applyPatch(before, diff, { autoConvertLineEndings: false })).toBe(after);
      }),
    );
  });

  test("is as short as can be", () => {
    const before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n";
    const after = before.replace("2\n", "").replace("11\n", "11\nnew\n");
    expect(unifiedDiff("/f", before, after)).toBe(
      "--- /f\n+++ /f\n@@ -1,5 +1,4 @@\n 1\n-2\n 3\n 4\n 5\n@@ -9,4 +8,5 @@\n 9\n 10\n 11\n+new\n 12\n",
    );
  });

  test.each([
    ["a new file", null, "a\nb", "--- /dev/null\n+++ /f\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"],
    ["a new empty file", null, "", "--- /dev/null\n+++ /f\n"],
    ["an emptied file", "a\n", "", "--- /f\n+++ /f\n@@ -1,1 +0,0 @@\n-a\n"],
    ["equal texts", "a", "a", ""],
  ])("of %s", (_, before, after, diff) => {
    expect(unifiedDiff("/f", before, after)).toBe(diff);
  });

  test("of texts that have hardly anything in common is one change", () => {
    const before = Array.from({ length: 3000 }, (_, index) => `old ${index}\n`).join("");
    const after = Array.from({ length: 3000 }, (_, index) => `new ${index}\n`).join("");
    const diff = unifiedDiff("/f", before, after);
    expect(parsePatch(diff)[0]?.hunks).toHaveLength(1);
    expect(applyPatch(before, diff)).toBe(after);
  });

  test("names no terminal controls", () => {
    expect(unifiedDiff("/f\u001b[2J", "a", "b")).toContain('--- "/f\\033[2J"\n');
  });
});

describe("roots with a journal", () => {
  const { ground, at, text, newFs } = useAcp({ journal: true, root: { maxReadBytes: 1000 } });
  let session = "";
  let count = 0;
  let acp: AcpClientFs;
  let agent: LocalAgent;

  beforeEach(async () => {
    session = `journal-${++count}`;
    acp = newFs();
    agent = await localAgent(acp, session, { cwd: ground.dir });
  });

  const write = async (path: string, content: string): Promise<void> => {
    expect(await agent.ask("fs/write_text_file", { path: at(path), content })).toEqual({ result: {} });
  };
  /** What the session has done, oldest first. */
  async function ops(): Promise<readonly string[]> {
    const { entries }: FileOutputs["file:history"] = await ground.run("history", { via: session });
    return entries.map(({ op, undoneBy }) => `${op}${undoneBy === undefined ? "" : " (undone)"}`).reverse();
  }

  test("two contents with one etag are taken back one after the other", async () => {
    const [one, other] = ["echo 00213937\n", "echo 02913469\n"] as const;
    const etag = (content: string) => etagOf(sha256Of(Buffer.from(content)));
    expect(etag(one)).toBe(etag(other));
    await write("file", one);
    await write("file", other);
    await acp.undo(session);
    expect(text("file")).toBe(one);
    await acp.undo(session);
    expect(existsSync(at("file"))).toBe(false);
  });

  describe("undo and redo in a root with a journal", () => {
    test("are undos of the entries of the session", async () => {
      ground.put("file", "zero");
      utimesSync(at("file"), 1e9, 1e9);
      await write("file", "one");
      await write("file", "two");
      expect(await acp.undo(session)).toBe(at("file"));
      expect(text("file")).toBe("one");
      expect(await acp.undo(session)).toBe(at("file"));
      expect([text("file"), Math.floor(statSync(at("file")).mtimeMs)]).toEqual(["zero", 1e12]);
      expect(await ops()).toEqual(["write (undone)", "write (undone)", "undo", "undo"]);
      expect(acp.modified(session)).toEqual([]);
      expect(await acp.redo(session)).toBe(at("file"));
      expect(text("file")).toBe("one");
      expect(await acp.redo(session)).toBe(at("file"));
      expect(text("file")).toBe("two");
      expect(await acp.undo(session)).toBe(at("file"));
      expect(text("file")).toBe("one");
      expect(acp.modified(session)).toEqual([{ path: at("file"), oldText: "zero", newText: "one" }]);
    });

    test("bring back content that was too large to hold", async () => {
      const large = "x".repeat(100_000);
      ground.put("file", large);
      await write("file", "small");
      expect(await acp.undo(session)).toBe(at("file"));
      expect(text("file")).toBe(large);
      expect(acp.modified(session)).toEqual([]);
      expect(await acp.redo(session)).toBe(at("file"));
      expect(text("file")).toBe("small");
      expect(acp.modified(session)).toHaveLength(1);
    });

    test("remove what was created, with its directories, and make it again; links name the same file", async () => {
      symlinkSync("real", at("linked"));
      await write("real/deep/new", "text");
      await write("linked/deep/new", "more");
      await acp.undo(session);
      expect(text("real/deep/new")).toBe("text");
      await acp.undo(session);
      expect(existsSync(at("real"))).toBe(false);
      await acp.redo(session);
      await acp.redo(session);
      expect(text("real/deep/new")).toBe("more");
    });

    test("hold no content of the steps in memory, whatever its size", async () => {
      acp = newFs({ limits: { undoBytes: 10 } });
      agent = await localAgent(acp, session, { cwd: ground.dir });
      const texts = ["a", "b", "c"].map((letter) => letter.repeat(500));
      for (const content of texts) await write("file", content);
      const undone = [await acp.undo(session), await acp.undo(session), text("file"), await acp.undo(session)];
      expect(undone).toEqual([at("file"), at("file"), texts[0], at("file")]);
      expect([existsSync(at("file")), await acp.undo(session)]).toEqual([false, undefined]);
      for (const content of texts) {
        await acp.redo(session);
        expect(text("file")).toBe(content);
      }
    });

    test("show what a journal has put back as it is in the file", async () => {
      ground.put("file", "zero");
      for (const content of ["one", "two"]) await write("file", content);
      await acp.undo(session);
      expect(acp.modified(session)).toEqual([{ path: at("file"), oldText: "zero", newText: "one" }]);
      await acp.redo(session);
      expect(acp.modified(session)).toEqual([{ path: at("file"), oldText: "zero", newText: "two" }]);
    });

    test("take back a write of what was there already by itself", async () => {
      for (const content of ["one", "one"]) await write("file", content);
      await acp.undo(session);
      expect(text("file")).toBe("one");
      await acp.undo(session);
      expect(existsSync(at("file"))).toBe(false);
    });

    test("end where the journal has kept nothing", async () => {
      ground.put("file", "zero");
      await write("file", "one");
      await ground.run("purge", { all: true });
      for (let attempt = 0; attempt < 2; attempt++) {
        const message = expect.stringContaining("not kept");
        await expect(acp.undo(session)).rejects.toMatchObject({ code: "CONFLICT", message });
      }
      expect(text("file")).toBe("one");
    });

    test("leave what others have changed since, and what they have taken back", async () => {
      ground.put("file", "zero");
      await write("file", "one");
      ground.put("file", "theirs");
      await expect(acp.undo(session)).rejects.toMatchObject({ code: "CONFLICT" });
      expect(text("file")).toBe("theirs");
      await write("file", "two");
      const { entries }: FileOutputs["file:history"] = await ground.run("history", { path: "file", limit: 1 });
      await ground.run("undo", { id: entries[0]?.id ?? "" });
      await expect(acp.undo(session)).rejects.toMatchObject({ code: "CONFLICT" });
      expect(text("file")).toBe("theirs");
    });
  });
});

describe("tools in roots with a journal", () => {
  const { ground, at, newFs } = useAcp({ journal: true });

  test("what tools have changed is undone by the entries of the session, trees too", async () => {
    ground.put("file", "text\n");
    ground.put("dir/x", "x");
    const acp = newFs();
    const agent = await connect2(acp);
    const session = await agent.connection.newSession({ cwd: ground.dir });
    const calls: readonly [string, object][] = [
      ["file_write", { path: "new/deep", content: "new", parents: true }],
      ["file_edit", { path: "file", oldText: "text", newText: "edited" }],
      ["file_append", { path: "file", content: "more\n" }],
      ["file_mkdir", { path: "made" }],
      ["file_copy", { path: "file", to: "new/deep", overwrite: true }],
      ["file_move", { path: "dir", to: "made/dir" }],
      ["file_move", { path: "file", to: "made/file" }],
      ["file_delete", { path: "made", recursive: true }],
    ];
    for (const [name, args] of calls) expect(await agent.call(session, name, args)).toMatchObject({ isError: false });
    const { entries }: FileOutputs["file:history"] = await ground.run("history", { via: session });
    expect(entries.map(({ op, surface }) => `${surface} ${op}`).reverse()).toEqual(
      ["write", "edit", "append", "mkdir", "copy", "move", "move", "delete"].map((op) => `acp ${op}`),
    );
    expect(ground.names("")).toEqual(["new"]);
    const undone: (string | undefined)[] = [];
    for (const _ of calls) undone.push(await acp.undo(session));
    expect(undone).toEqual(["made", "made/file", "made/dir", "new/deep", "made", "file", "file", "new/deep"].map(at));
    expect(ground.names("")).toEqual(["dir", "file"]);
    expect([ground.get("file").toString(), ground.get("dir/x").toString()]).toEqual(["text\n", "x"]);
    expect(acp.modified(session)).toEqual([]);
    for (const _ of calls) expect(await acp.redo(session)).toEqual(expect.any(String));
    expect(ground.names("")).toEqual(["new"]);
    expect(ground.get("new/deep").toString()).toBe("edited\nmore\n");
    await agent.stop();
  });
});
