// Endpoint that exchanges the code of a link for a token.

import type { FastifyReply } from "fastify";
import { fieldsOf } from "../../../core/unknown.js";
import { parseJson } from "../admission/read-body.js";
import type { HttpHost, Login } from "../host.js";
import { COUNT, type Endpoint, endpointsOf, json, jsonContent, object, TEXT } from "../openapi/endpoint.js";
import { sendJson } from "../plumbing/answer.js";
import type { Exchange } from "../plumbing/exchange.js";
import { badRequest, tooManyRequests, unauthorized } from "../plumbing/http-error.js";

export const LOGIN_PATH = "/api/v1/login";

export function loginEndpoints({ login }: HttpHost): readonly Endpoint[] {
  if (login === undefined) return [];
  return [
    endpointsOf("Venue")(`POST ${LOGIN_PATH}`, (_host, exchange) => logIn(login, exchange), {
      operationId: "logIn",
      summary: "Exchange the code of a link for a token, once; needs no credentials",
      security: [{}],
      body: jsonContent(object({ code: TEXT })),
      answers: { 201: json("Signed in", object({ id: TEXT, did: TEXT, expires: COUNT, token: TEXT })) },
    }),
  ];
}

/** `POST /api/v1/login`: needs no credentials. Wrong, used and expired codes give one answer, and are limited. */
async function logIn(login: Login, { request, reply }: Exchange): Promise<FastifyReply> {
  const body = parseJson(request.body, { json5: true });
  const { code } = fieldsOf(body);
  if (typeof code !== "string") throw badRequest("Login requires a 'code' as a string");
  const answer = await login(code);
  if (answer === undefined) throw unauthorized("Link is used or expired. Get a new one: venue-files link");
  if ("retryMs" in answer) throw tooManyRequests(answer.retryMs);
  return sendJson(reply, 201, JSON.stringify(answer));
}
