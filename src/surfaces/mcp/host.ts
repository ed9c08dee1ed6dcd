import type { MemoryLease } from "../../core/memory.js";
import type { OperationMetadata } from "../../core/ports/adapter.js";
import type { StartedJob } from "../../core/ports/job.js";

/** A tool call as its client sent it. */
export interface ToolCall {
  /** Dispatch name. */
  readonly operation: string;
  readonly input: unknown;
  /** Tokens sent along, as given; `undefined`: none. */
  readonly ucans: unknown;
  /** What its answer may take; absent: nobody counts. */
  readonly memory?: MemoryLease | undefined;
}

/** What the MCP surface needs of the venue behind it. */
export interface McpHost {
  /** What the server says of itself. */
  readonly serverInfo: { readonly name: string; readonly title?: string; readonly version: string };
  /** What a model is told of the server as a whole. */
  readonly instructions: string;
  /** The operations offered as tools, and those that are known by name only. */
  readonly tools: readonly OperationMetadata[];
  /** How long a tool call waits for its job, in milliseconds. `undefined`: until it ends by its own deadline. */
  readonly maxWaitMs: number | undefined;
  /** Starts the job of a tool call. */
  submit(call: ToolCall, signal: AbortSignal): StartedJob;
  /** Told of failures whose details a caller must not see. */
  logInternal(error: unknown, requestId: string): void;
}
