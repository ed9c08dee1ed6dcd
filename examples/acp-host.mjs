// A host that is the file system of an agent: unsaved text of an editor, approval, and what has changed in the end.
// node examples/acp-host.mjs
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { methods, ndJsonStream } from "@agentclientprotocol/sdk";
import { createFileAdapter } from "venue-files";
import { AcpClientFs } from "venue-files/acp";

const docs = await mkdtemp(join(tmpdir(), "venue-files-example-"));
const path = join(docs, "notes.txt");
await writeFile(path, "As it is on disk.\n");

const adapter = await createFileAdapter({ roots: { docs: { path: docs } } });
const acp = new AcpClientFs({
  adapter,
  // Where agents see the root.
  mounts: [{ root: "docs", prefix: docs }],
  // A program would ask its user.
  approve: ({ kind, diff }) => {
    if (kind === "write") console.log(`Allowed:\n${diff}`);
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
await acp.openBuffer(sessionId, path, "As it is in the editor.\n");
const prompt = [{ type: "text", text: "notes.txt" }];
const { stopReason } = await agent.request(methods.agent.session.prompt, { sessionId, prompt });
console.log(`The agent has stopped: ${stopReason}`);
console.log(`Modified: ${JSON.stringify(acp.modified(sessionId))}`);
console.log(`On disk: ${JSON.stringify(await readFile(path, "utf8"))}`);
await acp.undo(sessionId);
console.log(`After undo: ${JSON.stringify(await readFile(path, "utf8"))}`);

await close();
child.kill();
await adapter.close();
await rm(docs, { recursive: true });
