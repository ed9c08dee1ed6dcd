// Neither koffi nor lmdb: where npm could not install them, or omitted what is optional.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "@jest/globals";
import { bodyOf, invoke } from "../surfaces/http/client.js";
import { CLI, cleanUp, type Finished, makeFolder, type Running, startNode } from "./process.js";

const WITHOUT = fileURLToPath(new URL("without-natives.cjs", import.meta.url));
const LIBRARY = new URL("../../dist/index.js", import.meta.url).href;

afterAll(cleanUp);

const start = (folder: string, ...args: string[]): Running =>
  startNode(["--require", WITHOUT, CLI, ...args], { cwd: folder });
const run = (folder: string, ...args: string[]): Promise<Finished> => {
  const running = start(folder, ...args);
  running.child.stdin.end();
  return running.ended;
};
const makeVenue = (more: object = {}, roots: object = {}): string =>
  makeFolder({
    "docs/a.txt": "hello\n",
    "outside.txt": "secret",
    "venue.json5": JSON.stringify({
      ...{ port: 0, stateDir: "./state", ...more },
      file: { roots: { docs: "./docs", ...roots } },
    }),
  });

describe("without its native libraries", () => {
  test("one call reads and writes", async () => {
    const folder = makeVenue();
    const call = (operation: string, input: object) =>
      run(folder, "call", "--config", "venue.json5", operation, JSON.stringify({ root: "docs", ...input }));
    // Nobody has asked for a journal, so nothing is wrong.
    expect(await call("file:write", { path: "b.txt", content: "new" })).toMatchObject({ status: 0, stderr: "" });
    expect(readFileSync(join(folder, "docs/b.txt"), "utf8")).toBe("new");
    expect((await call("file:grep", { pattern: "h.llo" })).stdout).toContain("a.txt");
  });

  test("one call says so where the configuration asks for a journal", async () => {
    const folder = makeVenue({}, { docs: { path: "./docs", journal: "on" } });
    const input = JSON.stringify({ root: "docs", path: "b.txt", content: "new" });
    const done = await run(folder, "call", "--config", "venue.json5", "file:write", input);
    expect(done).toMatchObject({ status: 0, stderr: expect.stringContaining("The journal of a root failed") });
  });

  test("the library reads, and finds nothing outside of a root", async () => {
    const folder = makeVenue();
    const program = `
      import { symlinkSync } from "node:fs";
      import { createFileAdapter } from ${JSON.stringify(LIBRARY)};
      symlinkSync("../outside.txt", "docs/link");
      const adapter = await createFileAdapter({ roots: { docs: { path: "docs" } } });
      const read = (path) => adapter.invoke("file:read", { root: "docs", path });
      console.log((await read("a.txt")).content.trim(), await read("link").catch(({ code }) => code));
      await adapter.close();
    `;
    const done = await startNode(["--require", WITHOUT, "--input-type=module", "--eval", program], { cwd: folder })
      .ended;
    expect(done).toMatchObject({ status: 0, stdout: "hello SYMLINK_ESCAPE\n" });
  });

  test("MCP over standard input reads", async () => {
    const running = start(makeVenue(), "mcp", "docs");
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "host", version: "1" } };
    const call = { name: "file_read", arguments: { path: "a.txt" } };
    for (const [id, method, sent] of [
      [1, "initialize", params],
      [2, "tools/call", call],
    ])
      running.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params: sent })}\n`);
    expect((await running.until(/^.*"id":2.*$/m))[0]).toContain("hello");
  });

  test("a venue starts, with its drives in memory; 'check' says what is off", async () => {
    const folder = makeVenue({ drives: { store: "memory" } }, { notes: { dlfs: "notes" } });
    const checked = await run(folder, "check", "--config", "venue.json5");
    expect(checked).toMatchObject({ status: 0 });
    expect(checked.stdout).toContain("handle walk  no journal: its library 'lmdb' cannot be loaded");
    const running = start(folder, "serve", "--config", "venue.json5");
    const [url] = await running.until(/http:\/\/[a-z0-9.]+:\d+/);
    const token = readFileSync(join(folder, "state/local-token"), "utf8").trim();
    const read = { operation: "file:read", input: { root: "docs", path: "a.txt" }, wait: true };
    const answer = await bodyOf(invoke(`${url}`, read, token));
    expect(answer).toMatchObject({ status: "COMPLETE", output: { content: "hello\n" } });
    expect(await running.stop("SIGTERM")).toMatchObject({ status: 0 });
  });

  test.each([
    ["named", { store: { path: "./store" } }],
    ["in the state directory", {}],
  ])("drives on disk, %s, are refused by 'check' and 'serve' alike", async (_where, drives) => {
    const folder = makeVenue({ drives, seedFile: "./seed" }, { notes: { dlfs: "notes" } });
    for (const command of ["check", "serve"])
      expect(await run(folder, command, "--config", "venue.json5")).toMatchObject({
        status: 78,
        stderr: expect.stringContaining("'drives.store' cannot be opened: its library 'lmdb' cannot be loaded."),
      });
  });

  test("'doctor' notes both, and ends with 0", async () => {
    const done = await run(makeFolder(), "doctor");
    expect(done.status).toBe(0);
    expect(done.stdout).toMatch(/NOTE +koffi +cannot be loaded/);
    expect(done.stdout).toMatch(/NOTE +lmdb +cannot be loaded/);
    expect(done.stdout).toMatch(/ok +Jail +handle walk/);
  });
});
