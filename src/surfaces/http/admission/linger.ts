import type { IncomingMessage } from "node:http";

/** Whether a request says that it has a body. */
export const announcesBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;

/** How much of an unwanted body is still read after the answer, so that its sender sees the answer. */
export interface LingerLimits {
  readonly ms: number;
  readonly bytes: number;
}

export const LINGER: LingerLimits = { ms: 10_000, bytes: 64 * 1024 * 1024 };

/**
 * Prepares the end of a connection whose request is answered before its body is whole. Closing it at once would make the
 * system throw away the answer together with what arrives; and many clients look for an answer only when they have sent
 * everything. So our side ends with the answer, and what still arrives is dropped for a while.
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
  // Node calls this when the last answer of a connection is written.
  socket.destroySoon = () => {
    isAnswered = true;
    if (hasEnded) return destroySoon();
    socket.end();
    timer = setTimeout(end, limits.ms).unref();
    // Whatever the body goes on for, nothing of it is kept.
    if (bytes > limits.bytes) end();
  };
  request.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (isAnswered && bytes > limits.bytes) end();
  });
  for (const event of ["end", "close"]) request.once(event, end);
  request.resume();
}
