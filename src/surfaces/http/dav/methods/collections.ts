// MKCOL and DELETE.

import type { FastifyReply } from "fastify";
import { announcesBody } from "../../admission/linger.js";
import { badRequest, HttpError } from "../../plumbing/http-error.js";
import type { DavCall } from "../call.js";
import { DavError, sendEmpty } from "../errors.js";
import { evaluateConditions } from "../locks/conditions.js";
import { requireUnlocked } from "../locks/guard.js";
import { typeAt } from "./propfind.js";

export async function mkcol(call: DavCall): Promise<FastifyReply> {
  const { target, exchange } = call;
  if (announcesBody(exchange.request.raw)) throw new HttpError(415, "MKCOL takes no body");
  const { root, space, segments } = target;
  if (root === undefined || (space === "dav" && segments.length === 0)) throw exists();
  await call.requireDrive(target);
  const conditions = await evaluateConditions(call);
  await requireUnlocked(call, conditions, [{ place: target, isTree: false, isMember: true }]);
  const making = segments.length === 0 ? call.runOnDrive("create-drive", root) : call.run("mkdir", target);
  const { created } = (await making) as { created: boolean };
  if (!created) throw exists();
  call.properties.drop(call.spotOf(target));
  return sendEmpty(exchange.reply, 201);
}

const exists = (): DavError => new DavError(405, "There is something at this URL already");

/** `DELETE`: removes a file, or a collection with all in it. */
export async function remove(call: DavCall): Promise<FastifyReply> {
  const { target, exchange } = call;
  const { root, space, segments } = target;
  if (root === undefined || (space === "dav" && segments.length === 0)) {
    throw new HttpError(403, "A root cannot be deleted");
  }
  const type = await typeAt(call, target);
  if (type === undefined) throw new DavError(404, "There is nothing at this URL", { code: "NOT_FOUND" });
  if (type === "directory" && call.depth !== "infinity") throw badRequest("Depth of DELETE must be infinity");
  const conditions = await evaluateConditions(call);
  await requireUnlocked(call, conditions, [{ place: target, isTree: true, isMember: true }]);
  const version = conditions.versionOf(target);
  if (segments.length === 0) await call.runOnDrive("delete-drive", root);
  else await call.run("delete", target, { recursive: true, ...(version === undefined ? {} : { ifMatch: version }) });
  call.forget(target);
  return sendEmpty(exchange.reply, 204);
}
