// Reads request bodies into memory under the limits on size and total memory, and parses JSON.

import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { createRequire } from "node:module";
import { setImmediate } from "node:timers/promises";
import type { FastifyRequest } from "fastify";
import { laterPackage } from "../../../core/later.js";
import type { MemoryLease } from "../../../core/memory.js";
import { parseInput } from "../../../schema/exact-json.js";
import { badRequest, bodyTooLarge, HttpError, invalidJson, tooManyRequests } from "../plumbing/http-error.js";
import { sendContinue } from "./connections.js";

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

interface BodyRules {
  /** Maximum bytes. */
  readonly limit: number;
  readonly lease: MemoryLease;
}

/**
 * Reads a whole body into memory, counting it against the lease as it arrives.
 * @throws HttpError 413 over the limit, 429 when memory is short, 400 when the body is incomplete
 */
export function readBody({ raw }: FastifyRequest, { limit, lease }: BodyRules): Promise<Buffer> {
  const { "content-length": length } = raw.headers;
  const announced = length === undefined ? undefined : Number(length);
  return new Promise((resolve, reject) => {
    const body = new GrowingBody();
    const stop = () => {
      raw.off("data", onData).off("end", onEnd).off("error", onError).off("close", onError);
      lease.onDrop = () => {};
    };
    const fail = (error: HttpError) => {
      stop();
      reject(error);
    };
    const onData = (chunk: Buffer) => {
      if (body.length + chunk.length > limit) return fail(bodyTooLarge(limit));
      body.append(chunk, announced ?? limit);
      lease.receive(chunk.length);
    };
    const onEnd = () => {
      if (announced !== undefined && announced !== body.length) return onError();
      lease.received();
      stop();
      resolve(body.take());
    };
    const onError = () => fail(badRequest("Request incomplete"));
    if (announced !== undefined && announced > limit) return fail(bodyTooLarge(limit));
    if (raw.destroyed) return onError();
    lease.onDrop = () => fail(tooManyRequests(BUSY_RETRY_MS));
    sendContinue(raw);
    raw.on("data", onData).on("end", onEnd).on("error", onError).on("close", onError);
  });
}

/**
 * Whether a body was read to its end, or never will be. Waits one turn: data that came with the head may be unparsed.
 */
export async function isRead(raw: IncomingMessage): Promise<boolean> {
  await setImmediate();
  return raw.complete || raw.destroyed;
}

/**
 * Refuses a form where a body is stored as it is, with the form's boundaries. By the raw headers, since routes of streams have
 * no type. @throws HttpError 415
 */
export function refuseForm({ rawHeaders }: IncomingMessage): void {
  const name = rawHeaders.findIndex((header, index) => index % 2 === 0 && header.toLowerCase() === "content-type");
  if (name < 0 || !/^\s*multipart\/form-data\b/i.test(rawHeaders[name + 1] ?? "")) return;
  throw new HttpError(
    415,
    "A form (multipart/form-data) is not taken: send the bytes of the file alone. With curl: -T FILE in place of -F; in a page: the file itself as body",
  );
}

/** Maximum bytes of a body that is also tried as JSON5, whose parser is slow. */
const MAX_JSON5_BYTES = 65_536;

/**
 * Parses a request body as strict JSON or, if that fails and the body is small, as JSON5. Integers that a double cannot
 * represent become `bigint`.
 *
 * @param options.json5 whether JSON5 is accepted
 * @throws HttpError 400
 */
export const parseJson = (body: unknown, options: { json5: boolean }): unknown => parseJsonText(body, options).value;

interface ParsedJson {
  readonly value: unknown;
  readonly text: string;
}

/**
 * Parses like {@link parseJson}, and keeps the text.
 *
 * @returns the value, and its text: as sent if that is strict JSON, else compact JSON
 */
export function parseJsonText(body: unknown, options: { json5: boolean }): ParsedJson {
  if (!Buffer.isBuffer(body) || body.length === 0) throw invalidJson("the body is empty");
  // Decoding would silently replace invalid bytes, and the replacement would end up in a file.
  if (!isUtf8(body)) throw invalidJson("not valid UTF-8");
  const text = body.toString("utf8");
  try {
    return { value: parseInput(text), text };
  } catch (error) {
    if (!(error instanceof SyntaxError) || !options.json5 || body.length > MAX_JSON5_BYTES)
      throw invalidJson(reasonOf(error));
  }
  return parseJson5(text);
}

const loadJson5 = laterPackage<typeof import("json5")>(createRequire(import.meta.url), "json5");

function parseJson5(text: string): ParsedJson {
  const JSON5 = loadJson5();
  let isUnsafe = false;
  let isInfinite = false;
  let value: unknown;
  try {
    value = JSON5.parse(text, (_key, part: unknown) => {
      if (typeof part === "number" && !Number.isFinite(part)) isInfinite = true;
      else if (typeof part === "number" && Math.abs(part) > Number.MAX_SAFE_INTEGER) isUnsafe = true;
      return part;
    });
  } catch (error) {
    throw invalidJson(reasonOf(error));
  }
  // JSON has neither, and would write null in their place.
  if (isInfinite) throw invalidJson("Infinity and NaN are no JSON, nor are numbers that large. Send a string");
  if (isUnsafe) throw invalidJson("numbers beyond 2^53 are kept in strict JSON only, which this is not");
  return { value, text: JSON.stringify(value) };
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message.replace(/^JSON5: /, "") : "");
