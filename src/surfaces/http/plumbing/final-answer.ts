// Responses written directly to a socket, after which the connection is closed.

import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { COMMON_HEADERS, errorJson } from "./answer.js";
import { OWN_PAGES } from "./cors.js";
import type { HttpError } from "./http-error.js";

/** Headers of a response that closes the connection. */
export function finalHeaders(body: string): Record<string, string> {
  const length = `${Buffer.byteLength(body)}`;
  const framing = { "content-type": "application/json", "content-length": length, connection: "close" };
  return { ...COMMON_HEADERS, ...OWN_PAGES, ...framing };
}

/** Writes an error response to a raw socket, and closes it. */
export function answerSocket(socket: Socket, error: HttpError): void {
  const body = errorJson(error);
  const headers = Object.entries({ ...finalHeaders(body), ...error.headers });
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`);
  const { status } = error;
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}\r\n${body}`, () => socket.destroy());
}
