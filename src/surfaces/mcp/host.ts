// The port between the MCP surface and the venue.

import type { ReportProgress } from "../../core/call/progress.js";
import type { Abortable } from "../../core/call/scope.js";
import type { CallTerms } from "../../core/call/terms.js";
import type { Awaitable } from "../../core/io.js";
import type { MemoryLease } from "../../core/memory.js";
import type { OperationMetadata } from "../../core/ports/adapter.js";
import type { ClientQuestion } from "../../core/ports/effect.js";
import type { StartedJob } from "../../core/ports/job.js";

/** A tool call as sent by the client. */
export interface ToolCall {
  /** Dispatch name. */
  readonly operation: string;
  readonly input: unknown;
  /** UCANs sent with the call, unchecked; `undefined` if none. */
  readonly ucans: unknown;
  /** Memory accounting for the answer; absent if unlimited. */
  readonly memory?: MemoryLease | undefined;
  /** The output may carry its content as bytes. */
  readonly takesBytes?: boolean;
  /** Takes what the user of the client is to decide first. Absent: the client cannot ask. */
  readonly onQuestion?: ((question: ClientQuestion) => void) | undefined;
  /** Approval by which the call is repeated. */
  readonly approval?: string | undefined;
  /** Takes the progress of the call; absent: the client did not ask for it. */
  readonly report?: ReportProgress | undefined;
  /** Present for a look at resources, which keeps no record: files come as they are stored, and a path means what it says. */
  readonly resource?: CallTerms | undefined;
}

/** The arguments of a tool call as the operation takes them. */
export interface ToolInput {
  readonly input: unknown;
  /** The input, with what only chooses how the answer is shown. */
  readonly shown: unknown;
  /** The root that the call has left out, and is made in. */
  readonly root?: string;
}

/** The part of a host that the handshake needs. */
export interface Greeting {
  /** Implementation info returned by `initialize`. */
  readonly serverInfo: { readonly name: string; readonly title?: string; readonly version: string };
  /** Instructions for the model about the server as a whole. */
  readonly instructions: string;
  /** Whether a root may ask the user of a client that can be asked. */
  readonly asksUsers?: boolean;
  /** Whether files can be read as resources: as far as tools read them. */
  readonly hasResources?: boolean;
}

/** A client that is told of changes. */
export interface Hearer {
  tell(method: string, params: object): void;
  /** The client has not taken earlier messages yet: the rest waits. */
  isBehind(): boolean;
  /** Whether its credential would be refused now. */
  isRefused(): boolean;
}

export type ToldList = "tools" | "resources";

/** Tells a client of changes, until one of both ends that. */
export interface Listening {
  readonly isEnded: boolean;
  readonly ended: Promise<void>;
  /** Tells of changes of a list from now on. */
  watch(list: ToldList): void;
  /** Tells of changes of URIs from the answer on. @throws RequestFault: they are too many */
  follow(uris: readonly string[]): Promise<void>;
  unfollow(uri: string): void;
  end(): void;
}

/** The part of the venue that the MCP surface uses. */
export interface McpHost extends Greeting {
  /** The operations offered as tools; unavailable ones are found by name but not listed. */
  readonly tools: readonly OperationMetadata[];
  /** A tool as it is listed; `undefined`: it is not, and can be called. Absent: as it is. */
  advertised?(tool: OperationMetadata): OperationMetadata | undefined;
  /** Time a tool call waits for its job, in milliseconds; `undefined`: until the job ends by its own deadline. */
  readonly maxWaitMs: number | undefined;
  /** Absent: nothing changes that could be told. @throws RequestFault: the caller may have no other stream */
  listen?(hearer: Hearer): Listening;
  /** Takes the user's answer to a question. @returns the approval to repeat the call with */
  answer?(token: string, answer: "allowed" | "denied" | "dismissed", ucans: unknown): Awaitable<string | undefined>;
  /** Translates the arguments of a call of a tool. Absent: they are the input. */
  inputOf?(tool: OperationMetadata, given: Readonly<Record<string, unknown>>): ToolInput;
  /** Waits for what is needed to judge UCANs. Absent: it is always known. @throws SHARED_STATE_UNAVAILABLE */
  readonly fresh?: (() => Awaitable<void>) | undefined;
  /** Starts the job of a tool call. */
  submit(call: ToolCall, signal: Abortable): StartedJob;
  /** Logs failures whose details a caller must not see. */
  logInternal(error: unknown, requestId: string): void;
}
