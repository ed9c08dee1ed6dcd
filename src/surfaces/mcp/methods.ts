// The methods of the protocol, for both eras and every transport. Knows nothing of how messages travel.

import type { Capability } from "../../core/call/capability.js";
import type { Awaitable } from "../../core/io.js";
import type { McpHost } from "./host.js";
import { progressNotes } from "./progress.js";
import { type AskUser, callAsking, type InputRequired } from "./questions.js";
import { complete, type Looking, listResources, listTemplates, readResource } from "./resources.js";
import {
  capabilitiesIn,
  checkEnvelope,
  checkRevision,
  type Era,
  HANDSHAKE,
  LEGACY_REVISIONS,
  MODERN_REVISIONS,
  revisionOf,
  SERVER_INFO,
} from "./revisions.js";
import { listen, type Noting, subscribe, unsubscribe } from "./subscriptions.js";
import { internalFault, listTools, type Served } from "./tool-calls.js";
import {
  BOOLEAN,
  type ErrorBody,
  type Fields,
  faultIn,
  INVALID_PARAMS,
  LISTEN,
  METHOD_NOT_FOUND,
  metaOf,
  OBJECT,
  objectOf,
  optional,
  type Params,
  Refusal,
  type Request,
  RequestFault,
  type Shape,
  TEXT,
  type ToolResult,
} from "./wire.js";

/** Parts of a request that its transport knows. */
export interface Exchange extends Noting {
  readonly era: Era;
  /** Capabilities of the scopes of the client's token. Absent: it has none. */
  readonly scopes?: readonly Capability[] | undefined;
  /** Capabilities from the handshake of the client; later revisions tell them with each request. */
  readonly capabilities?: unknown;
  /** Asks the user of the client in between, in revisions with a handshake. Absent: the transport cannot. */
  readonly ask?: AskUser | undefined;
  /** Called when the job has ended, which may be after the answer, or when there is none. */
  readonly ended?: (() => void) | undefined;
}

interface Method {
  readonly eras: readonly Era[];
  /** Only a host with resources has it. */
  readonly ofResources?: true;
  /** Shape of its parameters. Absent: any. */
  readonly params?: Shape;
  /** The parameter that names what a request is about, which HTTP has in a header too. */
  readonly nameField?: string;
  /** How long clients may keep the result, in milliseconds. Absent: it is no result to keep. */
  readonly ttlMs?: number;
  run(request: Request, exchange: Exchange, by: Served): Awaitable<object>;
}

const META: Fields[number] = ["_meta", optional(OBJECT)];
const BOTH: readonly Era[] = ["legacy", "modern"];
const FILTER = objectOf(
  ["toolsListChanged", optional(BOOLEAN)],
  ["promptsListChanged", optional(BOOLEAN)],
  ["resourcesListChanged", optional(BOOLEAN)],
  ["resourceSubscriptions", { type: "array", each: TEXT, isOptional: true }],
);
const LIST = optional(objectOf(META, ["cursor", optional(TEXT)]));
const OF_URI = objectOf(META, ["uri", TEXT]);
const COMPLETION = objectOf(
  ["ref", objectOf(["type", TEXT])],
  ["argument", objectOf(["name", TEXT], ["value", TEXT])],
  ["context", optional(objectOf(["arguments", optional({ type: "object", each: TEXT })]))],
);
/** How long clients may keep what changes with the configuration alone; they are told when it does. */
const TTL_MS = 300_000;
const instructionsOf = ({ instructions }: McpHost): object => (instructions === "" ? {} : { instructions });

/** A look at resources. */
const look =
  (find: (by: Looking, params: Params) => Promise<object>): Method["run"] =>
  ({ id, params = {} }, { era, signal, scopes }, { host, memoryOf, takesBytes }) =>
    find({ host, era, signal, scopes, memory: memoryOf(id), takesBytes }, params);

const CALL = objectOf(META, ["name", TEXT], ["arguments", optional(OBJECT)]);
const ofResources = true;

const METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  ["initialize", { eras: ["legacy"], params: HANDSHAKE, run: initialize }],
  ["ping", { eras: ["legacy"], run: () => ({}) }],
  ["server/discover", { eras: ["modern"], ttlMs: TTL_MS, run: discover }],
  [LISTEN, { eras: ["modern"], params: objectOf(["notifications", FILTER]), run: listen }],
  ["tools/list", { eras: BOTH, params: LIST, ttlMs: TTL_MS, run: (_request, _exchange, by) => listTools(by) }],
  ["tools/call", { eras: BOTH, params: CALL, nameField: "name", run: callTool }],
  ["resources/subscribe", { eras: ["legacy"], ofResources, params: OF_URI, run: subscribe }],
  ["resources/unsubscribe", { eras: ["legacy"], ofResources, params: OF_URI, run: unsubscribe }],
  ["resources/list", { eras: BOTH, ofResources, params: LIST, ttlMs: 0, run: look(listResources) }],
  ["resources/templates/list", { eras: BOTH, ofResources, params: LIST, ttlMs: TTL_MS, run: listTemplates }],
  ["resources/read", { eras: BOTH, ofResources, params: OF_URI, nameField: "uri", ttlMs: 0, run: look(readResource) }],
  ["completion/complete", { eras: BOTH, ofResources, params: COMPLETION, run: look(complete) }],
]);

/** The method that a host has in an era. */
function methodOf(name: string, era: Era, { hasResources }: McpHost): Method | undefined {
  const method = METHODS.get(name);
  const isThere = method?.eras.includes(era) === true && (method.ofResources !== true || hasResources === true);
  return isThere ? method : undefined;
}

export const isServed = (method: string, era: Era, host: McpHost): boolean => methodOf(method, era, host) !== undefined;

export const nameFieldOf = (method: string): string | undefined => METHODS.get(method)?.nameField;

/** Outcome of a request. `refusal`: HTTP has a status for it. */
export type Outcome =
  | { readonly result: object }
  | { readonly error: ErrorBody; readonly refusal?: Refusal | undefined };

/** Serves a request. Never rejects. */
export async function serveRequest(request: Request, exchange: Exchange, by: Served): Promise<Outcome> {
  try {
    return { result: await resultOf(request, exchange, by) };
  } catch (error) {
    const fault = error instanceof RequestFault ? error : internalFault(by.host, error);
    return fault instanceof Refusal ? { error: fault.body, refusal: fault } : { error: fault.body };
  }
}

async function resultOf(request: Request, exchange: Exchange, by: Served): Promise<object> {
  const { method, params } = request;
  const found = methodOf(method, exchange.era, by.host);
  if (found === undefined) throw new RequestFault(METHOD_NOT_FOUND, "Method not found");
  if (exchange.era === "modern") {
    checkEnvelope(params);
    checkRevision(revisionOf(params));
  }
  const fault = found.params && faultIn(params, found.params, "params");
  if (fault !== undefined) {
    throw new RequestFault(INVALID_PARAMS, `Invalid ${method} request: ${fault.at}: ${fault.problem}`);
  }
  const result: { readonly resultType?: string; readonly _meta?: object } = await found.run(request, exchange, by);
  if (exchange.era === "legacy") return result;
  // What each result tells besides since 2026-07-28.
  return {
    ...result,
    _meta: { ...result._meta, [SERVER_INFO]: by.host.serverInfo },
    resultType: result.resultType ?? "complete",
    ...(found.ttlMs === undefined ? {} : { ttlMs: found.ttlMs, cacheScope: "private" }),
  };
}

function initialize({ params }: Request, { subscriptions }: Exchange, { host }: Served): object {
  const asked = params?.["protocolVersion"];
  return {
    protocolVersion: LEGACY_REVISIONS.includes(asked) ? asked : LEGACY_REVISIONS[0],
    capabilities: capabilitiesOf(host, subscriptions !== undefined),
    serverInfo: host.serverInfo,
    ...instructionsOf(host),
  };
}

function discover(_request: Request, _exchange: Exchange, { host }: Served): object {
  return { supportedVersions: MODERN_REVISIONS, capabilities: capabilitiesOf(host, true), ...instructionsOf(host) };
}

/** @param isTold whether the client can be told of changes */
function capabilitiesOf({ hasResources }: McpHost, isTold: boolean): object {
  const tools = isTold ? { listChanged: true } : {};
  if (hasResources !== true) return { tools };
  return { completions: {}, resources: isTold ? { subscribe: true, listChanged: true } : {}, tools };
}

function callTool(
  { id, params = {} }: Request,
  { era, signal, note, isBehind = () => false, capabilities = capabilitiesIn(params), ask, ended }: Exchange,
  by: Served,
): Promise<ToolResult | InputRequired> {
  const { name, arguments: args = {} } = params;
  const request = { id, name: name as string, args: args as Params, signal, ended };
  const progressToken = metaOf(params)?.["progressToken"];
  const notes = () => progressNotes({ progressToken, signal, note: (message) => isBehind() || note(message) });
  return callAsking(by, { request, notes, params, client: { era, capabilities, ask } });
}
