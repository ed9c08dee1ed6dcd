// PUT: a file as a whole, in place when it is complete.

import type { FastifyReply } from "fastify";
import { announcesBody } from "../../admission/linger.js";
import { uploadOf, versionHeaders } from "../../endpoints/files.js";
import { badRequest, HttpError } from "../../plumbing/http-error.js";
import { isRead } from "../../plumbing/is-read.js";
import type { DavCall } from "../call.js";
import { DavError, sendEmpty } from "../errors.js";

export async function put(call: DavCall): Promise<FastifyReply> {
  const { target, exchange } = call;
  const { request, reply } = exchange;
  try {
    if (call.header("content-range") !== undefined) throw badRequest("Content-Range is not supported on PUT");
    requireFileUrl(call);
    const uploaded = await call.upload(target, uploadOf(request.raw), {});
    return sendEmpty(reply, uploaded.created ? 201 : 204, versionHeaders(uploaded));
  } catch (error) {
    if (announcesBody(request.raw) && !(await isRead(request.raw))) reply.header("connection", "close");
    throw error;
  }
}

/** @throws HttpError 405 for a collection of roots and for a root, 409 for a URL that ends in a slash */
export function requireFileUrl({ target }: DavCall): void {
  if (target.segments.length === 0) {
    throw new DavError(405, "This URL is a collection", { code: "IS_A_DIRECTORY" });
  }
  if (target.isSlashed) throw new HttpError(409, "The URL of a file must not end in a slash");
}
