import type { Capability } from "../core/capability.js";
import type { ConfiguredLimits, FileConfig, RootOptions } from "../core/file-config.js";

/** What a text read over MCP returns, and how much at most. */
export interface McpConfig {
  readonly defaultReadBytes: number;
  readonly defaultReadLines: number;
  readonly maxReadBytes: number;
}

export interface JobsConfig {
  readonly inlineWaitMs: number;
  readonly maxWaitMs: number;
  /** Most finished jobs kept, and most bytes of them. */
  readonly max: number;
  readonly maxBytes: number;
  readonly ttlMs: number;
}

export interface PublicAccessConfig {
  /** Absent: only on a loopback listener. */
  readonly enabled?: boolean;
  /** Absent: the default of the listener. */
  readonly caps?: readonly Capability[];
}

/** Configuration of a venue: checked, complete and deeply frozen. */
export interface VenueConfig {
  readonly name: string;
  readonly hostname: string;
  readonly port: number;
  readonly auth: { readonly public: PublicAccessConfig };
  readonly maxRequestBytes: number;
  readonly jobs: JobsConfig;
  /** `false`: switched off. */
  readonly mcp: false | McpConfig;
  /** `file`: absolute path. Absent: no audit. */
  readonly audit: { readonly file?: string };
  readonly file: FileConfig;
  /** One line each, for the log at start. */
  readonly warnings: readonly string[];
}

type RootOptionsInput = Partial<RootOptions>;

/** A host directory as an embedder or a config file writes it. */
export interface HostRootInput extends RootOptionsInput {
  readonly path: string;
}

/** A temp root as an embedder or a config file writes it. */
export interface TempRootInput extends RootOptionsInput {
  readonly temp: true;
  /** Default `covia-<name>-`. */
  readonly prefix?: string;
}

export type RootConfigInput = HostRootInput | TempRootInput;

/** What an embedder writes to configure the file adapter; every key has a default. */
export interface FileConfigInput {
  /** A string is the path of a host directory. Absent or empty: one temp root `tmp`. */
  readonly roots?: Readonly<Record<string, string | RootConfigInput>>;
  readonly discloseHostPaths?: boolean;
  readonly limits?: Partial<ConfiguredLimits>;
}

/** What an embedder, or a config file, writes to configure a venue; every key has a default. */
export interface VenueConfigInput {
  readonly name?: string;
  readonly hostname?: string;
  readonly port?: number;
  readonly auth?: { readonly public?: PublicAccessConfig };
  readonly maxRequestBytes?: number;
  readonly jobs?: Partial<JobsConfig>;
  readonly mcp?: false | Partial<McpConfig>;
  readonly audit?: { readonly file?: string };
  readonly file?: FileConfigInput;
}
