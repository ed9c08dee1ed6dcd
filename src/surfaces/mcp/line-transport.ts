// MCP's stdio transport: newline-delimited JSON-RPC, with bounded messages and bounded memory for answers.

import type { Readable, Writable } from "node:stream";
import { MemoryBudget, type MemoryLease } from "../../core/memory.js";
import { deferred, settleWithin } from "../../core/turns.js";
import { fieldsOf, isObject } from "../../core/unknown.js";
import { parseInput, RefusedJson } from "../../schema/exact-json.js";
import { Intake } from "../streams/intake.js";
import { LineWriter } from "../streams/line-writer.js";
import { INVALID_REQUEST, isRequestId, type Message, PARSE_ERROR, type Request, type RequestId } from "./wire.js";

export interface LineStreams {
  readonly input: Readable;
  readonly output: Writable;
  /** Maximum message size in bytes; a longer message is answered with an error and dropped. */
  readonly maxMessageBytes: number;
  /** Maximum bytes of answers held in memory at once. */
  readonly maxHeldBytes: number;
  /** Called with faults that cannot be answered, such as lines that are not messages. */
  readonly onError: (error: Error) => void;
}

const NEWLINE = 0x0a;
/** Bytes at either end of a dropped message that are searched for its id: clients put it before or after the parameters. */
const ID_WINDOW_BYTES = 256;
const ID_FIRST = /^\s*\{\s*(?:"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,\s*)*"id"\s*:\s*(\d+|"[^"\\]*")/;
const ID_LAST = /"id"\s*:\s*(\d+|"[^"\\]*")\s*\}\s*$/;
/** How long calls may take whose client has ended its input and may still read. */
const LAST_ANSWERS_MS = 5000;
/** Copies counted for each byte of an answer: one in the output of the call, one in its message. */
const WEIGHT = 2;

/** MCP's stdio framing: one JSON-RPC message per line. */
export class LineTransport {
  onclose?: () => void;
  /** No more requests come, and those that have come are begun. */
  onfinish?: () => void;
  onmessage?: (message: Message) => void;
  /** Sees notifications and answers before they are delivered. @returns whether it keeps the message to itself */
  intercept?: ((message: Message) => boolean) | undefined;
  readonly #streams: LineStreams;
  /** Pieces of the incomplete line; of a line that is too long, only its two ends. */
  #pieces: Buffer[] = [];
  #bytes = 0;
  #closed = false;
  #isHeld = false;
  #whenLetGo: () => void = () => {};
  #whenClosed: () => void = () => {};
  /** Resolves when either stream has ended or the transport was closed. */
  readonly closed = new Promise<void>((resolve) => {
    this.#whenClosed = resolve;
  });
  readonly #memory: MemoryBudget;
  /** Leases of the requests that have not been answered yet. */
  readonly #leases = new Map<RequestId, MemoryLease>();
  #whenAllAnswered: () => void = () => {};
  readonly #writer: LineWriter;
  readonly #intake: Intake<Request>;

  constructor(streams: LineStreams) {
    this.#streams = streams;
    this.#memory = new MemoryBudget(streams.maxHeldBytes, 1);
    this.#writer = new LineWriter(streams.output, () => this.#intake.startsSoon);
    this.#intake = new Intake({
      isOpen: () => !this.#closed && !this.#isHeld && this.#memory.waiting === 0 && !this.#writer.isBehind,
      deliver: (message) => {
        this.#resume();
        this.onmessage?.(message);
      },
    });
  }

  /** Memory lease of a request and its answer. */
  memoryOf(id: RequestId): MemoryLease | undefined {
    return this.#leases.get(id);
  }

  /** Whether the client has not taken yet what was written. */
  get isBehind(): boolean {
    return this.#writer.isBehind;
  }

  start(): void {
    const { input, output } = this.#streams;
    input.on("data", (chunk: Buffer) => this.#take(chunk));
    input.once("end", () => void this.#finish());
    input.once("error", () => void this.close());
    input.once("close", () => (input.readableEnded ? undefined : void this.close()));
    // When the client is gone there is nobody to answer.
    for (const event of ["close", "error"]) output.once(event, () => void this.close());
  }

  async send(message: Message): Promise<void> {
    if (this.#closed) return;
    const id = "method" in message ? undefined : (message.id ?? undefined);
    const lease = id === undefined ? undefined : this.#leases.get(id);
    try {
      const writing = this.#writer.write(message, lease?.answers ?? 0);
      if (id !== undefined) this.#intake.answered((request) => request.id === id);
      await writing;
    } finally {
      lease?.release();
      if (id !== undefined) this.#end(id);
      this.#intake.startNext();
      this.#resume();
    }
  }

  /** Ends the account of a request that gets no answer. */
  forget(id: RequestId): void {
    this.#leases.get(id)?.release();
    this.#end(id);
    this.#intake.startNext();
    this.#resume();
  }

  #end(id: RequestId): void {
    this.#leases.delete(id);
    if (this.#leases.size === 0) this.#whenAllAnswered();
  }

  /** Delivers no further requests until {@link letGo}. */
  hold(): void {
    this.#isHeld = true;
  }

  letGo(): void {
    this.#isHeld = false;
    this.#whenLetGo();
    this.#intake.startNext();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#writer.flush();
    this.#whenClosed();
    this.#streams.input.pause();
    this.onclose?.();
  }

  /** Serves what came before the end of the input, then closes. */
  async #finish(): Promise<void> {
    while (this.#isHeld && !this.#closed) {
      const letGo = new Promise<void>((resolve) => {
        this.#whenLetGo = resolve;
      });
      await Promise.race([letGo, this.closed]);
    }
    await this.#intake.finish();
    this.onfinish?.();
    if (this.#leases.size > 0) {
      const { promise: allAnswered, resolve } = deferred();
      this.#whenAllAnswered = resolve;
      await settleWithin(Promise.race([allAnswered, this.closed]), LAST_ANSWERS_MS);
    }
    await this.close();
  }

  #take(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0 && !this.#closed; end = chunk.indexOf(NEWLINE, start)) {
      this.#hold(chunk.subarray(start, end));
      this.#endLine();
      start = end + 1;
    }
    if (start < chunk.length) this.#hold(chunk.subarray(start));
  }

  #hold(piece: Buffer): void {
    this.#bytes += piece.length;
    this.#pieces.push(piece);
    if (this.#bytes <= this.#streams.maxMessageBytes) return;
    const all = Buffer.concat(this.#pieces);
    this.#pieces = [Buffer.from(all.subarray(0, ID_WINDOW_BYTES)), Buffer.from(all.subarray(-ID_WINDOW_BYTES))];
  }

  #endLine(): void {
    const line = this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces);
    const tooLong = this.#bytes > this.#streams.maxMessageBytes;
    this.#pieces = [];
    this.#bytes = 0;
    if (tooLong) this.#refuse(line.toString("utf8"), `Message too large: limit ${this.#streams.maxMessageBytes} bytes`);
    else this.#receive(line.toString("utf8"));
  }

  #receive(text: string): void {
    if (text.trim() === "") return;
    let message: unknown;
    try {
      message = parseInput(text);
    } catch (error) {
      if (error instanceof RefusedJson) this.#refuse(text, `Invalid JSON: ${error.message}`);
      else this.#answerFault(null, PARSE_ERROR, `Invalid JSON: ${(error as Error).message}`);
      return;
    }
    const fault = faultOf(message);
    if (fault === undefined) this.#let(message as Message);
    else this.#answerFault(idOf(message), INVALID_REQUEST, fault);
  }

  /** @param id `null`: unknown. `undefined`: what it answers is no call, and gets no answer */
  #answerFault(id: RequestId | null | undefined, code: number, text: string): void {
    this.#streams.onError(new Error(text));
    // A client that does not read is not answered without end.
    if (id === undefined || (id === null && this.#writer.isBehind)) return;
    void this.send({ jsonrpc: "2.0", id, error: { code, message: text } } as Message);
  }

  #let(message: Message): void {
    const isRequest = "method" in message && "id" in message;
    if (!isRequest && this.intercept?.(message) === true) return;
    if (!("method" in message)) this.onmessage?.(message);
    else if ("id" in message) {
      const lease = this.#memory.lease("");
      lease.weight = WEIGHT;
      this.#leases.set(message.id, lease);
      this.#intake.push(message);
      if (this.#intake.isFull) this.#streams.input.pause();
    } else if (!this.#drop(message)) this.onmessage?.(message);
  }

  /**
   * Removes the queued request that a notification cancels; nobody waits for an answer to it. @returns whether it did
   */
  #drop({ method, params }: { readonly method: string; readonly params?: unknown }): boolean {
    if (method !== "notifications/cancelled") return false;
    const { requestId } = fieldsOf(params);
    const isDropped = this.#intake.drop((request) => request.id === requestId);
    if (isDropped) this.forget(requestId as RequestId);
    return isDropped;
  }

  #resume(): void {
    const { input } = this.#streams;
    if (!this.#closed && !this.#intake.isFull && input.isPaused()) input.resume();
  }

  /** Refuses a message that is not read, if its ends contain the id: a call left unanswered would wait forever. */
  #refuse(message: string, text: string): void {
    const isShort = message.length <= 2 * ID_WINDOW_BYTES;
    const ends = isShort ? message : message.slice(0, ID_WINDOW_BYTES) + message.slice(-ID_WINDOW_BYTES);
    const id = (ID_FIRST.exec(ends) ?? ID_LAST.exec(ends))?.[1];
    const found: unknown = id === undefined ? null : JSON.parse(id);
    this.#answerFault(isRequestId(found) ? found : null, INVALID_REQUEST, text);
  }
}

/** Minimal shape check; whoever serves a method checks the rest. @returns `undefined`: there is none */
function faultOf(message: unknown): string | undefined {
  if (!isObject(message) || message["jsonrpc"] !== "2.0") return "Invalid request: expected a JSON-RPC 2.0 message";
  if (!("method" in message) || !("id" in message) || isRequestId(message["id"])) return undefined;
  return "Invalid request: 'id' must be text or a whole number";
}

/** Whom to answer that a message is none. `undefined`: nobody waits */
function idOf(message: unknown): RequestId | null | undefined {
  if (!isObject(message)) return null;
  if (!("method" in message) || !("id" in message)) return undefined;
  return isRequestId(message["id"]) ? message["id"] : null;
}
