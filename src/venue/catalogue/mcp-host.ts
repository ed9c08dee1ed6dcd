// The venue's side of MCP: which operations are offered as tools, and how tool calls become jobs.

import { hash } from "node:crypto";
import type { HostedFileAdapter } from "../../adapter/adapter.js";
import type { McpConfig, VenueConfig } from "../../config/types.js";
import { attribute } from "../../core/call/attribute.js";
import type { Caller, NameCaller } from "../../core/call/caller.js";
import type { ReadBudget } from "../../core/call/limits.js";
import type { Abortable } from "../../core/call/scope.js";
import type { OperationMetadata, StoreAsset, SurfaceContext } from "../../core/ports/adapter.js";
import type { Assets } from "../../core/ports/asset.js";
import type { StartedJob } from "../../core/ports/job.js";
import type { Log } from "../../core/ports/log.js";
import type { McpHost, ToolCall } from "../../surfaces/mcp/host.js";
import type { McpReports } from "../../surfaces/mcp/http.js";
import { advertisedTool } from "../../surfaces/mcp/offer/advertised-tool.js";
import { EVERYDAY, instructions } from "../../surfaces/mcp/offer/everyday.js";
import { toolInput } from "../../surfaces/mcp/offer/tool-input.js";
import type { Approvals } from "../approvals/approvals.js";
import { type Changes, LogListening } from "../events/listening.js";
import type { FollowedEvents } from "../events/venue-events.js";
import type { VenueHost } from "../venue.js";
import type { HostedOperation } from "./catalogue.js";
import { hasResources, serverInfo } from "./mcp-greeting.js";

/** File operations that upstream's agents know: they can be called, and cost no other model a token. */
const UNLISTED: ReadonlySet<string> = new Set(["file:create"]);

/** State that all MCP connections of a venue share. */
export interface McpParts {
  readonly config: VenueConfig & { readonly mcp: McpConfig };
  readonly host: VenueHost;
  readonly files: HostedFileAdapter;
  readonly assets: Pick<Assets, "resolve" | "store">;
  readonly nameCaller: NameCaller;
  readonly fresh?: McpHost["fresh"];
  readonly logInternal: (error: unknown, requestId: string) => void;
  readonly events: FollowedEvents;
  /** Judges a caller anew; `undefined`: it would be refused now. */
  readonly rejudge: (context: SurfaceContext) => SurfaceContext | undefined;
  /** Absent: no root asks anybody. */
  readonly approvals?: Pick<Approvals, "answer"> | undefined;
}

/** File operations that no model is offered: what they remove is gone, and what they list people look after. */
const FOR_PEOPLE: ReadonlySet<string> = new Set(["file:trash", "file:purge"]);
const ARCHIVES = "archive";
/** Adapters for people rather than models; offered only if the configuration names them. */
const UNLESS_NAMED: ReadonlySet<string> = new Set([
  ...["ucan", "auth", "audit", "approval", "lock", "dlfs", "drive"],
  ARCHIVES,
]);

/**
 * Creates the MCP host as seen by one caller.
 * @param who a caller of the venue, or the context shared by all calls of the process that started it
 * @param profile offer only the tools of this adapter, under their own names
 */
export function createMcpHost(parts: McpParts, who: Caller | SurfaceContext, profile?: string): McpHost {
  const { config, host, assets } = parts;
  const { mcp } = config;
  const offer = profile === undefined ? offerOfAll(parts) : offerOfProfile(parts, profile);
  const offers = (operation: string) =>
    offer.tools.some(({ name, unavailable }) => name === operation && unavailable?.() === undefined);
  const limits = { defaultBytes: mcp.defaultReadBytes, defaultLines: mcp.defaultReadLines, maxBytes: mcp.maxReadBytes };
  const budget = { ...limits, offers };
  // On stdio the client has started this process.
  const isLocal = !("did" in who);
  const storeAsset: StoreAsset = (content, about) => assets.store(content, about, callerOf(parts, who).caller);
  const ofAllCalls = { surface: "mcp", resolveAsset: assets.resolve, storeAsset, budget };
  const { ucans: ownUcans, ...own }: SurfaceContext = "did" in who ? {} : { ...ofAllCalls, ...who };
  return {
    serverInfo: serverInfo(config),
    ...offer,
    ...{ logInternal: parts.logInternal, fresh: parts.fresh },
    asksUsers: parts.approvals !== undefined && asksUsers(parts, isLocal),
    answer: (token, answer, ucans) =>
      parts.approvals?.answer(token, answer, "did" in who ? attribute(who, ucans, parts.nameCaller).context : who),
    listen: (hearer) =>
      new LogListening(
        changesFor(parts, who, () => (profile === undefined ? offerOfAll(parts) : offer)),
        hearer,
      ),
    hasResources: profile === undefined && hasResources(mcp),
    submit(call, signal) {
      const { operation, input, ucans, memory, takesBytes, report, onQuestion, approval } = call;
      if (call.resource !== undefined) return look(parts, who, { ...call, budget }, signal);
      const client = onQuestion && { isLocal, ask: onQuestion };
      // The spread comes last: adding names to a copy takes microseconds, and this runs at every call.
      if (!("did" in who)) {
        // No record: on stdio nobody could ask for it later.
        const context = { memory, takesBytes, report, approval, client, ucans: joinTokens(ownUcans, ucans), ...own };
        return host.run({ operation, input, caller: own.callerDID ?? host.did, context, signal });
      }
      const { did, context: caller } = attribute(who, ucans, parts.nameCaller);
      const context = { memory, takesBytes, report, approval, client, ucans, ...ofAllCalls, ...caller };
      return host.submit({ operation, input, caller: did, context, signal });
    },
  };
}

/** Caller of a call, without its tokens. */
function callerOf({ host, nameCaller }: McpParts, who: Caller | SurfaceContext) {
  if ("did" in who) return { caller: who, context: attribute(who, undefined, nameCaller).context };
  const { callerDID, authentication = "local-token" } = who;
  const caller: Caller = { did: callerDID ?? host.did, authentication, isOperator: callerDID === undefined };
  return { caller, context: who };
}

/** Looks at a resource, without a record: its id is told to nobody. */
function look(
  parts: McpParts,
  who: Caller | SurfaceContext,
  { operation, input, memory, takesBytes, resource: terms, budget }: ToolCall & { readonly budget: ReadBudget },
  signal: Abortable,
): StartedJob {
  const { host, assets } = parts;
  const { caller, context: own } = callerOf(parts, who);
  const asStored = { budget: { ...budget, asStored: true }, exactPaths: true, terms } as const;
  const context = { surface: "mcp", resolveAsset: assets.resolve, memory, takesBytes, ...asStored, ...own };
  return host.run({ operation, input, caller: caller.did, context, signal });
}

/** Subscription sources of a caller. @param offer as it is now */
function changesFor(
  parts: McpParts,
  who: Caller | SurfaceContext,
  offer: () => Pick<Offer, "tools" | "advertised">,
): Changes {
  const { events, files, rejudge } = parts;
  return {
    open() {
      const { caller, context } = callerOf(parts, who);
      return events.open([{ name: "offer", kind: "offer" }], caller, context);
    },
    shown: {
      tools() {
        const { tools, advertised } = offer();
        const listed = tools.filter((tool) => tool.unavailable?.() === undefined);
        return hash("sha256", JSON.stringify(listed.map((tool) => advertised?.(tool) ?? tool)));
      },
      resources() {
        const now = rejudge(callerOf(parts, who).context);
        return JSON.stringify(now === undefined ? [] : files.rights("file:roots", now).visibleRoots());
      },
    },
  };
}

const asksUsers = ({ files }: McpParts, isLocal: boolean): boolean =>
  files.roots.some(({ approve }) => approve !== undefined && (approve.elicit ?? isLocal));

type Offer = Pick<McpHost, "instructions" | "tools" | "advertised" | "maxWaitMs" | "inputOf">;

/** The offer of a venue to all of its callers, and the state that it depends on. */
interface KeptOffer {
  readonly revision: number;
  readonly roots: McpParts["files"]["roots"];
  readonly offer: Offer;
}

const kept = new WeakMap<McpParts, KeptOffer>();

/** Made anew only when operations or roots have changed: over HTTP each call asks. */
function offerOfAll(parts: McpParts): Offer {
  const { revision } = parts.host.catalogue;
  const { roots } = parts.files;
  const last = kept.get(parts);
  if (last?.revision === revision && last.roots === roots) return last.offer;
  const offer = makeOffer(parts);
  kept.set(parts, { revision, roots, offer });
  return offer;
}

function makeOffer(parts: McpParts): Offer {
  const { jobs, file, profiles } = parts.config;
  const offered = offeredOperations(parts);
  const isOurs = (name: string) => name === parts.files.name || UNLESS_NAMED.has(name) || Object.hasOwn(profiles, name);
  // When every operation ends by its own deadline before maxWaitMs, no timer is needed. A large archive takes longer.
  const areOurs = offered.every(({ adapter: { name } }) => isOurs(name) && name !== ARCHIVES);
  return {
    instructions: instructions(parts.files.roots.length === 1),
    tools: offered.map(({ metadata }) => metadata),
    // A profile's tools are those of the system that it imitates, and take what that takes.
    advertised: (tool) => {
      if (UNLISTED.has(tool.name)) return undefined;
      if (Object.hasOwn(profiles, adapterOf(tool))) return tool;
      const isBrief = [parts.files.name, ARCHIVES].includes(adapterOf(tool));
      return advertisedTool(tool, { isBrief, hasOnlyRoot: onlyRoot(parts, tool) !== undefined });
    },
    maxWaitMs: file.limits.timeoutMs < jobs.maxWaitMs && areOurs ? undefined : jobs.maxWaitMs,
    inputOf: (tool, given) =>
      Object.hasOwn(profiles, adapterOf(tool))
        ? { input: given, shown: given }
        : toolInput(tool, given, onlyRoot(parts, tool)),
  };
}

const adapterOf = ({ name }: OperationMetadata): string => name.slice(0, name.indexOf(":"));

/** The root that calls of a tool may leave out. Asked at each call: a reload may add another. */
function onlyRoot({ files }: McpParts, tool: OperationMetadata): string | undefined {
  const [first, ...others] = files.roots;
  return others.length === 0 && adapterOf(tool) === files.name ? first?.name : undefined;
}

/** The tools of a profile under the names and texts of the system it imitates, which that system's agents know. */
function offerOfProfile({ host }: McpParts, profile: string): Offer {
  const adapter = host.catalogue.adapters.find(({ name }) => name === profile);
  const tools = (adapter?.operations ?? []).map((tool) => ({
    ...tool,
    toolName: tool.name.slice(profile.length + 1),
  }));
  return { instructions: adapter?.instructions ?? "", tools, maxWaitMs: undefined };
}

/** Characters of a refusal that are logged: it may repeat what the client sent. */
const MAX_REASON_CHARS = 200;

/** Logs what goes wrong over HTTP: mistakes of clients in one line for debugging, faults of the venue as errors. */
export function mcpReports(log: Log, logInternal: McpParts["logInternal"]): McpReports {
  return {
    onError: (error) => logInternal(error, "mcp"),
    onRefusal: ({ message }) => log.debug({ reason: message.slice(0, MAX_REASON_CHARS) }, "MCP request refused"),
  };
}

/** Joins the tokens of every call and those of this one. Anything but a list is passed on, to be refused as invalid. */
function joinTokens(own: unknown, given: unknown): unknown {
  if (given === undefined) return own;
  return Array.isArray(own) && Array.isArray(given) ? [...own, ...given] : given;
}

/** The operations offered as tools. A venue without a writable root offers none that write. */
function offeredOperations({ config, host, files }: McpParts): HostedOperation[] {
  const { includeAdapters, includePathPrefixes, tools } = config.mcp;
  const writable = files.roots.some((root) => !root.readOnly);
  const isExtra = (name: string) => UNLESS_NAMED.has(name) || Object.hasOwn(config.profiles, name);
  const isIncluded = (name: string) => includeAdapters?.includes(name) ?? !isExtra(name);
  return host.catalogue
    .all()
    .filter(
      ({ path, adapter, metadata }) =>
        isIncluded(adapter.name) &&
        includePathPrefixes.some((prefix) => path.startsWith(prefix)) &&
        (adapter.name !== files.name || (isInToolSet(tools, metadata.name) && (writable || !metadata.changes))),
    )
    .sort((one, other) => compareTools(one.metadata.name, other.metadata.name));
}

/** Whether a tool set includes a file operation. Each tool costs a model tokens before its first call. */
const isInToolSet = (set: "default" | "full", name: string): boolean =>
  set === "full" ? !FOR_PEOPLE.has(name) : EVERYDAY.includes(name) || UNLISTED.has(name);
/** Compares operations by the order they are offered in: everyday ones first, the others in their given order. */
function compareTools(one: string, other: string): number {
  const [a, b] = [one, other].map((name) => EVERYDAY.indexOf(name));
  return rank(a) - rank(b);
}

const rank = (index = -1): number => (index < 0 ? EVERYDAY.length : index);
