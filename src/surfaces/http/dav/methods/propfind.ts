// PROPFIND: properties of a resource, or of a collection and its members, sent as they are listed.

import type { FastifyReply } from "fastify";
import type { CallTerms } from "../../../../core/call/terms.js";
import type { DuOutput } from "../../../../schema/types.js";
import { announcesBody } from "../../admission/connections.js";
import { readBody } from "../../admission/read-body.js";
import { sendChunks } from "../../endpoints/file-sending.js";
import { COMMON_HEADERS } from "../../plumbing/answer.js";
import { badRequest, HttpError } from "../../plumbing/http-error.js";
import type { DavCall, Found } from "../call.js";
import { DavError, errorCodeOf, nothingHere } from "../errors.js";
import { CHECKSUMS } from "../properties/checksums.js";
import { QUOTA_NAMES, type Quota, type Resource } from "../properties/live.js";
import { type PropertyRequest, propertyRequest, responseWriter } from "../properties/response.js";
import { childOf, encodeName, type Target } from "../target.js";
import { MAX_XML_BYTES, readXml, type XmlElement } from "../xml/read.js";
import { DAV, element, escapeXml, PROLOGUE, XML_TYPE, type XmlName } from "../xml/write.js";

/** Entries of a directory asked for at once. */
const PAGE = 5000;
/** Files up to this size are hashed, for a lock or where they have no stamp yet. */
export const MAX_HASHED_BYTES = 8_388_608;
/** Rows that are made before they are written, at most: a link among them may take long. */
const BATCH = 256;
/** Bytes of XML gathered before they are sent. */
const CHUNK_CHARS = 32_768;

export async function propfind(call: DavCall): Promise<FastifyReply> {
  const { depth } = call;
  if (!["0", "1", "infinity"].includes(depth)) throw badRequest("Depth must be 0 or 1");
  const wanted = propertyRequest(await xmlBody(call));
  const top = await resourceAt(call, wanted);
  // A file has no members, whatever the depth.
  if (depth === "infinity" && top.isCollection) {
    const condition = element("D:propfind-finite-depth");
    throw new DavError(403, "Depth: infinity is not served. Ask with Depth: 1", { condition });
  }
  const terms = {
    ...(asksFor(wanted, "getcontenttype") ? ({ listsTypes: true } as const) : {}),
    ...(["getetag", CHECKSUMS].some((name) => asksFor(wanted, name)) ? ({ tags: true } as const) : {}),
  };
  const rows = depth === "0" || !top.isCollection ? [[top]] : withMembers(call, top, terms);
  const { reply } = call.exchange;
  const head = () => reply.code(207).headers({ ...COMMON_HEADERS, "content-type": XML_TYPE });
  return sendChunks(multistatus(rows, responseWriter(call, wanted)), reply, head);
}

/** The XML body of a request; `undefined` if it is empty. @throws HttpError 400, 413 */
export async function xmlBody({ exchange }: DavCall): Promise<XmlElement | undefined> {
  const { request, memory } = exchange;
  if (!announcesBody(request.raw)) return undefined;
  const bytes = await readBody(request, { limit: MAX_XML_BYTES, lease: memory });
  return bytes.length === 0 ? undefined : readXml(bytes);
}

/** The target of a request, as it is. @throws HttpError 404 */
async function resourceAt(call: DavCall, request: PropertyRequest): Promise<Resource> {
  const { target } = call;
  if (target.root === undefined) return { place: target, href: call.hrefOf(target, true), isCollection: true };
  const found = await foundAt(call, target);
  if (found === undefined) {
    call.properties.dropOne(call.spotOf(target));
    throw nothingHere();
  }
  const isCollection = found.type === "directory";
  // A file that was changed just now has no stamp yet.
  const isYoung = !isCollection && found.tag === undefined && found.hash === undefined;
  const wantsHash = isYoung && found.size <= MAX_HASHED_BYTES && asksFor(request, "getetag");
  const hashed = wantsHash ? await call.stat(target, true) : undefined;
  const quota = asksForQuota(request) ? await quotaOf(call, target) : undefined;
  const href = call.hrefOf(target, isCollection);
  return { place: target, href, isCollection, found: { ...found, ...hashed }, quota };
}

/** Properties that a request names, beside or instead of all. */
const namesIn = (request: PropertyRequest): readonly XmlName[] =>
  request.kind === "named" ? request.names : request.kind === "all" ? request.include : [];

const asksForQuota = (request: PropertyRequest): boolean =>
  namesIn(request).some(({ local }) => QUOTA_NAMES.includes(local));

/** Quota and use of the root that holds a place, without one those of its disk; or of all drives of the caller. */
async function quotaOf(call: DavCall, target: Target): Promise<Quota | undefined> {
  const { root } = target;
  if (call.driveOf(target) !== undefined) {
    const drives = (await call.names("dlfs")).map((name) => ({ space: "dlfs" as const, root: name, segments: [] }));
    const sizes = (await Promise.all(drives.map((drive) => call.run("du", drive)))) as DuOutput[];
    return { limit: call.dav.maxDriveBytes, used: sizes.reduce((sum, { bytes }) => sum + bytes, 0) };
  }
  const { quota } = (await call.roots()).find(({ name }) => name === root) ?? {};
  if (quota?.bytes !== undefined) return { limit: quota.bytes, used: quota.usedBytes ?? 0 };
  const disk = await call.dav.root(root ?? "")?.usage?.();
  return disk && { limit: disk.sizeBytes, used: disk.sizeBytes - disk.freeBytes };
}

/** The entry at a place. A file is not found by a URL that ends in a slash. */
export async function foundAt(call: DavCall, target: Target): Promise<Found | undefined> {
  const { space, root, segments, isSlashed } = target;
  if (space === "dlfs" && segments.length === 0 && root !== undefined) {
    // A drive that does not exist reads as an empty one.
    if (!(await call.names("dlfs")).includes(root)) return undefined;
  }
  const found = await call.stat(target);
  if (found === undefined || (found.type !== "file" && found.type !== "directory")) return undefined;
  return isSlashed && found.type === "file" ? undefined : found;
}

/** Codes for links that lead out, nowhere, or to themselves. The operation refuses other invalid paths. */
const LINKS_AWAY: readonly string[] = ["SYMLINK_ESCAPE", "DANGLING_SYMLINK", "INVALID_PATH"];

/** The type of what is at a place, where the entry itself is meant: a link may lead anywhere. */
export async function typeAt(call: DavCall, target: Target): Promise<string | undefined> {
  try {
    return (await foundAt(call, target))?.type;
  } catch (error) {
    if (LINKS_AWAY.includes(errorCodeOf(error)) && !target.isSlashed) return "symlink";
    throw error;
  }
}

/** Whether a property of the venue itself is asked for, with its value. */
const asksFor = (request: PropertyRequest, live: string): boolean =>
  request.kind === "all" || namesIn(request).some(({ local }) => local === live);

/** A collection and what is in it, some at a time: a promise for each would cost more than its text. */
async function* withMembers(
  call: DavCall,
  top: Resource,
  terms: Pick<CallTerms, "listsTypes" | "tags">,
): AsyncGenerator<readonly Resource[]> {
  const { target } = call;
  const { space, root, segments } = target;
  if (root === undefined) {
    const names = await call.names(target.space);
    const members = names.map((name) => member(call, top, name));
    await call.look(members.map(({ place }) => place));
    yield [top, ...members];
    return;
  }
  let rows = [top];
  for (let after: string | undefined; ; ) {
    const page = { limit: PAGE, ...(after !== undefined && { after }) };
    const { entries, truncated } = await call.list(target, page, terms);
    for (const found of entries) {
      const { name, type } = found;
      if (found.unreachable === true || type === "other") continue;
      const isCollection = type === "directory";
      const href = `${top.href}${encodeName(name)}${isCollection ? "/" : ""}`;
      const place = { space, root, segments: [...segments, name] };
      const seen = type === "symlink" ? await linkedFile(call, place) : found;
      if (seen !== undefined) rows.push({ place, href, isCollection, found: seen });
      if (rows.length >= BATCH) {
        yield rows;
        rows = [];
      }
    }
    after = entries.at(-1)?.name;
    if (!truncated || after === undefined) break;
  }
  yield rows;
}

/** A member of a collection of roots. */
function member({ target }: DavCall, { href }: Resource, name: string): Resource {
  const space = name === "dav" ? "dav" : "dlfs";
  const place = target.space === "top" ? ({ space, segments: [] } as const) : childOf(target, name);
  return { place, href: `${href}${encodeName(name)}/`, isCollection: true };
}

/** Statuses of what a link may lead to: nothing, itself, or what the caller may not see. */
const HIDDEN = [400, 401, 403, 404];

/** A link to a file is listed as that file; others are left out. */
async function linkedFile(call: DavCall, place: Resource["place"]): Promise<Found | undefined> {
  try {
    const found = await call.stat(place);
    return found?.type === "file" ? found : undefined;
  } catch (error) {
    if (error instanceof HttpError && HIDDEN.includes(error.status)) return undefined;
    throw error;
  }
}

/** The whole document, in chunks. */
async function* multistatus(
  batches: AsyncIterable<readonly Resource[]> | Iterable<readonly Resource[]>,
  write: (resource: Resource) => string,
): AsyncGenerator<Buffer> {
  let text = `${PROLOGUE}<D:multistatus xmlns:D="${escapeXml(DAV)}">\n`;
  for await (const batch of batches) {
    for (const row of batch) {
      text += write(row);
      if (text.length < CHUNK_CHARS) continue;
      yield Buffer.from(text);
      text = "";
    }
  }
  yield Buffer.from(`${text}</D:multistatus>\n`);
}
