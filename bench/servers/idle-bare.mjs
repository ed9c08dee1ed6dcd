// The same without any SDK: what two pipes, two processes and JSON cost by themselves.
let rest = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (chunk) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop();
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line);
    if (id !== undefined)
      process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result: answer(method, params) })}\n`);
  }
});

function answer(method, params) {
  switch (method) {
    case "initialize": {
      const { protocolVersion } = params;
      return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "idle", version: "1.0.0" } };
    }
    case "tools/list":
      return {
        tools: [{ name: "idle", description: "Does nothing", inputSchema: { type: "object", properties: {} } }],
      };
    default:
      return { content: [{ type: "text", text: "ok" }] };
  }
}
