// Handlers of the ACP methods `fs/*` and `terminal/*`: check the session and the path, run the operation, answer,
// audit.

import { setImmediate } from "node:timers/promises";
import { type ClientApp, type McpServer, RequestError } from "@agentclientprotocol/sdk";
import { isADirectory, notADirectory } from "../../../core/errors/texts.js";
import { fieldsOf } from "../../../core/unknown.js";
import { typeAt } from "../files/files.js";
import { type AcpPlace, below, findPlace, type Mount, namesDirectory } from "../files/mounts.js";
import { readText } from "../files/read-text.js";
import { writeText } from "../files/write-text.js";
import type { AcpAuditRecord, Trace } from "../review/audit.js";
import { answerFor, outsideRoots, Refused } from "./errors.js";
import { parseCreateTerminalParams, parseReadParams, parseWriteParams, text } from "./params.js";
import type { FileSession, Host } from "./session.js";
import type { Terminals } from "./terminals.js";

/** Maximum characters in the audit: of a command, and of other strings chosen by the agent. */
const SHOWN_COMMAND = 200;
const MAX_SHOWN = 4096;

/** Methods offered to agents, by capability. */
export interface Offer {
  readonly readTextFile: boolean;
  readonly writeTextFile: boolean;
  readonly terminal: boolean;
}

/** State shared by all sessions of a host, once prepared. */
export interface Ready {
  readonly mounts: readonly Mount[];
  readonly offer: Offer;
}

/** A session and its protocol state. */
export interface AcpSession {
  readonly files: FileSession;
  readonly cwd: string;
  /** The session's directories, as segments of absolute paths. */
  readonly directories: readonly (readonly string[])[];
  readonly terminals: Terminals;
  /** Absent: the agent has no tools. */
  readonly tools: ToolServer | undefined;
}

/** The tools of one session, as an MCP server over the connection. */
export interface ToolServer {
  /** For `mcpServers` of the request that opens the session. */
  readonly declaration: McpServer;
  /** Calls are served from now on. */
  bind(session: AcpSession): void;
  /** Cancels what runs, and serves nothing more. */
  close(): void;
}

/** The client side of one connection. */
export interface Peer {
  /** The name the agent gave itself in `initialize`; `undefined` before that. */
  agent: string | undefined;
  readonly host: Host;
  readonly onAudit: ((record: AcpAuditRecord) => void) | undefined;
  ready(): Promise<Ready>;
  /** Number of `session/new` requests that the agent has not answered yet. */
  opening: number;
  /** Servers of tools by their ids: one a session. */
  readonly tools: Map<string, ToolServer>;
  session(id: string): AcpSession | undefined;
}

interface Request {
  readonly params: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
  readonly session: AcpSession;
  readonly mounts: readonly Mount[];
  readonly peer: Peer;
  /** Filled in for the audit. */
  readonly trace: Trace;
  /** Filled in for the error: the path as the agent sent it. */
  readonly info: { path?: string };
}

type Handler = (request: Request) => Promise<unknown>;

const HANDLERS: Readonly<Record<string, { readonly offer: keyof Offer; readonly handle: Handler }>> = {
  "fs/read_text_file": { offer: "readTextFile", handle: read },
  "fs/write_text_file": { offer: "writeTextFile", handle: write },
  "terminal/create": { offer: "terminal", handle: createTerminal },
  "terminal/output": { offer: "terminal", handle: output },
  "terminal/wait_for_exit": {
    offer: "terminal",
    handle: onTerminal((terminals, id, signal) => terminals.exit(id, signal)),
  },
  "terminal/kill": { offer: "terminal", handle: onTerminal((terminals, id) => terminals.kill(id)) },
  "terminal/release": { offer: "terminal", handle: onTerminal((terminals, id) => terminals.release(id)) },
};

/**
 * Registers the handlers of all `fs/*` and `terminal/*` methods. Every failure reaches the agent as a `RequestError`.
 */
export function registerHandlers(app: ClientApp, peer: Peer): ClientApp {
  for (const method of Object.keys(HANDLERS)) {
    // Parameters are validated here, not by the SDK, so that invalid requests are audited too.
    app.onRequest(
      method,
      (params: unknown) => params,
      ({ params, signal }) => serve(peer, { method, params, signal }),
    );
  }
  return app;
}

async function serve(
  peer: Peer,
  { method, params, signal }: { method: string; params: unknown; signal: AbortSignal },
): Promise<unknown> {
  const given = fieldsOf(params);
  const { sessionId } = given;
  const info: Request["info"] = {};
  const trace: Trace = { sessionId: typeof sessionId === "string" ? sessionId.slice(0, MAX_SHOWN) : "", bytes: 0 };
  const startedMs = peer.host.clock.monotonicMs();
  let outcome = "OK";
  try {
    const { mounts, offer } = await peer.ready();
    const handler = HANDLERS[method];
    // The client did not announce it.
    if (handler === undefined || !offer[handler.offer]) {
      throw new Refused("NOT_OFFERED", RequestError.methodNotFound(method));
    }
    const session = await sessionOf(peer, text(given, "sessionId"));
    return await handler.handle({ params: given, signal, session, mounts, peer, trace, info });
  } catch (error) {
    const answered = answerFor(error, info.path);
    outcome = answered.outcome;
    if (answered.cause !== undefined) peer.host.log.error({ err: answered.cause, method }, "internal error");
    throw answered.error;
  } finally {
    audit(peer, { method, outcome, startedMs, trace });
  }
}

/**
 * Looks a session up, a turn later too: the agent's first request may arrive in the same tick as the `session/new` answer that
 * names the session.
 * @throws Refused: the session does not belong to this connection
 */
export async function sessionOf(peer: Peer, id: string): Promise<AcpSession> {
  if (peer.opening > 0 && peer.session(id) === undefined) await setImmediate();
  const session = peer.session(id);
  if (session === undefined) throw new Refused("UNKNOWN_SESSION", RequestError.sessionNotFound(id));
  return session;
}

/** Tells the host of a request that has ended. */
export function audit(
  { host, agent, onAudit }: Peer,
  { method, outcome, startedMs, trace }: { method: string; outcome: string; startedMs: number; trace: Trace },
): void {
  const { clock, log } = host;
  const ended = { time: clock.nowMs(), outcome, ms: clock.monotonicMs() - startedMs };
  try {
    onAudit?.({ ...ended, method, ...(agent === undefined ? {} : { agent }), ...trace });
  } catch (err) {
    // The operation has already taken effect: a failing hook must not turn it into an error.
    log.error({ err }, "the audit of a request failed");
  }
}

/** @throws Refused if the path is not below a directory of the session */
function placeIn({ session, mounts, trace, info }: Request, sent: string): AcpPlace {
  info.path = sent;
  trace.path = sent.slice(0, MAX_SHOWN);
  const place = findPlace(mounts, sent);
  if (place === undefined) throw outsideRoots(sent);
  trace.root = place.root;
  trace.path = place.path;
  if (!session.directories.some((directory) => below(directory, place.absolute) !== undefined))
    throw outsideRoots(sent);
  return place;
}

/** Like {@link placeIn}, for a file. @throws also IS_A_DIRECTORY or NOT_A_DIRECTORY if the path ends in `/` or `/.` */
async function filePlaceIn(request: Request, sent: string): Promise<AcpPlace> {
  const place = placeIn(request, sent);
  if (!namesDirectory(sent)) return place;
  const { session, signal } = request;
  throw (await typeAt(session.files.calls, place, signal)) === "directory" ? isADirectory(place) : notADirectory(place);
}

async function read(request: Request): Promise<unknown> {
  const { path, line, limit } = parseReadParams(request.params);
  const { root, path: inRoot } = await filePlaceIn(request, path);
  const { signal, session, trace } = request;
  const range = line === undefined && limit === undefined ? undefined : { line: line ?? 1, limit };
  const { content, conflict, hash } = await readText(session.files, { place: { root, path: inRoot }, range, signal });
  trace.bytes = Buffer.byteLength(content);
  if (hash !== undefined) Object.assign(trace, { hashBefore: hash, hashAfter: hash });
  return conflict ? { content, _meta: { "venue-files/conflict": true } } : { content };
}

async function write(request: Request): Promise<unknown> {
  const { path, content } = parseWriteParams(request.params);
  const place = await filePlaceIn(request, path);
  const { signal, session, trace } = request;
  await writeText(session.files, { place, text: content, signal, trace });
  return {};
}

async function createTerminal(request: Request): Promise<unknown> {
  const params = parseCreateTerminalParams(request.params);
  const { session, signal } = request;
  request.trace.command = [params.command, ...params.args].join(" ").slice(0, SHOWN_COMMAND);
  const cwd = placeIn(request, params.cwd ?? session.cwd);
  const terminalId = await session.terminals.create(params, { cwd, signal });
  return { terminalId };
}

async function output(request: Request): Promise<unknown> {
  const answer = await request.session.terminals.output(text(request.params, "terminalId"));
  request.trace.bytes = Buffer.byteLength(answer.output);
  return answer;
}

function onTerminal(act: (terminals: Terminals, id: string, signal: AbortSignal) => Promise<unknown>): Handler {
  return ({ session, params, signal }) => act(session.terminals, text(params, "terminalId"), signal);
}
