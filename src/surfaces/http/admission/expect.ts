// Handles `Expect: 100-continue` (RFC 9110 §10.1.1).

import type { IncomingMessage, ServerResponse } from "node:http";

/** Requests whose client waits for 100 Continue before it sends the body. */
const waiting = new WeakMap<IncomingMessage, ServerResponse>();

/** Notes a request with `Expect: 100-continue`; 100 is sent only when an endpoint wants the body. */
export const awaitContinue = (request: IncomingMessage, response: ServerResponse): void =>
  void waiting.set(request, response);

/** Whether the client still waits for 100, and so may never send the body. */
export const awaitsContinue = (request: IncomingMessage): boolean => waiting.has(request);

/** Sends 100 Continue if the client waits for it. */
export function sendContinue(request: IncomingMessage): void {
  const response = waiting.get(request);
  waiting.delete(request);
  if (response !== undefined && !response.headersSent && !response.destroyed) response.writeContinue();
}
