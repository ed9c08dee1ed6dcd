// The record of a call, and the port of the sinks that take records.

import type { Capability } from "../core/call/capability.js";
import type { FileAdapterError } from "../core/errors/errors.js";
import { isObject } from "../core/unknown.js";

/** The right that was missing from a denied call, and the rights held. */
export interface DeniedRight {
  readonly required: Capability;
  /** The first few. */
  readonly have: readonly Capability[];
  readonly more?: true;
}

/** One record per call, allowed or denied. Never contents, tokens or host paths. */
export interface AuditRecord {
  /** Milliseconds since the epoch, when the call ended. */
  readonly time: number;
  readonly caller: string;
  readonly operation: string;
  /**
   * By what the caller called: id of the access token or of the UCAN it authenticated with, else of the session, else of
   * this process. As in the journal.
   */
  readonly via?: string | undefined;
  /** Tool of a profile that called it, `jettson:jettson_files_read`. */
  readonly tool?: string | undefined;
  /**
   * Canonical `file://<root>/<path>`, or as far as it could be parsed; `ucan:<id>` or `ucan:<DID>` if issued or
   * revoked.
   */
  readonly resource: string;
  /** Further resources of a call that has several, in the same form. */
  readonly others?: readonly string[] | undefined;
  /** `OK` or an error code. */
  readonly outcome: string;
  /** The change was made before the call failed. */
  readonly made?: true | undefined;
  /** File bytes read or written. */
  readonly bytes: number;
  /** Duration in milliseconds, with microsecond precision. */
  readonly ms: number;
  readonly job?: string | undefined;
  /** Number of the instance, where the venue has several. */
  readonly instance?: number | undefined;
  /** The command to run: hex SHA-256 of it, and its first 200 characters. */
  readonly command?: { readonly sha256: string; readonly start: string } | undefined;
  /** Exit code of the command; `null` if a signal ended it. */
  readonly exitCode?: number | null | undefined;
  /** Where a right was missing. */
  readonly denied?: DeniedRight | undefined;
  /** The person that approved the call, where the root requires it: a DID, or `client` for the user of the calling client. */
  readonly approvedBy?: string | undefined;
  /**
   * Delegation chain behind the permission, from the token sent to the one the owner signed: ids and DIDs, never
   * texts.
   */
  readonly proofs?: readonly { readonly id: string; readonly issuer: string }[] | undefined;
}

/** Most grants that a record lists: a denial may happen often. */
const MAX_HELD = 5;

/** The missing right of a CAPABILITY_DENIED failure, with a few of the held ones. */
export function deniedBy(failure: FileAdapterError | undefined): AuditRecord["denied"] {
  const { required, have, have_truncated: isCut } = failure?.data ?? {};
  if (failure?.code !== "CAPABILITY_DENIED" || !isObject(required) || !Array.isArray(have)) return undefined;
  const more = isCut === true || have.length > MAX_HELD ? ({ more: true } as const) : {};
  return { required: required as unknown as Capability, have: (have as Capability[]).slice(0, MAX_HELD), ...more };
}

/** Where audit records go. A sink never throws into a call. */
export interface AuditSink {
  write(record: AuditRecord): void;
  close(): Promise<void>;
}

/**
 * Combines several sinks: each receives every record, even if another throws. @returns a sink that throws the first
 * failure
 */
export function teeSink(...sinks: readonly AuditSink[]): AuditSink {
  return {
    write: (record: AuditRecord) => {
      const failures: unknown[] = [];
      for (const sink of sinks) {
        try {
          sink.write(record);
        } catch (error) {
          failures.push(error);
        }
      }
      // The caller handles sinks that throw although they must not.
      if (failures.length > 0) throw failures[0];
    },
    close: async () => {
      const ends = await Promise.allSettled(sinks.map((sink) => sink.close()));
      for (const end of ends) if (end.status === "rejected") throw end.reason;
    },
  };
}
