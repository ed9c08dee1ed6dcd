// A tool over the Agent Client Protocol next to the same tool over stdio: each caller is an official client here, each server a process.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { connectOfficial } from "../clients.mjs";
import { expectThat } from "../expect.mjs";
import { adopt, disown } from "../lifetime.mjs";
import { CLI } from "../processes.mjs";

const HOST = fileURLToPath(new URL("../servers/acp-host.mjs", import.meta.url));

/** An agent of version 2 on the SDK, and its session. @returns `{ tool(name, args), close() }` */
async function connectAgent(folder) {
  const v2 = await import("@agentclientprotocol/sdk/experimental/v2/unstable");
  const child = spawn(process.execPath, [HOST, folder], { stdio: ["pipe", "pipe", "inherit"] });
  adopt(child.pid);
  const caller = new v2.McpOverAcpCaller();
  let opened = () => {};
  const session = new Promise((resolve) => {
    opened = resolve;
  });
  v2.agent({ name: "bench" })
    .onRequest("initialize", () => ({
      ...{ protocolVersion: 2, info: { name: "bench", version: "1" } },
      capabilities: { session: { mcp: { acp: {} } } },
    }))
    .onRequest("session/new", ({ params, client }) => {
      const [{ serverId }] = params.mcpServers;
      setImmediate(() => opened({ client, serverId }));
      return { sessionId: "s" };
    })
    .connect(v2.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)));
  const { client, serverId } = await session;
  return {
    async tool(name, args) {
      const { result } = await caller.request(client, serverId, "tools/call", { name, arguments: args });
      return result;
    },
    async close() {
      child.kill();
      await once(child, "exit");
      disown(child.pid);
    },
  };
}

/** @returns calls of a tool both ways, and what ends them */
export async function connectBoth(folder) {
  const agent = await connectAgent(folder);
  const client = await connectOfficial([CLI, "mcp", "--root", `r=${folder}`, "--no-protect"]);
  const both = (name, args) => [() => agent.tool(name, args), () => client.tool(name, args)];
  const [one, other] = await Promise.all(both("file_read", { path: "ws/tiny" }).map((call) => call()));
  expectThat(one.content[0].text === other.content[0].text, "the answers differ");
  return { both, close: () => Promise.all([agent.close(), client.close()]) };
}
