// Streams a file as a response, with conditional requests and ranges.

import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { aborted } from "../../../core/errors/texts.js";
import type { Download } from "../../../core/ports/streams.js";
import { COMMON_HEADERS, sendError } from "../plumbing/answer.js";
import { isInRange, judge, namesHash } from "../plumbing/entity-tags.js";
import { HttpError } from "../plumbing/http-error.js";
import { contentHeaders, rangeOf } from "./content-headers.js";

/** Time a client may take for each chunk, in milliseconds. */
const STALL_MS = 60_000;

interface Sending {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Called once the response starts. */
  onBegin(): void;
  /** The ETag of a file, with its quotes. */
  readonly etagOf: (file: Download) => string | undefined;
}

/** Age in ms from which on the time of a file names one version. */
const SETTLED_MS = 2000;

/** Sends a file, and waits until the client has taken all of it. @returns bytes sent @throws FileAdapterError */
export async function sendFile(file: Download, sending: Sending): Promise<number> {
  const { request, reply, onBegin } = sending;
  const { headers, method } = request;
  const { modified, size, tag } = file;
  const etag = sending.etagOf(file);
  const sha256 = file.sha256 ?? (namesHash(headers) ? await file.hash() : undefined);
  const content = { etag, sha256, tag };
  const version = { "last-modified": new Date(modified).toUTCString(), ...(etag === undefined ? {} : { etag }) };
  reply.headers({ ...COMMON_HEADERS, ...version });
  const verdict = judge(headers, content, { modified });
  if (verdict !== undefined) {
    if (verdict === 304) reply.code(304).send();
    else sendError(reply, new HttpError(412, "The file has changed", {}, { errorCode: "CONFLICT" }));
    onBegin();
    return 0;
  }
  // Two changes within one second have one time, until the second is over.
  const dated = { modified, isSettled: modified <= Date.now() - SETTLED_MS };
  const isMeant = (named: string) => isInRange(named, content, dated);
  const range = method === "HEAD" ? undefined : rangeOf(headers, { size }, isMeant);
  if (range === "unsatisfiable") {
    sendError(reply, new HttpError(416, "Range not satisfiable", { "content-range": `bytes */${size}` }));
    onBegin();
    return 0;
  }
  const span = range ?? { start: 0, end: size };
  const length = span.end - span.start;
  const body = method === "HEAD" || length === 0 ? undefined : await awaitFirstChunk(file.read(span));
  reply
    .code(range === undefined ? 200 : 206)
    .headers(contentHeaders({ contentType: typeOf(file), fileName: file.name }, false))
    .headers(range === undefined ? {} : { "content-range": `bytes ${range.start}-${range.end - 1}/${size}` })
    .header("content-length", `${length}`);
  if (body !== undefined) return isWhole(body, length) ? sendWhole(body, sending) : stream(body, reply, onBegin);
  reply.send();
  onBegin();
  return 0;
}

/** No charset: text is UTF-8 or declares its own encoding, and nothing more is known of it. */
const typeOf = ({ mime }: Download): string => mime ?? "application/octet-stream";

/**
 * Sends chunks as they come, once the first has come.
 * @param head sets status and headers @throws ABORTED if the client leaves
 */
export async function sendChunks(
  chunks: AsyncIterable<Uint8Array>,
  reply: FastifyReply,
  head: () => void,
): Promise<FastifyReply> {
  const begun = await awaitFirstChunk(chunks);
  head();
  await stream(begun, reply);
  return reply;
}

interface Begun {
  readonly first: Uint8Array | undefined;
  readonly rest: AsyncIterator<Uint8Array>;
}

/** Waits for the first chunk, so that an unreadable file is reported by a status. */
async function awaitFirstChunk(chunks: AsyncIterable<Uint8Array>): Promise<Begun> {
  const rest = chunks[Symbol.asyncIterator]();
  return { first: (await rest.next()).value, rest };
}

/** A stream that passes chunks on as the client takes them. */
class Body extends Readable {
  taken = 0;
  failure: unknown;
  readonly #rest: AsyncIterator<Uint8Array>;
  #first: Uint8Array | undefined;
  #stall: NodeJS.Timeout | undefined;

  constructor({ first, rest }: Begun) {
    // Read one chunk ahead.
    super({ highWaterMark: 1 });
    this.#first = first;
    this.#rest = rest;
  }

  override _read(): void {
    clearTimeout(this.#stall);
    void this.#pass();
  }

  async #pass(): Promise<void> {
    try {
      const chunk: Uint8Array | undefined = this.#first ?? (await this.#rest.next()).value;
      this.#first = undefined;
      if (this.destroyed) return;
      if (chunk === undefined) {
        this.push(null);
        return;
      }
      this.taken += chunk.length;
      // A client that stops reading must not keep the file open forever.
      this.#stall = setTimeout(() => this.destroy(), STALL_MS);
      this.push(chunk);
    } catch (error) {
      this.failure = error;
      this.destroy();
    }
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#stall);
    // A pending read ends first, so that the file is not closed under it.
    Promise.resolve(this.#rest.return?.()).then(
      () => done(error),
      () => done(error),
    );
  }
}

/** Up to this size a body is taken by the socket at once, whether or not the client reads. */
const SMALL_BYTES = 16_384;

const isWhole = ({ first }: Begun, length: number): boolean => first?.length === length && length <= SMALL_BYTES;

/** Sends a small body that has been read: without a stream, a timer, and a write for the head alone. */
async function sendWhole({ first, rest }: Begun, { reply, onBegin }: Sending): Promise<number> {
  await rest.return?.();
  if (reply.raw.destroyed) throw aborted();
  reply.send(first);
  onBegin();
  return first?.length ?? 0;
}

async function stream(begun: Begun, reply: FastifyReply, onBegin?: () => void): Promise<number> {
  const body = new Body(begun);
  const gone = new Promise<void>((resolve) => body.once("close", resolve));
  const onClose = () => body.destroy();
  if (reply.raw.destroyed) onClose();
  else reply.raw.once("close", onClose);
  reply.send(body);
  onBegin?.();
  await gone;
  reply.raw.off("close", onClose);
  if (body.readableEnded) return body.taken;
  reply.raw.destroy();
  throw body.failure ?? aborted();
}
