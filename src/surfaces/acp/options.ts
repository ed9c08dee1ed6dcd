import type { Ability } from "../../core/call/capability.js";
import type { Clock } from "../../core/clock.js";
import type { InvokeContext, SurfaceContext } from "../../core/ports/adapter.js";
import type { Log } from "../../core/ports/log.js";
import type { Exec, Sandbox } from "../../core/ports/sandbox.js";
import type { Approve } from "./review/approval.js";
import type { AcpAuditRecord } from "./review/audit.js";

/** What is asked of the file adapter; the one that `createFileAdapter` returns has it all. */
export interface AcpAdapter {
  /** @throws FileAdapterError for every failure */
  invoke(operation: string, input: unknown, context?: SurfaceContext): Promise<unknown>;
  /** What the caller holds. Absent: it shows only when something is refused. */
  rights?(
    operation: string,
    context: SurfaceContext,
  ): { allows(segments: readonly string[], ability: Ability | "exec/run"): boolean };
  /** Absent: there are no terminals. */
  readonly exec?: Exec;
}

/** One root, and where agents see it. */
export interface AcpMount {
  readonly root: string;
  /** Absolute path. Default: the host path of the root where that may be shown, else `/venue-roots/<root>`. */
  readonly prefix?: string;
}

/** Sizes are bytes, times milliseconds. */
export interface AcpLimits {
  /** Most of a file, or of a range of lines, in one answer. Default: the limit of the root. */
  readonly maxReadBytes?: number;
  /** Most changes of one session that can be undone. Default 1,000. */
  readonly undoEntries?: number;
  /** Most content kept for that, and as much again for the modified set. Default 64 MB. */
  readonly undoBytes?: number;
  /** Commands of one session that run at once. Default 8. */
  readonly terminals?: number;
  /** Longest run of one command. Default one hour. */
  readonly terminalTimeoutMs?: number;
}

/** What runs the commands of agents. */
export interface AcpTerminals {
  readonly sandbox: Sandbox;
}

/** Who the agents act for; without `callerDID` it is the operator. */
export type AcpCaller = Pick<InvokeContext, "callerDID" | "authentication" | "ucans">;

/** What `AcpClientFs` takes. */
export interface AcpOptions {
  readonly adapter: AcpAdapter;
  /** At least one. */
  readonly mounts: readonly AcpMount[];
  /** Asked before every write and every command. Absent: all are allowed. */
  readonly approve?: Approve;
  /** Told of every request, denied ones included. */
  readonly onAudit?: (record: AcpAuditRecord) => void;
  readonly limits?: AcpLimits;
  /** Absent: agents get no terminals. */
  readonly terminals?: AcpTerminals;
  /** A list of capabilities that narrows all sessions. */
  readonly caps?: readonly unknown[];
  readonly caller?: AcpCaller;
  /** `keep`: line endings of a text that is written are made those of the file. Default `asGiven`. */
  readonly newlines?: "asGiven" | "keep";
  readonly clock?: Clock;
  /** Takes what agents are not told: causes of internal errors. */
  readonly log?: Log;
}
