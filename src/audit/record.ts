/** One record per call, allowed or denied. Never contents, tokens or host paths. */
export interface AuditRecord {
  /** Milliseconds since the epoch, when the call ended. */
  readonly time: number;
  readonly caller: string;
  readonly operation: string;
  /** Tool of a profile that called it, `jettson:jettson_files_read`. */
  readonly tool?: string;
  /** `file://<root>/<path>`, canonical, or as far as it could be understood; `ucan:<id>` or `ucan:<DID>` of what was issued or revoked. */
  readonly resource: string;
  /** The other places of a call on several, in the same form. */
  readonly others?: readonly string[];
  /** `OK` or an error code. */
  readonly outcome: string;
  /** File bytes that went in or out. */
  readonly bytes: number;
  /** Duration in milliseconds, to the microsecond. */
  readonly ms: number;
  readonly job?: string;
  /** What was to be run: hex SHA-256 of the command, and its first 200 characters. */
  readonly command?: { readonly sha256: string; readonly start: string };
  /** How that ended; `null`: by a signal. */
  readonly exitCode?: number | null;
  /** The tokens on which the permission rested, from the one sent to the one the owner signed: ids and DIDs, never texts. */
  readonly chain?: readonly { readonly id: string; readonly issuer: string }[];
}

/** Where audit records go. A sink never throws into a call. */
export interface AuditSink {
  write(record: AuditRecord): void;
  close(): Promise<void>;
}
