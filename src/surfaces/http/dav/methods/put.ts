// PUT: a file as a whole, in place when it is complete.

import type { FastifyReply } from "fastify";
import { invalidInput } from "../../../../core/errors/texts.js";
import { hashText } from "../../../../core/etag.js";
import type { UploadBody } from "../../../../core/ports/streams.js";
import type { Uploaded } from "../../../../core/ports/transfer.js";
import { announcesBody } from "../../admission/connections.js";
import { isRead } from "../../admission/read-body.js";
import { uploadOf } from "../../endpoints/files.js";
import { digestsIn, requireDigests } from "../../plumbing/digests.js";
import { davTag } from "../../plumbing/entity-tags.js";
import { badRequest, HttpError } from "../../plumbing/http-error.js";
import type { DavCall } from "../call.js";
import { DavError, sendEmpty } from "../errors.js";
import { evaluateConditions, requireUnlocked } from "../locks/conditions.js";

export async function put(call: DavCall): Promise<FastifyReply> {
  const { exchange } = call;
  const { request, reply } = exchange;
  try {
    const uploaded = await store(call);
    const time = call.header("x-oc-mtime") !== undefined;
    const etag = davTag(uploaded);
    const version: Record<string, string> = etag === undefined ? {} : { etag };
    const headers = { ...version, ...(time ? { "x-oc-mtime": "accepted" } : {}) };
    return sendEmpty(reply, uploaded.created ? 201 : 204, headers);
  } catch (error) {
    if (announcesBody(request.raw) && !(await isRead(request.raw))) reply.header("connection", "close");
    throw error;
  }
}

async function store(call: DavCall): Promise<Uploaded> {
  const { target, locks, exchange, properties } = call;
  requireFileUrl(call);
  if (call.header("content-range") !== undefined) throw badRequest("Content-Range is not supported on PUT");
  const modified = timeOf(call);
  const { raw } = exchange.request;
  const digests = digestsIn(raw.headers);
  const body = requireLength(lengthOf(call), requireDigests(digests, uploadOf(raw)));
  await call.requireDrive(target);
  const conditions = await evaluateConditions(call);
  const spot = call.spotOf(target);
  const isMember = call.needsParentLock(target) && (await call.stat(target)) === undefined;
  await requireUnlocked(call, conditions, [{ place: target, isTree: false, isMember }]);
  const own = locks.on(spot).find(({ token }) => conditions.tokens.has(token));
  const version = conditions.versionOf(target) ?? (conditions.isNew ? undefined : own?.hash);
  const uploaded = await call.upload(target, body, {
    ...(modified === undefined ? {} : { modified }),
    ...(version === undefined ? {} : { ifMatch: version }),
    ...(conditions.isNew ? { ifNoneMatch: "*" } : {}),
  });
  if (uploaded.created) properties.dropOne(spot);
  const { sha256, tag } = uploaded;
  if (tag !== undefined) {
    const all = new Map(digests.map(({ algorithm, hex }) => [algorithm, hex]));
    if (sha256 !== undefined) all.set("sha256", sha256);
    call.checksums.put(tag, [...all].map(([name, hex]) => `${name.toUpperCase()}:${hex}`).join(" "));
  }
  const now = uploaded.sha256 === undefined ? undefined : hashText(uploaded.sha256);
  for (const lock of locks.on(spot)) if (conditions.tokens.has(lock.token)) locks.setHash(lock, now);
  return uploaded;
}

/** Time that the file gets, in milliseconds: `X-OC-Mtime` has seconds. @throws HttpError 400 */
function timeOf(call: DavCall): number | undefined {
  const header = call.header("x-oc-mtime")?.trim();
  if (header === undefined) return undefined;
  if (!/^-?\d{1,12}(?:\.\d{1,9})?$/.test(header)) throw badRequest("X-OC-Mtime must be seconds since 1970");
  return Math.round(Number(header) * 1000);
}

/** Length that Finder announces beside a chunked body. @throws HttpError 400 */
function lengthOf(call: DavCall): number | undefined {
  const header = call.header("x-expected-entity-length")?.trim();
  if (header === undefined) return undefined;
  if (!/^\d{1,15}$/.test(header)) throw badRequest("X-Expected-Entity-Length must be a number of bytes");
  return Number(header);
}

/** A body that fails unless it has the announced length. */
function requireLength(length: number | undefined, body: UploadBody): UploadBody {
  if (length === undefined) return body;
  async function* chunks(): AsyncGenerator<Uint8Array> {
    let size = 0;
    for await (const chunk of body.chunks) {
      size += chunk.length;
      yield chunk;
    }
    if (size !== length) throw invalidInput(`The body has ${size} bytes instead of ${length}`, "", "the whole body");
  }
  return { ...body, length, chunks: chunks() };
}

/** @throws HttpError 405 for a collection of roots and for a root, 409 for a URL that ends in a slash */
function requireFileUrl({ target }: DavCall): void {
  if (target.segments.length === 0) {
    throw new DavError(405, "This URL is a collection", { code: "IS_A_DIRECTORY" });
  }
  if (target.isSlashed) throw new HttpError(409, "The URL of a file must not end in a slash");
}
