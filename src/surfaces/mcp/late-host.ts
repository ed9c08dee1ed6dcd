// An MCP host that opens after the handshake, once the client has named its roots.

import type { Abortable } from "../../core/call/scope.js";
import type { OperationMetadata } from "../../core/ports/adapter.js";
import type { StartedJob } from "../../core/ports/job.js";
import type { ClientRoots } from "./client-roots.js";
import type { McpHost, ToolCall } from "./host.js";

/** The part of a host that the handshake needs. */
export type Greeting = Pick<McpHost, "serverInfo" | "instructions" | "asksUsers">;

/** A host that depends on the roots of its client, and so is opened after the handshake. */
export interface HostAfterRoots {
  readonly greeting: Greeting;
  /** Time the client gets to tell its roots, in milliseconds. */
  readonly answerMs: number;
  /** Opens the host. Called once. */
  open(roots: ClientRoots): Promise<McpHost>;
}

/** Stands for a host until it is open; before that it only greets. Calls are kept back by the transport. */
export class LateHost implements McpHost {
  readonly serverInfo: McpHost["serverInfo"];
  readonly instructions: string;
  readonly asksUsers: boolean;
  #host: McpHost | undefined;

  constructor({ serverInfo, instructions, asksUsers = false }: Greeting) {
    this.asksUsers = asksUsers;
    this.serverInfo = serverInfo;
    this.instructions = instructions;
  }

  /** Puts the host into place. */
  open(host: McpHost): void {
    this.#host = host;
  }

  get tools(): readonly OperationMetadata[] {
    return this.#open.tools;
  }

  get maxWaitMs(): number | undefined {
    return this.#open.maxWaitMs;
  }

  advertised(tool: OperationMetadata): OperationMetadata {
    return this.#open.advertised?.(tool) ?? tool;
  }

  answer(...given: Parameters<NonNullable<McpHost["answer"]>>): string | undefined {
    return this.#open.answer?.(...given);
  }

  inputOf(tool: OperationMetadata, given: Readonly<Record<string, unknown>>) {
    return this.#open.inputOf?.(tool, given) ?? { input: given, shown: given };
  }

  submit(call: ToolCall, signal: Abortable): StartedJob {
    return this.#open.submit(call, signal);
  }

  logInternal(error: unknown, requestId: string): void {
    this.#host?.logInternal(error, requestId);
  }

  get #open(): McpHost {
    if (this.#host === undefined) throw new Error("a call came before the host was open");
    return this.#host;
  }
}
