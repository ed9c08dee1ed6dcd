// S3 requests: signing, retries, timeouts and conditional puts.

import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { AwsClient } from "aws4fetch";
import { describeError } from "../../../../core/errors/describe-error.js";
import { FileAdapterError } from "../../../../core/errors/errors.js";
import type { Log } from "../../../../core/ports/log.js";
import { storeDamaged, storeUnavailable } from "../../checks.js";
import { answerError, noAnswer, noS3 } from "./failures.js";
import { errorCode, type ListedObject, type ListPage, parseListPage } from "./list-page.js";

export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

/** Retry policy. */
export interface S3Patience {
  readonly tries: number;
  /** Delay before the second try in ms, doubled before each further try and randomly shortened (jitter). */
  readonly waitMs: number;
  /** Timeout of one try in ms; extended for long bodies. */
  readonly timeoutMs: number;
  /** Most time for all tries of a request together, in ms. Absent: no limit. */
  readonly withinMs?: number;
}

export interface S3Options {
  /** URL of the bucket: `https://host/bucket` or `https://bucket.host`. */
  readonly url: string;
  /** Prefix of all object keys: empty or ending with a slash. */
  readonly prefix: string;
  readonly region: string;
  readonly credentials: S3Credentials;
  readonly patience: S3Patience;
  readonly log: Log;
}

export interface Fetched {
  readonly bytes: Buffer;
  readonly etag: string;
}

/** Result of a conditional put. `isSure`: every try got a response, so none of them took effect. */
export type PutIfResult =
  | { readonly isDone: true; readonly etag: string }
  | { readonly isDone: false; readonly isSure: boolean };

/**
 * The objects of a store, by keys without its prefix. All methods throw STORE_UNAVAILABLE with advice for the operator.
 */
export interface S3Client {
  /** `undefined` if there is no such object. @throws STORE_DAMAGED if it is longer than `maxBytes` */
  get(key: string, maxBytes: number): Promise<Fetched | undefined>;
  /** Like `get`, but returns `same` if the object has this entity tag. */
  getChanged(key: string, etag: string | undefined, maxBytes: number): Promise<Fetched | "same" | undefined>;
  /** Exactly these bytes; `undefined` if there is no such object. @throws STORE_DAMAGED if it is shorter */
  getRange(key: string, offset: number, length: number): Promise<Buffer | undefined>;
  /** Retried until it is known to have succeeded; for objects whose content never changes. */
  put(key: string, bytes: Uint8Array): Promise<void>;
  /**
   * Puts only if the object has this entity tag or, for `null`, does not exist. Retried until there is a response. With
   * content that no earlier put had, it takes effect at most once. After an error it may still take effect.
   */
  putIf(key: string, bytes: Uint8Array, etag: string | null): Promise<PutIfResult>;
  /** Succeeds whether or not the object exists. */
  remove(key: string): Promise<void>;
  objects(folder: string): AsyncIterable<ListedObject>;
  /** Names directly below a folder, without slashes. */
  folders(folder: string): AsyncIterable<string>;
}

interface Ask {
  readonly method: "GET" | "PUT" | "DELETE";
  readonly key: string;
  readonly search?: string;
  readonly body?: Uint8Array;
  readonly range?: string;
  readonly condition?: Readonly<Record<string, string>>;
  /** Error statuses that count as an answer to this request. */
  readonly accepts?: readonly number[];
  /** Maximum length of a successful response's body; a longer one is an error. */
  readonly maxBytes: number;
}

interface Answer {
  readonly status: number;
  readonly etag: string;
  readonly body: Buffer;
}

const MAX_ANSWER_BYTES = 4 << 20;
const MAX_WAIT_MS = 5000;
/** Throughput of a slow line, in bytes per millisecond. */
const SLOWEST_BYTES_PER_MS = 128;

export function createS3Client(options: S3Options): S3Client {
  const { url, prefix, region, credentials, patience, log } = options;
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  const token = sessionToken === undefined ? {} : { sessionToken };
  const aws = new AwsClient({ accessKeyId, secretAccessKey, ...token, region, service: "s3", retries: 0 });

  const once = async (ask: Ask, leftMs: number): Promise<Answer> => {
    const { method, key, body, range, condition, search = "" } = ask;
    const bytes = Math.max(body?.length ?? 0, range === undefined ? 0 : ask.maxBytes);
    const mostMs = Math.min(leftMs, patience.timeoutMs + Math.ceil(bytes / SLOWEST_BYTES_PER_MS));
    const signal = AbortSignal.timeout(Math.max(1, Math.floor(mostMs)));
    const headers: Record<string, string> = { "x-amz-content-sha256": sha256(body ?? EMPTY), ...condition };
    if (range !== undefined) headers["range"] = range;
    const place = key === "" ? url : `${url}/${prefix}${key}`;
    const request = await aws.sign(`${place}${search}`, {
      method,
      headers,
      signal,
      redirect: "manual",
      ...(body === undefined ? {} : { body: asView(body) }),
    });
    const response = await fetch(request);
    const isGood = response.status >= 200 && response.status < 300;
    const isPage = /^text\/html\b/i.test(response.headers.get("content-type") ?? "");
    const answered = await readBody(response, isGood && !isPage ? ask.maxBytes : MAX_ANSWER_BYTES);
    // A page comes from a proxy, a console or a login. With a status that says "out of order" the request is retried.
    if (isPage && answered.length > 0 && response.status < 500 && response.status !== 429) throw noS3();
    return { status: response.status, etag: response.headers.get("etag") ?? "", body: answered };
  };

  /** @returns the first conclusive response, including 404 @param onRetry told before each further try @throws STORE_UNAVAILABLE */
  const request = async (ask: Ask, onRetry = (): void => {}): Promise<Answer> => {
    const until = performance.now() + (patience.withinMs ?? Number.POSITIVE_INFINITY);
    for (let tries = 1; ; tries += 1) {
      const result = await once(ask, until - performance.now()).catch((error: unknown) => {
        if (isOurs(error)) throw error;
        log.warn({ event: "drive.s3", error: describeError(error) }, "The object storage did not answer");
        return { lost: error };
      });
      const answer = "lost" in result ? undefined : result;
      const code = answer === undefined || answer.status < 300 ? "" : errorCode(answer.body.toString());
      if (answer !== undefined && ask.accepts?.includes(answer.status) === true) return answer;
      if (answer !== undefined && isFinal(answer.status, code))
        return requireSuccess(answer, code, ask.method !== "GET");
      onRetry();
      if (tries >= patience.tries || performance.now() >= until) {
        throw answer === undefined
          ? noAnswer("lost" in result ? reasonOf(result.lost) : "")
          : answerError({ status: answer.status, code, writes: ask.method !== "GET" });
      }
      await delay(Math.random() * Math.min(MAX_WAIT_MS, patience.waitMs * 2 ** (tries - 1)));
    }
  };
  const page = async (folder: string, delimiter: string, token: string | undefined): Promise<ListPage> => {
    const search = new URLSearchParams({ "list-type": "2", prefix: `${prefix}${folder}` });
    if (delimiter !== "") search.set("delimiter", delimiter);
    if (token !== undefined) search.set("continuation-token", token);
    const listed = await request({ method: "GET", key: "", search: `?${search}`, maxBytes: MAX_ANSWER_BYTES });
    if (listed.status === 404) throw answerError({ status: 404, code: "", writes: false });
    const text = listed.body.toString();
    if (!text.includes("<ListBucketResult")) throw noS3();
    return parseListPage(text, prefix);
  };
  async function* pages(folder: string, delimiter: string): AsyncGenerator<ListPage> {
    let next: string | undefined;
    do {
      const found = await page(folder, delimiter, next);
      yield found;
      if (found.next === next && next !== undefined) throw storeUnavailable("the object storage lists without end");
      next = found.next;
    } while (next !== undefined);
  }

  return {
    async get(key, maxBytes) {
      const { status, body, etag } = await request({ method: "GET", key, maxBytes });
      return status === 404 ? undefined : { bytes: body, etag };
    },
    async getChanged(key, known, maxBytes) {
      const condition: Record<string, string> = known === undefined ? {} : { "if-none-match": known };
      const { status, body, etag } = await request({ method: "GET", key, condition, accepts: [304], maxBytes });
      if (status === 304) return "same";
      return status === 404 ? undefined : { bytes: body, etag };
    },
    async getRange(key, offset, length) {
      const range = `bytes=${offset}-${offset + length - 1}`;
      const { status, body } = await request({ method: "GET", key, range, maxBytes: length });
      if (status === 404) return undefined;
      if (status !== 206 || body.length !== length) throw storeDamaged("an object is too short");
      return body;
    },
    async put(key, body) {
      const { status } = await request({ method: "PUT", key, body, maxBytes: MAX_ANSWER_BYTES });
      if (status === 404) throw answerError({ status, code: "NoSuchBucket", writes: true });
    },
    async putIf(key, body, known) {
      const condition: Record<string, string> = known === null ? { "if-none-match": "*" } : { "if-match": known };
      const ask: Ask = { method: "PUT", key, body, condition, accepts: REFUSED, maxBytes: MAX_ANSWER_BYTES };
      let isSure = true;
      const answer = await request(ask, () => {
        isSure = false;
      });
      const isDone = answer.status >= 200 && answer.status < 300;
      return isDone ? { isDone, etag: answer.etag } : { isDone, isSure };
    },
    async remove(key) {
      await request({ method: "DELETE", key, maxBytes: MAX_ANSWER_BYTES });
    },
    async *objects(folder) {
      for await (const { objects } of pages(folder, "")) yield* objects;
    },
    async *folders(folder) {
      for await (const found of pages(folder, "/")) {
        for (const name of found.folders) yield name.slice(folder.length, -1);
      }
    },
  };
}

/** Statuses of a refused conditional put: not found, conflict, precondition failed, not implemented. */
const REFUSED = [404, 409, 412, 501];
const EMPTY = new Uint8Array(0);
const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** A view that is never over a SharedArrayBuffer, which `fetch` does not accept as a body. */
const asView = (bytes: Uint8Array): Uint8Array<ArrayBuffer> =>
  bytes.buffer instanceof ArrayBuffer
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
    : new Uint8Array(bytes);

/** Whether a retry cannot change the response. */
const isFinal = (status: number, code: string): boolean =>
  status !== 429 && status < 500 && code !== "RequestTimeout" && code !== "OperationAborted";

/** @throws STORE_UNAVAILABLE for any error other than a missing object */
function requireSuccess(answer: Answer, code: string, writes: boolean): Answer {
  const isAbsent = answer.status === 404 && code !== "NoSuchBucket";
  if (isAbsent || (answer.status >= 200 && answer.status < 300)) return answer;
  throw answerError({ status: answer.status, code, writes });
}

async function readBody(response: Response, maxBytes: number): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let length = 0;
  if (response.body === null) return Buffer.alloc(0);
  for await (const part of response.body) {
    length += part.length;
    // Leaving the loop cancels the request.
    if (length > maxBytes) throw storeDamaged("an object is longer than it may be");
    parts.push(part);
  }
  return Buffer.concat(parts, length);
}

const isOurs = (error: unknown): boolean => error instanceof FileAdapterError;

/** The system error code beneath an error of `fetch`. */
function reasonOf(error: unknown): string {
  for (let at = error, depth = 0; typeof at === "object" && at !== null && depth < 4; depth += 1) {
    if ("code" in at && typeof at.code === "string" && /^[A-Z_]{3,40}$/.test(at.code)) return at.code;
    if ("name" in at && at.name === "TimeoutError") return "timed out";
    at = "cause" in at ? at.cause : undefined;
  }
  return "connection lost";
}
