// COPY and MOVE.

import type { FastifyReply } from "fastify";
import { badRequest, HttpError } from "../../plumbing/http-error.js";
import type { DavCall } from "../call.js";
import { nothingHere, sendEmpty } from "../errors.js";
import { type Conditions, evaluateConditions, requireUnlocked } from "../locks/conditions.js";
import { destinationOf, pathText, type Target } from "../target.js";
import { foundAt, typeAt } from "./propfind.js";

interface Relocation {
  readonly to: Target;
  readonly isOverwriting: boolean;
  readonly conditions: Conditions;
}

/** `COPY`: a file, or a collection with all in it; with `Depth: 0` the collection alone. */
export async function copy(call: DavCall): Promise<FastifyReply> {
  const { target, properties } = call;
  const { isDeep } = call;
  const relocation = await prepare(call, { isMove: false });
  const { to } = relocation;
  const [from, goal] = [call.spotOf(target), call.spotOf(to)];
  if (!(await properties.hasRoomForCopy(from)))
    throw new HttpError(507, "There is no room for a copy of the properties");
  const found = await foundAt(call, target);
  if (found === undefined) throw nothingHere();
  const isShallow = found.type === "directory" && !isDeep;
  const more = found.type === "directory" ? { recursive: true } : {};
  const terms = isShallow ? { isShallow: true as const } : {};
  const { overwritten } = await relocate(call, "copy", { relocation, more, terms });
  properties.relocate(from, goal, { isCopied: true, isDeep: !isShallow });
  return sendResult(call, relocation, overwritten);
}

/** `MOVE`: the entry itself, in one step where it can be. */
export async function move(call: DavCall): Promise<FastifyReply> {
  const { target, properties, locks } = call;
  if (call.depth !== "infinity") throw badRequest("Depth of MOVE must be infinity");
  const relocation = await prepare(call, { isMove: true });
  if ((await typeAt(call, target)) === undefined) throw nothingHere();
  const { overwritten } = await relocate(call, "move", { relocation, more: {}, terms: {} });
  const [from, goal] = [call.spotOf(target), call.spotOf(relocation.to)];
  for (const lock of [...locks.on(from), ...locks.below(from)]) locks.remove(lock);
  properties.relocate(from, goal, { isCopied: false, isDeep: true });
  return sendResult(call, relocation, overwritten);
}

/** Everything that is decided before the operation. @throws HttpError */
async function prepare(call: DavCall, { isMove }: { readonly isMove: boolean }): Promise<Relocation> {
  const { target, host } = call;
  const header = call.header("destination");
  if (header === undefined) throw badRequest("Destination is missing");
  const to = destinationOf(header, target, host, call.exchange.request.raw);
  const overwrite = call.header("overwrite")?.trim().toUpperCase() ?? "T";
  if (overwrite !== "T" && overwrite !== "F") throw badRequest("Overwrite must be T or F");
  requireApart(target, to);
  if (isMove && target.segments.length === 0) throw new HttpError(403, "A root cannot be moved");
  if (to.segments.length === 0) throw new HttpError(403, "A root cannot be replaced");
  await call.requireDrive(to);
  const conditions = await evaluateConditions(call);
  await requireUnlocked(call, conditions, [
    ...(isMove ? [{ place: target, isTree: true, isMember: true }] : []),
    { place: to, isTree: true, isMember: true },
  ]);
  return { to, isOverwriting: overwrite === "T", conditions };
}

/** @throws HttpError 403 for a place into itself, or onto what holds it */
function requireApart(from: Target, to: Target): void {
  if (from.root !== to.root) return;
  const [one, other] = [`${pathText(from)}/`, `${pathText(to)}/`];
  if (from.segments.length === 0 || other.startsWith(one))
    throw new HttpError(403, "Destination is the source, or lies in it");
  if (one.startsWith(other)) throw new HttpError(403, "The source lies in Destination");
}

async function relocate(
  call: DavCall,
  operation: "copy" | "move",
  { relocation, more, terms }: { relocation: Relocation; more: object; terms: { isShallow?: true } },
): Promise<{ overwritten: boolean }> {
  const { to, isOverwriting, conditions } = relocation;
  const [ifMatch, ifMatchTo] = [conditions.versionOf(call.target), conditions.versionOf(to)];
  const input = {
    ...more,
    to: pathText(to),
    [to.space === "dav" ? "toRoot" : "toDrive"]: to.root,
    ...(isOverwriting ? { overwrite: true } : { ifNoneMatchTo: "*" }),
    ...(ifMatch === undefined ? {} : { ifMatch }),
    ...(ifMatchTo === undefined || !isOverwriting ? {} : { ifMatchTo }),
  };
  const replaces = isOverwriting ? { replaces: true as const } : {};
  return (await call.run(operation, call.target, input, { terms: { ...replaces, ...terms } })) as {
    overwritten: boolean;
  };
}

function sendResult(call: DavCall, { to }: Relocation, overwritten: boolean): FastifyReply {
  const { locks } = call;
  const goal = call.spotOf(to);
  for (const lock of locks.below(goal)) locks.remove(lock);
  // The holder of a lock has not seen the new content.
  for (const lock of locks.on(goal)) locks.setHash(lock, undefined);
  return sendEmpty(call.exchange.reply, overwritten ? 204 : 201);
}
