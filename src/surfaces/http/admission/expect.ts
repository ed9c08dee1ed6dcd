import type { IncomingMessage, ServerResponse } from "node:http";

/** Requests whose sender waits to be told that it may send the body. */
const waiting = new WeakMap<IncomingMessage, ServerResponse>();

/** Notes a request with `Expect: 100-continue`. It is told to go on only where its body is really wanted. */
export const awaitContinue = (request: IncomingMessage, response: ServerResponse): void =>
  void waiting.set(request, response);

/** Whether the sender still waits, and so may never send its body. */
export const awaitsContinue = (request: IncomingMessage): boolean => waiting.has(request);

/** Tells the sender, if it waits, that its body is wanted. */
export function sendContinue(request: IncomingMessage): void {
  const response = waiting.get(request);
  waiting.delete(request);
  if (response !== undefined && !response.headersSent && !response.destroyed) response.writeContinue();
}
