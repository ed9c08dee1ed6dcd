import type { Capability } from "../core/call/capability.js";
import type { ConfiguredLimits, FileConfig, RootOptions } from "../core/file-config.js";
import type { ShellConfig } from "../core/ports/sandbox.js";

/** What a text read over MCP returns, and how much at most. */
export interface McpConfig {
  readonly defaultReadBytes: number;
  readonly defaultReadLines: number;
  readonly maxReadBytes: number;
  readonly tools: "default" | "full";
  /** What the server says of itself. Absent: derived. */
  readonly serverInfo?: { readonly name?: string; readonly title?: string; readonly version?: string };
  /** Absent: `file` and every adapter the embedder registers. */
  readonly includeAdapters?: readonly string[];
  readonly includePathPrefixes: readonly string[];
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

/** A bearer token that was agreed on beforehand, for clients that cannot sign. Exactly one member of `token` is set. */
export interface StaticTokenConfig {
  /** Unique among the tokens; formed like the name of a root. */
  readonly name: string;
  /** `env`: name of an environment variable. `file`: absolute path. `sha256`: lower-case hex of the token's hash. */
  readonly token: { readonly env?: string; readonly file?: string; readonly sha256?: string };
  /** Whom its bearer is taken for. Absent: `<venueDID>:token:<name>`. */
  readonly did?: string;
  /** What its bearer may do. */
  readonly caps: readonly Capability[];
}

/** A capability that the configuration gives to a DID. */
export interface DidGrant extends Capability {
  readonly did: string;
}

/** How UCANs are judged. */
export interface UcanConfig {
  /** Seconds from now to the latest end of a delegation. */
  readonly maxLifetime: number;
  /** Whether `exp: null` is taken. */
  readonly allowNoExpiry: boolean;
  /** Whether tokens of old Java venues, which state no version, are taken. */
  readonly acceptUnversionedCovia: boolean;
  /** Absolute path of the revocation list. Absent: `revocations` in the state directory. */
  readonly revocations?: string;
}

export interface AuthConfig {
  readonly public: PublicAccessConfig;
  readonly grants: readonly DidGrant[];
  readonly ucan: UcanConfig;
  /** Absent: only on a loopback listener. */
  readonly localToken?: boolean;
  readonly tokens: readonly StaticTokenConfig[];
  /** Seconds. */
  readonly clockSkew: number;
  /** Seconds. */
  readonly maxIdentityLifetime: number;
  /** Absent: only on a loopback listener. */
  readonly acceptUnboundIdentity?: boolean;
}

/** So many requests a second in the mean; `burst` at once, and never more than twice that within `burst / perSecond` seconds. */
export interface RateLimitConfig {
  readonly perSecond: number;
  readonly burst: number;
}

/** Where the content of assets is kept; `path` is absolute. */
export type StorageConfig = { readonly content: "memory" } | { readonly content: "file"; readonly path: string };

export interface AssetsConfig {
  readonly maxTotalBytes: number;
  /** Who may register and upload. Absent: `public` on a loopback listener, else `operator`. */
  readonly write?: "public" | "operator";
}

/** A bucket that venues share. What is left out comes from the environment. */
export interface S3Config {
  readonly bucket: string;
  /** Of the names of all objects. */
  readonly prefix?: string;
  /** URL of a server other than AWS. */
  readonly endpoint?: string;
  readonly region?: string;
}

/** Where drives are kept; `path` is absolute. */
export type DriveStoreConfig = "memory" | { readonly path: string } | { readonly s3: S3Config };

/** What drives may grow to. Sizes are bytes. */
export interface DriveLimits {
  /** Most names in a path. */
  readonly maxPathDepth: number;
  readonly maxFileBytes: number;
  /** All drives of one owner, as their files tell their lengths. */
  readonly maxDriveBytes: number;
  /** Of one directory. */
  readonly maxEntries: number;
  /** Of one import: bytes of input, cells, bytes as its files tell their lengths, entries. */
  readonly maxImportBytes: number;
  readonly maxImportCells: number;
  readonly maxImportLogicalBytes: number;
  readonly maxImportEntries: number;
}

export interface DrivesConfig {
  /** Absent: a folder in the state directory where the venue has a key that lasts, else memory. */
  readonly store?: DriveStoreConfig;
  /** How long a read may go without asking the store whether another process has changed a drive. */
  readonly staleMs: number;
  /** Check the hash of every cell that is read. */
  readonly verifyReads: boolean;
  /** Callers may be given the key that signs their drives, by `drive:export-key`. */
  readonly allowKeyExport: boolean;
  readonly limits: DriveLimits;
}

/** Tools of another system on one root. */
export interface ProfileConfig {
  readonly profile: "jettson" | "everruns";
  readonly root: string;
  /** Canonical, without leading or trailing slash. Absent: the whole root. */
  readonly prefix?: string;
  /** `null`: none. Absent: the profile's own. */
  readonly alias?: string | null;
  readonly variant?: "strict";
  readonly onStale?: "reject";
  /** Absent: no shell tool. */
  readonly shell?: ShellConfig;
}

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

/** Configuration of a venue: checked, complete and deeply frozen. */
export interface VenueConfig {
  readonly name: string;
  readonly hostname: string;
  readonly port: number;
  /** In place of `hostname` and `port`. `socket`: absolute path. */
  readonly listen?: { readonly socket: string };
  /** Without a trailing slash. Absent: derived from the listener. */
  readonly baseUrl?: string;
  readonly trustProxy: boolean;
  /** 64 hex digits, lower case. */
  readonly seed?: string;
  /** Absolute path. */
  readonly seedFile?: string;
  /** `did:web:…` or the `did:key` of the key. */
  readonly did?: string;
  /** Absent: the venue's own DID. */
  readonly operator?: string;
  /** Absolute path. Absent: by the environment. `false`: there is none. */
  readonly stateDir?: string | false;
  /** The folder above `stateDir`, where several venues of a process have theirs in it. */
  readonly stateBase?: string;
  readonly auth: AuthConfig;
  readonly corsOrigins: readonly string[] | "*";
  readonly maxRequestBytes: number;
  /** Absent: 8 times `maxRequestBytes`, at least 256 MiB. */
  readonly maxInFlightBytes?: number;
  readonly maxContentSize: number;
  /** Absent: `false` on a loopback listener, else 100 a second with bursts of 200. */
  readonly rateLimit?: false | RateLimitConfig;
  readonly storage: StorageConfig;
  readonly assets: AssetsConfig;
  readonly jobs: JobsConfig;
  /** `false`: switched off. */
  readonly mcp: false | McpConfig;
  /** `file`: absolute path. Absent: no audit. */
  readonly audit: { readonly file?: string; readonly maxBytes: number; readonly keep: number };
  /** `file`: absolute path. Absent: standard error. */
  readonly log: { readonly level: LogLevel; readonly file?: string };
  /** Who may read `/healthz` and `/metrics`. */
  readonly metrics: "operator" | "public" | false;
  readonly file: FileConfig;
  readonly drives: DrivesConfig;
  /** By the names of their adapters. */
  readonly profiles: Readonly<Record<string, ProfileConfig>>;
  /** One line each, for the log at start. */
  readonly warnings: readonly string[];
}

interface RootOptionsInput extends Partial<RootOptions> {
  /** Both mean the same. */
  readonly grep?: "auto" | "re2js";
}

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

/** A drive of each caller's own, as an embedder or a config file writes it. */
export interface DriveRootInput {
  /** Name of the drive. */
  readonly dlfs: string;
  readonly readOnly?: boolean;
  readonly description?: string;
  readonly maxReadBytes?: number;
  readonly deny?: readonly string[];
  readonly encoding?: string;
  /** Both mean the same. */
  readonly grep?: "auto" | "re2js";
}

export type RootConfigInput = HostRootInput | TempRootInput | DriveRootInput;

/** What an embedder writes to configure the file adapter; every key has a default. */
export interface FileConfigInput {
  /** A string is the path of a host directory. Absent or empty: one temp root `tmp`. */
  readonly roots?: Readonly<Record<string, string | RootConfigInput>>;
  readonly discloseHostPaths?: boolean;
  readonly limits?: Partial<ConfiguredLimits>;
}

/** A profile as an embedder or a config file writes it. */
export interface ProfileConfigInput extends Omit<ProfileConfig, "shell"> {
  readonly shell?: Partial<Omit<ShellConfig, "limits">> & { readonly limits?: Partial<ShellConfig["limits"]> };
}

/** What an embedder, or a config file, writes to configure a venue; every key has a default. */
export interface VenueConfigInput {
  readonly name?: string;
  readonly hostname?: string;
  readonly port?: number;
  /** Not together with `hostname` or `port`. */
  readonly listen?: { readonly socket: string };
  readonly baseUrl?: string;
  readonly trustProxy?: boolean;
  /** 64 hex digits. */
  readonly seed?: string;
  /** Not together with `seed`. */
  readonly seedFile?: string;
  readonly did?: string;
  readonly operator?: string;
  readonly stateDir?: string | false;
  readonly auth?: Partial<Omit<AuthConfig, "ucan">> & { readonly ucan?: Partial<UcanConfig> };
  readonly corsOrigins?: readonly string[] | "*";
  readonly maxRequestBytes?: number;
  readonly maxInFlightBytes?: number;
  readonly maxContentSize?: number;
  readonly rateLimit?: false | Partial<RateLimitConfig>;
  readonly storage?: { readonly content?: "memory" } | { readonly content: "file"; readonly path: string };
  readonly assets?: Partial<AssetsConfig>;
  readonly jobs?: Partial<JobsConfig>;
  readonly mcp?: false | Partial<McpConfig>;
  readonly audit?: Partial<VenueConfig["audit"]>;
  readonly log?: Partial<VenueConfig["log"]>;
  readonly metrics?: "operator" | "public" | false;
  readonly file?: FileConfigInput;
  readonly profiles?: Readonly<Record<string, ProfileConfigInput>>;
  readonly drives?: Partial<Omit<DrivesConfig, "limits">> & { readonly limits?: Partial<DriveLimits> };
}

/** What a config file holds. */
export type ConfigFileInput = VenueConfigInput | { readonly venues: readonly VenueConfigInput[] };
