// LOCK and UNLOCK.

import type { FastifyReply } from "fastify";
import { hashText } from "../../../../core/etag.js";
import { badRequest, HttpError } from "../../plumbing/http-error.js";
import { type DavCall, undefinedFor } from "../call.js";
import { DavError, sendEmpty, sendXml } from "../errors.js";
import { type Conditions, evaluateConditions, requireUnlocked } from "../locks/conditions.js";
import type { Lock } from "../locks/locks.js";
import { lockDiscovery } from "../properties/live.js";
import { childOf, childrenOf, isNamed, type XmlElement } from "../xml/read.js";
import { contentOf, DAV, element, Markup, NAMESPACES } from "../xml/write.js";
import { MAX_HASHED_BYTES, xmlBody } from "./propfind.js";

const DEFAULT_SECONDS = 600;
const MAX_OWNER_BYTES = 1024;

export async function lock(call: DavCall): Promise<FastifyReply> {
  const { target } = call;
  if (target.root === undefined) throw new HttpError(403, "Only what is below a root can be locked");
  const body = await xmlBody(call);
  const seconds = secondsOf(call);
  const conditions = await evaluateConditions(call);
  return body === undefined ? refresh(call, conditions, seconds) : take(call, conditions, { body, seconds });
}

async function take(
  call: DavCall,
  conditions: Conditions,
  { body, seconds }: { readonly body: XmlElement; readonly seconds: number },
): Promise<FastifyReply> {
  const { target, caller, locks } = call;
  const requested = lockInfo(body);
  const { isDeep } = call;
  // Judged before anything is said of other locks. A missing resource is created below.
  const found = await undefinedFor(
    ["NOT_FOUND"],
    call.run("touch", target).then(() => call.stat(target)),
  );
  const isCollection = found?.type === "directory";
  if (!isCollection && (target.isSlashed || target.segments.length === 0)) {
    throw new HttpError(409, "There is no collection at this URL");
  }
  const spot = call.spotOf(target);
  const conflict = locks.conflicting({ spot, isDeep, isExclusive: requested.isExclusive })[0];
  if (conflict !== undefined) throw conflicting(call, conflict);
  if (found === undefined) await call.requireDrive(target);
  if (found === undefined) await requireUnlocked(call, conditions, [{ place: target, isTree: false, isMember: true }]);
  const made = await locks.take({
    ...{ spot, place: target, isCollection, isDeep, seconds, caller: caller.did },
    ...requested,
  });
  if (made === undefined) throw new HttpError(507, "Too many locks");
  if ("conflict" in made) throw conflicting(call, made.conflict);
  const taken = made.lock;
  try {
    if (found === undefined) await create(call, taken);
    else if (found.type === "file" && found.size <= MAX_HASHED_BYTES) {
      locks.setHash(taken, found.hash ?? (await call.stat(target, true))?.hash);
    }
  } catch (error) {
    locks.remove(taken);
    throw error;
  }
  return answer(call, taken, found === undefined ? 201 : 200);
}

/** A lock on a missing name makes an empty file. */
async function create(call: DavCall, taken: Lock): Promise<void> {
  const uploaded = await call.upload(call.target, { length: 0, chunks: nothing() }, { ifNoneMatch: "*" });
  call.properties.drop(call.spotOf(call.target));
  if (uploaded.sha256 !== undefined) call.locks.setHash(taken, hashText(uploaded.sha256));
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

async function refresh(call: DavCall, { tokens }: Conditions, seconds: number): Promise<FastifyReply> {
  const { target, locks, caller } = call;
  await call.run("touch", target);
  const covering = locks.covering(call.spotOf(target));
  const found = covering.filter(({ token, caller: did }) => tokens.has(token) && did === caller.did);
  const [only] = found;
  if (only === undefined || found.length > 1) {
    const condition = element("D:lock-token-matches-request-uri");
    throw new DavError(412, "A refresh names one lock of this URL in If", { condition });
  }
  locks.refresh(only, seconds);
  return answer(call, only, 200);
}

function answer(call: DavCall, taken: Lock, status: number): FastifyReply {
  call.exchange.reply.header("lock-token", `<${taken.token}>`);
  const discovery = lockDiscovery([taken], call);
  return sendXml(call.exchange.reply, status, element("D:prop", element("D:lockdiscovery", discovery), NAMESPACES));
}

const conflicting = (call: DavCall, { place, isCollection }: Lock): DavError =>
  new DavError(423, "There is a lock already", {
    condition: element("D:no-conflicting-lock", element("D:href", call.hrefOf(place, isCollection))),
  });

function lockInfo(body: XmlElement): Pick<Lock, "isExclusive" | "owner" | "ownerText"> {
  if (!isNamed(body, DAV, "lockinfo")) throw badRequest("The body must be a DAV:lockinfo");
  const [scope, type, owner] = ["lockscope", "locktype", "owner"].map((local) => childOf(body, DAV, local));
  const [kind] = scope === undefined ? [] : childrenOf(scope);
  const isWrite = type !== undefined && childOf(type, DAV, "write") !== undefined;
  const isExclusive = kind !== undefined && isNamed(kind, DAV, "exclusive");
  if (!isWrite || !(isExclusive || (kind !== undefined && isNamed(kind, DAV, "shared")))) {
    throw new DavError(422, "Locks are exclusive or shared write locks");
  }
  const markup = owner === undefined ? Markup.trusted("") : contentOf(owner);
  if (Buffer.byteLength(markup.text) > MAX_OWNER_BYTES) {
    throw new HttpError(507, `DAV:owner must have at most ${MAX_OWNER_BYTES} bytes`);
  }
  return { isExclusive, owner: markup, ownerText: owner === undefined ? "" : textWithin(owner).trim() };
}

const textWithin = ({ content }: XmlElement): string =>
  content.map((part) => (typeof part === "string" ? part : textWithin(part))).join("");

/** The first time that is understood, within the limit. */
function secondsOf(call: DavCall): number {
  const { lockSeconds } = call.dav;
  for (const one of call.header("timeout")?.split(",") ?? []) {
    if (/^\s*infinite\s*$/i.test(one)) return lockSeconds;
    const [, seconds] = /^\s*second-(\d{1,10})\s*$/i.exec(one) ?? [];
    if (seconds !== undefined) return Math.min(Math.max(1, Number(seconds)), lockSeconds);
  }
  return Math.min(DEFAULT_SECONDS, lockSeconds);
}

/** `UNLOCK`: ends a lock of the caller's own. */
export async function unlock(call: DavCall): Promise<FastifyReply> {
  const { target, locks, caller } = call;
  // Some clients leave out the brackets, and would leave the lock.
  const [, coded, bare] = /^\s*(?:<([^<>\s]+)>|([^<>\s]+))\s*$/.exec(call.header("lock-token") ?? "") ?? [];
  const token = coded ?? bare;
  if (token === undefined) throw badRequest("UNLOCK needs the header Lock-Token with one token in < and >");
  const found = target.root === undefined ? undefined : locks.find(token);
  if (found === undefined || !locks.covering(call.spotOf(target)).includes(found)) {
    const condition = element("D:lock-token-matches-request-uri");
    throw new DavError(409, "There is no such lock at this URL", { condition });
  }
  if (found.caller !== caller.did) throw new HttpError(403, "This lock is somebody else's");
  locks.remove(found);
  return sendEmpty(call.exchange.reply, 204);
}
