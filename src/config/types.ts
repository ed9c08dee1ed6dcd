// Configuration of a venue: the checked form (`…Config`), and the form that users write (`…Input`).

import type { Capability } from "../core/call/capability.js";
import type { ConfiguredLimits, FileConfig, JournalQuota } from "../core/file-config.js";
import type { ShellConfig } from "../core/ports/sandbox.js";
import type { DriveLimits as EngineLimits } from "../drive/engine/drives.js";
import type { RootConfigInput } from "./root-input.js";

export type { DriveRootInput, HostRootInput, RootConfigInput, TempRootInput } from "./root-input.js";

/** Configuration of the MCP surface. */
export interface McpConfig {
  readonly defaultReadBytes: number;
  readonly defaultReadLines: number;
  readonly maxReadBytes: number;
  readonly tools: "default" | "full";
  /** `serverInfo` of the MCP handshake. Absent: derived. */
  readonly serverInfo?: { readonly name?: string; readonly title?: string; readonly version?: string };
  /** Absent: `file` and every adapter the embedder registers. */
  readonly includeAdapters?: readonly string[];
  readonly includePathPrefixes: readonly string[];
}

export interface JobsConfig {
  readonly inlineWaitMs: number;
  readonly maxWaitMs: number;
  /** Maximum finished jobs kept, by number and by bytes. */
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

/** A pre-shared bearer token, for clients that cannot sign. Exactly one member of `token` is set. */
export interface StaticTokenConfig {
  /** Unique among the tokens; same syntax as root names. */
  readonly name: string;
  /** `env`: name of an environment variable. `file`: absolute path. `sha256`: lower-case hex of the token's hash. */
  readonly token: { readonly env?: string; readonly file?: string; readonly sha256?: string };
  /** DID of its bearer. Absent: `<venueDID>:token:<name>`. */
  readonly did?: string;
  /** Capabilities of its bearer. */
  readonly caps: readonly Capability[];
}

/** A capability granted to a DID by configuration. */
export interface DidGrant extends Capability {
  readonly did: string;
}

/** Verification rules for UCANs. */
export interface UcanConfig {
  /** Maximum remaining lifetime of a delegation, in seconds. */
  readonly maxLifetime: number;
  /** Whether `exp: null` is accepted. */
  readonly allowNoExpiry: boolean;
  /** Whether to accept tokens without a version, as from old Java venues. */
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

/** Token bucket: `perSecond` on average, `burst` at once, at most `2 * burst` within `burst / perSecond` seconds. */
export interface RateLimitConfig {
  readonly perSecond: number;
  readonly burst: number;
}

/** Storage of asset content; `path` is absolute. */
export type StorageConfig = { readonly content: "memory" } | { readonly content: "file"; readonly path: string };

export interface AssetsConfig {
  readonly maxTotalBytes: number;
  /** Who may register and upload assets. Absent: `public` on a loopback listener, else `operator`. */
  readonly write?: "public" | "operator";
}

/** An S3 bucket, which venues may share. Absent fields come from the environment. */
export interface S3Config {
  readonly bucket: string;
  /** Prefix of all object names. */
  readonly prefix?: string;
  /** URL of an S3-compatible server other than AWS. */
  readonly endpoint?: string;
  readonly region?: string;
}

/** Storage of drives; `path` is absolute. */
export type DriveStoreConfig = "memory" | { readonly path: string } | { readonly s3: S3Config };

/** Limits of drives. Sizes are bytes. */
export type DriveLimits = Omit<EngineLimits, "maxDrives">;

export interface DrivesConfig {
  /** Absent: a directory in the state directory if the venue has a persistent key, else memory. */
  readonly store?: DriveStoreConfig;
  /** How long reads may use a cached drive root before checking for changes by other processes, in milliseconds. */
  readonly staleMs: number;
  /** Verify the hash of every cell on read. */
  readonly verifyReads: boolean;
  /** Let callers obtain the key that signs their drives, with `drive:export-key`. */
  readonly allowKeyExport: boolean;
  /** Limits of the log of each owner's drives. */
  readonly journalQuota: JournalQuota;
  readonly limits: DriveLimits;
}

/** A profile: tools of another system on one root. */
export interface ProfileConfig {
  readonly profile: "jettson" | "everruns";
  readonly root: string;
  /** Canonical, without leading or trailing slash. Absent: the whole root. */
  readonly prefix?: string;
  /** `null`: none. Absent: the profile's own. */
  readonly alias?: string | null;
  readonly variant?: "strict";
  readonly onStale?: "reject";
  /** Clone the directory before each command. Default: no. */
  readonly snapshot?: boolean;
  /** Absent: no shell tool. */
  readonly shell?: ShellConfig;
}

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

/** Settings of WebDAV. */
export interface WebdavConfig {
  readonly enabled: boolean;
  /** Whether callers without credentials are served. */
  readonly anonymous: boolean;
  /** Longest time of a lock, in seconds. */
  readonly lockSeconds: number;
  readonly maxLocks: number;
}

/** Configuration of a venue: checked, complete and deeply frozen. */
export interface VenueConfig {
  readonly name: string;
  readonly hostname: string;
  readonly port: number;
  /** Replaces `hostname` and `port`. `socket`: absolute path. */
  readonly listen?: { readonly socket: string };
  /** Without a trailing slash. Absent: derived from the listener. */
  readonly baseUrl?: string;
  /** Further names of the venue: in lower case, without port and brackets. */
  readonly hosts: readonly string[];
  readonly trustProxy: boolean;
  /** 64 hex digits, lower case. */
  readonly seed?: string;
  /** Absolute path. */
  readonly seedFile?: string;
  /** `did:web:…` or the `did:key` of the venue's key. */
  readonly did?: string;
  /** Absent: the venue's own DID. */
  readonly operator?: string;
  /** Absolute path. Absent: derived from the environment. `false`: none. */
  readonly stateDir?: string | false;
  /** Parent of `stateDir`, if several venues of a process each have a subdirectory. */
  readonly stateBase?: string;
  readonly auth: AuthConfig;
  readonly corsOrigins: readonly string[] | "*";
  readonly maxRequestBytes: number;
  /** Absent: 8 times `maxRequestBytes`, at least 256 MiB. */
  readonly maxInFlightBytes?: number;
  readonly maxContentSize: number;
  /** Absent: `false` on a loopback listener, else 100 a second with bursts of 200. */
  readonly rateLimit?: false | RateLimitConfig;
  /** Absent: on on a loopback listener, else off. */
  readonly webdav?: boolean | WebdavConfig;
  readonly storage: StorageConfig;
  readonly assets: AssetsConfig;
  readonly jobs: JobsConfig;
  /** `false`: switched off. */
  readonly mcp: false | McpConfig;
  /** `file`: absolute path. Absent: no audit. */
  readonly audit: { readonly file?: string; readonly maxBytes: number; readonly keep: number };
  /** `file`: absolute path. Absent: standard error. */
  readonly log: { readonly level: LogLevel; readonly file?: string };
  /** Who may read `/metrics`. */
  readonly metrics: "operator" | "public" | false;
  /** The page at /workspace/. Absent: only on a loopback listener. `drafts`: whether browsers keep unsaved text. */
  readonly workspace?: boolean | { readonly drafts: boolean };
  readonly file: FileConfig;
  readonly drives: DrivesConfig;
  /** By adapter name. */
  readonly profiles: Readonly<Record<string, ProfileConfig>>;
  /** One line each, for the log at start. */
  readonly warnings: readonly string[];
}

/** Configuration of the file adapter, as written by an embedder; every key has a default. */
export interface FileConfigInput {
  /** A string is a host directory's path. Absent or empty: one temp root `tmp`. */
  readonly roots?: Readonly<Record<string, string | RootConfigInput>>;
  readonly discloseHostPaths?: boolean;
  readonly limits?: Partial<ConfiguredLimits>;
}

/** A profile, as written in a config. */
export interface ProfileConfigInput extends Omit<ProfileConfig, "shell"> {
  readonly shell?: Partial<Omit<ShellConfig, "limits">> & { readonly limits?: Partial<ShellConfig["limits"]> };
}

/** Keys whose values have defaults of their own. */
type Nested =
  | ("auth" | "rateLimit" | "webdav" | "storage" | "assets" | "jobs" | "mcp" | "audit" | "log" | "workspace")
  | ("file" | "profiles" | "drives");

/** Configuration of a venue, as written by an embedder or in a file; every key has a default. */
export interface VenueConfigInput extends Partial<Omit<VenueConfig, Nested | "stateBase" | "warnings">> {
  readonly auth?: Partial<Omit<AuthConfig, "ucan">> & { readonly ucan?: Partial<UcanConfig> };
  readonly rateLimit?: false | Partial<RateLimitConfig>;
  readonly webdav?: boolean | Partial<WebdavConfig>;
  readonly storage?: { readonly content?: "memory" } | { readonly content: "file"; readonly path: string };
  readonly assets?: Partial<AssetsConfig>;
  readonly jobs?: Partial<JobsConfig>;
  readonly mcp?: false | Partial<McpConfig>;
  readonly audit?: Partial<VenueConfig["audit"]>;
  readonly log?: Partial<VenueConfig["log"]>;
  readonly workspace?: boolean | { readonly drafts?: boolean };
  readonly file?: FileConfigInput;
  readonly profiles?: Readonly<Record<string, ProfileConfigInput>>;
  readonly drives?: Partial<Omit<DrivesConfig, "limits" | "journalQuota">> & {
    readonly limits?: Partial<DriveLimits>;
    readonly journalQuota?: Partial<JournalQuota>;
  };
}
