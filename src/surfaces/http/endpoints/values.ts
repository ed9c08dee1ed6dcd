// Endpoints for the value tree.

import type { FastifyReply } from "fastify";
import { countValue, listValue, readValue, sliceValue } from "../../../core/value-tree.js";
import type { HttpHost } from "../host.js";
import { sendJson } from "../plumbing/answer.js";
import type { Exchange } from "../plumbing/exchange.js";
import { badRequest } from "../plumbing/http-error.js";
import { parsePage, singleParameter } from "../plumbing/query.js";

/** `GET /api/v1/values/read` */
export function readValues(host: HttpHost, { request, reply }: Exchange): FastifyReply {
  return answer(reply, readValue(host.values(), pathOf(request.query), maxSizeOf(request.query)));
}

/** `GET /api/v1/values/list` */
export function listValues(host: HttpHost, { request, reply }: Exchange): FastifyReply {
  return answer(reply, listValue(host.values(), pathOf(request.query), parsePage(request.query)));
}

/** `GET /api/v1/values/slice` */
export function sliceValues(host: HttpHost, { request, reply }: Exchange): FastifyReply {
  return answer(reply, sliceValue(host.values(), pathOf(request.query), parsePage(request.query)));
}

/** `GET /api/v1/values/count` */
export function countValues(host: HttpHost, { request, reply }: Exchange): FastifyReply {
  return answer(reply, countValue(host.values(), pathOf(request.query)));
}

const answer = (reply: FastifyReply, result: object): FastifyReply => sendJson(reply, 200, JSON.stringify(result));

function pathOf(query: unknown): string {
  const path = singleParameter(query, "path");
  if (path === undefined) throw badRequest("'path' is required");
  return path;
}

function maxSizeOf(query: unknown): number | undefined {
  const text = singleParameter(query, "maxSize");
  if (text !== undefined && !/^(?:0|[1-9]\d{0,15})$/.test(text))
    throw badRequest("'maxSize' must be an integer, 0 or more");
  return text === undefined ? undefined : Number(text);
}
