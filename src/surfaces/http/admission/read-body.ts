// Reads request bodies into memory under the limits on size and total memory.

import type { IncomingMessage } from "node:http";
import { setImmediate } from "node:timers/promises";
import type { FastifyRequest } from "fastify";
import type { MemoryLease } from "../../../core/memory.js";
import { badRequest, bodyTooLarge, tooManyRequests } from "../plumbing/http-error.js";
import { sendContinue } from "./expect.js";

/** Suggested delay before retrying when memory is short, in milliseconds: calls end quickly. */
const BUSY_RETRY_MS = 1000;
const LEAST_BYTES = 4096;

/** A growing buffer: memory is taken as bytes arrive, not as announced, and small chunks are merged. */
class GrowingBody {
  #bytes: Buffer = Buffer.allocUnsafe(0);
  length = 0;

  /** @param most maximum length the body can reach */
  append(chunk: Buffer, most: number): void {
    if (this.length === 0 && chunk.length === most) {
      // A small body arrives in one piece, which nothing else uses.
      this.#bytes = chunk;
      this.length = most;
      return;
    }
    const needed = this.length + chunk.length;
    if (needed > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.min(most, Math.max(LEAST_BYTES, needed, 2 * this.#bytes.length)));
      this.#bytes.copy(grown, 0, 0, this.length);
      this.#bytes = grown;
    }
    chunk.copy(this.#bytes, this.length);
    this.length = needed;
  }

  /** The whole body. Nothing may be appended afterwards. */
  take(): Buffer {
    return this.#bytes.subarray(0, this.length);
  }
}

/**
 * Reads a whole body into memory, counting it against the lease as it arrives.
 * @throws HttpError 413 over the limit, 429 when memory is short, 400 when the body is incomplete
 */
export function readBody(
  { raw }: FastifyRequest,
  { limit, lease }: { readonly limit: number; readonly lease: MemoryLease },
): Promise<Buffer> {
  const announced = raw.headers["content-length"] === undefined ? undefined : Number(raw.headers["content-length"]);
  return new Promise((resolve, reject) => {
    if (announced !== undefined && announced > limit) return reject(bodyTooLarge(limit));
    const body = new GrowingBody();
    const stop = (settle: () => void) => {
      raw.off("data", onData).off("end", onEnd).off("error", onError).off("close", onError);
      lease.onDrop = () => {};
      settle();
    };
    const onData = (chunk: Buffer) => {
      if (body.length + chunk.length > limit) return stop(() => reject(bodyTooLarge(limit)));
      body.append(chunk, announced ?? limit);
      lease.receive(chunk.length);
    };
    const onEnd = () => {
      if (announced !== undefined && announced !== body.length) return onError();
      lease.received();
      stop(() => resolve(body.take()));
    };
    const onError = () => stop(() => reject(badRequest("Request incomplete")));
    lease.onDrop = () => stop(() => reject(tooManyRequests(BUSY_RETRY_MS)));
    sendContinue(raw);
    raw.on("data", onData).once("end", onEnd).once("error", onError).once("close", onError);
  });
}

/**
 * Whether a body was read to its end, or never will be. Waits one turn: data that came with the head may be unparsed.
 */
export async function isRead(raw: IncomingMessage): Promise<boolean> {
  await setImmediate();
  return raw.complete || raw.destroyed;
}
