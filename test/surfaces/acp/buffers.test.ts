import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { AcpClientFs } from "../../../src/surfaces/acp/client-fs.js";
import { useGround } from "../../ops/ground.js";
import { type LocalAgent, localAgent } from "./local.js";

const ground = useGround({ root: { deny: ["secret"] } });
const SESSION = "s";
let acp: AcpClientFs;
let agent: LocalAgent;
const at = (path: string): string => join(ground.dir, path);
const read = (path: string, range: object = {}) => agent.ask("fs/read_text_file", { path: at(path), ...range });
const write = (path: string, content: string) => agent.ask("fs/write_text_file", { path: at(path), content });
const open = (path: string, text: string, options?: { dirty?: boolean }) =>
  acp.openBuffer(SESSION, at(path), text, options);
const CONFLICT = { _meta: { "venue-files/conflict": true } };

beforeEach(async () => {
  acp = new AcpClientFs({ adapter: ground.adapter, mounts: [{ root: "r" }], limits: { maxReadBytes: 1000 } });
  agent = await localAgent(acp, SESSION, { cwd: ground.dir });
  ground.put("file", "disk\n");
});

describe("an open buffer", () => {
  test("is read in place of the disk, by lines too, without its mark", async () => {
    await open("file", "\ufeffone\ntwo\nthree");
    expect(await read("file")).toEqual({ result: { content: "one\ntwo\nthree" } });
    expect(await read("file", { line: 2, limit: 1 })).toEqual({ result: { content: "two\n" } });
    expect(await read("file", { line: 4 })).toEqual({ result: { content: "" } });
    expect((await read("file", { line: 5 })).error?.code).toBe(-32602);
    expect(ground.get("file").toString()).toBe("disk\n");
  });

  test("of a file that is not there yet is read too, and saved where it belongs", async () => {
    await open("new/file", "text");
    expect(await read("new/file")).toEqual({ result: { content: "text" } });
    await acp.saveBuffer(SESSION, at("new/file"));
    expect(ground.get("new/file").toString()).toBe("text");
    expect(await read("new/file")).toEqual({ result: { content: "text" } });
  });

  test("is that of the file, by whichever link it is reached", async () => {
    ground.mkdir("real");
    ground.put("real/file", "disk\n");
    symlinkSync("real", at("linked"));
    symlinkSync("real/file", at("alias"));
    await open("linked/file", "unsaved");
    for (const path of ["real/file", "linked/file", "alias"]) {
      expect(await read(path)).toEqual({ result: { content: "unsaved" } });
    }
    await acp.changeBuffer(SESSION, at("alias"), "changed");
    await acp.saveBuffer(SESSION, at("real/file"));
    expect(ground.get("real/file").toString()).toBe("changed");
    await write("alias", "of the agent");
    expect(await read("linked/file")).toEqual({ result: { content: "of the agent" } });
    await acp.closeBuffer(SESSION, at("alias"));
    await expect(acp.saveBuffer(SESSION, at("linked/file"))).rejects.toThrow("no open buffer");
  });

  test("belongs to no path that names a directory", async () => {
    await expect(open("file/", "text")).rejects.toThrow("names a directory");
  });

  test("changes, is saved, and is closed", async () => {
    await open("file", "disk\n");
    await acp.changeBuffer(SESSION, at("file"), "changed");
    expect(await read("file")).toEqual({ result: { content: "changed" } });
    await acp.saveBuffer(SESSION, at("file"));
    expect(ground.get("file").toString()).toBe("changed");
    await acp.changeBuffer(SESSION, at("file"), "again");
    await acp.closeBuffer(SESSION, at("file"));
    expect(await read("file")).toEqual({ result: { content: "changed" } });
    await expect(acp.changeBuffer(SESSION, at("file"), "x")).rejects.toThrow("no open buffer");
    await expect(acp.saveBuffer(SESSION, at("file"))).rejects.toThrow("no open buffer");
  });

  test("without changes of its own goes when the disk has others", async () => {
    await open("file", "disk\n");
    ground.put("file", "other\n");
    expect(await read("file")).toEqual({ result: { content: "other\n" } });
    await expect(acp.changeBuffer(SESSION, at("file"), "x")).rejects.toThrow("no open buffer");
  });

  test("without changes of its own goes when the file is gone", async () => {
    await open("file", "disk\n");
    rmSync(at("file"));
    expect((await read("file")).error?.code).toBe(-32002);
  });

  test("with changes stays when the disk has others, and says so", async () => {
    await open("file", "mine");
    ground.put("file", "theirs");
    expect(await read("file")).toEqual({ result: { content: "mine", ...CONFLICT } });
    await expect(acp.saveBuffer(SESSION, at("file"))).rejects.toMatchObject({ code: "CONFLICT" });
    expect(ground.get("file").toString()).toBe("theirs");
    expect(await read("file")).toEqual({ result: { content: "mine", ...CONFLICT } });
  });

  test("that its editor has saved itself is saved", async () => {
    await open("file", "mine");
    ground.put("file", "mine");
    await acp.saveBuffer(SESSION, at("file"));
    expect(await read("file")).toEqual({ result: { content: "mine" } });
  });

  test("takes the text that an agent writes, and is saved by that", async () => {
    await open("file", "mine");
    await write("file", "agent's");
    expect(await read("file")).toEqual({ result: { content: "agent's" } });
    ground.put("file", "theirs");
    // It had no changes of its own any more.
    expect(await read("file")).toEqual({ result: { content: "theirs" } });
  });

  test("that an agent wrote over comes back with undo", async () => {
    await open("file", "mine");
    await write("file", "agent's");
    expect(acp.modified(SESSION)).toEqual([{ path: at("file"), oldText: "mine", newText: "agent's" }]);
    expect(await acp.undo(SESSION)).toBe(at("file"));
    expect(ground.get("file").toString()).toBe("disk\n");
    expect(await read("file")).toEqual({ result: { content: "mine" } });
  });

  test("shows nothing that the agent could not read, and nothing too large", async () => {
    await expect(open("secret", "text")).rejects.toMatchObject({ code: "DENIED_BY_POLICY" });
    await open("file", "x".repeat(1001));
    expect((await read("file")).error).toMatchObject({ code: -32602, data: { reason: "too_large" } });
  });

  test("belongs to its session", async () => {
    const other = await localAgent(acp, "other", { cwd: ground.dir });
    await open("file", "mine");
    expect(await other.ask("fs/read_text_file", { path: at("file") })).toEqual({ result: { content: "disk\n" } });
    await expect(acp.openBuffer("none", at("file"), "x")).rejects.toThrow("no such session");
    await expect(acp.openBuffer(SESSION, "/elsewhere", "x")).rejects.toThrow("in no mount");
  });
});
