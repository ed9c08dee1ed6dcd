import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { adopt, disown } from "./lifetime.mjs";

const PROJECT = fileURLToPath(new URL("..", import.meta.url));
const { version } = createRequire(import.meta.url)("../package.json");
export const CLIENT_INFO = { name: "venue-files-bench", version };
export const PROTOCOL_VERSION = "2025-11-25";
/** The official client gives up a session whose answer is longer than 10 MiB, which twice 5 MB of text is. */
const ROOMY_BUFFER_BYTES = 256 * 1024 * 1024;

/** Command lines of the servers, for `node`. */
export const SERVERS = {
  ours: ({ config, caps }) => [`${PROJECT}dist/cli.js`, "mcp", "--config", config, "--caps", caps],
  theirs: ({ root }) => [`${PROJECT}node_modules/@modelcontextprotocol/server-filesystem/dist/index.js`, root],
  floor: () => [`${PROJECT}bench/servers/floor.mjs`],
  idle2: () => [`${PROJECT}bench/servers/idle-sdk2.mjs`],
  idle1: () => [`${PROJECT}bench/servers/idle-sdk1.mjs`],
};

/**
 * The official MCP client over stdio. The tools are listed first, as hosts do: only then does it check answers against
 * their output schemas.
 *
 * @param options.command a program other than Node
 * @param options.defaultBuffer keep the client's own limit of 10 MiB an answer
 * @returns `{ pid, tool(name, args), client, close() }`
 */
export async function connectOfficial(args, options = {}) {
  const { Client } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const transport = new StdioClientTransport({
    command: options.command ?? process.execPath,
    args,
    stderr: "ignore",
    ...(options.defaultBuffer ? {} : { maxBufferSize: ROOMY_BUFFER_BYTES }),
  });
  const client = new Client(CLIENT_INFO);
  await client.connect(transport);
  const { pid } = transport;
  adopt(pid);
  const { tools } = await client.listTools();
  return {
    pid,
    client,
    tool: (name, args) => client.callTool({ name, arguments: args }, { timeout: 120_000 }),
    tools,
    async close() {
      await client.close();
      disown(pid);
    },
  };
}

/**
 * The least a client can do: one JSON line out, one JSON line in, nothing checked. It shows the server with as little of
 * the client as possible, and counts bytes.
 *
 * @returns `{ pid, tool(name, args), request(method, params), lastAnswerBytes(), close() }`
 */
export async function connectRaw(args, options = {}) {
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "ignore"], env: options.env ?? process.env });
  adopt(child.pid);
  const waiting = new Map();
  let answerBytes = 0;
  let nextId = 0;
  readLines(child.stdout, (line) => {
    answerBytes = line.length + 1;
    const message = JSON.parse(line.toString());
    const settle = waiting.get(message.id);
    if (settle === undefined || message.method !== undefined) return;
    waiting.delete(message.id);
    if (message.error === undefined) settle.resolve(message.result);
    else settle.reject(new Error(message.error.message));
  });
  const fail = (reason) => {
    for (const { reject } of waiting.values()) reject(new Error(reason));
    waiting.clear();
  };
  const exited = new Promise((resolve) => {
    child.once("exit", () => {
      disown(child.pid);
      fail("The server has ended");
      resolve();
    });
  });
  child.stdin.on("error", () => fail("The server takes no more input"));
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const request = (method, params) =>
    new Promise((resolve, reject) => {
      const id = nextId++;
      waiting.set(id, { resolve, reject });
      send({ id, method, params });
    });
  await request("initialize", { protocolVersion: PROTOCOL_VERSION, capabilities: {}, clientInfo: CLIENT_INFO });
  send({ method: "notifications/initialized" });
  return {
    pid: child.pid,
    request,
    tool: (name, args) => request("tools/call", { name, arguments: args }),
    lastAnswerBytes: () => answerBytes,
    async close() {
      child.stdin.end();
      const late = setTimeout(() => child.kill("SIGKILL"), 2_000);
      await exited;
      clearTimeout(late);
    },
  };
}

/** Cuts a stream into lines without joining the pieces of a long one more than once. */
function readLines(stream, onLine) {
  let pieces = [];
  stream.on("data", (chunk) => {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      pieces.push(chunk.subarray(start, end));
      onLine(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces));
      pieces = [];
      start = end + 1;
    }
    if (start < chunk.length) pieces.push(chunk.subarray(start));
  });
}
