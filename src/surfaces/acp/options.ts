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

/** A question of an agent. */
export interface ElicitRequest {
  /** `url`: the user is to open a page, and nothing comes back by this connection. */
  readonly mode: "form" | "url";
  readonly message: string;
  /** Of a form: a flat JSON Schema. */
  readonly schema?: Readonly<Record<string, unknown>>;
  readonly url?: string;
  /** Absent: it belongs to no session, as a question before one is opened. */
  readonly sessionId?: string;
  /** Aborts when nobody waits any more. */
  readonly signal: AbortSignal;
}

export interface ElicitAnswer {
  readonly action: "accept" | "decline" | "cancel";
  /** Of an accepted form. One that does not fit the schema is sent as `cancel`. */
  readonly content?: Readonly<Record<string, unknown>>;
}

export type Elicit = (request: ElicitRequest) => ElicitAnswer | Promise<ElicitAnswer>;

export type ProtocolVersion = 1 | 2;
/** `auto`: 2 where the agent speaks it, else 1. */
export type ProtocolChoice = ProtocolVersion | "auto";

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
  /** Version of the protocol to speak. Default `auto`: 2 with agents that speak it, else 1. */
  readonly protocol?: ProtocolChoice;
  /** Agents of version 1 get tools too, where they take MCP over the connection. Those of version 2 always do. */
  readonly mcp?: boolean;
  /** Asks the user what an agent wants to know. Absent: agents cannot ask. */
  readonly elicit?: Elicit;
  /** The hook takes pages for the user to open as well. */
  readonly elicitUrl?: boolean;
  /** `keep`: written text takes the line endings of the existing file. Default `asGiven`. */
  readonly newlines?: "asGiven" | "keep";
  readonly clock?: Clock;
  /** Receives causes of internal errors, which agents are not told. */
  readonly log?: Log;
}
