import { expect, test } from "@jest/globals";
import { Aborter } from "../../../../src/core/call/scope.js";
import { MemoryBudget } from "../../../../src/core/memory.js";
import type { McpHost } from "../../../../src/surfaces/mcp/host.js";
import { createMcpEndpoint } from "../../../../src/surfaces/mcp/http.js";

const HOST: McpHost = {
  serverInfo: { name: "test", version: "1" },
  instructions: "",
  tools: [],
  maxWaitMs: undefined,
  submit: () => {
    throw new Error("not called");
  },
  logInternal: () => {},
};
const unlimited = new MemoryBudget(1e9, 1);
const CALLER = { did: "did:key:z6MkAlice", authentication: "public", isOperator: false } as const;
const JSON_TYPE = { "content-type": "application/json" };
const BOTH = { ...JSON_TYPE, accept: "application/json, text/event-stream" };

interface Reported {
  readonly status: number;
  readonly faults: string[];
  readonly refusals: string[];
}

async function send(body: unknown, headers: Record<string, string> = BOTH, host = () => HOST): Promise<Reported> {
  const faults: string[] = [];
  const refusals: string[] = [];
  const endpoint = createMcpEndpoint(host, {
    onError: ({ message }) => faults.push(message),
    onRefusal: ({ message }) => refusals.push(message),
  });
  const memory = unlimited.lease("");
  const request = {
    method: "POST",
    headers,
    caller: CALLER,
    memory,
    hangUp: () => new Aborter(),
    note: () => {},
    isBehind: () => false,
    isRefused: () => false,
  };
  const { status } = await endpoint.serve({ ...request, body });
  return { status, faults, refusals };
}

const LIST = { jsonrpc: "2.0", id: 1, method: "tools/list" };

test.each([
  ["no JSON-RPC message", { no: "message" }, BOTH],
  ["an empty batch", [], BOTH],
  ["parameters that are no object", { ...LIST, params: 5 }, BOTH],
  ["a client that takes no events", LIST, { ...JSON_TYPE, accept: "text/html" }],
  ["an unknown revision", LIST, { ...BOTH, "mcp-protocol-version": "2099" }],
])("%s is the client's mistake, and no fault of the venue", async (_, body, headers) => {
  const { status, faults, refusals } = await send(body, headers);
  expect(status).toBeGreaterThanOrEqual(400);
  expect(status).toBeLessThan(500);
  expect(faults).toEqual([]);
  expect(refusals.length).toBeLessThanOrEqual(1);
});

test("what the venue itself fails at is a fault", async () => {
  const broken = () => {
    throw new Error("no host");
  };
  expect(await send(LIST, BOTH, broken)).toEqual({ status: 500, faults: ["no host"], refusals: [] });
});

test("a good request reports nothing", async () => {
  expect(await send(LIST)).toEqual({ status: 200, faults: [], refusals: [] });
});
