// `GET /api/v1/events`: what happens in a venue, as server-sent events.

import type { FastifyReply } from "fastify";
import { attribute } from "../../../core/call/attribute.js";
import { FileAdapterError } from "../../../core/errors/errors.js";
import type { EventTopic, VenueEvents } from "../../../core/ports/changes/events.js";
import { fieldsOf } from "../../../core/unknown.js";
import type { HttpHost } from "../host.js";
import {
  type Endpoint,
  EVENT_STREAM,
  endpointsOf,
  headerParameter,
  queryParameter,
  TEXT,
} from "../openapi/endpoint.js";
import { ENDLESS_HEADERS, EVENT_HEADERS } from "../plumbing/answer.js";
import { beginStream, countStream, refusalOf } from "../plumbing/connection.js";
import type { Exchange } from "../plumbing/exchange.js";
import { authenticationRequired, badRequest, echo } from "../plumbing/http-error.js";
import { EventStreams } from "./event-streams.js";

const MAX_TOPICS = 32;

const TOPIC = queryParameter("topic", "`files:<root>[/<path>]`, `audit`, `job`, `auth`, `approval`; repeatable", {
  type: "array",
  items: TEXT,
  minItems: 1,
  maxItems: MAX_TOPICS,
});

export function eventEndpoints({ events }: HttpHost): readonly Endpoint[] {
  if (events === undefined) return [];
  const parts = { events, streams: new EventStreams() };
  return [
    endpointsOf("Venue")("GET /api/v1/events", (host, exchange) => getVenueEvents(host, parts, exchange), {
      operationId: "followEvents",
      summary: "Follow what happens: changes of files, jobs, audit records, tokens, approvals",
      description:
        "Each event has the name of its topic, an id, and JSON on one line; `overflow`: look again, events were missed; `end`: the credential has ended.",
      parameters: [TOPIC, headerParameter("Last-Event-ID", "Go on behind this event")],
      answers: { 200: { description: "Events", content: EVENT_STREAM } },
    }),
  ];
}

const KINDS = ["audit", "job", "auth", "approval"] as const;

/** @throws HttpError 400 for a topic that is none, 401 for callers without credentials off loopback; Overloaded */
async function getVenueEvents(
  host: HttpHost,
  { events, streams }: { readonly events: VenueEvents; readonly streams: EventStreams },
  exchange: Exchange,
): Promise<FastifyReply> {
  const { request, reply, caller } = exchange;
  if (caller.authentication === "public" && !events.servesAnonymous) throw authenticationRequired();
  const topics = topicsOf(request.query);
  if (request.method === "HEAD") return reply.code(200).headers(EVENT_HEADERS).send();
  const { context } = attribute(caller, undefined, host.nameCaller);
  let reader: ReturnType<VenueEvents["open"]>;
  try {
    reader = events.open(topics, caller, context);
  } catch (error) {
    throw error instanceof FileAdapterError ? badRequest(error.message) : error;
  }
  const { raw } = reply;
  countStream(host, raw);
  if (raw.destroyed) reader.close();
  else raw.once("close", () => reader.close());
  beginStream(reply, ENDLESS_HEADERS);
  await reader.ready;
  if (raw.destroyed) return reply;
  const { authorization } = request.headers;
  const isRefused = refusalOf(host, exchange);
  const sight = JSON.stringify([authorization ?? null, reader.sight]);
  const lastId = request.headers["last-event-id"];
  streams.begin({ raw, reader, isRefused, sight }, lastId === undefined ? undefined : String(lastId));
  return reply;
}

/** @throws HttpError 400 */
function topicsOf(query: unknown): EventTopic[] {
  const given = fieldsOf(query)[TOPIC.name];
  const names = (Array.isArray(given) ? given : [given]).filter((name) => typeof name === "string");
  if (names.length === 0) throw badRequest("'topic' is required: files:<root>[/<path>], audit, job, auth or approval");
  if (names.length > MAX_TOPICS) throw badRequest(`At most ${MAX_TOPICS} topics`);
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
