import { afterAll, expect, test } from "@jest/globals";
import { cleanUp, makeFolder, start } from "../../../cli/process.js";
import { linesOf, toolCall } from "../raw.js";

afterAll(cleanUp);

const INITIALIZED = { method: "notifications/initialized" };
const initialize = (protocolVersion: string) => ({
  ...{ id: 0, method: "initialize" },
  params: { protocolVersion, capabilities: {}, clientInfo: { name: "test", version: "1" } },
});
const call = (id: number, name: string, args: object = {}) => ({ id, ...toolCall(name, args) });

/** Ids of the answers to what is sent in one piece, with the end of the input. */
async function answered(...messages: readonly object[]): Promise<unknown[]> {
  const { child, ended } = start(["mcp", "--root", `docs=${makeFolder({ "a.txt": "one\n" })}`]);
  child.stdin.end(linesOf(...messages));
  const { status, stdout, stderr } = await ended;
  expect([status, stderr]).toEqual([0, ""]);
  const lines = stdout.trimEnd().split("\n");
  return lines.map((line) => (JSON.parse(line) as { id: unknown }).id);
}

test.each(["2025-11-25", "2024-11-05"])("what comes at once is answered in its order: %s", async (revision) => {
  const pings = Array.from({ length: 5 }, (_, at) => ({ id: at + 1, method: "ping" }));
  expect(await answered(initialize(revision), INITIALIZED, ...pings)).toEqual([0, 1, 2, 3, 4, 5]);
});

test("a cancelled request is not answered", async () => {
  const cancel = { method: "notifications/cancelled", params: { requestId: 2 } };
  const grep = call(2, "file_grep", { root: "docs", pattern: "one" });
  const ids = await answered(initialize("2025-11-25"), call(1, "file_roots"), grep, cancel, { id: 3, method: "ping" });
  expect(new Set(ids)).toEqual(new Set([0, 1, 3]));
});
