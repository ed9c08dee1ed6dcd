// A host that is the file system of an agent: unsaved text of an editor, approval, and what has changed in the end.
// node examples/acp-host.mjs
import { spawn } from "node:child_process";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { methods, ndJsonStream } from "@agentclientprotocol/sdk";
import { createFileAdapter, createSandbox, DEFAULT_SHELL } from "venue-files";
import { AcpClientFs } from "venue-files/acp";

const adapter = await createFileAdapter({ roots: { docs: { temp: true } } });
const notes = { root: "docs", path: "notes.txt" };
const onDisk = async () => JSON.stringify((await adapter.invoke("file:read", notes)).content);
await adapter.invoke("file:write", { ...notes, content: "As it is on disk.\n" });
// Agents see the root where it is on this machine.
const [{ path: docs = "" } = {}] = (await adapter.invoke("file:roots", {})).roots;

const acp = new AcpClientFs({
  adapter,
  mounts: [{ root: "docs" }],
  terminals: { sandbox: await createSandbox(DEFAULT_SHELL) },
  // A program would ask its user.
  approve: (request) => {
    console.log(`Allowed:\n${request.diff ?? request.command}`);
    return "allow";
  },
});

const child = spawn(process.execPath, [fileURLToPath(new URL("acp-agent.mjs", import.meta.url))], {
  stdio: ["pipe", "pipe", "inherit"],
});
const stream = ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const { agent, newSession, close } = acp.connect(stream, (app) =>
  app.onNotification(methods.client.session.update, ({ params: { update } }) => {
    if (update.sessionUpdate === "agent_message_chunk" && update.content.type === "text") {
      process.stdout.write(`Agent: ${update.content.text}`);
    }
  }),
);

const sessionId = await newSession({ cwd: docs });
await acp.openBuffer(sessionId, join(docs, "notes.txt"), "As it is in the editor.\n");
const prompt = [{ type: "text", text: "notes.txt" }];
const { stopReason } = await agent.request(methods.agent.session.prompt, { sessionId, prompt });
console.log(`The agent has stopped: ${stopReason}`);
console.log(`Modified: ${JSON.stringify(acp.modified(sessionId))}`);
console.log(`On disk: ${await onDisk()}`);
await acp.undo(sessionId);
console.log(`After undo: ${await onDisk()}`);

await close();
child.kill();
await adapter.close();
