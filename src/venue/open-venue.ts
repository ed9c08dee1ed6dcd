import { assembleAdapter, type FileAdapter } from "../adapter.js";
import { openAuditFile } from "../audit/file-sink.js";
import type { AuditSink } from "../audit/record.js";
import { ConfigError } from "../config/errors.js";
import { bareHost, isLoopbackHost } from "../config/loopback.js";
import type { VenueConfig } from "../config/types.js";
import type { SurfaceContext } from "../core/adapter.js";
import type { Capability } from "../core/capability.js";
import type { ReadBudget } from "../core/limits.js";
import { RootsError } from "../roots/open.js";
import type { McpHost } from "../surfaces/mcp/host.js";
import { packageVersion } from "../version.js";
import { createVenueHost, type VenueHost } from "./venue.js";

/** A venue with its file adapter, as a configuration describes it. */
export interface OpenVenue {
  readonly config: VenueConfig;
  readonly host: VenueHost;
  readonly adapter: FileAdapter;
  /** Whether callers without credentials are served at all. */
  readonly publicAccess: boolean;
  /** What they may do; empty when they are not served. */
  readonly publicCaps: readonly Capability[];
  /** MCP as one caller sees it. Without a caller: the operator of this configuration. */
  mcpHost(caller?: { readonly did?: string; readonly caps?: unknown }): McpHost;
  close(): Promise<void>;
}

export interface OpenVenueOptions {
  /** Whether it will listen; on stdio and in `call` nobody but the operator is there. */
  readonly listens: boolean;
  readonly logInternal: (error: unknown, requestId: string) => void;
}

const INSTRUCTIONS =
  "Files in named roots. Start with file_roots, then file_tree. Paths are relative to a root. Errors carry a code; a denial is final.";

/** Who calls where nobody else can: on stdio and in `call` no DID is shown to anyone. */
const OPERATOR = "operator";

async function ephemeralDid(): Promise<string> {
  // Loaded only where somebody is told the DID.
  const { createEphemeralIdentity } = await import("../ucan/did-key.js");
  return createEphemeralIdentity().did;
}

/** Opens everything a configuration names. @throws ConfigError for roots and an audit file that cannot be opened */
export async function openVenue(config: VenueConfig, options: OpenVenueOptions): Promise<OpenVenue> {
  const did = options.listens ? await ephemeralDid() : OPERATOR;
  const loopback = isLoopbackHost(config.hostname);
  const publicAccess = config.auth.public.enabled ?? loopback;
  const publicCaps = publicAccess ? (config.auth.public.caps ?? defaultPublicCaps(config, loopback)) : [];
  const audit = await openAudit(config, options);
  const adapter = await assembleAdapter(config.file, {
    discloseHostPaths: options.listens ? loopback : true,
    operator: did,
    publicCaps,
    onInternalError: options.logInternal,
    ...(audit === undefined ? {} : { audit }),
  }).catch(async (error) => {
    await audit?.close();
    throw error instanceof RootsError ? new ConfigError(error.problems, 78) : error;
  });
  const mcpFor = (host: VenueHost, caller: { did?: string; caps?: unknown } = {}) =>
    mcpHost({ config, host, adapter, logInternal: options.logInternal }, caller);
  const host = createVenueHost({
    name: config.name,
    did,
    adapters: [adapter],
    jobs: config.jobs,
    http: {
      hostname: bareHost(config.hostname),
      port: config.port,
      publicAccess,
      maxRequestBytes: config.maxRequestBytes,
    },
    logInternal: options.logInternal,
    ...(config.mcp === false
      ? {}
      : {
          mcp: async (venue: VenueHost) => {
            const { createMcpEndpoint } = await import("../surfaces/mcp/http.js");
            return createMcpEndpoint(
              (did) => mcpFor(venue, { did }),
              (error) => options.logInternal(error, "mcp"),
            );
          },
        }),
  });
  return {
    config,
    host,
    adapter,
    publicAccess,
    publicCaps,
    mcpHost: (caller) => mcpFor(host, caller),
    async close() {
      await host.close();
      await adapter.close();
    },
  };
}

const AUDIT_FAILURES: Readonly<Record<string, string>> = {
  ENOENT: "its folder does not exist",
  ENOTDIR: "its folder does not exist",
  EISDIR: "it is a directory",
  EACCES: "permission denied",
};

async function openAudit({ audit }: VenueConfig, { logInternal }: OpenVenueOptions): Promise<AuditSink | undefined> {
  if (audit.file === undefined) return undefined;
  try {
    return await openAuditFile(audit.file, (error) => logInternal(error, "audit"));
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
    // Like a root's, the path is for the operator, who wrote it.
    const reason = AUDIT_FAILURES[String(error.code)] ?? String(error.code);
    throw new ConfigError([`'audit.file' cannot be opened: ${reason}: ${audit.file}`], 78);
  }
}

/** On a loopback listener everything in temp roots and reading elsewhere; on any other, reading. */
function defaultPublicCaps(config: VenueConfig, loopback: boolean): Capability[] {
  const temp = loopback ? Object.entries(config.file.roots).filter(([, root]) => root.kind === "temp") : [];
  return [{ with: "file://", can: "crud/read" }, ...temp.map(([name]) => ({ with: `file://${name}/`, can: "crud" }))];
}

function mcpHost(
  venue: { config: VenueConfig; host: VenueHost; adapter: FileAdapter; logInternal: OpenVenueOptions["logInternal"] },
  caller: { did?: string; caps?: unknown },
): McpHost {
  const { config, host, adapter, logInternal } = venue;
  const writable = Object.values(config.file.roots).some((root) => !root.readOnly);
  const budget = budgetOf(config);
  return {
    name: config.name,
    version: packageVersion(),
    instructions: INSTRUCTIONS,
    tools: adapter.operations.filter((operation) => writable || !operation.changes),
    // Where every operation ends earlier by itself, nobody needs to watch the time.
    maxWaitMs: config.file.limits.timeoutMs < config.jobs.maxWaitMs ? undefined : config.jobs.maxWaitMs,
    logInternal,
    submit: (operation, input, signal) => {
      const context: SurfaceContext = {
        signal,
        ...(caller.did === undefined ? {} : { callerDID: caller.did }),
        ...(caller.caps === undefined ? {} : { caps: caller.caps }),
        ...(budget === undefined ? {} : { budget }),
      };
      const submission = { operation, input, caller: caller.did ?? host.did, context };
      // On stdio nobody can ask for the record later.
      return caller.did === undefined ? host.run(submission) : host.submit(submission);
    },
  };
}

function budgetOf({ mcp }: VenueConfig): ReadBudget | undefined {
  if (mcp === false) return undefined;
  return { defaultBytes: mcp.defaultReadBytes, defaultLines: mcp.defaultReadLines, maxBytes: mcp.maxReadBytes };
}
