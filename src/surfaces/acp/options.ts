// Options of the ACP surface: adapter, mounts, limits, approval, audit and terminals.

import type { Clock } from "../../core/clock.js";
import type { InvokeContext } from "../../core/ports/adapter.js";
import type { Log } from "../../core/ports/log.js";
import type { Sandbox } from "../../core/ports/sandbox.js";
import type { AcpAdapter } from "./files/files.js";
import type { Approve } from "./review/approval.js";
import type { AcpAuditRecord } from "./review/audit.js";

/** A root and the absolute path under which agents see it. */
export interface AcpMount {
  readonly root: string;
  /** Absolute path. Default: the host path of the root where that may be shown, else `/venue-roots/<root>`. */
  readonly prefix?: string;
}

/** Sizes are in bytes, times in milliseconds. */
export interface AcpLimits {
  /** Maximum size of one read (a file or a range of lines). Default: the limit of the root. */
  readonly maxReadBytes?: number;
  /** Maximum undoable changes per session. Default 1,000. */
  readonly undoEntries?: number;
  /** Maximum content kept per session for undo, and the same again for the modified set. Default 64 MiB. */
  readonly undoBytes?: number;
  /** Maximum concurrent commands per session. Default 8. */
  readonly terminals?: number;
  /** Timeout of one command. Default one hour. */
  readonly terminalTimeoutMs?: number;
}

/** Runs the commands of agents. */
export interface AcpTerminals {
  readonly sandbox: Sandbox;
  /**
   * Clone the directories of the session before each command, so that everything it changes can be undone: up to 20,000
   * files where blocks can be shared, else 2,000 files of 64 MB. For roots with a journal. Default: no.
   */
  readonly snapshot?: boolean;
}

/** The caller on whose behalf agents act; the operator if `callerDID` is absent. */
export type AcpCaller = Pick<InvokeContext, "callerDID" | "authentication" | "ucans">;

/** Options of `AcpClientFs`. */
export interface AcpOptions {
  readonly adapter: AcpAdapter;
  /** At least one. */
  readonly mounts: readonly AcpMount[];
  /** Asked before every write and every command. Absent: everything is approved. */
  readonly approve?: Approve;
  /** Called once per request, denied requests included. */
  readonly onAudit?: (record: AcpAuditRecord) => void;
  readonly limits?: AcpLimits;
  /** Absent: agents get no terminals. */
  readonly terminals?: AcpTerminals;
  /** Caps list that attenuates every session. */
  readonly caps?: readonly unknown[];
  readonly caller?: AcpCaller;
  /** `keep`: written text takes the line endings of the existing file. Default `asGiven`. */
  readonly newlines?: "asGiven" | "keep";
  readonly clock?: Clock;
  /** Receives causes of internal errors, which agents are not told. */
  readonly log?: Log;
}
