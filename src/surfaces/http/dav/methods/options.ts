// OPTIONS: what is supported. Without credentials it says nothing of the path.

import type { FastifyReply } from "fastify";
import { type DavCall, undefinedFor } from "../call.js";
import { sendEmpty } from "../errors.js";

const READING = ["OPTIONS", "GET", "HEAD", "PROPFIND"];
const CHANGING = ["PUT", "MKCOL", "DELETE", "COPY", "MOVE", "PROPPATCH", "LOCK", "UNLOCK"];

export async function options(call: DavCall): Promise<FastifyReply> {
  const isReadOnly = call.caller.authentication !== "public" && (await isInReadOnlyRoot(call));
  return sendEmpty(call.exchange.reply, 200, {
    dav: isReadOnly ? "1, 3" : "1, 2, 3",
    "ms-author-via": "DAV",
    allow: [...READING, ...(isReadOnly ? [] : CHANGING)].join(", "),
  });
}

async function isInReadOnlyRoot(call: DavCall): Promise<boolean> {
  const { space, root } = call.target;
  if (space !== "dav" || root === undefined) return false;
  const roots = (await undefinedFor(["CAPABILITY_DENIED"], call.roots())) ?? [];
  return roots.some(({ name, readOnly }) => name === root && readOnly);
}
