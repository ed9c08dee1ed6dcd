// An agent that does what its prompts say: one request to the client each, in JSON. Started as a program it speaks over stdio; its
// argument is the SDK to use.
import { Readable, Writable } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** Connects an agent that is made with an SDK, named as `1` or `2` and how it is connected. */
export async function connectTo(stream, named) {
  const isFirst = named.startsWith("1");
  const sdk = await import(isFirst ? "acp-sdk-1" : "@agentclientprotocol/sdk");
  const initialized = {
    protocolVersion: 1,
    agentInfo: { name: `agent-${named}`, version: "1" },
    agentCapabilities: { sessionCapabilities: { additionalDirectories: {} } },
  };
  const greeting = { initialize: undefined, session: undefined };
  const running = new Map();
  let sessions = 0;
  let atOnce;

  function onInitialize(params) {
    greeting.initialize = params;
    return initialized;
  }

  function onNewSession(params, request) {
    greeting.session = params;
    sessions += 1;
    const sessionId = `${named}-${process.pid}-${sessions}`;
    // What comes right behind the answer must find the session.
    if (params.cwd.endsWith("/at-once")) {
      atOnce = turn()
        .then(() => request("fs/read_text_file", { sessionId, path: `${params.cwd}/file` }))
        .catch(({ code }) => code)
        .then((result) => {
          greeting.atOnce = result;
        });
    }
    return { sessionId };
  }

  async function onPrompt({ sessionId, prompt: [{ text }] }, request) {
    const { method, params } = JSON.parse(text);
    if (method === "greeting") {
      await atOnce;
      return { stopReason: "end_turn", _meta: { result: greeting } };
    }
    const cancelling = new AbortController();
    running.set(sessionId, cancelling);
    try {
      const result = await request(method, { sessionId, ...params }, { cancellationSignal: cancelling.signal });
      return { stopReason: "end_turn", _meta: { result } };
    } catch ({ code, message, data }) {
      return { stopReason: "end_turn", _meta: { error: { code, message, data } } };
    }
  }

  const onCancel = ({ sessionId }) => running.get(sessionId)?.abort();

  if (isFirst) {
    const connection = new sdk.AgentSideConnection(
      () => ({
        initialize: async (params) => onInitialize(params),
        newSession: async (params) => onNewSession(params, request),
        authenticate: async () => ({}),
        prompt: (params) => onPrompt(params, request),
        cancel: async (params) => onCancel(params),
      }),
      stream,
    );
    const request = (...args) => connection.request(...args);
  } else {
    let client;
    const request = (...args) => client.request(...args);
    client = sdk
      .agent({ name: "agent" })
      .onRequest("initialize", ({ params }) => onInitialize(params))
      .onRequest("session/new", ({ params }) => onNewSession(params, request))
      .onRequest("session/prompt", ({ params }) => onPrompt(params, request))
      .onNotification("session/cancel", ({ params }) => onCancel(params))
      .connect(stream).client;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { ndJsonStream } = await import("@agentclientprotocol/sdk");
  const stream = ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin));
  await connectTo(stream, process.argv[2]);
}
