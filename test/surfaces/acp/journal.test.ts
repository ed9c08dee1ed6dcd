import { existsSync, statSync, symlinkSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { etagOf } from "../../../src/core/etag.js";
import { sha256Of } from "../../../src/ops/content/file-etag.js";
import type { FileOutputs } from "../../../src/schema/types.js";
import { AcpClientFs } from "../../../src/surfaces/acp/client-fs.js";
import { useGround } from "../../ops/ground.js";
import { type LocalAgent, localAgent } from "./local.js";

const ground = useGround({ journal: true, root: { maxReadBytes: 1000 } });
const at = (path: string): string => join(ground.dir, path);
const text = (path: string): string => ground.get(path).toString();
let session = "";
let count = 0;
let acp: AcpClientFs;
let agent: LocalAgent;

beforeEach(async () => {
  session = `journal-${++count}`;
  acp = new AcpClientFs({ adapter: ground.adapter, mounts: [{ root: "r" }] });
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
    acp = new AcpClientFs({ adapter: ground.adapter, mounts: [{ root: "r" }], limits: { undoBytes: 10 } });
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
