// A connection is served without the SDK or by it, as its first message decides. What is asked here is asked of both.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { cleanUp, makeFolder, type Running, start } from "../../cli/process.js";

afterAll(cleanUp);

interface Line {
  readonly id?: unknown;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A process and the lines it has written. */
class Connection {
  readonly #running: Running;
  readonly lines: Line[] = [];
  #rest = "";
  #waiting: (() => void)[] = [];

  constructor(folder: string) {
    this.#running = start(["mcp", "--root", `docs=${folder}`]);
    this.#running.child.stdout.on("data", (chunk: string) => {
      const lines = (this.#rest + chunk).split("\n");
      this.#rest = lines.pop() ?? "";
      this.lines.push(...lines.map((line) => JSON.parse(line) as Line));
      for (const look of this.#waiting.splice(0)) look();
    });
  }

  send(...messages: readonly unknown[]): void {
    this.#running.child.stdin.write(messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
  }

  /** The answer to a request with this id. */
  async answer(id: unknown): Promise<Line> {
    for (;;) {
      const found = this.lines.find((line) => line.id === id);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  async end(): Promise<{ status: number | null; stderr: string }> {
    this.#running.child.stdin.end();
    return this.#running.ended;
  }
}

const initialize = (protocolVersion: unknown, id: unknown = 0) => ({
  jsonrpc: "2.0",
  id,
  method: "initialize",
  params: { protocolVersion, capabilities: {}, clientInfo: { name: "test", version: "1" } },
});
const call = (name: unknown, args?: unknown) => ["tools/call", { name, arguments: args }] as const;

/** Requests whose answers must not depend on who serves them. */
const REQUESTS: readonly (readonly [string, unknown?])[] = [
  ["ping"],
  ["ping", {}],
  ["tools/list"],
  ["tools/list", { cursor: "x" }],
  call("file_read", { root: "docs", path: "a.txt" }),
  call("file_stat", { root: "docs", path: "a.txt" }),
  call("file_read", { root: "docs", path: "nope" }),
  call("file_read", { root: "docs", path: 5 }),
  call("file_roots"),
  call("file_nope", {}),
  call("file_write", { root: "docs", path: "../x", content: "x" }),
  ["resources/list"],
  ["prompts/list"],
  ["logging/setLevel", { level: "debug" }],
  ["nope"],
  ["server/discover"],
];

/** Answers without ids of jobs and times of calls. */
const comparable = ({ result, error }: Line): unknown =>
  JSON.parse(JSON.stringify({ result, error }).replace(/"venue-files\/job":"[^"]*"/g, '"job":0'));

test.each(["2025-06-18", "2025-03-26"])("what came before the end of the input is answered: %s", async (revision) => {
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
  const connection = new Connection(makeFolder());
  connection.send(initialize(revision), { jsonrpc: "2.0", method: "notifications/initialized" }, ping);
  await connection.end();
  expect(connection.lines.map(({ id }) => id)).toEqual([0, 1]);
});

describe("the two ways of a connection", () => {
  let direct: Connection;
  let bySdk: Connection;
  beforeAll(async () => {
    const folder = makeFolder({ "a.txt": "one\ntwo\n" });
    direct = new Connection(folder);
    bySdk = new Connection(folder);
    direct.send(initialize("2025-06-18"), { jsonrpc: "2.0", method: "notifications/initialized" });
    bySdk.send(initialize("2025-03-26"), { jsonrpc: "2.0", method: "notifications/initialized" });
  });
  afterAll(async () => {
    for (const connection of [direct, bySdk]) expect(await connection.end()).toMatchObject({ status: 0, stderr: "" });
  });

  test("begin alike, but for the revision", async () => {
    const [one, other] = [await direct.answer(0), await bySdk.answer(0)];
    expect(one.result).toEqual({ ...other.result, protocolVersion: "2025-06-18" });
    expect(other.result).toMatchObject({ protocolVersion: "2025-03-26", capabilities: { tools: {} } });
  });

  test.each(REQUESTS.map(([method, params], at) => [at + 1, method, params] as const))(
    "answer alike: %d %s %j",
    async (id, method, params) => {
      const answers = await Promise.all(
        [direct, bySdk].map(async (connection) => {
          connection.send({ jsonrpc: "2.0", id, method, params });
          return comparable(await connection.answer(id));
        }),
      );
      expect(answers[0]).toEqual(answers[1]);
    },
  );

  test.each([
    ["tools/call", {}, "params.name"],
    ["tools/call", undefined, "params"],
    ["tools/call", { name: 5 }, "params.name"],
    ["tools/call", { name: "file_roots", arguments: [] }, "params.arguments"],
    ["tools/list", { cursor: 5 }, "params.cursor"],
    ["initialize", { protocolVersion: "2025-06-18", capabilities: {} }, "params.clientInfo"],
    [
      "initialize",
      { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "x" } },
      "params.clientInfo.version",
    ],
  ])("refuse %s with %j, naming %s", async (method, params, field) => {
    for (const connection of [direct, bySdk]) {
      const id = `${method} ${JSON.stringify(params)}`;
      connection.send({ jsonrpc: "2.0", id, method, params });
      const { error } = await connection.answer(id);
      expect(error).toMatchObject({ code: -32602 });
      if (connection === direct) expect(error?.message).toContain(`Invalid ${method} request: ${field}: `);
    }
  });

  test("serve a second initialize, at most with the newest revision known", async () => {
    direct.send(initialize("2024-11-05", "again"));
    expect((await direct.answer("again")).result).toMatchObject({ protocolVersion: "2025-11-25" });
  });

  test("ignore answers and notifications that nobody waits for", async () => {
    for (const connection of [direct, bySdk]) {
      connection.send(
        { jsonrpc: "2.0", id: 99, result: {} },
        { jsonrpc: "2.0", method: "notifications/roots/list_changed" },
        { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "nobody's" } },
        { jsonrpc: "2.0", id: "after", method: "ping" },
      );
      expect((await connection.answer("after")).result).toEqual({});
    }
  });
});

test("requests sent before the SDK is loaded are answered in order", async () => {
  const connection = new Connection(makeFolder({}));
  connection.send(
    initialize("2024-11-05"),
    { jsonrpc: "2.0", method: "notifications/initialized" },
    ...Array.from({ length: 5 }, (_, at) => ({ jsonrpc: "2.0", id: at + 1, method: "ping" })),
  );
  await connection.answer(5);
  expect(connection.lines.map(({ id }) => id)).toEqual([0, 1, 2, 3, 4, 5]);
  expect(await connection.end()).toMatchObject({ status: 0, stderr: "" });
});

test("a cancelled request is not answered", async () => {
  const connection = new Connection(makeFolder({ "a.txt": "one\n" }));
  connection.send(
    initialize("2025-11-25"),
    { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "file_roots" } },
    {
      jsonrpc: "2.0",
      id: 2,
      method: "tools/call",
      params: { name: "file_grep", arguments: { root: "docs", pattern: "one" } },
    },
    { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 2 } },
    { jsonrpc: "2.0", id: 3, method: "ping" },
  );
  await Promise.all([connection.answer(1), connection.answer(3)]);
  expect(await connection.end()).toMatchObject({ status: 0 });
  expect(new Set(connection.lines.map(({ id }) => id))).toEqual(new Set([0, 1, 3]));
});
