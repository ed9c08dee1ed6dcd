// Answers plain calls of operations without the framework, which takes longer than a small call. Admission, endpoint and answers are
// the same; whatever is special about a request is left to the framework.

import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline, Readable } from "node:stream";
import { isPending } from "../../../core/io.js";
import { UNCOUNTED_BYTES } from "../../../core/memory.js";
import type { Admission, Admitted } from "../admission/admit.js";
import type { HttpHost } from "../host.js";
import { COMMON_HEADERS, errorJson, type JsonText, recordText } from "../plumbing/answer.js";
import { OWN_PAGES } from "../plumbing/cors.js";
import { basePath } from "../plumbing/entrance.js";
import { explain } from "../plumbing/explain.js";
import { jobUrl, startCall } from "./invoke.js";

const INVOKE_PATH = "/api/v1/invoke";

/** @returns whether the request is answered here; if not, nothing of it has been used */
export type DirectInvoke = (request: IncomingMessage, response: ServerResponse) => boolean;

export function createDirectInvoke(host: HttpHost, admission: Admission): DirectInvoke {
  const { log, trustProxy, corsOrigins, limits } = host;
  // Each of these has the framework do something with every request.
  if (log.debugs !== false || trustProxy || corsOrigins.length > 0) return () => false;
  const mostBytes = Math.min(limits.maxRequestBytes, UNCOUNTED_BYTES);
  return (request, response) => {
    if (!isPlainCall(request, mostBytes) || basePath(host) !== "") return false;
    const admitted = admission.admitCall(request, response);
    if (admitted === undefined) return false;
    void answer(host, admitted, { request, response, admission });
    return true;
  };
}

/** A call whose body has come, in the form in which programs send it. */
const isPlainCall = ({ method, url, headers, complete, readableLength }: IncomingMessage, mostBytes: number): boolean =>
  url === INVOKE_PATH &&
  method === "POST" &&
  complete &&
  headers["content-type"] === "application/json" &&
  headers.origin === undefined &&
  headers.expect === undefined &&
  readableLength > 0 &&
  readableLength <= mostBytes;

interface DirectExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly admission: Admission;
}

async function answer(
  host: HttpHost,
  { caller, memory }: Admitted,
  { request, response, admission }: DirectExchange,
): Promise<void> {
  const id = host.requestId();
  let location: string;
  let text: JsonText;
  try {
    const body: unknown = request.read();
    const started = startCall(host, { body, asksToWait: false, caller, memory, response });
    const { job, record } = isPending(started) ? await started : started;
    text = recordText(await record, host, memory);
    location = jobUrl(host, request, job);
  } catch (error) {
    const fault = explain(error, host, { id, request, response });
    if (admission.closing) response.setHeader("connection", "close");
    const json = errorJson(fault);
    const length = String(Buffer.byteLength(json));
    response.writeHead(fault.status, { ...headersOf(id), ...fault.headers, "content-length": length }).end(json);
    return;
  }
  if (admission.closing) response.setHeader("connection", "close");
  if (typeof text === "string") {
    if (text.length > UNCOUNTED_BYTES) memory.holdMade(text.length);
    response.writeHead(201, recordHeaders(id, location, text)).end(text);
    return;
  }
  response.writeHead(201, { ...headersOf(id), location });
  // A failure on the way can only end the connection, which pipeline does.
  pipeline(Readable.from(text, { highWaterMark: 1 }), response, () => {});
}

const HEADERS = { ...OWN_PAGES, ...COMMON_HEADERS, "content-type": "application/json" } as const;

const headersOf = (id: string) => ({ "x-request-id": id, ...HEADERS });

/** Written out: to make an object by spreads takes a tenth of a small call. */
const recordHeaders = (id: string, location: string, text: string) => ({
  "x-request-id": id,
  location,
  "cross-origin-resource-policy": HEADERS["cross-origin-resource-policy"],
  "x-content-type-options": HEADERS["x-content-type-options"],
  "referrer-policy": HEADERS["referrer-policy"],
  "cache-control": HEADERS["cache-control"],
  "content-type": HEADERS["content-type"],
  "content-length": String(Buffer.byteLength(text)),
});
