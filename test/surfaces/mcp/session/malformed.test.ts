import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { cleanUp, serve } from "../../../cli/process.js";
import { send } from "../../http/client.js";
import { HTTP_HEADERS, messagesIn, type RawClient, startRaw } from "../raw.js";

let url: string;
let stdio: RawClient;
beforeAll(async () => {
  ({ url } = await serve([]));
  stdio = await startRaw([], { era: "2025" });
});
afterAll(cleanUp);

interface Failure {
  readonly jsonrpc: string;
  readonly id: unknown;
  readonly error: { readonly code: number; readonly message: string };
}

/** The JSON-RPC message that answers a body, whether it comes alone or as an event. */
async function answerTo(body: string): Promise<Failure> {
  const response = await send(`${url}/mcp`, { method: "POST", headers: HTTP_HEADERS, body });
  return messagesIn(await response.text())[0] as Failure;
}

const CLIENT = { capabilities: {}, clientInfo: { name: "x", version: "1" } };

describe("over HTTP", () => {
  test.each(["", "{", "[1", '{"jsonrpc":"2.0"}}', "{a:1}"])(
    "the body %j, which is no JSON, is -32700",
    async (body) => {
      const error = { code: -32700, message: expect.stringMatching(/^Invalid JSON: \S/) };
      expect(await answerTo(body)).toEqual({ jsonrpc: "2.0", id: null, error });
    },
  );

  test.each([
    [CLIENT, "params.protocolVersion"],
    [{ ...CLIENT, protocolVersion: 5 }, "params.protocolVersion"],
    [{ protocolVersion: "2025-06-18", capabilities: {} }, "params.clientInfo"],
    [undefined, "params"],
  ])("initialize with %j is -32602 and names %s", async (params, field) => {
    const answer = await answerTo(JSON.stringify({ jsonrpc: "2.0", id: 7, method: "initialize", params }));
    expect(answer).toMatchObject({ id: 7, error: { code: -32602 } });
    expect(answer.error.message).toContain(`Invalid initialize request: ${field}: `);
  });

  test("another request with parameters of the wrong type is -32602 too", async () => {
    const answer = await answerTo('{"jsonrpc":"2.0","id":8,"method":"tools/list","params":{"cursor":5}}');
    expect(answer).toMatchObject({ id: 8, error: { code: -32602 } });
    const call = await answerTo('{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{}}');
    expect(call).toMatchObject({ id: 9, error: { code: -32602 } });
  });
});

test("over stdio, initialize without a revision is -32602", async () => {
  expect(await stdio.request("initialize", CLIENT)).toMatchObject({ error: { code: -32602 } });
});

describe.each(["2025", "newest"] as const)("over stdio, in the protocol of %s,", (era) => {
  let client: RawClient;
  beforeAll(async () => {
    client = await startRaw([], { era });
    // The first message decides how the connection is served.
    if (era === "newest") await client.request("tools/list");
  });

  /** What answers a line, before a call that comes behind it. */
  async function answersTo(line: string): Promise<unknown[]> {
    const before = client.lines().length;
    client.write(`${line}\n`);
    await client.request("tools/list");
    return client
      .lines()
      .slice(before)
      .map((text) => JSON.parse(text) as Failure)
      .filter(({ error }) => error !== undefined);
  }
  const failed = (id: unknown, code: number, message: RegExp) => ({
    ...{ jsonrpc: "2.0", id, error: { code, message: expect.stringMatching(message) } },
  });

  test.each(["{", "[1", '{"jsonrpc":"2.0"}}', "{a:1}", "nonsense", '{"id":7,', "\u0000"])(
    "the line %j, which is no JSON, is -32700",
    async (line) => {
      expect(await answersTo(line)).toEqual([failed(null, -32700, /^Invalid JSON: \S/)]);
    },
  );

  test.each(["null", "true", "{}", "[]", "[1]", "1.5", '{"a":1}', "9007199254740993"])(
    "the id %s is refused",
    async (id) => {
      const answers = await answersTo(`{"jsonrpc":"2.0","id":${id},"method":"tools/list","params":{}}`);
      expect(answers).toEqual([failed(null, -32600, /'id' must be text or a whole number$/)]);
    },
  );

  test.each<[string, unknown]>([
    ["5", null],
    ["null", null],
    ['"text"', null],
    ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', null],
    ['{"id":"a","method":"ping"}', "a"],
    ['{"jsonrpc":"1.0","id":77,"method":"ping"}', 77],
    ['{"id":{},"method":"ping"}', null],
  ])("%s, which is no message, is -32600", async (line, id) => {
    expect(await answersTo(line)).toEqual([failed(id, -32600, /expected a JSON-RPC 2\.0 message$/)]);
  });

  test.each([
    ["an empty line", ""],
    ["a notification of another protocol", '{"method":"hello"}'],
    ["an answer to nothing", '{"id":5,"result":{}}'],
    ["an answer with an odd id", '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}'],
  ])("%s gets no answer", async (_what, line) => {
    expect(await answersTo(line)).toEqual([]);
  });
});
