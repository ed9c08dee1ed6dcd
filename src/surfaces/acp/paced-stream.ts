// Back-pressure for one ACP connection: bounds the read answers that an agent has not yet taken.

import type { AgentApp, ClientApp, ClientConnection, ClientContext, Stream } from "@agentclientprotocol/sdk";
import { Intake } from "../streams/intake.js";

export type Message = Stream extends { readable: ReadableStream<infer M> } ? M : never;
type Id = string | number;

/** Maximum requests of one agent in progress, by method, including answers that it has not yet taken. */
const MOST: readonly (readonly [method: string, most: number])[] = [
  ["fs/read_text_file", 2],
  // Calls of tools may wait for the user.
  ["mcp/message", 16],
];

/** A stream on which `initialize` was answered before there was an app. */
export interface GreetedStream extends Stream {
  /** What the agent has sent besides. */
  readonly early?: readonly Message[];
  /** Answer to the `initialize` of the app, which the agent does not get. */
  readonly answer?: object;
}

/**
 * Wraps a stream so that further `fs/*` and `mcp/*` requests queue, in order, while the agent has not taken the answers to its
 * earlier reads. An agent that sends reads without taking the answers cannot make the host buffer ahead. All other
 * messages pass through.
 */
function pacedStream({ readable, writable, early = [], answer }: GreetedStream): Stream {
  const pace = new Pace();
  return { readable: pace.incoming(readable, early), writable: pace.outgoing(writable, answer) };
}

/**
 * An app that paces every stream it is connected to. An agent in this process is connected without a stream.
 * @param Base of either version
 */
export function pacedApp(Base: typeof ClientApp, name: string): ClientApp {
  class PacedApp extends Base {
    override connect(target: Stream | AgentApp): ClientConnection {
      return isStream(target) ? super.connect(pacedStream(target)) : super.connect(target);
    }

    override connectWith<T>(target: Stream | AgentApp, op: (context: ClientContext) => Promise<T> | T): Promise<T> {
      return super.connectWith(isStream(target) ? pacedStream(target) : target, op);
    }
  }
  return new PacedApp({ name });
}

const isStream = (target: Stream | AgentApp): target is Stream => "readable" in target;

class Pace {
  readonly #running = MOST.map(([method, most]) => ({ method, most, ids: new Set<Id>() }));
  #deliver: (message: Message) => void = () => {};
  /** Called when the intake has room for more messages. */
  #onRoom: () => void = () => {};
  readonly #intake = new Intake<Message>({
    isOpen: () => this.#running.every(({ ids, most }) => ids.size < most),
    deliver: (message) => {
      const id = idOf(message);
      const method = methodOf(message);
      if (id !== undefined) this.#running.find((one) => one.method === method)?.ids.add(id);
      this.#deliver(message);
      this.#onRoom();
    },
  });

  incoming(readable: ReadableStream<Message>, early: readonly Message[]): ReadableStream<Message> {
    const reader = readable.getReader();
    return new ReadableStream<Message>({
      start: (controller) => {
        this.#deliver = (message) => controller.enqueue(message);
        for (const message of early) this.#take(message);
        void this.#pass(reader).then(
          () => close(controller),
          (error: unknown) => controller.error(error),
        );
      },
      cancel: async (reason) => {
        this.#deliver = () => {};
        this.#onRoom();
        await reader.cancel(reason);
      },
    });
  }

  outgoing(writable: WritableStream<Message>, answer: object | undefined): WritableStream<Message> {
    const writer = writable.getWriter();
    return new WritableStream<Message>({
      write: async (message) => {
        const method = methodOf(message);
        if (answer !== undefined && method === "initialize") return this.#answer(message, answer);
        await writer.write(message);
        const id = method === undefined ? idOf(message) : undefined;
        if (id !== undefined && this.#running.some(({ ids }) => ids.delete(id))) this.#intake.startNext();
      },
      close: () => writer.close(),
      abort: (reason) => writer.abort(reason),
    });
  }

  async #pass(reader: ReadableStreamDefaultReader<Message>): Promise<void> {
    for (;;) {
      while (this.#intake.isFull) {
        await new Promise<void>((resolve) => {
          this.#onRoom = resolve;
        });
      }
      const { value, done } = await reader.read();
      if (done) return this.#intake.finish();
      this.#take(value);
    }
  }

  #take(message: Message): void {
    if (idOf(message) !== undefined && /^(?:fs|mcp)\//.test(methodOf(message) ?? "")) this.#intake.push(message);
    else this.#deliver(message);
  }

  #answer(request: Message, result: object): void {
    const id = idOf(request);
    if (id !== undefined) this.#deliver({ jsonrpc: "2.0", id, result });
  }
}

function close(controller: ReadableStreamDefaultController<Message>): void {
  try {
    controller.close();
  } catch {
    // The stream was cancelled in the meantime.
  }
}

function methodOf(message: Message): string | undefined {
  const { method }: { method?: unknown } = Object(message);
  return typeof method === "string" ? method : undefined;
}

function idOf(message: Message): Id | undefined {
  const { id }: { id?: unknown } = Object(message);
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}
