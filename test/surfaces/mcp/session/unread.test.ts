import { getDefaultHighWaterMark, PassThrough } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import type { OperationMetadata } from "../../../../src/core/ports/adapter.js";
import type { McpHost, ToolCall } from "../../../../src/surfaces/mcp/host.js";
import { serveMcpStdio } from "../../../../src/surfaces/mcp/stdio.js";
import { linesOf, toolCall } from "../raw.js";

const BIG = 1_200_000;
/** Large answers are written in pieces of this size. */
const PIECE_BYTES = 65_536;
const READ: OperationMetadata = {
  ...{ name: "file:read", toolName: "file_read", title: "Read", description: "Reads", ability: "crud/read" },
  changes: false,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: { type: "object" },
  output: { type: "object" },
  hidden: [],
  render: (output) => ({ kind: "text", text: String(output), rest: {} }),
};

/** A server whose one tool answers with much text, as soon as there is room for it. */
function serveLarge(maxHeldBytes: number) {
  const calls: ToolCall[] = [];
  const input = new PassThrough();
  const output = new PassThrough();
  const host: McpHost = {
    ...{ serverInfo: { name: "t", version: "1" }, instructions: "", tools: [READ], maxWaitMs: undefined },
    submit: (call) => {
      calls.push(call);
      const answer = async () => {
        await call.memory?.hold(BIG);
        return `${calls.length}`.padEnd(BIG, "x");
      };
      return { id: "j", result: answer() };
    },
    logInternal: () => {},
  };
  const ended = serveMcpStdio(host, { input, output, maxMessageBytes: 1_000_000, maxHeldBytes, onError: () => {} });
  const send = (message: object) => input.write(linesOf(message));
  return { calls, input, output, ended, send };
}

type Server = ReturnType<typeof serveLarge>;

async function shakeHands({ send, output }: Server): Promise<void> {
  const clientInfo = { name: "c", version: "1" };
  send({ id: "i", method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo } });
  while (output.readableLength === 0) await turn();
  output.read();
  send({ method: "notifications/initialized" });
}

const read = ({ send }: Server, id: number) => send({ id, ...toolCall("file_read") });

const turns = async (count: number) => {
  for (let n = 0; n < count; n += 1) await turn();
};

/** Ids of the answers, in their order, as they are read. */
async function* answersOf(output: PassThrough): AsyncGenerator<number> {
  const parts: string[] = [];
  for await (const chunk of output.setEncoding("utf8")) {
    const [first, ...more] = String(chunk).split("\n");
    parts.push(first ?? "");
    for (const next of more) {
      const message = JSON.parse(parts.splice(0).join(""));
      expect(message.result.content[0].text).toHaveLength(BIG);
      yield message.id;
      parts.push(next);
    }
  }
}

describe("a client that asks and does not read", () => {
  test("is not served ahead: few calls begin, and little is written", async () => {
    const server = serveLarge(64_000_000);
    await shakeHands(server);
    for (let id = 0; id < 80; id += 1) read(server, id);
    await turns(500);
    expect(server.calls.length).toBeLessThan(5);
    // Each side of the stream takes a piece as long as it is below its mark, which depends on the version of Node.
    const most = 2 * (getDefaultHighWaterMark(false) + PIECE_BYTES);
    expect(server.output.readableLength + server.output.writableLength).toBeLessThanOrEqual(most);
    // The sender has to wait too.
    expect(server.input.isPaused()).toBe(true);

    const ids: number[] = [];
    for await (const id of answersOf(server.output)) {
      ids.push(id);
      if (ids.length === 80) break;
    }
    expect(ids).toEqual(Array.from({ length: 80 }, (_, id) => id));
    server.input.end();
    await server.ended;
  });

  test("takes back what has not begun, and gets no answer to it", async () => {
    const server = serveLarge(64_000_000);
    await shakeHands(server);
    for (let id = 0; id < 20; id += 1) read(server, id);
    await turns(100);
    const begun = server.calls.length;
    for (let id = begun; id < 19; id += 1)
      server.send({ method: "notifications/cancelled", params: { requestId: id } });
    await turns(20);
    const ids: number[] = [];
    for await (const id of answersOf(server.output)) {
      ids.push(id);
      if (id === 19) break;
    }
    expect(ids).toEqual([...Array.from({ length: begun }, (_, id) => id), 19]);
    server.input.end();
    await server.ended;
  });
});

test("what a client asks before it ends its side is answered", async () => {
  const server = serveLarge(64_000_000);
  await shakeHands(server);
  for (let id = 0; id < 30; id += 1) server.send({ id, method: "tools/list" });
  server.input.end();
  await server.ended;
  expect(String(server.output.read()).trimEnd().split("\n")).toHaveLength(30);
});
