// Configuration of a venue: generated from schemas/config.json, but for what the file adapter and the parser add.

import type { Durability, FileConfig, RootOptions } from "../core/file-config.js";
import type { VenueConfigChecked } from "../schema/types.js";

export type {
  FileConfigInput,
  HostRootInput,
  ProfileConfigInput,
  RootConfigInput,
  VenueConfigInput,
} from "../schema/types.js";

/** An S3 bucket, which venues may share. Absent fields come from the environment. */
export type S3Config = NonNullable<VenueConfigChecked["storage"]["s3"]>;
/** Storage of assets; `path` is absolute. */
export type StorageConfig =
  | { readonly content: "memory" }
  | { readonly content: "file"; readonly path: string }
  | { readonly content: "s3"; readonly s3: S3Config };

type Drives = VenueConfigChecked["drives"];
/** Storage of drives; `path` is absolute. */
type DriveStoreConfig = "memory" | { readonly path: string } | { readonly s3: S3Config };

/** Configuration of a venue: checked, complete and deeply frozen. */
export interface VenueConfig extends Omit<VenueConfigChecked, "storage" | "drives"> {
  readonly storage: StorageConfig;
  readonly drives: Omit<Drives, "store"> & { readonly store?: DriveStoreConfig };
  readonly file: FileConfig;
  /** Parent of `stateDir`, if several venues of a process each have a subdirectory. */
  readonly stateBase?: string;
  /** One line each, for the log at start. */
  readonly warnings: readonly string[];
}

export type AuthConfig = VenueConfig["auth"];
/** A capability granted to a DID by configuration. */
export type DidGrant = AuthConfig["grants"][number];
/** A pre-shared bearer token, for clients that cannot sign. Exactly one member of `token` is set. */
export type StaticTokenConfig = AuthConfig["tokens"][number];
/** An outside issuer of JWTs. */
export type IssuerConfig = AuthConfig["issuers"][number];
/** Verification rules for UCANs. */
export type UcanConfig = AuthConfig["ucan"];
/** Configuration of the MCP surface. */
export type McpConfig = Exclude<VenueConfig["mcp"], false>;
/** A profile: tools of another system on one root. */
export type ProfileConfig = VenueConfig["profiles"][string];
/** Token bucket: `perSecond` on average, `burst` at once, at most `2 * burst` within `burst / perSecond` seconds. */
export type RateLimitConfig = Exclude<VenueConfig["rateLimit"], false | undefined>;
/** State that several instances of the venue share. */
export type SharedConfig = NonNullable<VenueConfig["shared"]>;
export type LogLevel = VenueConfig["log"]["level"];

/** A venue after schema validation; complete only if there were no problems. */
export interface CheckedVenue extends Omit<VenueConfig, "file" | "storage" | "warnings"> {
  readonly file: CheckedFile;
  readonly storage: VenueConfigChecked["storage"];
}

/** A root that passed schema validation. */
export interface CheckedRoot extends Omit<RootOptions, "durability"> {
  readonly durability?: Durability;
  readonly path?: string;
  readonly temp?: true;
  readonly shared?: true;
  readonly perInstance?: true;
  readonly prefix?: string;
  readonly dlfs?: string;
  readonly subpath?: string;
  readonly grep?: string;
}

/** The file adapter's part after schema validation; complete only if there were no problems. */
export interface CheckedFile extends Omit<FileConfig, "roots"> {
  readonly roots: Readonly<Record<string, string | CheckedRoot>>;
}

/** A value in which any invalid part is missing. */
export type Draft<T> = T extends readonly (infer Item)[]
  ? readonly (Draft<Item> | undefined)[]
  : T extends object
    ? { readonly [Key in keyof T]?: Draft<T[Key]> | undefined }
    : T;

/** A venue that may still have problems. */
export type DraftVenue = Draft<CheckedVenue>;
