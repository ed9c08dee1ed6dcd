import { connect, type Socket } from "node:net";
import type { AuthenticationResult } from "../../../src/core/call/caller.js";
import { systemClock } from "../../../src/core/clock.js";
import { silentLog } from "../../../src/core/ports/log.js";
import { createAssets, type VenueAssets } from "../../../src/venue/assets/assets.js";
import { AssetMemory } from "../../../src/venue/assets/memory.js";
import { createVenueHost, type VenueHost, type VenueHostOptions } from "../../../src/venue/venue.js";
import { type FakeAdapter, type FakeOperation, fakeAdapter } from "../../venue/catalogue/fake-adapter.js";
import { send } from "./client.js";

export const DID = "did:key:z6MkTestVenue";

export interface Served {
  readonly venue: VenueHost;
  readonly adapter: FakeAdapter;
  readonly port: number;
  readonly url: string;
  /** What was logged as internal, with what the caller was shown. */
  readonly logged: { error: unknown; requestId: string }[];
}

type Overrides = Partial<Omit<VenueHostOptions, "http" | "jobs">> & {
  http?: Partial<VenueHostOptions["http"]>;
  jobs?: Partial<VenueHostOptions["jobs"]>;
  /** Who may register assets, and how much. */
  assetRules?: { write?: "public" | "operator"; maxTotalBytes?: number };
};

/** Tokens that {@link serve} knows: the operator's, and those of two callers. */
export const TOKENS = {
  operator: "operator-token-operator-token-operator",
  alice: "alice-token-alice-token-alice-token-alice",
  bob: "bob-token-bob-token-bob-token-bob-token",
} as const;
export const ALICE = "did:key:z6MkAlice";
export const BOB = "did:key:z6MkBob";

function authenticate(authorization: string): AuthenticationResult {
  const [scheme, token] = authorization.split(" ");
  if (scheme?.toLowerCase() !== "bearer") return { refused: "unsupported_scheme" };
  if (token === TOKENS.operator) return { caller: { did: DID, authentication: "local-token", isOperator: true } };
  const did = token === TOKENS.alice ? ALICE : token === TOKENS.bob ? BOB : undefined;
  if (did === undefined) return { refused: "invalid_token" };
  return { caller: { did, authentication: "identity", isOperator: false } };
}

/** Headers of a known caller. */
export const as = (who: keyof typeof TOKENS): { authorization: string } => ({ authorization: `Bearer ${TOKENS[who]}` });

/** Assets in memory, of a venue with {@link DID}. */
export function memoryAssets(rules: Overrides["assetRules"] = {}): Promise<VenueAssets> {
  return createAssets({
    did: DID,
    store: new AssetMemory(),
    write: rules.write ?? "public",
    maxTotalBytes: rules.maxTotalBytes ?? 10_000_000,
    maxContentSize: 1_000_000,
    clock: systemClock,
    log: silentLog,
  });
}

/** An endpoint of MCP that answers everything with an empty message. */
export const emptyMcp: NonNullable<VenueHostOptions["mcp"]> = async () => ({
  serve: async () => ({ status: 200, message: {} }),
});

const open: VenueHost[] = [];

/** Serves fake operations on a real socket. */
export async function serve(operations: Record<string, FakeOperation>, overrides: Overrides = {}): Promise<Served> {
  const adapter = fakeAdapter(operations);
  const logged: Served["logged"] = [];
  const { http, jobs, assetRules, ...others } = overrides;
  const venue = createVenueHost({
    name: "test venue",
    did: DID,
    adapters: [adapter],
    assets: await memoryAssets(assetRules),
    authenticate,
    didDocument: (baseUrl) => ({ id: DID, service: [{ type: "Covia.API.v1", serviceEndpoint: `${baseUrl}/api/v1` }] }),
    logInternal: (error, requestId) => logged.push({ error, requestId }),
    ...others,
    jobs: {
      ...{ inlineWaitMs: 2000, maxWaitMs: 5000, max: 100, maxBytes: 1_000_000, ttlMs: 60_000 },
      ...{ listsAnonymous: true, graceMs: 1000 },
      ...jobs,
    },
    http: {
      listen: { hostname: "127.0.0.1", port: 0 },
      publicAccess: true,
      ...{ maxRequestBytes: 1_000_000, maxContentSize: 1_000_000 },
      ...http,
    },
  });
  open.push(venue);
  const { port = 0, url: known } = await venue.listen();
  const url = http?.baseUrl === undefined ? known : `http://127.0.0.1:${port}`;
  return { venue, adapter, port, url, logged };
}

/** Closes what {@link serve} opened. */
export async function closeAll(): Promise<void> {
  await Promise.all(open.splice(0).map((venue) => venue.close()));
}

export interface Answer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Sends bytes as they are, for what `fetch` would not send, and reads one answer. The socket then goes. */
export async function sendRaw(port: number, request: string | Buffer, host = "127.0.0.1"): Promise<Answer> {
  const socket = connect(port, host);
  socket.write(request);
  try {
    return await readAnswer(socket);
  } finally {
    socket.destroy();
  }
}

/** Reads from a socket until one answer is complete. */
export function readAnswer(socket: Socket): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let received = "";
    socket.setEncoding("latin1");
    socket.on("data", (chunk) => {
      received += chunk;
      const answer = parseAnswer(received);
      if (answer !== undefined) resolve(answer);
    });
    socket.on("error", reject);
    socket.on("close", () => reject(new Error(`Closed before a whole answer: ${received}`)));
  });
}

function parseAnswer(received: string): Answer | undefined {
  const end = received.indexOf("\r\n\r\n");
  if (end === -1) return undefined;
  const [first = "", ...lines] = received.slice(0, end).split("\r\n");
  const headers = new Map(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const body = received.slice(end + 4);
  if (body.length < Number(headers.get("content-length") ?? 0)) return undefined;
  return { status: Number(first.split(" ")[1]), headers, body };
}

/** A request of HTTP/1.1 as text. */
export function rawRequest(line: string, headers: Record<string, string> = {}, body = ""): string {
  const length = body === "" ? {} : { "Content-Length": `${Buffer.byteLength(body)}` };
  const all = { Host: "localhost", ...length, ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}

/** Calls invoke. */
export function postInvoke(served: Served, body: unknown, query = ""): Promise<Response> {
  return postText(served, `/api/v1/invoke${query}`, typeof body === "string" ? body : JSON.stringify(body));
}

/** Posts a text as JSON. */
export function postText(served: Served, path: string, text: string, more = {}): Promise<Response> {
  const headers = { "content-type": "application/json", ...more };
  return send(served.url + path, { method: "POST", headers, body: text });
}
