// A server with one tool that does nothing, on the SDK that venue-files uses: what the SDK itself costs.
import { Server } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";

const server = new Server({ name: "idle", version: "1.0.0" }, { capabilities: { tools: {} } });
server.setRequestHandler("tools/list", () => ({
  tools: [{ name: "idle", description: "Does nothing", inputSchema: { type: "object", properties: {} } }],
}));
server.setRequestHandler("tools/call", async () => ({ content: [{ type: "text", text: "ok" }] }));
await server.connect(new StdioServerTransport());
