// Configuration of the file adapter in its checked, complete form.

import type { Limits } from "./call/limits.js";
import type { ApprovalRules } from "./ports/approval.js";

/** The part of {@link Limits} that a config can set. */
export type ConfiguredLimits = Pick<
  Limits,
  "maxReadBytes" | "maxWriteBytes" | "maxUploadBytes" | "timeoutMs" | "maxConcurrent"
>;

/** `flush`: a write is flushed to disk before the call returns. */
export type Durability = "flush" | "none";

/** How small system calls run. `auto`: in the thread pool on file systems that can be slow, else synchronously. */
export type IoMode = "auto" | "sync" | "pool";

/** Upper bound on all files of a root together; an absent field is not limited. */
export interface Quota {
  readonly bytes?: number;
  readonly files?: number;
}

/** Quota and usage; usage only once it has been counted. */
export interface QuotaFacts extends Quota {
  readonly usedBytes?: number;
  readonly usedFiles?: number;
}

/** Limits of the journal of a root. */
export interface JournalQuota {
  /** Most bytes of content kept to undo changes. */
  readonly bytes: number;
  readonly entries: number;
  readonly days: number;
}

/** Options of a root that is a directory. */
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
  /** Maximum bytes returned by one read in this root. Absent: the adapter's limit. */
  readonly maxReadBytes?: number;
  /** Absent: no limit. */
  readonly quota?: Quota;
  /** Whether changes are recorded, with what is needed to undo them. Absent: depends on the root and the surface. */
  readonly journal?: "off" | "metadata" | "on";
  readonly journalQuota: JournalQuota;
  /** Handling of deleted entries where the journal is on. */
  readonly trash: "auto" | "required" | "off";
  /** Globs of paths denied to every caller, in the syntax of `path/deny.ts`. */
  readonly deny: readonly string[];
  /** Globs of paths that every caller may at most read, in the same syntax. */
  readonly protect: readonly string[];
  /** Changes a person has to allow. Absent: none. */
  readonly approve?: ApprovalRules | undefined;
  /** Text encoding of its files; `utf-8` also reads UTF-16 where a byte order mark announces it. */
  readonly encoding: string;
  /** DID of its owner. Absent: the operator. */
  readonly owner?: string;
}

/** A host directory. Its existence is checked only when the jail opens it. */
export interface HostRootConfig extends RootOptions {
  readonly kind: "host";
  /** Absolute, but not yet canonical. */
  readonly path: string;
  /** All instances of the venue run on this machine and see it. */
  readonly shared?: true;
}

/** A fresh private directory. */
export interface TempRootConfig extends RootOptions {
  readonly kind: "temp";
  /** Prefix of the directory's name. */
  readonly prefix: string;
  /** Each instance of the venue has its own. */
  readonly perInstance?: true;
}

/** A drive of the caller: each caller gets its own. */
export interface DriveRootConfig
  extends Pick<RootOptions, "readOnly" | "description" | "maxReadBytes" | "deny" | "protect" | "approve" | "encoding"> {
  readonly kind: "dlfs";
  readonly drive: string;
  readonly subpath?: readonly string[];
  /** Not configurable: each caller owns its drive. */
  readonly owner?: never;
}

export type RootConfig = HostRootConfig | TempRootConfig | DriveRootConfig;

/** Configuration of the file adapter: checked, complete and deeply frozen. */
export interface FileConfig {
  /** By name, in configuration order, except that JavaScript puts integer names first. The object has no prototype. */
  readonly roots: Readonly<Record<string, RootConfig>>;
  /** Absent: the surface decides. */
  readonly discloseHostPaths?: boolean;
  readonly limits: ConfiguredLimits;
}
