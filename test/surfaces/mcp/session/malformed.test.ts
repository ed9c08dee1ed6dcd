import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { cleanUp, serve } from "../../../cli/process.js";
import { type RawClient, startRaw } from "../raw.js";

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
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const text = await (await fetch(`${url}/mcp`, { method: "POST", headers, body })).text();
  return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text);
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
