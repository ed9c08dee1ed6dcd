// MKCOL and DELETE.

import type { FastifyReply } from "fastify";
import type { JsonObject } from "../../../../core/ports/adapter.js";
import { announcesBody } from "../../admission/connections.js";
import { badRequest, HttpError } from "../../plumbing/http-error.js";
import type { DavCall } from "../call.js";
import { DavError, nothingHere, sendEmpty } from "../errors.js";
import { evaluateConditions, requireUnlocked } from "../locks/conditions.js";
import { childrenOf, isNamed, type XmlElement } from "../xml/read.js";
import { DAV, element } from "../xml/write.js";
import { typeAt, xmlBody } from "./propfind.js";
import { deadOf, type Planned, plan, propertiesIn } from "./proppatch.js";

export async function mkcol(call: DavCall): Promise<FastifyReply> {
  const { target, exchange } = call;
  const properties = deadOf(planOf(await mkcolBody(call)));
  const { root, space, segments } = target;
  if (root === undefined || (space === "dav" && segments.length === 0)) throw exists();
  await call.requireDrive(target);
  const conditions = await evaluateConditions(call);
  await requireUnlocked(call, conditions, [{ place: target, isTree: false, isMember: true }]);
  const making = segments.length === 0 ? call.runOnDrive("create-drive", root) : call.run("mkdir", target);
  const { created } = (await making) as { created: boolean };
  if (!created) throw exists();
  const spot = call.spotOf(target);
  call.properties.drop(spot);
  let isKept = false;
  try {
    isKept = call.properties.fits(spot, true, properties) && (await call.properties.change(spot, true, properties));
  } finally {
    // All is made or nothing. Who may not delete leaves the collection.
    if (!isKept) await takeAway(call, root).catch(() => {});
  }
  if (!isKept) throw new HttpError(507, "There is no room for the properties of the collection");
  return sendEmpty(exchange.reply, 201);
}

/** The body of an extended MKCOL (RFC 5689); any other is refused, as RFC 4918 asks. @throws HttpError 413, 415 */
async function mkcolBody(call: DavCall): Promise<XmlElement | undefined> {
  if (!announcesBody(call.exchange.request.raw)) return undefined;
  const body = await xmlBody(call).catch((error: unknown) => {
    if (error instanceof HttpError && error.status === 400) return "no XML" as const;
    throw error;
  });
  if (body === undefined) return undefined;
  if (body === "no XML" || !isNamed(body, DAV, "mkcol")) {
    throw new HttpError(415, "MKCOL takes no body but a DAV:mkcol of RFC 5689");
  }
  return body;
}

/** The properties of the new collection. @throws DavError 403 for one that cannot be set; nothing is made then */
function planOf(body: XmlElement | undefined): readonly Planned[] {
  if (body === undefined) return [];
  const planned = propertiesIn(body).flatMap((instruction) => {
    const { name, node } = instruction;
    const isType = name.namespace === DAV && name.local === "resourcetype" && node !== undefined;
    if (!isType) return [plan(instruction, true)];
    if (childrenOf(node).every((type) => isNamed(type, DAV, "collection"))) return [];
    throw new DavError(403, "Only plain collections can be made", { condition: element("D:valid-resourcetype") });
  });
  const refused = planned.find((one) => one.refused !== undefined)?.refused;
  if (refused !== undefined) {
    throw new DavError(403, "A property of DAV:mkcol cannot be set. Leave it out", { condition: refused.condition });
  }
  return planned;
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
  if (type === undefined) throw nothingHere();
  if (type === "directory" && call.depth !== "infinity") throw badRequest("Depth of DELETE must be infinity");
  const conditions = await evaluateConditions(call);
  await requireUnlocked(call, conditions, [{ place: target, isTree: true, isMember: true }]);
  const version = conditions.versionOf(target);
  await takeAway(call, root, { recursive: true, ...(version === undefined ? {} : { ifMatch: version }) });
  call.forget(target);
  return sendEmpty(exchange.reply, 204);
}

/** Deletes the target, which lies in a root or drive or is that drive. */
const takeAway = (call: DavCall, root: string, input: JsonObject = {}): Promise<unknown> =>
  call.target.segments.length === 0 ? call.runOnDrive("delete-drive", root) : call.run("delete", call.target, input);
