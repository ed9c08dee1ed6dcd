import type { Limits } from "./call/limits.js";

/** The part of {@link Limits} that a config can set. */
export type ConfiguredLimits = Pick<
  Limits,
  "maxReadBytes" | "maxWriteBytes" | "maxUploadBytes" | "timeoutMs" | "maxConcurrent"
>;

/** `flush`: a write is on the disk before it is answered. */
export type Durability = "flush" | "none";

/** Where small calls run; `auto`: in the thread pool where a call can be slow, else synchronous. */
export type IoMode = "auto" | "sync" | "pool";

/** What the files of a root may take together; absent: whatever there is room for. */
export interface Quota {
  readonly bytes?: number;
  readonly files?: number;
}

/** What a root that is a directory is configured with. */
export interface RootOptions {
  readonly readOnly: boolean;
  /** Operator's note, returned by `file:roots`. */
  readonly description?: string;
  readonly durability: Durability;
  /** Walk into directories on another device. */
  readonly crossDevice: boolean;
  /** Append in place to a file with several hard links. */
  readonly hardLinks: boolean;
  readonly io: IoMode;
  /** Most bytes one read in this root returns. Absent: the limit of the adapter. */
  readonly maxReadBytes?: number;
  /** Absent: no limit. */
  readonly quota?: Quota;
  /** Globs of what no caller gets to, as `path/deny.ts` reads them. */
  readonly deny: readonly string[];
  /** How text in it is written; `utf-8`: UTF-16 too, where a file says so. */
  readonly encoding: string;
  /** DID of whoever owns it. Absent: the operator. */
  readonly owner?: string;
}

/** A host directory. Whether it exists is seen only when the jail opens it. */
export interface HostRootConfig extends RootOptions {
  readonly kind: "host";
  /** Absolute, but not yet canonical. */
  readonly path: string;
}

/** A fresh private directory. */
export interface TempRootConfig extends RootOptions {
  readonly kind: "temp";
  /** What its name starts with. */
  readonly prefix: string;
}

/** A drive of whoever calls. */
export interface DriveRootConfig
  extends Pick<RootOptions, "readOnly" | "description" | "maxReadBytes" | "deny" | "encoding"> {
  readonly kind: "dlfs";
  readonly drive: string;
  /** Each caller owns its own. */
  readonly owner?: never;
}

export type RootConfig = HostRootConfig | TempRootConfig | DriveRootConfig;

/** Configuration of the file adapter: checked, complete and deeply frozen. */
export interface FileConfig {
  /** By name, in configuration order, except that JavaScript puts names that are whole numbers first. No prototype. */
  readonly roots: Readonly<Record<string, RootConfig>>;
  /** Absent: the surface decides. */
  readonly discloseHostPaths?: boolean;
  readonly limits: ConfiguredLimits;
}
