import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  PROTOCOL_VERSION_META_KEY,
} from "@modelcontextprotocol/client";
import { type Running, type StartOptions, start } from "../../cli/process.js";
import type { Answer } from "./sessions.js";

/** An answer as it stood on the wire. */
export interface RawAnswer {
  readonly line: string;
  readonly id: number;
  readonly result?: Answer & Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A client that shows every byte: JSON lines over the pipes of a `venue-files mcp` process. */
export interface RawClient {
  readonly process: Running;
  /** Sends a request and waits for its answer. */
  request(method: string, params?: Record<string, unknown>): Promise<RawAnswer>;
  /** Calls a tool and waits for its answer. */
  call(name: string, args?: unknown): Promise<RawAnswer & { result: Answer }>;
  /** Writes a text as it is. */
  write(text: string): void;
  /** Every line that came so far. */
  lines(): string[];
}

const CLIENT_INFO = { name: "raw", version: "1" };

/** What every request of the newest protocol carries; there is no handshake. */
const ENVELOPE = {
  [PROTOCOL_VERSION_META_KEY]: "2026-07-28",
  [CLIENT_INFO_META_KEY]: CLIENT_INFO,
  [CLIENT_CAPABILITIES_META_KEY]: {},
};

/** Starts `venue-files mcp` and, in the protocol of 2025, shakes hands. */
export async function startRaw(
  args: readonly string[],
  options: StartOptions & { era?: "2025" | "newest" } = {},
): Promise<RawClient> {
  const process = start(["mcp", ...args], options);
  const client = rawClient(process, options.era === "newest" ? { _meta: ENVELOPE } : {});
  if (options.era !== "newest") {
    const hello = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: CLIENT_INFO };
    await client.request("initialize", hello);
    client.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
  }
  return client;
}

function rawClient(process: Running, envelope: Record<string, unknown>): RawClient {
  const waiting = new Map<number, { resolve: (answer: RawAnswer) => void; reject: (error: Error) => void }>();
  const lines: string[] = [];
  let rest: string[] = [];
  let lastId = 0;
  process.child.stdout.on("data", (chunk: string) => {
    const [first = "", ...more] = chunk.split("\n");
    rest.push(first);
    for (const next of more) {
      const line = rest.join("");
      rest = [next];
      lines.push(line);
      const answer = JSON.parse(line) as Omit<RawAnswer, "line">;
      waiting.get(answer.id)?.resolve({ ...answer, line });
    }
  });
  void process.ended.then((end) => {
    for (const { reject } of waiting.values()) reject(new Error(`Ended: ${JSON.stringify(end).slice(0, 2000)}`));
  });
  const request: RawClient["request"] = (method, params = {}) => {
    lastId += 1;
    const id = lastId;
    const answer = new Promise<RawAnswer>((resolve, reject) => waiting.set(id, { resolve, reject }));
    const message = { jsonrpc: "2.0", id, method, params: { ...params, ...envelope } };
    process.child.stdin.write(`${JSON.stringify(message)}\n`);
    return answer;
  };
  return {
    process,
    request,
    async call(name, args = {}) {
      const answer = await request("tools/call", { name, arguments: args });
      const { result } = answer;
      if (result === undefined) throw new Error(`No result: ${answer.line}`);
      return { ...answer, result };
    },
    write: (text) => void process.child.stdin.write(text),
    lines: () => lines,
  };
}
