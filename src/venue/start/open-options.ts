// Options and result of opening a venue.

import type { HostedFileAdapter } from "../../adapter/adapter.js";
import type { VenueConfig } from "../../config/types.js";
import type { SurfaceContext } from "../../core/ports/adapter.js";
import type { Log } from "../../core/ports/log.js";
import type { McpHost } from "../../surfaces/mcp/host.js";
import type { PlugIn } from "../catalogue/plug-in.js";
import type { Access, OwnCaller } from "../identity/access.js";
import type { VenueHost } from "../venue.js";

/** An open venue with its file adapter. */
export interface OpenVenue {
  readonly config: VenueConfig;
  readonly host: VenueHost;
  readonly adapter: HostedFileAdapter;
  readonly access: Access;
  readonly log: Log;
  /** Hosts a third-party adapter, which is closed with the venue. @throws Error when one of its names is taken */
  register(adapter: PlugIn): void;
  /** MCP for the process itself, restricted by `caps` or to the adapter `profile`. @throws Error if MCP is off */
  mcpHost(caps?: unknown, profile?: string): McpHost;
  /** The context shared by all calls of the process that started the venue. */
  ownContext(): SurfaceContext;
  /** Prepares changed roots, public capabilities and static tokens. @throws ConfigError; nothing has changed then */
  prepareReload(config: VenueConfig): PreparedReload;
  /** Looks whether the audit file was renamed, for log rotation. */
  lookForAudit(): void;
  close(): Promise<void>;
}

/** A prepared reload, which cannot fail any more. Call exactly one of the two, once. */
export interface PreparedReload {
  /** @returns config keys whose changes need a restart */
  commit(): Promise<readonly string[]>;
  discard(): Promise<void>;
}

export interface OpenVenueOptions {
  /** Whether it will listen; otherwise (stdio, `call`) the operator is the only caller. */
  readonly listens: boolean;
  /** Environment variables for tokens and the state directory. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  /** Only without listening: the caller to act as instead of the operator. */
  readonly caller?: OwnCaller;
  /** Only without listening, for the operator: only file operations will be called, so no key or tokens are loaded. */
  readonly filesOnly?: boolean;
  /** The only profile to open. Absent: all profiles, or none with `filesOnly`. */
  readonly profile?: string | undefined;
}
