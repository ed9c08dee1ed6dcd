// Lingering close: lets a client that is still sending a body read the response.

import type { IncomingMessage } from "node:http";

/** Whether the headers announce a body. */
export const announcesBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;

/** How much of an unwanted body is read and dropped after the response, so that the client sees the response. */
export interface LingerLimits {
  readonly ms: number;
  readonly bytes: number;
}

const LINGER: LingerLimits = { ms: 10_000, bytes: 64 * 1024 * 1024 };

/**
 * Prepares to close a connection whose request is answered before its body is complete. Closing at once would reset the
 * connection, which discards the response; and many clients read it only after they have sent everything. So the
 * sending side is closed with the response, and incoming data is read and dropped for a while.
 */
export function linger(request: IncomingMessage, limits: LingerLimits = LINGER): void {
  if (request.complete || request.destroyed || !announcesBody(request)) return;
  const { socket } = request;
  const destroySoon = socket.destroySoon.bind(socket);
  let isAnswered = false;
  let hasEnded = false;
  let bytes = 0;
  let timer: NodeJS.Timeout | undefined;
  const end = () => {
    hasEnded = true;
    clearTimeout(timer);
    Reflect.deleteProperty(socket, "destroySoon");
    if (isAnswered) destroySoon();
  };
  // Node calls destroySoon when the last response of a connection has been written.
  socket.destroySoon = () => {
    isAnswered = true;
    if (hasEnded) return destroySoon();
    socket.end();
    timer = setTimeout(end, limits.ms).unref();
    // The bytes dropped before the response count too.
    if (bytes > limits.bytes) end();
  };
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (isAnswered && bytes > limits.bytes) end();
  });
  for (const event of ["end", "close"]) request.once(event, end);
  request.resume();
}
