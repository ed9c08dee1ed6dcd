// An agent that does what its prompts say: one request to the client each, in JSON. Its argument is the SDK to use.
import { Readable, Writable } from "node:stream";

const sdk = await import(process.argv[2] === "1" ? "acp-sdk-1" : "@agentclientprotocol/sdk");
const initialized = {
  protocolVersion: 1,
  agentInfo: { name: `agent-${process.argv[2]}`, version: "1" },
  agentCapabilities: { sessionCapabilities: { additionalDirectories: {} } },
};
const greeting = { initialize: undefined, session: undefined };
const running = new Map();
let sessions = 0;

function onInitialize(params) {
  greeting.initialize = params;
  return initialized;
}

function onNewSession(params, request) {
  greeting.session = params;
  sessions += 1;
  const sessionId = `${process.argv[2]}-${process.pid}-${sessions}`;
  // What comes right behind the answer must find the session.
  if (params.cwd.endsWith("/at-once")) {
    setImmediate(() => {
      request("fs/read_text_file", { sessionId, path: `${params.cwd}/file` }).then(
        (result) => {
          greeting.atOnce = result;
        },
        (error) => {
          greeting.atOnce = error.code;
        },
      );
    });
  }
  return { sessionId };
}

async function onPrompt({ sessionId, prompt: [{ text }] }, request) {
  const { method, params } = JSON.parse(text);
  if (method === "greeting") return { stopReason: "end_turn", _meta: { result: greeting } };
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
const stream = sdk.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin));

if (process.argv[2] === "1") {
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
