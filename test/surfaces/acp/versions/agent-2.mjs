// An agent of version 2 that does what its prompts say: one request to the client each, in JSON. Started as a program it speaks over
// stdio; its argument is the directory of a session that it keeps.
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import * as v2 from "@agentclientprotocol/sdk/experimental/v2/unstable";

const OUTSIDE = { sessionId: "far", cwd: "/elsewhere" };

/** @param session its capabilities; by default it takes MCP over the connection */
export function agent2({
  session = { mcp: { acp: {} }, additionalDirectories: {}, delete: {} },
  known = [],
  onNew = () => {},
} = {}) {
  const caller = new v2.McpOverAcpCaller({ clientInfo: { name: "agent", version: "1" } });
  const greeting = { initialize: undefined, session: undefined, closed: [] };
  const running = new Map();
  let sessions = 0;

  async function run({ method, params = {}, server }, client, signal) {
    if (method === "greeting") return greeting;
    if (method.startsWith("notify:")) return client.notify(method.slice("notify:".length), params);
    if (!method.startsWith("tools/") && !method.startsWith("server/")) {
      return client.request(method, params, { cancellationSignal: signal });
    }
    const { serverId } = server === undefined ? greeting.session.mcpServers.at(-1) : { serverId: server };
    return caller.request(client, serverId, method, params, { signal });
  }

  return v2
    .agent({ name: "agent-2" })
    .onRequest("initialize", ({ params }) => {
      greeting.initialize = params;
      return { protocolVersion: 2, info: { name: "agent-2", version: "1" }, capabilities: { session } };
    })
    .onRequest("session/new", async ({ params, client }) => {
      greeting.session = params;
      sessions += 1;
      const sessionId = `2-${process.pid}-${sessions}-${Math.random()}`;
      known.push({ sessionId, cwd: params.cwd, title: `number ${sessions}` });
      await onNew({ params, client, caller, sessionId });
      return { sessionId };
    })
    .onRequest("session/list", ({ params }) => ({
      ...(params.cursor === "x" ? { sessions: [] } : { sessions: [...known, OUTSIDE], nextCursor: "x" }),
    }))
    .onRequest("session/resume", async ({ params, client }) => {
      greeting.session = params;
      if (params.sessionId === "unknown") throw new v2.RequestError(-32002, "Resource not found");
      const outcome = await caller.request(client, params.mcpServers.at(-1).serverId, "tools/call", {
        name: "file_list",
        arguments: {},
      });
      greeting.resumed = outcome;
      return {};
    })
    .onRequest("session/close", ({ params }) => {
      greeting.closed.push(params.sessionId);
    })
    .onRequest("session/delete", ({ params }) => {
      greeting.closed.push(params.sessionId);
    })
    .onRequest("session/prompt", async ({ params, client }) => {
      const { sessionId, prompt } = params;
      const cancelling = new AbortController();
      running.set(sessionId, cancelling);
      const _meta = await run(JSON.parse(prompt[0].text), client, cancelling.signal).then(
        (result) => ({ result }),
        ({ code, message, data }) => ({ error: { code, message, data } }),
      );
      const update = { sessionUpdate: "state_update", state: "idle", stopReason: "end_turn" };
      await client.notify("session/update", { sessionId, update });
      return { messageId: "m", _meta };
    })
    .onNotification("session/cancel", ({ params }) => running.get(params.sessionId)?.abort())
    .onNotification("mcp/message", caller.handleNotification);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const stream = v2.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin));
  const [, , cwd] = process.argv;
  const kept = { sessionId: "kept", cwd, title: "A title", updatedAt: "2026-11-29T00:00:00Z" };
  agent2(cwd === undefined ? {} : { known: [kept] }).connect(stream);
}
