import { afterAll, describe, expect, test } from "@jest/globals";
import { cleanUp, type Running, start, tempRootsIn } from "../../../cli/process.js";
import { linesOf, startRaw } from "../raw.js";

afterAll(cleanUp);

/** One line and nothing else, where no root is named. */
const NO_FOLDER = expect.stringMatching(/^No folder given: serves 'tmp', .*venue-files mcp FOLDER\n$/);

const ERAS = ["2025", "newest"] as const;

describe.each(ERAS)("in the protocol of %s", (era) => {
  test("standard output carries JSON-RPC and nothing else, standard error no more than what is served", async () => {
    const raw = await startRaw([], { era });
    await raw.request("tools/list");
    const place = { root: "tmp", path: "a.txt" };
    await raw.call("file_write", { ...place, content: "line\nline\u2028\r\n" });
    await Promise.all(["a.txt", "b.txt", "../c"].map((path) => raw.call("file_read", { root: "tmp", path })));
    await raw.request("tools/call", { name: "no_such_tool" });
    await raw.request("no/such/method");
    raw.process.child.stdin.end();
    const { status, stdout, stderr } = await raw.process.ended;
    expect({ status, stderr }).toEqual({ status: 0, stderr: NO_FOLDER });
    expect(stdout.endsWith("\n")).toBe(true);
    const messages = stdout.trimEnd().split("\n");
    expect(messages.length).toBeGreaterThanOrEqual(7);
    for (const message of messages) {
      expect(JSON.parse(message)).toMatchObject({ jsonrpc: "2.0", id: expect.any(Number) });
    }
  });

  test.each([1, 5, 200])("%d calls that came before the end of the input are answered", async (count) => {
    const raw = await startRaw([], { era });
    const names = Array.from({ length: count }, (_, at) => `${at}.txt`);
    const answers = names.map((path) => raw.call("file_write", { root: "tmp", path, content: "a" }));
    raw.process.child.stdin.end();
    for (const { result } of await Promise.all(answers))
      expect(result.structuredContent).toMatchObject({ created: true });
    expect(await raw.process.ended).toMatchObject({ status: 0, signal: null });
  });

  test.each<[string, (running: Running) => unknown]>([
    ["the input ends", ({ child }) => child.stdin.end()],
    ["it is told to end", ({ child }) => child.kill("SIGTERM")],
  ])("the process ends with 0 when %s, and its temp roots are gone", async (_name, end) => {
    const raw = await startRaw([], { era });
    await raw.call("file_write", { root: "tmp", path: "a.txt", content: "a" });
    expect(tempRootsIn(raw.process.tmp)).toHaveLength(2);
    end(raw.process);
    expect(await raw.process.ended).toMatchObject({ status: 0, signal: null, stderr: NO_FOLDER });
    expect(tempRootsIn(raw.process.tmp)).toEqual([]);
  });
});

test("a session that comes in one piece, with its end, is served whole", async () => {
  const process = start(["mcp"]);
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
  const call = { name: "file_write", arguments: { root: "tmp", path: "a.txt", content: "a" } };
  const messages = [
    { id: 1, method: "initialize", params },
    { method: "notifications/initialized" },
    { id: 2, method: "tools/call", params: call },
  ];
  process.child.stdin.end(linesOf(...messages));
  const { status, stdout } = await process.ended;
  expect(status).toBe(0);
  const ids = stdout
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as { id: number }).id);
  expect(ids).toEqual([1, 2]);
});

test("the process ends when nobody reads its answers any more", async () => {
  const raw = await startRaw([]);
  raw.process.child.stdout.destroy();
  raw.write('{"jsonrpc":"2.0","id":5,"method":"tools/list"}\n');
  expect((await raw.process.ended).signal).toBeNull();
  expect(tempRootsIn(raw.process.tmp)).toEqual([]);
});

test("an input that ends at once is no fault, but is told how a client starts the command", async () => {
  const process = start(["mcp", "."]);
  process.child.stdin.end();
  const { stderr, ...ended } = await process.ended;
  expect(ended).toEqual({ status: 0, signal: null, stdout: "" });
  expect(stderr).toContain("Nothing came on standard input: an MCP client starts this command.");
});

describe("what is no JSON-RPC", () => {
  const LINES = ["garbage", "{}", "[]", '{"jsonrpc":"1.0","id":1,"method":"ping"}', '{"id":1}', "\u0000", '"text"', ""];

  test("does not disturb the connection, and is worth a line at most", async () => {
    const raw = await startRaw([]);
    for (const line of LINES) {
      raw.write(`${line}\n`);
      expect((await raw.request("ping")).result).toEqual({});
    }
    raw.process.child.stdin.end();
    const { status, stderr } = await raw.process.ended;
    expect(status).toBe(0);
    const [first = "", ...said] = stderr.trimEnd().split("\n");
    expect(`${first}\n`).toEqual(NO_FOLDER);
    expect(said.length).toBeLessThanOrEqual(LINES.length);
    for (const line of said) expect(line).toMatch(/^MCP: .{1,200}$/);
  });
});
