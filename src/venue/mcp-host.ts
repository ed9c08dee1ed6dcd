import type { HostedFileAdapter } from "../adapter.js";
import type { McpConfig, VenueConfig } from "../config/types.js";
import type { OperationMetadata, ResolveAsset, SurfaceContext } from "../core/adapter.js";
import type { Caller } from "../core/caller.js";
import type { McpHost } from "../surfaces/mcp/host.js";
import { packageVersion } from "../version.js";
import type { HostedOperation } from "./catalogue.js";
import type { VenueHost } from "./venue.js";

const INSTRUCTIONS =
  "Files in named roots. Start with file_roots, then file_tree. Paths are relative to a root. Errors carry a code; a denial is final.";

/** What every MCP connection of a venue has in common. */
export interface McpParts {
  readonly config: VenueConfig & { readonly mcp: McpConfig };
  readonly host: VenueHost;
  readonly files: HostedFileAdapter;
  readonly resolveAsset: ResolveAsset;
  readonly logInternal: (error: unknown, requestId: string) => void;
}

/**
 * MCP as one caller sees it.
 * @param who the caller; or, without one, the operator of this configuration, whom `caps` may narrow
 */
export function createMcpHost(parts: McpParts, who: Caller | { readonly caps?: unknown }): McpHost {
  const { config, host, resolveAsset } = parts;
  const { mcp, jobs, file } = config;
  const caller = "did" in who ? who : undefined;
  return {
    serverInfo: { name: config.name, version: packageVersion(), ...mcp.serverInfo },
    instructions: INSTRUCTIONS,
    tools: toolsOf(parts),
    // Where every operation ends earlier by itself, nobody needs to watch the time.
    maxWaitMs: file.limits.timeoutMs < jobs.maxWaitMs && host.catalogue.revision === 1 ? undefined : jobs.maxWaitMs,
    logInternal: parts.logInternal,
    submit({ operation, input, ucans }, signal) {
      const context: SurfaceContext = {
        signal,
        resolveAsset,
        budget: { defaultBytes: mcp.defaultReadBytes, defaultLines: mcp.defaultReadLines, maxBytes: mcp.maxReadBytes },
        ...(ucans === undefined ? {} : { ucans }),
        ...identityOf(who),
      };
      const submission = { operation, input, caller: caller?.did ?? host.did, context };
      // On stdio nobody can ask for the record later.
      return caller === undefined ? host.run(submission) : host.submit(submission);
    },
  };
}

function identityOf(who: Caller | { readonly caps?: unknown }): Partial<SurfaceContext> {
  if (!("did" in who)) return who.caps === undefined ? {} : { caps: who.caps };
  const { did, authentication, tokenCaps } = who;
  return { callerDID: did, authentication, ...(tokenCaps === undefined ? {} : { tokenCaps }) };
}

/** Tools of a venue that has nothing to write to leave out those that write. */
function toolsOf({ config, host, files }: McpParts): OperationMetadata[] {
  const { includeAdapters, includePathPrefixes } = config.mcp;
  const writable = files.roots.some((root) => !root.readOnly);
  const offered = ({ path, adapter, metadata }: HostedOperation) =>
    (includeAdapters === undefined || includeAdapters.includes(adapter.name)) &&
    includePathPrefixes.some((prefix) => path.startsWith(prefix)) &&
    (adapter.name !== files.name || writable || !metadata.changes);
  return host.catalogue
    .list()
    .filter(offered)
    .map(({ metadata }) => metadata);
}
