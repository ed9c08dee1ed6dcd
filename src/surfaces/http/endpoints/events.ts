// `GET /api/v1/events`: what happens in a venue, as server-sent events.

import type { ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import { attribute } from "../../../core/call/attribute.js";
import { FileAdapterError } from "../../../core/errors/errors.js";
import type { EventReader, EventTopic, VenueEvents } from "../../../core/ports/changes/event-reader.js";
import type { HttpHost } from "../host.js";
import { COMMON_HEADERS } from "../plumbing/answer.js";
import type { Exchange } from "../plumbing/exchange.js";
import { authenticationRequired, badRequest, echo, tooManyRequests } from "../plumbing/http-error.js";

/** Interval of comments; a second below the longest silence that is allowed, since timers may be late. */
const HEARTBEAT_MS = 14_000;
/** How often a reader's credential is looked at. */
const JUDGE_MS = 500;
/** Events share a write: after one the next follows no sooner than this. */
const GATHER_MS = 50;
/** Most events of one write. What a slow reader does not take stays in the rings. */
const MOST_AT_ONCE = 500;
const MOST_TOPICS = 32;
/** Asked of a reader with too many streams, in milliseconds. */
const RETRY_MS = 5000;

const KINDS = ["audit", "job", "auth", "approval"] as const;
const HEADERS = { ...COMMON_HEADERS, "content-type": "text/event-stream", "x-accel-buffering": "no" } as const;

/** @throws HttpError 400 for a topic that is none, 401 for callers without credentials off loopback, 429 */
export async function getVenueEvents(host: HttpHost, events: VenueEvents, exchange: Exchange): Promise<FastifyReply> {
  const { request, reply, caller } = exchange;
  if (caller.authentication === "public" && !events.servesAnonymous) throw authenticationRequired();
  const topics = topicsOf(request.query);
  if (request.method === "HEAD") return reply.code(200).headers(HEADERS).send();
  const { context } = attribute(caller, undefined, host.nameCaller);
  const reader = openOrRefuse(() => events.open(topics, caller, context));
  if (reader === undefined) throw tooManyRequests(RETRY_MS);
  const { raw } = reply;
  if (raw.destroyed) reader.close();
  else {
    host.streams.open++;
    raw.once("close", () => {
      host.streams.open--;
      reader.close();
    });
  }
  reply.hijack();
  // Not kept alive: a reusable connection would delay the closing of the venue.
  for (const [name, value] of Object.entries({ ...reply.getHeaders(), ...HEADERS, connection: "close" })) {
    if (value !== undefined) raw.setHeader(name, value);
  }
  raw.writeHead(200);
  raw.flushHeaders();
  await reader.ready;
  if (raw.destroyed) return reply;
  const { authorization } = request.headers;
  const isRefused = () => authorization !== undefined && !("caller" in host.authenticate(authorization));
  new EventStream(raw, reader, isRefused).begin(request.headers["last-event-id"]);
  return reply;
}

function openOrRefuse<T>(open: () => T): T {
  try {
    return open();
  } catch (error) {
    throw error instanceof FileAdapterError ? badRequest(error.message) : error;
  }
}

/** @throws HttpError 400 */
function topicsOf(query: unknown): EventTopic[] {
  const given: unknown = typeof query === "object" && query !== null && "topic" in query ? query.topic : undefined;
  const names = (Array.isArray(given) ? given : [given]).filter((name) => typeof name === "string");
  if (names.length === 0) throw badRequest("'topic' is required: files:<root>[/<path>], audit, job, auth or approval");
  if (names.length > MOST_TOPICS) throw badRequest(`At most ${MOST_TOPICS} topics`);
  return [...new Set(names)].map(topicOf);
}

function topicOf(name: string): EventTopic {
  const kind = KINDS.find((one) => one === name);
  if (kind !== undefined) return { name, kind };
  const [, root, path = ""] = /^files:([^/]+)(?:\/(.*))?$/s.exec(name) ?? [];
  if (root === undefined || /[\r\n\0]/.test(name))
    throw badRequest(`Unknown topic: ${echo(name)}. Use files:<root>[/<path>], audit, job, auth or approval`);
  return { name, kind: "files", root, path };
}

/** Many streams tell of the same events, which never change. */
const JSON_OF = new WeakMap<object, string>();

function jsonOf(data: object): string {
  const known = JSON_OF.get(data);
  if (known !== undefined) return known;
  const made = JSON.stringify(data);
  JSON_OF.set(data, made);
  return made;
}

/** Writes what a reader may see, no faster than its client takes it. */
class EventStream {
  readonly #raw: ServerResponse;
  readonly #reader: EventReader;
  readonly #isRefused: () => boolean;
  #position = 0;
  #timer: NodeJS.Timeout | undefined;
  #wroteAt = 0;
  #lostStart = false;

  constructor(raw: ServerResponse, reader: EventReader, isRefused: () => boolean) {
    this.#raw = raw;
    this.#reader = reader;
    this.#isRefused = isRefused;
  }

  begin(lastId: string | string[] | undefined): void {
    const [raw, reader] = [this.#raw, this.#reader];
    const known = lastId === undefined ? reader.end : reader.positionOf(String(lastId));
    this.#lostStart = known === undefined;
    this.#position = known ?? reader.end;
    // An id without data: a client that is cut off before the first event goes on from here.
    raw.write(`retry: 2000\nid: ${reader.cursorAt(this.#position)}\n\n`);
    const stop = reader.listen(() => this.#schedule());
    const heartbeat = setInterval(() => this.#takes && raw.write(":\n\n"), HEARTBEAT_MS);
    const judging = setInterval(() => this.#isOver && this.#end(), JUDGE_MS);
    raw.on("drain", () => this.#schedule());
    raw.once("close", () => {
      stop();
      clearInterval(heartbeat);
      clearInterval(judging);
      clearTimeout(this.#timer);
    });
    this.#flush();
  }

  get #isOver(): boolean {
    return this.#reader.isOver || this.#isRefused();
  }

  /** Whether what is written goes out instead of being kept here. */
  get #takes(): boolean {
    const { destroyed, writableEnded, writableNeedDrain } = this.#raw;
    return !destroyed && !writableEnded && !writableNeedDrain;
  }

  #schedule(): void {
    if (this.#timer !== undefined || !this.#takes) return;
    const wait = Math.max(0, this.#wroteAt + GATHER_MS - performance.now());
    this.#timer = setTimeout(() => this.#flush(), wait);
  }

  #flush(): void {
    this.#timer = undefined;
    if (!this.#takes) return;
    if (this.#isOver) {
      this.#end();
      return;
    }
    this.#wroteAt = performance.now();
    const { text, isCut } = this.#next();
    if (text !== "") this.#raw.write(text);
    if (isCut) this.#schedule();
  }

  #next(): { text: string; isCut: boolean } {
    const reader = this.#reader;
    const end = reader.end;
    if (this.#lostStart || reader.hasLost(this.#position)) {
      this.#lostStart = false;
      this.#position = end;
      return { text: `id: ${reader.cursorAt(end)}\nevent: overflow\ndata: {}\n\n`, isCut: false };
    }
    const parts: string[] = [];
    for (const { position, topic, data } of reader.read(this.#position)) {
      if (parts.length === MOST_AT_ONCE) return { text: parts.join(""), isCut: true };
      this.#position = position;
      parts.push(`id: ${reader.cursorAt(position)}\nevent: ${topic}\ndata: ${jsonOf(data)}\n\n`);
    }
    this.#position = end;
    return { text: parts.join(""), isCut: false };
  }

  #end(): void {
    if (!this.#raw.destroyed && !this.#raw.writableEnded) this.#raw.end("event: end\ndata: {}\n\n");
  }
}
