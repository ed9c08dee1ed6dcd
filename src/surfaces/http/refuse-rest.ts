import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import type { FastifyReply } from "fastify";
import { COMMON_HEADERS, errorJson } from "./answer.js";
import type { Exchange } from "./exchange.js";
import type { HttpError } from "./http-error.js";

/** How much of an unwanted body is still read after the answer, so that its sender sees the answer. */
const LINGER = { ms: 1000, bytes: 1_048_576 };

/** Whether a body has been read to its end, or will never come. What came with the head is still being parsed. */
export async function isRead(raw: IncomingMessage): Promise<boolean> {
  await setImmediate();
  return raw.complete || raw.destroyed;
}

/**
 * Answers in the middle of a request, whose connection then ends. Closing it at once could make the client lose the
 * answer with the connection.
 */
export function refuseRest(error: HttpError, { request, reply }: Exchange): FastifyReply {
  const json = Buffer.from(errorJson(error));
  return reply
    .code(error.status)
    .headers({ ...COMMON_HEADERS, ...error.headers, "content-type": "application/json", connection: "close" })
    .header("content-length", `${json.length}`)
    .send(Readable.from(thenDiscard(json, request.raw)));
}

async function* thenDiscard(answer: Buffer, rest: IncomingMessage): AsyncGenerator<Buffer> {
  yield answer;
  await new Promise<void>((resolve) => {
    let bytes = 0;
    const timer = setTimeout(resolve, LINGER.ms);
    const end = () => {
      clearTimeout(timer);
      resolve();
    };
    rest.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > LINGER.bytes) end();
    });
    rest.once("close", end).once("end", end).resume();
  });
  rest.pause();
}
