/** One record per call, allowed or denied. Never contents, tokens or host paths. */
export interface AuditRecord {
  /** Milliseconds since the epoch, when the call ended. */
  readonly time: number;
  readonly caller: string;
  readonly operation: string;
  /** Tool of a profile that called it, `jettson:jettson_files_read`. */
  readonly tool?: string;
  /**
   * Canonical `file://<root>/<path>`, or as far as it could be parsed; `ucan:<id>` or `ucan:<DID>` if issued or
   * revoked.
   */
  readonly resource: string;
  /** Further resources of a call that has several, in the same form. */
  readonly others?: readonly string[];
  /** `OK` or an error code. */
  readonly outcome: string;
  /** File bytes read or written. */
  readonly bytes: number;
  /** Duration in milliseconds, with microsecond precision. */
  readonly ms: number;
  readonly job?: string;
  /** The command to run: hex SHA-256 of it, and its first 200 characters. */
  readonly command?: { readonly sha256: string; readonly start: string };
  /** Exit code of the command; `null` if a signal ended it. */
  readonly exitCode?: number | null;
  /**
   * Delegation chain behind the permission, from the token sent to the one the owner signed: ids and DIDs, never
   * texts.
   */
  readonly chain?: readonly { readonly id: string; readonly issuer: string }[];
}

/** Where audit records go. A sink never throws into a call. */
export interface AuditSink {
  write(record: AuditRecord): void;
  close(): Promise<void>;
}
