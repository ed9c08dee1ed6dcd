import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { adopt, disown } from "./lifetime.mjs";
import { readLines } from "./lines.mjs";
import { CLI } from "./processes.mjs";

export const CLIENT_INFO = { name: "venue-files-bench", version: "1" };
export const PROTOCOL_VERSION = "2025-11-25";
/** The official client gives up a session whose answer is longer than 10 MiB, which twice 5 MB of text is. */
const ROOMY_BUFFER_BYTES = 256 * 1024 * 1024;
const at = (path) => fileURLToPath(new URL(path, import.meta.url));

/** Command lines of the servers, for `node`. */
export const SERVERS = {
  ours: ({ config, caps }) => [CLI, "mcp", "--config", config, "--caps", caps],
  theirs: ({ root }) => [at("../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"), root],
  floor: () => [at("servers/floor.mjs")],
};

/**
 * The official MCP client over stdio. The tools are listed first, as hosts do: only then does it check answers against
 * their output schemas.
 *
 * @returns `{ pid, tools, tool(name, args), close() }`
 */
export async function connectOfficial(args) {
  const { Client } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const transport = new StdioClientTransport({
    ...{ command: process.execPath, args },
    ...{ stderr: "ignore", maxBufferSize: ROOMY_BUFFER_BYTES },
  });
  const client = new Client(CLIENT_INFO);
  await client.connect(transport);
  const { pid } = transport;
  adopt(pid);
  const { tools } = await client.listTools();
  return {
    pid,
    tools,
    tool: (name, args) => client.callTool({ name, arguments: args }, { timeout: 120_000 }),
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
 * @returns `{ pid, child, tool(name, args), request(method, params), lastAnswerBytes(), close() }`
 */
export async function connectRaw(args, { env = process.env, cwd, stdio = ["pipe", "pipe", "ignore"] } = {}) {
  const child = spawn(process.execPath, args, { stdio, env, cwd });
  adopt(child.pid);
  const waiting = new Map();
  let answerBytes = 0;
  let nextId = 0;
  readLines(child.stdout, (line) => {
    answerBytes = line.length + 1;
    const { id, method, result, error } = JSON.parse(line.toString());
    const settle = waiting.get(id);
    if (settle === undefined || method !== undefined) return;
    waiting.delete(id);
    if (error === undefined) settle.resolve(result);
    else settle.reject(new Error(error.message));
  });
  const fail = (reason) => {
    for (const { reject } of waiting.values()) reject(new Error(reason));
    waiting.clear();
  };
  const exited = once(child, "exit").then(() => {
    disown(child.pid);
    fail("The server has ended");
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
    child,
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
