// An agent of the Agent Client Protocol, small enough to read: it looks at a file as its user sees it, edits it, runs a
// command, and is refused what lies outside its session. Start it with a host: node examples/acp-host.mjs, or
// venue-files acp --yes --root docs=DIR --prompt notes.txt -- node examples/acp-agent.mjs
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { agent, methods, ndJsonStream } from "@agentclientprotocol/sdk";

const { fs, session: sessions } = methods.client;
const sessionDirectories = new Map();
let offered = {};

/** One turn: the prompt names a file below the directory of the session. */
async function turn({ sessionId, prompt: [block] }, client) {
  const cwd = sessionDirectories.get(sessionId);
  const path = join(cwd, block.type === "text" ? block.text.trim() : "");
  const say = (text) =>
    client.notify(sessions.update, {
      sessionId,
      update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text: `${text}\n` } },
    });

  const { content } = await client.request(fs.readTextFile, { sessionId, path, limit: 1 });
  await say(`The first line is: ${content.trim()}`);

  const whole = await client.request(fs.readTextFile, { sessionId, path });
  await client.request(fs.writeTextFile, { sessionId, path, content: `${whole.content}Seen by an agent.\n` });
  await say("I have added a line.");

  if (offered.terminal === true) {
    const run = await client.createTerminal({ sessionId, command: "wc", args: ["-l", path] });
    const { exitCode } = await run.waitForExit();
    const { output } = await run.currentOutput();
    await run.release();
    await say(`wc says, with status ${exitCode}: ${output.trim()}`);
  } else await say("There is no terminal here.");

  const refused = await client.request(fs.readTextFile, { sessionId, path: "/etc/passwd" }).catch((error) => error);
  await say(`/etc/passwd: ${refused.code} ${refused.data?.reason}`);
  return { stopReason: "end_turn" };
}

agent({ name: "example-agent" })
  .onRequest(methods.agent.initialize, ({ params }) => {
    offered = params.clientCapabilities ?? {};
    return { protocolVersion: 1, agentInfo: { name: "example-agent", version: "1.0.0" } };
  })
  .onRequest(methods.agent.session.new, ({ params }) => {
    const sessionId = `session-${sessionDirectories.size + 1}`;
    sessionDirectories.set(sessionId, params.cwd);
    return { sessionId };
  })
  .onRequest(methods.agent.session.prompt, ({ params, client }) => turn(params, client))
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
