// A venue that runs elsewhere, over its HTTP API. Its answers are not trusted: texts are escaped, sizes are bounded.

import { setTimeout as sleep } from "node:timers/promises";
import { isLoopbackHost } from "../../config/loopback.js";
import {
  adapterError,
  ERROR_CODES,
  type ErrorCode,
  type ErrorData,
  type FileAdapterError,
} from "../../core/errors/errors.js";
import { aborted, escapeText, unknownOperation } from "../../core/errors/texts.js";
import { isObject } from "../../core/unknown.js";
import { parsePath } from "../../path/grammar.js";
import { parseExact, stringifyExact } from "../../schema/exact-json.js";
import { Unavailable } from "../context.js";
import type { FileCalls } from "./venue-calls.js";

/** Longest answer; the largest read of a venue with default limits fits several times. */
const MAX_ANSWER_BYTES = 256 * 2 ** 20;
/** Time between two looks at a job that outlasts the wait of the venue, in milliseconds. */
const POLL_MS = 500;
/** How often an answer "too many requests" is waited out, and how long at most, in seconds. */
const MAX_RETRIES = 8;
const MAX_RETRY_SECONDS = 60;

/** How to reach a venue, and as whom. */
export interface HttpCallsOptions {
  /** Base URL, without a slash at the end. */
  readonly url: string;
  /** Bearer token; `undefined`: anonymous. */
  readonly token: string | undefined;
  /** UCANs that go with each call. */
  readonly ucans: readonly string[];
  /** Narrows every call. */
  readonly caps: readonly unknown[] | undefined;
  /** Cancels running calls. */
  readonly signal: AbortSignal;
}

/** Whether a token would be readable on its way. */
export function travelsOpenly({ url, token }: Pick<HttpCallsOptions, "url" | "token">): boolean {
  const { protocol, hostname } = new URL(url);
  return token !== undefined && protocol === "http:" && !isLoopbackHost(hostname);
}

type Json = Readonly<Record<string, unknown>>;

/** Calls a venue over HTTP; sends no request before the first call. */
export class HttpCalls implements FileCalls {
  readonly #options: HttpCallsOptions;

  constructor(options: HttpCallsOptions) {
    this.#options = options;
  }

  async run(operation: string, input: unknown): Promise<unknown> {
    const { ucans, caps } = this.#options;
    const given = { ucans: ucans.length === 0 ? undefined : ucans, caps };
    const body = stringifyExact({ operation, input, wait: true, private: true, ...given });
    const headers = { "content-type": "application/json" };
    const response = await this.#send("/api/v1/invoke", { method: "POST", headers, body });
    const { status } = response;
    const answer = await this.#json(response);
    // An unknown operation is the user's error; any other refusal with 400 would be a fault of this client.
    if (status === 400 && /^Cannot resolve operation/.test(textOf(answer["error"]))) throw unknownOperation(operation);
    if (status !== 201) throw this.#refused(status, answer);
    return this.#outcome(answer);
  }

  /** The output of a finished job; waits for one that still runs. */
  async #outcome(first: Json): Promise<unknown> {
    let record = first;
    for (;;) {
      const { status, output, error, errorCode, errorData } = record;
      if (status === "COMPLETE") return output;
      if (status !== "PENDING" && status !== "STARTED") throw this.#failed({ error, errorCode, errorData });
      await this.#pause(POLL_MS);
      const response = await this.#send(`/api/v1/jobs/${encodeURIComponent(textOf(record["id"]))}`, { method: "GET" });
      const next = await this.#json(response);
      if (response.status !== 200) throw this.#refused(response.status, next);
      record = next;
    }
  }

  async upload(input: Parameters<FileCalls["upload"]>[0], content: AsyncIterable<Uint8Array>) {
    const { root, path, parents, ifNoneMatch } = input;
    // Resolved here: a URL with `..` would be rewritten before it is sent, and could name another root.
    const { segments, text } = parsePath(root, path, { windows: false });
    const query = new URLSearchParams(parents === true ? { parents: "true" } : {});
    const ticket = await this.#ticket(root, text);
    if (ticket !== undefined) query.set("ticket", ticket);
    let written = 0;
    async function* counted(): AsyncGenerator<Uint8Array> {
      for await (const piece of content) {
        written += piece.length;
        yield piece;
      }
    }
    const place = [root, ...segments].map(encodeURIComponent).join("/");
    const headers = { ...(ifNoneMatch === undefined ? {} : { "if-none-match": ifNoneMatch }) };
    const body = ReadableStream.from(counted());
    const init = { method: "PUT", headers, body, duplex: "half" } as const;
    const response = await this.#send(`/api/v1/files/${place}?${query}`, init, { anonymous: ticket !== undefined });
    if (response.status === 201 || response.status === 204) {
      await response.body?.cancel();
      return { written, created: response.status === 201 };
    }
    const answer = await this.#json(response);
    throw isErrorCode(answer["errorCode"]) ? this.#failed(answer) : this.#refused(response.status, answer);
  }

  /** A ticket for one upload, where tokens or a caps list decide, which the endpoint for files does not take. */
  async #ticket(root: string, path: string): Promise<string | undefined> {
    const { ucans, caps } = this.#options;
    if (ucans.length === 0 && caps === undefined) return undefined;
    const output = await this.run("file:transfer", { root, path, direction: "upload" });
    const { href } = isObject(output) ? output : {};
    // Only the ticket is taken: the venue does not choose where the content goes.
    const ticket = typeof href === "string" ? new URL(href, this.#options.url).searchParams.get("ticket") : null;
    if (ticket === null) throw new Unavailable("The venue gave no ticket for the upload");
    return ticket;
  }

  async operations(): Promise<readonly string[]> {
    const response = await this.#send("/api/v1/operations", { method: "GET" });
    const listed: unknown = await this.#parsed(response);
    const items: unknown[] = response.status === 200 && Array.isArray(listed) ? listed : [];
    const paths = items.map((item) => (isObject(item) ? textOf(item["name"]) : ""));
    return paths.flatMap((path) => (/^v\/ops\/[^/]+\/[^/]+$/.test(path) ? [path.slice(6).replace("/", ":")] : []));
  }

  async close(): Promise<void> {}

  async #send(path: string, init: RequestInit, { anonymous = false } = {}): Promise<Response> {
    const { url, token, signal } = this.#options;
    const headers = new Headers(init.headers);
    if (token !== undefined && !anonymous) headers.set("authorization", `Bearer ${token}`);
    for (let tries = 0; ; tries++) {
      let response: Response;
      try {
        // A redirect could send the token elsewhere.
        response = await fetch(url + path, { ...init, headers, signal, redirect: "error" });
      } catch (error) {
        throw signal.aborted ? aborted() : unreachable(url, error);
      }
      // A stream cannot be sent twice.
      if (response.status !== 429 || tries === MAX_RETRIES || init.body instanceof ReadableStream) return response;
      await response.body?.cancel();
      const seconds = Number(response.headers.get("retry-after") ?? 1);
      await this.#pause(Math.min(seconds >= 0 ? seconds : 1, MAX_RETRY_SECONDS) * 1000);
    }
  }

  /** A request that was refused before any operation ran. */
  #refused(status: number, { error }: Json): Unavailable {
    const advice = status === 401 && this.#isAnonymous ? `. ${NAME_A_TOKEN}` : "";
    return new Unavailable(`The venue refuses (status ${status}): ${escapeText(textOf(error))}${advice}`);
  }

  get #isAnonymous(): boolean {
    return this.#options.token === undefined && this.#options.ucans.length === 0;
  }

  /**
   * The failure of an operation. A denial of a caller without credentials says how to get some, unless a caps list may be
   * the cause.
   */
  #failed(answer: Json): FileAdapterError {
    const error = failureOf(answer);
    if (!this.#isAnonymous || this.#options.caps !== undefined || !NEED_RIGHTS.has(error.code)) return error;
    return adapterError(error.code, error.message, { ...error.data, hint: NAME_A_TOKEN });
  }

  async #json(response: Response): Promise<Json> {
    const value = await this.#parsed(response);
    if (isObject(value)) return value;
    throw notAVenue(this.#options.url, response.status);
  }

  async #parsed(response: Response): Promise<unknown> {
    const { url, signal } = this.#options;
    const chunks: Uint8Array[] = [];
    let length = 0;
    try {
      for await (const chunk of response.body ?? []) {
        length += chunk.length;
        if (length > MAX_ANSWER_BYTES) throw new Unavailable(`The answer of ${url} is too long`);
        chunks.push(chunk);
      }
      return parseExact(Buffer.concat(chunks).toString("utf8"));
    } catch (error) {
      if (error instanceof Unavailable) throw error;
      if (signal.aborted) throw aborted();
      throw error instanceof SyntaxError ? notAVenue(url, response.status) : unreachable(url, error);
    }
  }

  /** @throws ABORTED */
  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#options.signal }).catch(() => {
      throw aborted();
    });
  }
}

const NAME_A_TOKEN = "Name a file with a token for it: --token FILE";
/** Failures that a token may prevent. */
const NEED_RIGHTS: ReadonlySet<string> = new Set<ErrorCode>(["CAPABILITY_DENIED", "DRIVE_REQUIRES_AUTH"]);

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ECONNRESET: "it closed the connection",
  UND_ERR_SOCKET: "it closed the connection",
  ENOTFOUND: "no such host name",
  EAI_AGAIN: "the host name cannot be looked up",
  ETIMEDOUT: "it does not answer",
  UND_ERR_CONNECT_TIMEOUT: "it does not answer",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is not trusted",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate is not trusted",
  CERT_HAS_EXPIRED: "its certificate has expired",
};

function unreachable(url: string, error: unknown): Unavailable {
  const { cause } = isObject(error) ? error : {};
  const { code, message } = isObject(cause) ? cause : {};
  if (message === "unexpected redirect") return new Unavailable(`${url} sends elsewhere. Give the URL it sends to`);
  const reason = typeof code === "string" ? (REASONS[code] ?? code) : "the connection failed";
  return new Unavailable(`Cannot reach ${url}: ${escapeText(reason)}`);
}

const notAVenue = (url: string, status: number): Unavailable =>
  new Unavailable(`${url} does not answer like a venue (status ${status}). Is the URL right?`);

/** The failure of an operation, as the venue tells it. */
function failureOf({ error, errorCode, errorData }: Json): FileAdapterError {
  const code: ErrorCode = isErrorCode(errorCode) ? errorCode : "INTERNAL";
  const data: ErrorData = isObject(errorData) ? errorData : {};
  const { hint, ...others } = data;
  return adapterError(code, escapeText(textOf(error)), {
    ...others,
    ...(typeof hint === "string" ? { hint: escapeText(hint) } : {}),
  });
}

const isErrorCode = (code: unknown): code is ErrorCode => typeof code === "string" && Object.hasOwn(ERROR_CODES, code);

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
