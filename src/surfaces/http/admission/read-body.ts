import type { FastifyRequest } from "fastify";
import type { MemoryLease } from "../../../core/memory.js";
import { badRequest, bodyTooLarge, tooManyRequests } from "../plumbing/http-error.js";
import { sendContinue } from "./expect.js";

/** What a client is told to wait when memory is short: calls end quickly. */
const BUSY_RETRY_MS = 1000;
const LEAST_BYTES = 4096;

/** A body as it grows, so that what was announced and never comes takes no memory, and many small pieces no more than one. */
class GrowingBody {
  #bytes = Buffer.allocUnsafe(0);
  length = 0;

  /** @param most that it can ever have */
  append(chunk: Buffer, most: number): void {
    const needed = this.length + chunk.length;
    if (needed > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.min(most, Math.max(LEAST_BYTES, needed, 2 * this.#bytes.length)));
      this.#bytes.copy(grown, 0, 0, this.length);
      this.#bytes = grown;
    }
    chunk.copy(this.#bytes, this.length);
    this.length = needed;
  }

  /** All of it. Nothing may be appended afterwards. */
  take(): Buffer {
    return this.#bytes.subarray(0, this.length);
  }
}

/**
 * Reads a whole body into memory, and counts it as it comes.
 * @throws HttpError 413 over the limit, 429 when there is no room for it, 400 when it ends early
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
