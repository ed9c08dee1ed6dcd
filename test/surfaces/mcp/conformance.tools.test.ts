// The official conformance suite of MCP, with the scenarios that fit a server of files. Those on single resources name what only the
// suite's own example has: in their place stands a file. The others ask for prompts, logging, or for tools of that example.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { afterAll, expect, test } from "@jest/globals";
import { cleanUp, makeFolder, serve, start } from "../../cli/process.js";
import { describeWhere } from "../../needs.js";

const SCENARIOS = ["server-initialize", "ping", "tools-list", "resources-list"] as const;
const OF_FIXTURES = [
  ...["resources-read-text", "resources-read-binary", "resources-templates-read", "completion-complete"],
  ...["resources-subscribe", "resources-unsubscribe"],
];
const FILES = { "a.txt": "a", "123.txt": "123", "b.bin": Buffer.from([0, 1, 255]) };
/** What stands for the resources of the suite's own example. */
const STAND_INS: Readonly<Record<string, string>> = {
  ...{ "test://static-text": "venue://docs/a.txt", "test://static-binary": "venue://docs/b.bin" },
  ...{ "test://template/123/data": "venue://docs/123.txt", "test://watched-resource": "venue://docs/a.txt" },
};
const SUITE = (process.env["VENUE_FILES_CONFORMANCE"] ?? "").split(" ").filter((word) => word !== "");

const closing: (() => void)[] = [];

afterAll(async () => {
  for (const close of closing) close();
  await cleanUp();
});

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: object;
}

/**
 * A server over stdio, reached by the one way that the suite knows: a POST for each message.
 * @param change of what the suite sends
 */
async function overStdio(change: (message: Message) => Message): Promise<string> {
  const { child } = start(["mcp", "--root", `docs=${makeFolder(FILES)}`]);
  const waiting = new Map<unknown, ServerResponse>();
  createInterface({ input: child.stdout }).on("line", (line) => {
    const { id } = JSON.parse(line) as Message;
    waiting.get(id)?.setHeader("content-type", "application/json").end(line);
    waiting.delete(id);
  });
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method !== "POST") return void response.writeHead(405).end();
    const message = change(JSON.parse(await text(request)) as Message);
    if (message.id === undefined) response.writeHead(202).end();
    else waiting.set(message.id, response);
    child.stdin.write(`${JSON.stringify(message)}\n`);
  };
  const bridge = createServer((request, response) => void take(request, response)).listen(0, "127.0.0.1");
  await once(bridge, "listening");
  closing.push(() => {
    bridge.close();
    bridge.closeAllConnections();
  });
  return `http://127.0.0.1:${(bridge.address() as AddressInfo).port}`;
}

const asSent = (message: Message): Message => message;
function ofFiles(message: Message): Message {
  const { method, params = {} } = message;
  const { uri } = params as { uri?: string };
  if (uri !== undefined) return { ...message, params: { ...params, uri: STAND_INS[uri] ?? uri } };
  if (method !== "completion/complete") return message;
  const ref = { type: "ref/resource", uri: "venue://{root}/{+path}" };
  return { ...message, params: { ...params, ref, argument: { name: "root", value: "d" } } };
}
const ofOldRevision = (message: Message): Message =>
  message.method === "initialize"
    ? { ...message, params: { ...message.params, protocolVersion: "2025-03-26" } }
    : message;

const overHttp = async (): Promise<string> => (await serve(["--root", `docs=${makeFolder(FILES)}`])).url;

/** Where a server can be reached, by transport and revision. */
const WAYS = {
  "over HTTP": overHttp,
  "over stdio": () => overStdio(asSent),
  "over stdio, in an old revision": () => overStdio(ofOldRevision),
};

async function expectPassed(url: string, scenario: string): Promise<void> {
  const [node = "", ...suite] = SUITE;
  const child = spawn(node, [...suite, "server", "--url", `${url}/mcp`, "--scenario", scenario], {
    cwd: makeFolder(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [said, errors, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  expect(`${said}${errors}`).toMatch(/Passed: ([1-9]\d*)\/\1, 0 failed, 0 warnings/);
  expect(status).toBe(0);
}

describeWhere(
  SUITE.length > 0,
  "conformance of MCP: its suite is given in VENUE_FILES_CONFORMANCE by npm run test:tools",
)("the official conformance suite", () => {
  test.each(Object.entries(WAYS))("passes %s", async (_, way) => {
    const url = await way();
    for (const scenario of SCENARIOS) await expectPassed(url, scenario);
  });

  test("passes with files for what its own example has", async () => {
    const url = await overStdio(ofFiles);
    for (const scenario of OF_FIXTURES) await expectPassed(url, scenario);
  });

  test("passes for requests by a name that leads here from elsewhere", async () => {
    const { port } = new URL(await overHttp());
    await expectPassed(`http://localhost:${port}`, "dns-rebinding-protection");
  });
});
